#include "bench/driver/report.hpp"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace troupe::bench {

namespace {

std::string text_of(std::optional<double> value) {
  if (!value)
    return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(*value < 10 ? 3 : *value < 1000 ? 1 : 0) << *value;
  return out.str();
}

std::optional<double> ratio(std::optional<double> over, std::optional<double> under) {
  if (!over || !under || *under == 0)
    return std::nullopt;
  return *over / *under;
}

std::string times(std::optional<double> value) {
  if (!value)
    return "-";
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << *value << "x";
  return out.str();
}

} // namespace

std::optional<double> series::median() const {
  if (values_.empty())
    return std::nullopt;
  auto sorted = values_;
  std::ranges::sort(sorted);
  const auto middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

series& row::of(contestant who) {
  switch (who) {
  case contestant::troupe:
    return troupe;
  case contestant::raw_ucx:
    return raw_ucx;
  case contestant::caf_io:
    break;
  }
  return caf_io;
}

row& report::at(const std::string& case_name, const std::string& transport, const std::string& metric,
                const std::string& unit) {
  for (auto& known : rows_)
    if (known.case_name == case_name && known.transport == transport && known.metric == metric)
      return known;
  rows_.push_back({case_name, transport, metric, unit, {}, {}, {}});
  return rows_.back();
}

const row* report::find(const std::string& case_name, const std::string& transport, const std::string& metric) const {
  const auto found = std::ranges::find_if(rows_, [&](const row& candidate) {
    return candidate.case_name == case_name && candidate.transport == transport && candidate.metric == metric;
  });
  return found == rows_.end() ? nullptr : &*found;
}

std::vector<bar> report::bars() const {
  struct figures {
    std::optional<double> troupe, raw_ucx, caf_io;
  };
  auto figures_of = [this](const char* case_name, const char* transport, const char* metric) -> figures {
    const auto* found = find(case_name, transport, metric);
    return found == nullptr ? figures{}
                            : figures{found->troupe.median(), found->raw_ucx.median(), found->caf_io.median()};
  };
  const auto rtt_shm = figures_of("rtt", "shm", "p50");
  const auto rtt_tcp = figures_of("rtt", "tcp", "p50");
  const auto rate_shm = figures_of("rate", "shm", "throughput");
  const auto rate_tcp = figures_of("rate", "tcp", "throughput");
  const auto bulk_shm = figures_of("bulk", "shm", "throughput");
  const auto bulk_tcp = figures_of("bulk", "tcp", "throughput");
  std::vector<bar> result{
      {"rtt p50 shm: times the raw round trip", ratio(rtt_shm.troupe, rtt_shm.raw_ucx), 4, true},
      {"rtt p50 shm: times faster than CAF io", ratio(rtt_shm.caf_io, rtt_shm.troupe), 20, false},
      {"rtt p50 tcp: times the raw round trip", ratio(rtt_tcp.troupe, rtt_tcp.raw_ucx), 1.5, true},
      {"rate shm: million messages/s", ratio(rate_shm.troupe, 1e6), 1, false},
      {"rate shm: times CAF io", ratio(rate_shm.troupe, rate_shm.caf_io), 10, false},
      {"rate tcp: times raw", ratio(rate_tcp.troupe, rate_tcp.raw_ucx), 3, false},
      {"bulk shm: times raw", ratio(bulk_shm.troupe, bulk_shm.raw_ucx), 0.8, false},
      {"bulk tcp: times raw", ratio(bulk_tcp.troupe, bulk_tcp.raw_ucx), 0.8, false},
      {"down shm, p99 ms", figures_of("down", "shm", "p99").troupe, 20, true},
      {"down tcp, p99 ms", figures_of("down", "tcp", "p99").troupe, 20, true},
  };
  result.insert(result.end(), extra_.begin(), extra_.end());
  return result;
}

void report::print(std::ostream& out) const {
  out << '\n'
      << std::left << std::setw(6) << "case" << std::setw(6) << "over" << std::setw(12) << "metric" << std::setw(12)
      << "unit" << std::right << std::setw(12) << "troupe" << std::setw(12) << "raw UCX" << std::setw(12) << "CAF io"
      << std::setw(14) << "troupe/raw" << std::setw(16) << "troupe/CAF io" << '\n';
  for (const auto& line : rows_) {
    const auto troupe = line.troupe.median();
    out << std::left << std::setw(6) << line.case_name << std::setw(6) << line.transport << std::setw(12) << line.metric
        << std::setw(12) << line.unit << std::right << std::setw(12) << text_of(troupe) << std::setw(12)
        << text_of(line.raw_ucx.median()) << std::setw(12) << text_of(line.caf_io.median()) << std::setw(14)
        << times(ratio(troupe, line.raw_ucx.median())) << std::setw(16) << times(ratio(troupe, line.caf_io.median()))
        << '\n';
  }
  out << "\nMedians of alternating runs. MB are 2^20 bytes, as ucx_perftest counts them; its half round trips are\n"
         "doubled. CAF io always runs over loopback TCP, with the best of the settings tried.\n\n";
  for (const auto& what : bars())
    out << std::left << std::setw(42) << what.text << std::right << std::setw(10) << text_of(what.found)
        << (what.at_most ? "  at most  " : "  at least ") << std::left << std::setw(6) << what.limit
        << (what.found ? what.met() ? "met" : "MISSED" : "not measured") << '\n';
  for (const auto& what : failures_)
    out << "no figure: " << what << '\n';
  out.flush();
}

nlohmann::json report::to_json() const {
  auto number = [](const series& values) -> nlohmann::json {
    const auto value = values.median();
    return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
  };
  auto result = nlohmann::json::array();
  for (const auto& line : rows_)
    result.push_back({{"case", line.case_name},
                      {"transport", line.transport},
                      {"metric", line.metric},
                      {"unit", line.unit},
                      {"troupe", number(line.troupe)},
                      {"raw_ucx", number(line.raw_ucx)},
                      {"caf_io", number(line.caf_io)}});
  return result;
}

} // namespace troupe::bench
