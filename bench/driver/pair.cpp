#include "bench/driver/pair.hpp"

#include <sched.h>

namespace troupe::bench {

cpu_pair cpu_pair::of_this_process() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0)
    return {};
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE && found.size() < 2; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mine))
      found.push_back(cpu);
  if (found.size() < 2)
    return {};
  return {found[0], found[1]};
}

outcome read_json(child& peer, const std::string& role, deadline until) {
  const auto line = peer.read_line(until);
  if (!line) {
    const auto complaints = peer.complaints();
    return outcome::failed("the " + role + " gave no result" + (complaints.empty() ? "" : ": " + complaints));
  }
  auto value = nlohmann::json::parse(*line, nullptr, false);
  if (!value.is_object())
    return outcome::failed("the " + role + " printed '" + *line + "' instead of a result");
  return {std::move(value), {}};
}

outcome run_pair(const pair_setup& setup) {
  const auto until = in(setup.limit);
  child server{{setup.server, {}, setup.cpus.server}};
  const auto ready = read_json(server, "server", until);
  if (!ready)
    return ready;
  child client{{setup.client(static_cast<int>(ready.number("port"))), {}, setup.cpus.client}};
  return read_json(client, "client", until);
}

} // namespace troupe::bench
