// rate over Troupe: 64 B messages one way between two pinned actors, counted by the receiver.

#include <future>
#include <memory>

#include "bench/troupe_stream.hpp"

namespace troupe::bench {

namespace {

// Small against the window of a target, so that few messages come back when it is used up.
constexpr std::uint64_t burst = 64;

caf::behavior receiver(pinned_actor* self) {
  auto watch = std::make_shared<stopwatch>();
  return {
      [watch](begin_atom, double warm_up, double seconds) { watch->begin(warm_up, seconds); },
      [self, watch](const sample& message) {
        if (message.sequence != watch->arrivals())
          watch->wrong();
        if (watch->arrived(64))
          self->send(caf::actor_cast<caf::actor>(self->current_sender()), watch->result());
      },
  };
}

caf::behavior sender(pinned_actor* self, std::shared_ptr<stream> state, troupe_options options) {
  self->send(state->server, begin_atom_v, options.warm_up, options.seconds);
  return run_sender(self, std::move(state), burst,
                    [](pinned_actor* from, const caf::actor& to, std::uint64_t sequence) {
                      from->send(to, sample{sequence, {}});
                    });
}

caf::actor serve(node& here) { return here.spawn_pinned(receiver); }

nlohmann::json drive(node& here, const caf::actor& server, const troupe_options& options) {
  auto state = std::make_shared<stream>();
  state->server = server;
  auto result = state->done.get_future();
  here.spawn_pinned(sender, std::move(state), options);
  const auto found = result.get();
  return {{"throughput", static_cast<double>(found.messages) / found.seconds}, {"wrong", found.wrong}};
}

} // namespace

const troupe_case troupe_rate{"rate", serve, drive};

} // namespace troupe::bench
