// down over Troupe: from SIGKILL of the peer's process to the down_msg of its monitored actor.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <memory>

#include <sys/types.h>
#include <unistd.h>

#include <troupe/actors/error.hpp>
#include <troupe/actors/pinned.hpp>

#include "bench/troupe_peer.hpp"
#include "bench/workload.hpp"

namespace troupe::bench {

namespace {

struct watch {
  std::promise<double> done;
  clock::time_point killed;
};

caf::behavior victim(pinned_actor*) {
  return {[](process_atom) { return static_cast<std::int32_t>(getpid()); }};
}

caf::behavior watcher(pinned_actor* self, const caf::actor& server, const std::shared_ptr<watch>& state) {
  self->monitor(server);
  self->set_down_handler([self, state](const caf::down_msg&) {
    state->done.set_value(std::chrono::duration<double, std::milli>(clock::now() - state->killed).count());
    self->quit();
  });
  self->request(server, caf::infinite, process_atom_v).then([state](std::int32_t process) {
    state->killed = clock::now();
    kill(static_cast<pid_t>(process), SIGKILL);
  });
  return {[](caf::unit_t) {}};
}

caf::actor serve(node& here) { return here.spawn_pinned(victim); }

nlohmann::json drive(node& here, const caf::actor& server, const troupe_options&) {
  auto state = std::make_shared<watch>();
  auto milliseconds = state->done.get_future();
  here.spawn_pinned(watcher, server, std::move(state));
  return {{"ms", milliseconds.get()}};
}

} // namespace

const troupe_case troupe_down{"down", serve, drive};

} // namespace troupe::bench
