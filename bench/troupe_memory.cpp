// memory over Troupe: a sender at full rate and a receiver that handles 100 messages of 1 KiB a second. The driver
// watches the memory of both processes; only credit keeps it from growing.

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <caf/event_based_actor.hpp>
#include <caf/spawn_options.hpp>

#include "bench/result.hpp"
#include "bench/troupe_stream.hpp"

namespace troupe::bench {

namespace {

constexpr std::uint64_t burst = 64;
constexpr std::size_t message_size = 1024;
constexpr auto time_per_message = std::chrono::milliseconds{10};

// Detached, because it blocks: what takes a thread's time must not take the loop's or the scheduler's.
caf::behavior slow_receiver(caf::event_based_actor*) {
  return {[](const std::string&) { std::this_thread::sleep_for(time_per_message); }};
}

caf::behavior sender(pinned_actor* self, std::shared_ptr<stream> state) {
  return run_sender(self, std::move(state), burst, [](pinned_actor* from, const caf::actor& to, std::uint64_t) {
    from->send(to, std::string(message_size, 'm'));
  });
}

caf::actor serve(node& here) { return here.system().spawn<caf::detached>(slow_receiver); }

nlohmann::json drive(node& here, const caf::actor& server, const troupe_options& options) {
  auto state = std::make_shared<stream>();
  state->server = server;
  auto result = state->done.get_future();
  const auto running = here.spawn_pinned(sender, state);
  print_result({{"sending", true}});
  if (result.wait_for(std::chrono::duration<double>(options.seconds)) == std::future_status::timeout)
    caf::anon_send(running, tally{}); // nobody measures here: this only ends it
  result.get();
  return {{"posted", state->posted}, {"refused", state->refused}};
}

} // namespace

const troupe_case troupe_memory{"memory", serve, drive};

} // namespace troupe::bench
