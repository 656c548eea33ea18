#include <troupe/actors/peer_table.hpp>

#include <caf/exit_reason.hpp>
#include <caf/make_actor.hpp>

#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/remote_ref.hpp>
#include <troupe/actors/session_slot.hpp>

namespace troupe {

void peer_table::add(const std::shared_ptr<outbox>& box) {
  std::lock_guard guard{mutex_};
  sessions_[box->peer()] = box;
}

void peer_table::remove(const std::shared_ptr<outbox>& box) {
  std::lock_guard guard{mutex_};
  if (auto it = sessions_.find(box->peer()); it != sessions_.end() && it->second == box)
    sessions_.erase(it);
}

std::shared_ptr<outbox> peer_table::find(const caf::node_id& node) const {
  std::lock_guard guard{mutex_};
  auto it = sessions_.find(node);
  return it == sessions_.end() ? nullptr : it->second;
}

caf::strong_actor_ptr peer_table::make_proxy(caf::node_id node, caf::actor_id id) {
  auto box = find(node);
  caf::actor_config config;
  auto ref = caf::make_actor<remote_ref, caf::strong_actor_ptr>(id, node, &system_, config, box);
  if (!box || box->closed()) {
    static_cast<remote_ref*>(ref->get())->kill_proxy(nullptr, caf::exit_reason::remote_link_unreachable);
    return ref;
  }
  box->loop().post([box, id] {
    if (auto* slot = box->slot())
      slot->monitor_remote(id);
  });
  return ref;
}

caf::strong_actor_ptr make_node_reference(caf::actor_system& system, const std::shared_ptr<outbox>& box) {
  caf::actor_config config;
  return caf::make_actor<remote_ref, caf::strong_actor_ptr>(0, box->peer(), &system, config, box);
}

} // namespace troupe
