// The actors of this node that other nodes may know, so that a peer's handle works for that peer's peers, too.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include <caf/actor_control_block.hpp>

namespace troupe {

/// One for each node, shared by its sessions. Keeps no actor alive: that is what a session does for what it exported.
/// All functions are @threadsafe.
class export_table {
public:
  void add(const caf::strong_actor_ptr& x);
  void remove(caf::actor_id id);
  /// Null: never exported, or gone.
  [[nodiscard]] caf::strong_actor_ptr find(caf::actor_id id) const;

private:
  /// Entries of actors that are gone are swept out when the table has grown to this, then at twice what was left.
  static constexpr std::size_t first_sweep = 1024;

  mutable std::mutex mutex_;
  std::unordered_map<caf::actor_id, caf::weak_actor_ptr> actors_;
  std::size_t sweep_at_ = first_sweep;
};

} // namespace troupe
