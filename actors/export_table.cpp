#include <troupe/actors/export_table.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <caf/actor_cast.hpp>

namespace troupe {

void export_table::add(const caf::strong_actor_ptr& x) {
  std::vector<caf::strong_actor_ptr> alive; // dropped without the lock: an actor's end may run code
  std::lock_guard guard{mutex_};
  actors_.insert_or_assign(x->id(), caf::actor_cast<caf::weak_actor_ptr>(x));
  if (actors_.size() < sweep_at_)
    return;
  std::erase_if(actors_, [&](auto& entry) {
    auto actor = entry.second.lock();
    if (!actor)
      return true;
    alive.push_back(std::move(actor)); // it may be the last reference by now
    return false;
  });
  sweep_at_ = std::max(first_sweep, 2 * actors_.size());
}

void export_table::remove(caf::actor_id id) {
  std::lock_guard guard{mutex_};
  actors_.erase(id);
}

caf::strong_actor_ptr export_table::find(caf::actor_id id) const {
  std::lock_guard guard{mutex_};
  auto it = actors_.find(id);
  return it == actors_.end() ? nullptr : it->second.lock();
}

} // namespace troupe
