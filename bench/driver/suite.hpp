#pragma once

#include <string>
#include <vector>

#include "bench/driver/outcome.hpp"
#include "bench/driver/pair.hpp"
#include "bench/driver/report.hpp"

namespace troupe::bench {

/// How long and how often everything is measured.
struct extent {
  int rounds;            ///< alternating rounds of rtt, rate and bulk
  int down_rounds;       ///< processes killed, per transport and contestant
  double warm_up;        ///< seconds of a run that do not count
  double seconds;        ///< seconds of a run that do
  double idle_seconds;   ///< over which the idle node's CPU time is taken
  double memory_seconds; ///< of a sender at full rate and a slow receiver

  static constexpr extent quick() { return {3, 5, 0.2, 0.7, 5, 10}; }
  static constexpr extent full() { return {5, 20, 0.5, 3, 5, 60}; }
};

/// A way to run CAF's io module. The best for a metric is what Troupe is compared with.
struct caf_io_setting {
  std::string label;
  std::vector<std::string> flags;
  bool one_cpu_each;
};

/// Runs the cases, contestant after contestant within each round, and puts the figures into a report.
class suite {
public:
  /// `directory`: where bench_troupe and bench_caf_io are.
  suite(std::string directory, extent how, std::vector<std::string> only);

  /// Runs everything asked for.
  void run();

  const report& results() const { return report_; }

private:
  bool wanted(const std::string& case_name) const;
  void compare(const std::string& case_name);
  void kill_peers();
  void idle();
  void memory(const std::string& transport);

  outcome troupe(const std::string& case_name, const std::string& transport);
  outcome caf_io(const std::string& case_name, const caf_io_setting& setting);
  void raw(const std::string& case_name, const std::string& transport);
  void note(const std::string& what, const outcome& found);
  std::vector<std::string> troupe_server(const std::string& case_name, const std::string& transport) const;
  std::vector<std::string> troupe_client(const std::string& case_name, const std::string& transport, int port,
                                         double seconds) const;

  std::string directory_;
  extent extent_;
  std::vector<std::string> only_;
  cpu_pair cpus_;
  report report_;
};

} // namespace troupe::bench
