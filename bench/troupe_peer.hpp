#pragma once

#include <caf/actor.hpp>
#include <nlohmann/json.hpp>

#include <troupe/runtime/node.hpp>

namespace troupe::bench {

/// What the driver asks of a peer.
struct troupe_options {
  double warm_up = 0.3; ///< seconds that do not count
  double seconds = 1;   ///< seconds that do
};

/// One case: the actor the server publishes, and the client's part, which returns the result line.
struct troupe_case {
  const char* name;
  caf::actor (*serve)(node&);
  nlohmann::json (*drive)(node&, const caf::actor& server, const troupe_options&);
};

extern const troupe_case troupe_rtt;
extern const troupe_case troupe_rate;
extern const troupe_case troupe_bulk;
extern const troupe_case troupe_down;
extern const troupe_case troupe_memory;
extern const troupe_case troupe_idle;

} // namespace troupe::bench
