// rtt over Troupe: one request of 64 B at a time between two pinned actors.

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include <troupe/actors/pinned.hpp>

#include "bench/result.hpp"
#include "bench/troupe_peer.hpp"
#include "bench/workload.hpp"

namespace troupe::bench {

namespace {

using round_trips = std::vector<double>; // microseconds

caf::behavior echo(pinned_actor*) {
  return {[](const sample& request) { return request; }};
}

struct client {
  caf::actor server;
  troupe_options options;
  std::promise<round_trips> done;
  round_trips values;
  sample next;
  clock::time_point begun;
};

void ask(pinned_actor* self, const std::shared_ptr<client>& state) {
  const auto sent = clock::now();
  ++state->next.sequence;
  self->request(state->server, caf::infinite, state->next).then([self, state, sent](const sample&) {
    const auto now = clock::now();
    const double since = std::chrono::duration<double>(now - state->begun).count();
    if (since >= state->options.warm_up)
      state->values.push_back(std::chrono::duration<double, std::micro>(now - sent).count());
    if (since < state->options.warm_up + state->options.seconds)
      return ask(self, state);
    state->done.set_value(std::move(state->values));
    self->quit();
  });
}

caf::behavior run_client(pinned_actor* self, const std::shared_ptr<client>& state) {
  state->begun = clock::now();
  ask(self, state);
  return {[](caf::unit_t) {}};
}

caf::actor serve(node& here) { return here.spawn_pinned(echo); }

nlohmann::json drive(node& here, const caf::actor& server, const troupe_options& options) {
  auto state = std::make_shared<client>();
  state->server = server;
  state->options = options;
  state->values.reserve(4'000'000); // growing would show as a latency
  auto values = state->done.get_future();
  here.spawn_pinned(run_client, std::move(state));
  return percentiles(values.get());
}

} // namespace

const troupe_case troupe_rtt{"rtt", serve, drive};

} // namespace troupe::bench
