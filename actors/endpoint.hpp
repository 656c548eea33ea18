// The endpoint actor: holds the lease on the lanes of one epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/behavior.hpp>
#include <caf/stateful_actor.hpp>

#include <troupe/actors/lanes.hpp>
#include <troupe/actors/pinned.hpp>
#include <troupe/actors/slot.hpp>

namespace troupe {

/// Asks for endpoint_state.
struct get_endpoint_state {};

/// A snapshot of the lanes of one epoch.
struct endpoint_state {
  std::uint32_t epoch = 0;
  std::string transport; ///< "shm" or "tcp"
  std::string ucx_transports; ///< as UCX names them: "posix", "tcp"
  bool open = false;
};

struct endpoint_actor_state {
  static inline const char* name = "troupe.endpoint";
  lease<lanes> slot;
};

using lanes_lease = std::shared_ptr<lease<lanes>>;

using endpoint_pinned = caf::stateful_actor<endpoint_actor_state, pinned_actor>;

/// The lanes stay open as long as this actor lives; data does not pass through its mailbox. Takes get_endpoint_state. Ends
/// with its session (they are linked); the loop then closes the lanes by force and waits until they have settled. Spawn it
/// on the loop of the slot.
caf::behavior endpoint_actor(endpoint_pinned* self, lanes_lease slot, caf::actor session);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::get_endpoint_state)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::endpoint_state)
