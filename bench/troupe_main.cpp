// The peers of Troupe's benchmarks.

#include <array>
#include <iostream>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/runtime/node.hpp>

#include "bench/result.hpp"
#include "bench/troupe_peer.hpp"
#include "bench/workload.hpp"

using namespace troupe::bench;

namespace {

[[noreturn]] void fail(const std::string& what, const caf::error& why) {
  throw std::runtime_error(what + ": " + troupe::explain(why));
}

void serve(troupe::node& node, const troupe_case& chosen) {
  if (const auto why = node.publish(actor_name, chosen.serve(node)))
    fail("cannot publish", why);
  const auto port = node.listen();
  if (!port)
    fail("cannot listen", port.error());
  print_result({{"port", *port}});
  node.run();
}

void drive(troupe::node& node, const troupe_case& chosen, const troupe_options& options) {
  if (!node.config().connect)
    throw troupe::usage_error("drive needs to know the server: give --connect HOST:PORT");
  const auto peer = node.connect(*node.config().connect);
  if (!peer)
    fail("cannot connect", peer.error());
  // A figure of the wrong transport is worse than none.
  const auto wanted = node.config().transport;
  if (wanted != troupe::transport_choice::automatic && peer->transport != troupe::to_string(wanted))
    throw std::runtime_error("the peer is connected over " + peer->transport + ", not over " +
                             std::string{troupe::to_string(wanted)});
  const auto server = node.lookup(*peer, actor_name);
  if (!server)
    fail("cannot find the server's actor", server.error());
  auto result = chosen.drive(node, *server, options);
  result["transport"] = peer->transport;
  print_result(result);
}

} // namespace

int main(int argc, char** argv) {
  const std::array cases{troupe_rtt, troupe_rate, troupe_bulk, troupe_down, troupe_memory, troupe_idle};
  std::string name;
  std::string role;
  troupe_options options;

  const auto extend = [&](CLI::App& app) {
    app.description("One peer of a benchmark over Troupe");
    app.add_option("case", name, "rtt, rate, bulk, down, memory or idle")->required();
    app.add_option("role", role, "serve or drive")->required()->check(CLI::IsMember({"serve", "drive"}));
    app.add_option("--warm-up", options.warm_up, "seconds that do not count");
    app.add_option("--seconds", options.seconds, "seconds that count");
  };
  const auto body = [&](troupe::node_config config) {
    const troupe_case* chosen = nullptr;
    for (const auto& candidate : cases)
      if (name == candidate.name)
        chosen = &candidate;
    if (chosen == nullptr)
      throw troupe::usage_error("there is no case '" + name + "': choose rtt, rate, bulk, down, memory or idle");
    config.add_trivial_message_type<sample>("troupe::bench::sample").add_message_type<tally>("troupe::bench::tally");
    troupe::node node{std::move(config)};
    if (role == "serve")
      serve(node, *chosen);
    else
      drive(node, *chosen, options);
    return 0;
  };
  return troupe::run_main(argc, argv, body, extend);
}
