// bulk over Troupe: payloads of 1 MiB one way between two pinned actors.

#include <future>
#include <memory>

#include <troupe/actors/payload_inspect.hpp>
#include <troupe/transport/payload.hpp>

#include "bench/troupe_stream.hpp"

namespace troupe::bench {

namespace {

constexpr std::uint64_t burst = 4;

caf::behavior receiver(pinned_actor* self) {
  auto watch = std::make_shared<stopwatch>();
  const auto content = bulk_content();
  const auto expected_sum = sum_of_words(content.data(), content.size());
  return {
      [watch](begin_atom, double warm_up, double seconds) { watch->begin(warm_up, seconds); },
      [self, watch, expected_sum](const payload& arrived) {
        if (arrived.size() != bulk_size ||
            (watch->arrivals() % checked_every == 0 && sum_of_words(arrived.data(), arrived.size()) != expected_sum))
          watch->wrong();
        if (watch->arrived(1))
          self->send(caf::actor_cast<caf::actor>(self->current_sender()), watch->result());
      },
  };
}

caf::behavior sender(pinned_actor* self, std::shared_ptr<stream> state, troupe_options options) {
  self->send(state->server, begin_atom_v, options.warm_up, options.seconds);
  // One block, sent again and again: copies of a payload share it.
  const auto content = bulk_content();
  return run_sender(self, std::move(state), burst,
                    [shared = payload::copy_of(content.data(), content.size())](
                        pinned_actor* from, const caf::actor& to, std::uint64_t) { from->send(to, shared); });
}

caf::actor serve(node& here) { return here.spawn_pinned(receiver); }

nlohmann::json drive(node& here, const caf::actor& server, const troupe_options& options) {
  auto state = std::make_shared<stream>();
  state->server = server;
  auto result = state->done.get_future();
  here.spawn_pinned(sender, std::move(state), options);
  const auto found = result.get();
  // ucx_perftest's MB are 2^20 bytes, and so are ours.
  return {{"throughput", static_cast<double>(found.messages * bulk_size) / (1 << 20) / found.seconds},
          {"wrong", found.wrong}};
}

} // namespace

const troupe_case troupe_bulk{"bulk", serve, drive};

} // namespace troupe::bench
