// Who turns the names of actors in a message into handles.
#pragma once

#include <caf/actor_control_block.hpp>
#include <caf/fwd.hpp>

namespace troupe {

/// Finds the actors that a peer's message names. Called by codec::decode, in the thread that decodes.
class handle_source {
public:
  virtual ~handle_source() = default;

  /// The actor of this node with this id. Null when the peer may not name it or it is gone: the message then holds a null
  /// handle.
  virtual caf::strong_actor_ptr local(caf::actor_id id) = 0;

  /// A reference to an actor of another node. Null when there is no way to that node.
  virtual caf::strong_actor_ptr remote(const caf::node_id& node, caf::actor_id id) = 0;
};

} // namespace troupe
