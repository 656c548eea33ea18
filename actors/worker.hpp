// The worker actor: holds the lease on a ucp_worker and answers for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/behavior.hpp>
#include <caf/stateful_actor.hpp>

#include <troupe/actors/pinned.hpp>
#include <troupe/actors/slot.hpp>
#include <troupe/actors/worker_slot.hpp>

namespace troupe {

/// Asks for worker_state.
struct get_worker_state {};

/// A snapshot of a worker.
struct worker_state {
  std::string transport; ///< "shm" or "tcp"
  std::uint64_t received = 0;
  std::uint64_t foreign_frames = 0; ///< frames that carried no lane's key
  std::uint64_t outstanding = 0;    ///< operations at UCX
};

struct worker_actor_state {
  static inline const char* name = "troupe.worker";
  lease<worker_slot> slot;
};

/// Given to the actor as it is spawned; a message or functor argument must be copyable, a lease is not.
using worker_lease = std::shared_ptr<lease<worker_slot>>;

using worker_pinned = caf::stateful_actor<worker_actor_state, pinned_actor>;

/// The worker stays open as long as this actor, or lanes on it, live. Takes get_worker_state. Quits on exit messages; the
/// loop then closes the worker in order. Spawn it on the loop of the slot.
caf::behavior worker_actor(worker_pinned* self, worker_lease slot);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::get_worker_state)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_state)
