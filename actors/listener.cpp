#include <troupe/actors/listener.hpp>

#include <caf/unit.hpp>

namespace troupe {

listener_actor_state::~listener_actor_state() {
  if (links)
    links->stop_listening();
}

caf::behavior listener_actor(listener_pinned* self, std::shared_ptr<transport::link_service> links,
                             listener_state where) {
  self->state.links = std::move(links);
  self->state.where = std::move(where);
  return {
    [self](get_listener_state) { return self->state.where; },
    [self](close_listener) {
      self->state.links->stop_listening();
      self->state.links = nullptr;
      self->quit();
      return caf::unit;
    },
  };
}

} // namespace troupe
