#include "bench/driver/suite.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "bench/driver/perftest.hpp"
#include "bench/driver/process_usage.hpp"
#include "bench/result.hpp"

namespace troupe::bench {

namespace {

constexpr std::array transports{"shm", "tcp"};

// What one run of each case is asked for: 64 B, and 1 MiB for bulk.
constexpr std::size_t small_size = 64;
constexpr std::size_t large_size = std::size_t{1} << 20;

// CAF io has no flow control: unbounded, its sender's backlog keeps even the receiver's answer from being read.
constexpr const char* caf_io_rate_window = "1024";
constexpr const char* caf_io_bulk_window = "8";

const std::vector<caf_io_setting>& caf_io_settings() {
  static const std::vector<caf_io_setting> all{
      {"default settings", {}, false},
      {"sharing, no middleman workers", {"--policy", "sharing", "--middleman-workers", "0"}, false},
      {"the same, one CPU each", {"--policy", "sharing", "--middleman-workers", "0"}, true},
  };
  return all;
}

struct metric {
  const char* name;
  const char* unit;
};

std::vector<metric> metrics_of(const std::string& case_name) {
  if (case_name == "rtt")
    return {{"p50", "us"}, {"p99", "us"}};
  if (case_name == "rate")
    return {{"throughput", "messages/s"}};
  return {{"throughput", "MB/s"}};
}

// ucx_perftest takes a number of iterations, not a time: these take about half a second on a machine of today.
long iterations_per_second(const std::string& case_name, const std::string& transport) {
  const bool shm = transport == "shm";
  if (case_name == "rtt")
    return shm ? 1'000'000 : 30'000;
  if (case_name == "rate")
    return shm ? 2'000'000 : 60'000;
  return 2'000;
}

std::string shown(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(value < 100 ? 2 : 0) << value;
  return out.str();
}

} // namespace

suite::suite(std::string directory, extent how, std::vector<std::string> only)
    : directory_(std::move(directory)), extent_(how), only_(std::move(only)), cpus_(cpu_pair::of_this_process()) {
  if (!cpus_.server)
    std::cout << "Only one CPU may be used here: nothing is pinned, and every figure suffers.\n";
}

bool suite::wanted(const std::string& case_name) const {
  return only_.empty() || std::ranges::find(only_, case_name) != only_.end();
}

void suite::run() {
  for (const char* case_name : {"rtt", "rate", "bulk"})
    if (wanted(case_name))
      compare(case_name);
  if (wanted("down"))
    kill_peers();
  if (wanted("idle"))
    idle();
  if (wanted("memory"))
    for (const char* transport : transports)
      memory(transport);
}

void suite::note(const std::string& what, const outcome& found) {
  std::cout << "  " << std::left << std::setw(44) << what << (found ? found.value.dump() : "FAILED: " + found.why)
            << std::endl;
  if (!found)
    report_.failed(what + ": " + found.why);
}

// -- the contestants ----------------------------------------------------------

std::vector<std::string> suite::troupe_server(const std::string& case_name, const std::string& transport) const {
  return {directory_ + "/bench_troupe",
          case_name,
          "serve",
          "--listen",
          "127.0.0.1:0",
          "--transport",
          transport,
          "--name",
          "server"};
}

std::vector<std::string> suite::troupe_client(const std::string& case_name, const std::string& transport, int port,
                                              double seconds) const {
  return {directory_ + "/bench_troupe",
          case_name,
          "drive",
          "--connect",
          "127.0.0.1:" + std::to_string(port),
          "--transport",
          transport,
          "--name",
          "client",
          "--warm-up",
          std::to_string(extent_.warm_up),
          "--seconds",
          std::to_string(seconds)};
}

outcome suite::troupe(const std::string& case_name, const std::string& transport) {
  return run_pair({troupe_server(case_name, transport),
                   [&](int port) { return troupe_client(case_name, transport, port, extent_.seconds); }, cpus_,
                   extent_.warm_up + extent_.seconds + 15});
}

outcome suite::caf_io(const std::string& case_name, const caf_io_setting& setting) {
  auto command = [&](const char* role) {
    std::vector<std::string> words{directory_ + "/bench_caf_io", case_name, role};
    words.insert(words.end(), setting.flags.begin(), setting.flags.end());
    return words;
  };
  auto client = [&](int port) {
    auto words = command("drive");
    const char* window = case_name == "rate" ? caf_io_rate_window : case_name == "bulk" ? caf_io_bulk_window : "0";
    for (const auto& word :
         {std::string{"--port"}, std::to_string(port), std::string{"--warm-up"}, std::to_string(extent_.warm_up),
          std::string{"--seconds"}, std::to_string(extent_.seconds), std::string{"--window"}, std::string{window}})
      words.push_back(word);
    return words;
  };
  return run_pair(
      {command("serve"), client, setting.one_cpu_each ? cpus_ : cpu_pair{}, extent_.warm_up + extent_.seconds + 15});
}

void suite::raw(const std::string& case_name, const std::string& transport) {
  perftest_run run;
  run.test = case_name == "rtt" ? "ucp_am_lat" : "ucp_am_bw";
  run.transport = transport;
  run.size = case_name == "bulk" ? large_size : small_size;
  run.iterations =
      static_cast<long>(static_cast<double>(iterations_per_second(case_name, transport)) * extent_.seconds);
  run.limit = extent_.seconds + 15;
  for (const auto& [name, unit] : metrics_of(case_name)) {
    run.rank = std::string{name} == "p99" ? 99 : 50;
    const auto found = run_perftest(run, cpus_);
    note("raw UCX " + case_name + " " + transport + " " + name, found);
    if (!found)
      continue;
    auto& values = report_.at(case_name, transport, name, unit).raw_ucx;
    if (case_name == "rtt")
      values.add(2 * found.number("latency"));
    else
      values.add(found.number(case_name == "rate" ? "rate" : "bandwidth"));
  }
}

// -- the cases ----------------------------------------------------------------

void suite::compare(const std::string& case_name) {
  std::cout << case_name << '\n';
  const auto metrics = metrics_of(case_name);
  std::map<std::string, std::map<std::string, series>> caf_io_runs; // metric, setting
  for (const char* transport : transports)
    for (const auto& [name, unit] : metrics)
      report_.at(case_name, transport, name, unit);
  for (int round = 0; round < extent_.rounds; ++round) {
    for (const char* transport : transports) {
      const auto found = troupe(case_name, transport);
      note("troupe " + case_name + " " + transport, found);
      if (found)
        for (const auto& [name, unit] : metrics)
          report_.at(case_name, transport, name, unit).troupe.add(found.number(name));
      raw(case_name, transport);
    }
    for (const auto& setting : caf_io_settings()) {
      const auto found = caf_io(case_name, setting);
      note("CAF io " + case_name + ", " + setting.label, found);
      if (found)
        for (const auto& [name, unit] : metrics)
          caf_io_runs[name][setting.label].add(found.number(name));
    }
  }
  for (const auto& [name, unit] : metrics) {
    auto& first = report_.at(case_name, transports.front(), name, unit);
    std::optional<double> best;
    for (const auto& [label, runs] : caf_io_runs[name]) {
      const auto value = runs.median();
      if (value && (!best || (first.lower_is_better() ? *value < *best : *value > *best)))
        best = value;
    }
    if (best)
      for (const char* transport : transports)
        report_.at(case_name, transport, name, unit).caf_io.add(*best);
  }
}

void suite::kill_peers() {
  std::cout << "down\n";
  std::map<std::string, std::vector<double>> milliseconds;
  for (int round = 0; round < extent_.down_rounds; ++round) {
    for (const char* transport : transports)
      if (const auto found = troupe("down", transport); found)
        milliseconds[transport].push_back(found.number("ms"));
      else
        note(std::string{"troupe down "} + transport, found);
    if (const auto found = caf_io("down", caf_io_settings()[1]); found)
      milliseconds["caf io"].push_back(found.number("ms"));
    else
      note("CAF io down", found);
  }
  for (const char* transport : transports) {
    for (const auto& [name, rank] : {std::pair{"p50", 50.0}, std::pair{"p99", 99.0}}) {
      auto& line = report_.at("down", transport, name, "ms");
      if (!milliseconds[transport].empty())
        line.troupe.add(percentile(milliseconds[transport], rank));
      if (!milliseconds["caf io"].empty())
        line.caf_io.add(percentile(milliseconds["caf io"], rank));
    }
    std::cout << "  troupe " << transport << ": " << milliseconds[transport].size() << " processes killed\n";
  }
}

void suite::idle() {
  std::cout << "idle\n";
  static constexpr int peers = 3;
  const auto until = in(30 + extent_.idle_seconds);
  child server{{troupe_server("idle", "auto"), {}, {}}};
  auto found = read_json(server, "server", until);
  std::vector<std::unique_ptr<child>> clients;
  for (int peer = 0; found && peer < peers; ++peer) {
    auto command = troupe_client("idle", "auto", static_cast<int>(found.number("port")), 0);
    *(std::ranges::find(command, "client")) += std::to_string(peer);
    clients.push_back(std::make_unique<child>(child::setup{std::move(command), {}, {}}));
    if (const auto connected = read_json(*clients.back(), "client", until); !connected)
      found = connected;
  }
  if (!found)
    return note("troupe idle", found);
  wait(2);
  const double before = cpu_seconds(server.process());
  wait(extent_.idle_seconds);
  const double share = 100 * (cpu_seconds(server.process()) - before) / extent_.idle_seconds;
  std::cout << "  a node with " << peers << " connected peers: " << shown(share) << " % of a core over "
            << extent_.idle_seconds << " s" << std::endl;
  report_.add({"idle node, 3 peers: % of a core", share, 1, true});
}

void suite::memory(const std::string& transport) {
  std::cout << "memory " << transport << '\n';
  // Growth that a window does not explain shows after the first quarter; allocators and caches settle before.
  static constexpr double most_growth = 4;
  const auto until = in(30 + extent_.memory_seconds);
  child server{{troupe_server("memory", transport), {}, {}}};
  const auto ready = read_json(server, "server", until);
  if (!ready)
    return note("troupe memory " + transport, ready);
  child client{
      {troupe_client("memory", transport, static_cast<int>(ready.number("port")), extent_.memory_seconds), {}, {}}};
  const auto connected = read_json(client, "client", until);
  if (!connected)
    return note("troupe memory " + transport, connected);

  static constexpr double step = 0.25;
  memory_use sender, receiver;
  const int samples = static_cast<int>(extent_.memory_seconds / step);
  for (int sample = 0; sample < samples; ++sample) {
    const bool early = sample < samples / 4;
    sender.add(resident_mib(client.process()), early);
    receiver.add(resident_mib(server.process()), early);
    wait(step);
  }
  const auto sent = read_json(client, "client", until);
  if (!sent)
    return note("troupe memory " + transport, sent);
  for (const auto& [who, use] : {std::pair{"sender", &sender}, std::pair{"receiver", &receiver}}) {
    std::cout << "  " << std::left << std::setw(9) << who << "RSS " << shown(use->first) << " MiB at first, "
              << shown(use->early_peak) << " at most in the first quarter, " << shown(use->late_peak)
              << " at most later" << std::endl;
    report_.add(
        {std::string{"memory "} + transport + ", " + who + ": MiB grown later", use->growth(), most_growth, true});
  }
  std::cout << "  " << sent.value.dump() << std::endl;
}

} // namespace troupe::bench
