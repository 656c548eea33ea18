// rate over CAF's io module: 64 B messages one way, counted by the receiver.

#include <future>
#include <memory>

#include <caf/event_based_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/stateful_actor.hpp>

#include "bench/caf_io_stream.hpp"

namespace troupe::bench {

namespace {

struct receiver_state {
  stopwatch watch;
  std::uint64_t acknowledge_every = 0; // 0: never
};

caf::behavior receiver(caf::stateful_actor<receiver_state>* self) {
  return {
      [self](begin_atom, double warm_up, double seconds, std::uint64_t window) {
        self->state.watch.begin(warm_up, seconds);
        self->state.acknowledge_every = window / 4;
      },
      [self](const sample& message) {
        auto& [watch, acknowledge_every] = self->state;
        if (message.sequence != watch.arrivals())
          watch.wrong();
        const auto sender = caf::actor_cast<caf::actor>(self->current_sender());
        if (watch.arrived(64))
          self->send(sender, watch.result());
        if (acknowledge_every != 0 && watch.arrivals() % acknowledge_every == 0)
          self->send(sender, ack_atom_v, watch.arrivals());
      },
  };
}

caf::actor serve(caf::actor_system& system) { return system.spawn(receiver); }

nlohmann::json drive(caf::actor_system& system, const caf::actor& server, const caf_io_options& options) {
  auto done = std::make_shared<std::promise<tally>>();
  auto result = done->get_future();
  auto make = [](std::uint64_t sequence) { return caf::make_message(sample{sequence, {}}); };
  system.spawn(run_sender, server, options, make, done);
  const auto found = result.get();
  return {{"throughput", static_cast<double>(found.messages) / found.seconds}, {"wrong", found.wrong}};
}

} // namespace

const caf_io_case caf_io_rate{"rate", serve, drive};

} // namespace troupe::bench
