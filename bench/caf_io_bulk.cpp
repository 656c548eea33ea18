// bulk over CAF's io module: payloads of 1 MiB one way, a bounded number of them under way.

#include <future>
#include <memory>
#include <string>

#include <caf/event_based_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/stateful_actor.hpp>

#include "bench/caf_io_stream.hpp"

namespace troupe::bench {

namespace {

struct receiver_state {
  stopwatch watch;
  std::uint64_t acknowledge_every = 0;
  std::uint64_t expected_sum = 0;
};

caf::behavior receiver(caf::stateful_actor<receiver_state>* self) {
  const auto content = bulk_content();
  self->state.expected_sum = sum_of_words(content.data(), content.size());
  return {
      [self](begin_atom, double warm_up, double seconds, std::uint64_t window) {
        self->state.watch.begin(warm_up, seconds);
        self->state.acknowledge_every = window > 1 ? window / 2 : window;
      },
      // std::string is what CAF moves fastest: it is saved and loaded in one piece.
      [self](const std::string& payload) {
        auto& [watch, acknowledge_every, expected_sum] = self->state;
        if (payload.size() != bulk_size ||
            (watch.arrivals() % checked_every == 0 && sum_of_words(payload.data(), payload.size()) != expected_sum))
          watch.wrong();
        const auto sender = caf::actor_cast<caf::actor>(self->current_sender());
        if (watch.arrived(1))
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
  // One message, sent again and again: CAF shares its content.
  const auto message = caf::make_message(bulk_content());
  auto make = [message](std::uint64_t) { return message; };
  system.spawn(run_sender, server, options, make, done);
  const auto found = result.get();
  // ucx_perftest's MB are 2^20 bytes, and so are ours.
  return {{"throughput", static_cast<double>(found.messages * bulk_size) / (1 << 20) / found.seconds},
          {"wrong", found.wrong}};
}

} // namespace

const caf_io_case caf_io_bulk{"bulk", serve, drive};

} // namespace troupe::bench
