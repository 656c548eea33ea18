// down over CAF's io module: from SIGKILL of the peer's process to the down_msg of its monitored actor.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <memory>

#include <sys/types.h>
#include <unistd.h>

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include "bench/caf_io_peer.hpp"
#include "bench/workload.hpp"

namespace troupe::bench {

namespace {

caf::behavior victim(caf::event_based_actor*) {
  return {[](process_atom) { return static_cast<std::int32_t>(getpid()); }};
}

struct watcher_state {
  clock::time_point killed;
};

caf::behavior watcher(caf::stateful_actor<watcher_state>* self, const caf::actor& server,
                      std::shared_ptr<std::promise<double>> done) {
  self->monitor(server);
  self->set_down_handler([self, done](const caf::down_msg&) {
    done->set_value(std::chrono::duration<double, std::milli>(clock::now() - self->state.killed).count());
    self->quit();
  });
  self->request(server, caf::infinite, process_atom_v).then([self](std::int32_t process) {
    self->state.killed = clock::now();
    kill(static_cast<pid_t>(process), SIGKILL);
  });
  return {[](caf::unit_t) {}};
}

caf::actor serve(caf::actor_system& system) { return system.spawn(victim); }

nlohmann::json drive(caf::actor_system& system, const caf::actor& server, const caf_io_options&) {
  auto done = std::make_shared<std::promise<double>>();
  auto milliseconds = done->get_future();
  system.spawn(watcher, server, done);
  return {{"ms", milliseconds.get()}};
}

} // namespace

const caf_io_case caf_io_down{"down", serve, drive};

} // namespace troupe::bench
