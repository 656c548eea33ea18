#include <troupe/actors/worker.hpp>

namespace troupe {

caf::behavior worker_actor(worker_pinned* self, worker_lease slot) {
  self->state.slot = std::move(*slot);
  return {
    [self](get_worker_state) {
      worker_state x;
      if (auto* slot = self->state.slot.get()) {
        x.transport = to_string(slot->transport());
        x.received = slot->worker().counters().received;
        x.foreign_frames = slot->foreign_frames();
        x.outstanding = slot->worker().outstanding();
      }
      return x;
    },
  };
}

} // namespace troupe
