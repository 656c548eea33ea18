// rtt over CAF's io module: one request of 64 B at a time, answered by an event-based actor.

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include "bench/caf_io_peer.hpp"
#include "bench/result.hpp"
#include "bench/workload.hpp"

namespace troupe::bench {

namespace {

using round_trips = std::vector<double>; // microseconds

caf::behavior echo(caf::event_based_actor*) {
  return {[](const sample& request) { return request; }};
}

struct client_state {
  caf::actor server;
  caf_io_options options;
  std::promise<round_trips> done;
  round_trips values;
  sample next;
  clock::time_point begun;
};

using client = caf::stateful_actor<client_state>;

void ask(client* self) {
  const auto sent = clock::now();
  ++self->state.next.sequence;
  self->request(self->state.server, caf::infinite, self->state.next).then([self, sent](const sample&) {
    auto& state = self->state;
    const auto now = clock::now();
    const double since = std::chrono::duration<double>(now - state.begun).count();
    if (since >= state.options.warm_up)
      state.values.push_back(std::chrono::duration<double, std::micro>(now - sent).count());
    if (since < state.options.warm_up + state.options.seconds)
      return ask(self);
    state.done.set_value(std::move(state.values));
    self->quit();
  });
}

caf::behavior run_client(client* self, const caf::actor& server, const caf_io_options& options,
                         std::shared_ptr<std::promise<round_trips>> done) {
  self->state.server = server;
  self->state.options = options;
  self->state.done = std::move(*done);
  self->state.begun = clock::now();
  ask(self);
  return {[](caf::unit_t) {}};
}

caf::actor serve(caf::actor_system& system) { return system.spawn(echo); }

nlohmann::json drive(caf::actor_system& system, const caf::actor& server, const caf_io_options& options) {
  auto done = std::make_shared<std::promise<round_trips>>();
  auto values = done->get_future();
  system.spawn(run_client, server, options, done);
  return percentiles(values.get());
}

} // namespace

const caf_io_case caf_io_rtt{"rtt", serve, drive};

} // namespace troupe::bench
