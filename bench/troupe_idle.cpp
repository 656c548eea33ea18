// idle over Troupe: peers that are connected and say nothing, until the driver kills them.

#include <caf/event_based_actor.hpp>

#include "bench/result.hpp"
#include "bench/troupe_peer.hpp"

namespace troupe::bench {

namespace {

caf::behavior silent(caf::event_based_actor*) {
  return {[](caf::unit_t) {}};
}

caf::actor serve(node& here) { return here.spawn(silent); }

nlohmann::json drive(node& here, const caf::actor&, const troupe_options&) {
  print_result({{"connected", true}});
  here.run();
  return nlohmann::json::object();
}

} // namespace

const troupe_case troupe_idle{"idle", serve, drive};

} // namespace troupe::bench
