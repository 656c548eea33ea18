#include "bench/driver/perftest.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::istringstream in{line}; std::getline(in, cell, ',');)
    cells.push_back(cell);
  return cells;
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// The index of the first column whose name contains `part`.
std::optional<std::size_t> column(const std::vector<std::string>& names, const std::string& part) {
  for (std::size_t index = 0; index < names.size(); ++index)
    if (names[index].find(part) != std::string::npos)
      return index;
  return std::nullopt;
}

/// A TCP port nobody listened on a moment ago; 0 if the system gives none.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  int port = 0;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    port = ntohs(address.sin_port);
  close(fd);
  return port;
}

/// ucx_perftest buffers the line that says that it waits, so the kernel is asked. Connecting to see would be taken
/// for the client.
bool listens(int port) {
  char wanted[8];
  std::snprintf(wanted, sizeof wanted, ":%04X", static_cast<unsigned>(port));
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in{table};
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields{line};
      std::string slot, local, remote, state;
      if (fields >> slot >> local >> remote >> state && local.ends_with(wanted) && state == "0A")
        return true;
    }
  }
  return false;
}

} // namespace

std::optional<perftest_figures> parse_perftest(const std::string& output) {
  std::size_t latency = 1, bandwidth = 5, rate = 7;
  std::optional<perftest_figures> result;
  std::string line;
  for (std::istringstream in{output}; std::getline(in, line);) {
    const auto cells = split(line);
    if (const auto found = column(cells, "percentile")) {
      latency = *found;
      bandwidth = column(cells, "overall_bw").value_or(bandwidth);
      rate = column(cells, "overall_mr").value_or(rate);
      continue;
    }
    if (cells.size() <= std::max({latency, bandwidth, rate}))
      continue;
    const auto first = number(cells[latency]), second = number(cells[bandwidth]), third = number(cells[rate]);
    if (first && second && third)
      result = perftest_figures{*first, *second, *third};
  }
  return result;
}

outcome run_perftest(const perftest_run& run, const cpu_pair& cpus) {
  const auto until = in(run.limit);
  const std::map<std::string, std::string> environment{
      {"UCX_TLS", run.transport == "shm" ? "posix,self" : "tcp,self"},
      {"UCX_NET_DEVICES", "lo"},
      {"UCX_WARN_UNUSED_ENV_VARS", "n"},
  };
  const int port = free_port();
  const auto port_text = std::to_string(port);
  child server{{{"ucx_perftest", "-p", port_text}, environment, cpus.server}};
  while (!listens(port)) {
    if (server.ended_well(in(0.005)) || std::chrono::steady_clock::now() > until)
      return outcome::failed("ucx_perftest does not listen: " + server.complaints());
  }
  child client{{{"ucx_perftest", "127.0.0.1", "-p", port_text, "-t", run.test, "-s", std::to_string(run.size), "-n",
                 std::to_string(run.iterations), "-w", std::to_string(run.iterations / 10), "-R",
                 std::to_string(run.rank), "-f", "-v"},
                environment,
                cpus.client}};
  std::string output;
  while (const auto line = client.read_line(until))
    output += *line + '\n';
  const auto figures = parse_perftest(output);
  if (!client.ended_well(until) || !figures)
    return outcome::failed("ucx_perftest gave no figures: " + output + client.complaints());
  return {{{"latency", figures->latency}, {"bandwidth", figures->bandwidth}, {"rate", figures->rate}}, {}};
}

} // namespace troupe::bench
