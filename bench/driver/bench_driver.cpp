// bench_driver: measures Troupe beside raw UCX and CAF's io module, prints a table and writes JSON. Usually started by
// bench/run.sh.

#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/driver/suite.hpp"

int main(int argc, char** argv) {
  using namespace troupe::bench;
  bool quick = false;
  std::string json;
  std::vector<std::string> only;
  CLI::App app{"Measures Troupe beside raw UCX and CAF's io module"};
  app.add_flag("--quick", quick, "under 3 minutes instead of about 15, with shorter and fewer runs");
  app.add_option("--json", json, "the file the figures are written to");
  app.add_option("--only", only, "cases to run: rtt, rate, bulk, down, idle, memory; all if not given")
      ->check(CLI::IsMember({"rtt", "rate", "bulk", "down", "idle", "memory"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  try {
    // Opened before anything is measured: a name that cannot be written is told at once.
    std::ofstream out;
    if (!json.empty()) {
      out.open(json);
      if (!out) {
        std::cerr << "bench_driver: cannot write " << json << ": choose a file in a directory that exists\n";
        return 2;
      }
    }
    const auto begun = std::chrono::steady_clock::now();
    suite all{std::filesystem::read_symlink("/proc/self/exe").parent_path(), quick ? extent::quick() : extent::full(),
              only};
    all.run();
    all.results().print(std::cout);
    if (out.is_open())
      out << all.results().to_json().dump(2) << '\n';
    const auto took = std::chrono::steady_clock::now() - begun;
    std::cout << "took " << std::chrono::duration_cast<std::chrono::seconds>(took).count() << " s\n";
    return all.results().complete() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench_driver: " << error.what() << '\n';
    return 1;
  }
}
