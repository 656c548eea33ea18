#pragma once

#include <optional>
#include <string>

#include "bench/driver/outcome.hpp"
#include "bench/driver/pair.hpp"

namespace troupe::bench {

/// One line of figures of ucx_perftest.
struct perftest_figures {
  double latency = 0;   ///< us, half a round trip, at the percentile asked for
  double bandwidth = 0; ///< overall, in 2^20 bytes a second
  double rate = 0;      ///< overall, messages a second
};

/// Reads what `ucx_perftest -f -v` prints: a header of column names and a line of numbers. Without the header the
/// columns' usual order is assumed. None if there is no line of numbers.
std::optional<perftest_figures> parse_perftest(const std::string& output);

/// A run of ucx_perftest's UCP active messages between two processes.
struct perftest_run {
  std::string test;      ///< ucp_am_lat or ucp_am_bw
  std::string transport; ///< shm or tcp
  std::size_t size = 0;  ///< bytes
  long iterations = 0;
  double rank = 50;  ///< the percentile of the latency
  double limit = 30; ///< seconds for the whole run
};

/// {"latency", "bandwidth", "rate"} of one run.
outcome run_perftest(const perftest_run& run, const cpu_pair& cpus);

} // namespace troupe::bench
