// Which session leads to which node: what turns the name of a remote actor into a reference.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include <caf/node_id.hpp>
#include <caf/proxy_registry.hpp>

#include <troupe/actors/outbox.hpp>

namespace troupe {

/// The live sessions of a node by CAF node id. All members @threadsafe.
class peer_table final : public caf::proxy_registry::backend {
public:
  explicit peer_table(caf::actor_system& system) noexcept : system_(system) {}

  void add(const std::shared_ptr<outbox>& box);
  /// Takes `box` out, unless a newer session with the same node took its place.
  void remove(const std::shared_ptr<outbox>& box);
  [[nodiscard]] std::shared_ptr<outbox> find(const caf::node_id& node) const;

  // -- what CAF's registry calls, with its mutex held ---------------------------

  /// A reference to actor `id` of `node`: alive when there is a session with it, otherwise one that answers every
  /// request with errc::unreachable.
  caf::strong_actor_ptr make_proxy(caf::node_id node, caf::actor_id id) override;
  void set_last_hop(caf::node_id*) override {}

private:
  caf::actor_system& system_;
  mutable std::mutex mutex_;
  std::unordered_map<caf::node_id, std::shared_ptr<outbox>> sessions_;
};

/// A reference to the node itself (actor 0) of the session behind `box`, for lookups.
[[nodiscard]] caf::strong_actor_ptr make_node_reference(caf::actor_system& system, const std::shared_ptr<outbox>& box);

} // namespace troupe
