#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/driver/child.hpp"
#include "bench/driver/outcome.hpp"

namespace troupe::bench {

/// The two CPUs the peers are pinned to, one each; none where the driver itself may use only one.
struct cpu_pair {
  std::optional<int> server;
  std::optional<int> client;

  static cpu_pair of_this_process();
};

/// How the two processes of one measurement are started.
struct pair_setup {
  std::vector<std::string> server;                          ///< prints {"port": N}, then serves until it is killed
  std::function<std::vector<std::string>(int port)> client; ///< prints one result line
  cpu_pair cpus;
  double limit = 20; ///< seconds for the whole measurement
};

/// Starts server and client, and gives the client's result line. Both processes are gone when it returns.
outcome run_pair(const pair_setup& setup);

/// Reads one line of JSON from `peer`; `role` names it in the reason of a failure.
outcome read_json(child& peer, const std::string& role, deadline until);

} // namespace troupe::bench
