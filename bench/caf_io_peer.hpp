#pragma once

#include <cstddef>
#include <string>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <nlohmann/json.hpp>

namespace troupe::bench {

/// What the driver asks of a peer.
struct caf_io_options {
  double warm_up = 0.3;   ///< seconds that do not count
  double seconds = 1;     ///< seconds that do
  std::size_t window = 0; ///< messages under way at most; 0: no bound
};

/// One case: the actor the server publishes, and the client's part, which returns the result line.
struct caf_io_case {
  const char* name;
  caf::actor (*serve)(caf::actor_system&);
  nlohmann::json (*drive)(caf::actor_system&, const caf::actor& server, const caf_io_options&);
};

extern const caf_io_case caf_io_rtt;
extern const caf_io_case caf_io_rate;
extern const caf_io_case caf_io_bulk;
extern const caf_io_case caf_io_down;

} // namespace troupe::bench
