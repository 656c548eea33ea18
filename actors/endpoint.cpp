#include <troupe/actors/endpoint.hpp>

namespace troupe {

caf::behavior endpoint_actor(endpoint_pinned* self, lanes_lease slot, caf::actor session) {
  self->state.slot = std::move(*slot);
  self->link_to(session);
  return {
    [self](get_endpoint_state) {
      endpoint_state x;
      if (auto* slot = self->state.slot.get()) {
        x.epoch = slot->epoch();
        x.transport = to_string(slot->transport());
        x.open = slot->open();
        x.ucx_transports = slot->ucx_transports();
      }
      return x;
    },
  };
}

} // namespace troupe
