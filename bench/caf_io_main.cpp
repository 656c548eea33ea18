// The peers of the comparison with CAF's own io module (BASP over loopback TCP).

#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include <unistd.h>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>

#include <CLI/CLI.hpp>

#include "bench/caf_io_peer.hpp"
#include "bench/result.hpp"
#include "bench/workload.hpp"

using namespace troupe::bench;

namespace {

class configuration : public caf::actor_system_config {
public:
  configuration(const std::string& policy, int middleman_workers) {
    load<caf::io::middleman>();
    add_message_type<sample>("troupe::bench::sample");
    add_message_type<tally>("troupe::bench::tally");
    set("scheduler.policy", policy == "sharing" ? caf::atom("sharing") : caf::atom("stealing"));
    if (middleman_workers >= 0)
      set("middleman.workers", static_cast<std::size_t>(middleman_workers));
  }
};

int fail(const std::string& text) {
  std::cerr << "bench_caf_io: " << text << '\n';
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  const std::array cases{caf_io_rtt, caf_io_rate, caf_io_bulk, caf_io_down};
  std::string name;
  std::string role;
  std::string policy = "stealing";
  int middleman_workers = -1;
  std::uint16_t port = 0;
  caf_io_options options;

  CLI::App app{"One peer of a benchmark over CAF's io module"};
  app.add_option("case", name, "rtt, rate, bulk or down")->required();
  app.add_option("role", role, "serve or drive")->required()->check(CLI::IsMember({"serve", "drive"}));
  app.add_option("--port", port, "drive: where the server listens");
  app.add_option("--policy", policy, "scheduler.policy")->check(CLI::IsMember({"stealing", "sharing"}));
  app.add_option("--middleman-workers", middleman_workers, "middleman.workers; -1: CAF's default");
  app.add_option("--warm-up", options.warm_up, "seconds that do not count");
  app.add_option("--seconds", options.seconds, "seconds that count");
  app.add_option("--window", options.window, "messages under way at most; 0: no bound");
  CLI11_PARSE(app, argc, argv);

  const caf_io_case* chosen = nullptr;
  for (const auto& candidate : cases)
    if (name == candidate.name)
      chosen = &candidate;
  if (chosen == nullptr)
    return fail("there is no case '" + name + "'");

  configuration config{policy, middleman_workers};
  caf::actor_system system{config};
  if (role == "serve") {
    auto bound = system.middleman().publish(chosen->serve(system), 0, "127.0.0.1");
    if (!bound)
      return fail("cannot publish: " + system.render(bound.error()));
    print_result({{"port", *bound}});
    for (;;)
      pause(); // until the driver kills this process
  }
  auto server = system.middleman().remote_actor("127.0.0.1", port);
  if (!server)
    return fail("cannot connect: " + system.render(server.error()));
  print_result(chosen->drive(system, *server, options));
  // Unsent messages may be left in the middleman's buffers: nothing of them is of interest any more.
  std::_Exit(0);
}
