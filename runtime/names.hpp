// The names of a node: what it publishes, and the actor that answers other nodes' lookups.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <caf/actor.hpp>
#include <caf/atom.hpp>
#include <caf/behavior.hpp>
#include <caf/error.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/expected.hpp>

namespace troupe {

/// First element of a lookup: (lookup_atom, name) to actor 0 of a node gives the actor, or errc::not_found.
using lookup_atom = caf::atom_constant<caf::atom("tr_lookup")>;

/// Names of a node. A name leads to at most one actor, and stays when that actor dies: a lookup then finds a handle that
/// answers with its death. All members @threadsafe.
class name_table {
public:
  /// Bytes of one name.
  static constexpr std::size_t max_name_bytes = 255;
  /// Names one node publishes.
  static constexpr std::size_t max_names = 65536;

  /// already_exists; invalid_param for an empty or too long name or a null actor; exceeds_limit.
  caf::error publish(const std::string& name, caf::actor who);
  /// not_found. Handles that others hold stay valid.
  caf::error unpublish(const std::string& name);
  [[nodiscard]] caf::expected<caf::actor> find(const std::string& name) const;
  void clear();

private:
  mutable std::mutex mutex_;
  std::map<std::string, caf::actor> names_;
};

/// Answers lookups of other nodes.
caf::behavior name_service(caf::event_based_actor* self, std::shared_ptr<const name_table> names);

} // namespace troupe
