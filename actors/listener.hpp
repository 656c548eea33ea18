// The listener actor: the node accepts peers as long as it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/behavior.hpp>
#include <caf/stateful_actor.hpp>

#include <troupe/actors/pinned.hpp>
#include <troupe/transport/link_service.hpp>

namespace troupe {

/// Asks for listener_state.
struct get_listener_state {};

struct listener_state {
  std::string host;
  std::uint16_t port = 0;
};

/// Stops listening and ends the actor; answered when the port is free again.
struct close_listener {};

class listener_actor_state {
public:
  static inline const char* name = "troupe.listener";
  ~listener_actor_state();

  std::shared_ptr<transport::link_service> links;
  listener_state where;
};

using listener_pinned = caf::stateful_actor<listener_actor_state, pinned_actor>;

/// `links` listens on `where` already. However the actor ends, listening ends with it.
caf::behavior listener_actor(listener_pinned* self, std::shared_ptr<transport::link_service> links,
                             listener_state where);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::get_listener_state)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::listener_state)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::close_listener)
