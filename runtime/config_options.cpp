#include <troupe/runtime/config_options.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include <troupe/runtime/host_port.hpp>
#include <troupe/runtime/quantity.hpp>
#include <troupe/transport/delivery_limits.hpp>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

template <class T>
void check_range(T value, T least, T most, std::string (*format)(T)) {
  if (value < least || value > most)
    refuse(format(value) + " is out of range: choose a value from " + format(least) + " to " + format(most));
}

std::string format_count(std::uint64_t value) { return std::to_string(value); }

// -- kinds of options ---------------------------------------------------------

using text_getter = std::function<std::optional<std::string>(const node_config&)>;

config_option duration_option(const char* name, node_config::duration node_config::*field, node_config::duration least,
                              node_config::duration most, const char* documentation) {
  config_option option;
  option.name = name;
  option.range = format_duration(least) + " to " + format_duration(most);
  option.documentation = documentation;
  option.set = [field](node_config& config, const std::string& text) { config.*field = parse_duration(text); };
  option.get = [field](const node_config& config) { return format_duration(config.*field); };
  option.check = [field, least, most](const node_config& config) {
    check_range<node_config::duration>(config.*field, least, most, format_duration);
  };
  return option;
}

config_option number_option(const char* name, std::uint64_t node_config::*field, std::uint64_t least,
                            std::uint64_t most, std::uint64_t (*parse)(const std::string&),
                            std::string (*format)(std::uint64_t), const char* documentation) {
  config_option option;
  option.name = name;
  option.range = format(least) + " to " + format(most);
  option.documentation = documentation;
  option.set = [field, parse](node_config& config, const std::string& text) { config.*field = parse(text); };
  option.get = [field, format](const node_config& config) { return format(config.*field); };
  option.check = [field, least, most, format](const node_config& config) {
    check_range<std::uint64_t>(config.*field, least, most, format);
  };
  return option;
}

config_option size_option(const char* name, std::uint64_t node_config::*field, std::uint64_t least, std::uint64_t most,
                          const char* documentation) {
  return number_option(name, field, least, most, parse_size, format_size, documentation);
}

config_option count_option(const char* name, std::uint64_t node_config::*field, std::uint64_t least, std::uint64_t most,
                           const char* documentation) {
  return number_option(name, field, least, most, parse_count, format_count, documentation);
}

config_option text_option(const char* name, std::string node_config::*field, const char* range,
                          const char* documentation) {
  config_option option;
  option.name = name;
  option.range = range;
  option.documentation = documentation;
  option.quoted = true;
  option.set = [field](node_config& config, const std::string& text) { config.*field = text; };
  option.get = [field](const node_config& config) -> std::optional<std::string> {
    if ((config.*field).empty())
      return std::nullopt;
    return config.*field;
  };
  option.check = [](const node_config&) {};
  return option;
}

config_option address_option(const char* name, std::optional<std::string> node_config::*field, const char* range,
                             const char* documentation) {
  config_option option;
  option.name = name;
  option.range = range;
  option.documentation = documentation;
  option.quoted = true;
  option.set = [field](node_config& config, const std::string& text) { config.*field = text; };
  option.get = [field](const node_config& config) { return config.*field; };
  option.check = [field](const node_config& config) {
    if (config.*field)
      (void)parse_host_port(*(config.*field));
  };
  return option;
}

// -- options with rules of their own --------------------------------------------

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

config_option name_option() {
  auto option = text_option("name", &node_config::name, "1 to 255 bytes of UTF-8, no control characters",
                            "The name by which other nodes know this one; unique among them.");
  option.default_value = "<host name>-<process id>";
  option.check = [](const node_config& config) {
    if (config.name.size() > max_name_bytes)
      refuse("the name has " + std::to_string(config.name.size()) +
             " bytes, at most 255 are allowed: choose a shorter one");
    for (const char c : config.name)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        refuse("the name holds a control character: choose one without");
    if (!is_utf8(config.name))
      refuse("the name is not UTF-8: choose one that is");
  };
  return option;
}

config_option connect_option() {
  auto option = address_option("connect", &node_config::connect, "host:port; without a host 127.0.0.1",
                               "Where another node listens; the application connects there.");
  option.check = [](const node_config& config) {
    if (config.connect && parse_host_port(*config.connect).port == 0)
      refuse("port 0 cannot be connected to: name the port the other node listens on");
  };
  return option;
}

config_option secret_option() {
  auto option =
      text_option("secret", &node_config::secret, "1 to 1024 bytes",
                  "What all nodes that talk to each other share and prove to know. A flag can be seen by every "
                  "user of the machine: prefer secret-file.");
  option.get = [](const node_config& config) -> std::optional<std::string> {
    if (config.secret.empty())
      return std::nullopt;
    return "(set, not shown)";
  };
  option.check = [](const node_config& config) {
    if (config.secret.size() > max_secret_bytes)
      refuse("the secret has " + std::to_string(config.secret.size()) +
             " bytes, at most 1024 are allowed: choose a shorter one");
  };
  return option;
}

config_option transport_option() {
  config_option option;
  option.name = "transport";
  option.range = "auto, shm or tcp";
  option.documentation =
      "How messages travel: auto takes shared memory to a node on the same host and TCP to others; shm "
      "and tcp allow only that one.";
  option.quoted = true;
  option.set = [](node_config& config, const std::string& text) {
    for (const auto choice : {transport_choice::automatic, transport_choice::shm, transport_choice::tcp})
      if (text == to_string(choice)) {
        config.transport = choice;
        return;
      }
    refuse('"' + text + "\" is not a transport: choose auto, shm or tcp");
  };
  option.get = [](const node_config& config) { return std::string{to_string(config.transport)}; };
  option.check = [](const node_config&) {};
  return option;
}

config_option net_device_option() {
  auto option =
      text_option("net-device", &node_config::net_device, "a network interface",
                  "The interface UCX uses for TCP lanes. UCX's own data port is open on it: on anything but lo, "
                  "keep strangers out by a firewall.");
  option.check = [](const node_config& config) {
    if (config.net_device.empty() || config.net_device.find_first_of(", \t\n") != std::string::npos)
      refuse('"' + config.net_device + "\" is not one network interface: name one, such as lo or eth0");
  };
  return option;
}

config_option heartbeat_option() {
  constexpr node_config::duration least = 50ms;
  config_option option;
  option.name = "heartbeat";
  option.default_value = "<down-after / 4>";
  option.range = format_duration(least) + " to down-after / 2";
  option.documentation = "The time between two signs of life on a link.";
  option.set = [](node_config& config, const std::string& text) { config.heartbeat = parse_duration(text); };
  option.get = [](const node_config& config) { return format_duration(config.heartbeat_interval()); };
  option.check = [](const node_config& config) {
    check_range<node_config::duration>(config.heartbeat_interval(), least, config.down_after / 2, format_duration);
  };
  return option;
}

constexpr const char* level_range = "trace, debug, info, warn, error or off";

log_level level_from(const std::string& text) {
  if (const auto level = parse_log_level(text))
    return *level;
  refuse('"' + text + "\" is not a log level: choose " + level_range);
}

config_option log_level_option() {
  config_option option;
  option.name = "log-level";
  option.range = level_range;
  option.documentation = "What is logged by components without a level of their own.";
  option.quoted = true;
  option.set = [](node_config& config, const std::string& text) { config.log.level = level_from(text); };
  option.get = [](const node_config& config) { return std::string{to_string(config.log.level)}; };
  option.check = [](const node_config&) {};
  return option;
}

config_option component_level_option(std::size_t index, const char* documentation) {
  config_option option;
  option.name = "log." + std::string{to_string(static_cast<log_component>(index))};
  option.default_value = "<log-level>";
  option.range = level_range;
  option.documentation = documentation;
  option.quoted = true;
  option.set = [index](node_config& config, const std::string& text) {
    config.log.component_level[index] = level_from(text);
  };
  option.get = [index](const node_config& config) {
    return std::string{to_string(config.log.level_of(static_cast<log_component>(index)))};
  };
  option.check = [](const node_config&) {};
  return option;
}

config_option log_file_option() {
  config_option option;
  option.name = "log-file";
  option.default_value = "<standard error>";
  option.range = "a path";
  option.documentation = "The file the log is appended to.";
  option.quoted = true;
  option.set = [](node_config& config, const std::string& text) { config.log.file = text; };
  option.get = [](const node_config& config) -> std::optional<std::string> {
    if (config.log.file.empty())
      return std::nullopt;
    return config.log.file;
  };
  option.check = [](const node_config&) {};
  return option;
}

config_option log_rate_limit_option() {
  constexpr std::uint64_t most = 1'000'000;
  config_option option;
  option.name = "log-rate-limit";
  option.range = "0 to " + std::to_string(most);
  option.documentation =
      "How many lines a second one message that peers can provoke may write, and how many were left out "
      "is said; 0 writes all.";
  option.set = [](node_config& config, const std::string& text) {
    const auto value = parse_count(text);
    check_range<std::uint64_t>(value, 0, most, format_count);
    config.log.rate_limit = static_cast<unsigned>(value);
  };
  option.get = [](const node_config& config) { return std::to_string(config.log.rate_limit); };
  option.check = [](const node_config& config) {
    check_range<std::uint64_t>(config.log.rate_limit, 0, most, format_count);
  };
  return option;
}

// -- the table ------------------------------------------------------------------

std::vector<config_option> make_options() {
  using c = node_config;
  std::vector<config_option> table;
  const auto add = [&table](config_option option) { table.push_back(std::move(option)); };

  add(name_option());
  add(address_option("listen", &c::listen, "host:port; without a host 127.0.0.1; port 0: any",
                     "Where other nodes reach this one."));
  add(connect_option());
  add(secret_option());
  add(text_option("secret-file", &c::secret_file, "a file other users can neither read nor write",
                  "The secret, in a file; one line break at its end does not count."));

  add(transport_option());
  add(net_device_option());

  add(duration_option("down-after", &c::down_after, 200ms, 24h,
                      "A peer not heard of for this long is dead: its actors are down and its requests fail."));
  add(heartbeat_option());
  add(duration_option("handshake-timeout", &c::handshake_timeout, 100ms, 5min,
                      "A connection that has not authenticated itself by then is closed."));
  add(duration_option("connect-timeout", &c::connect_timeout, 100ms, 1h, "The longest that connect() takes."));
  add(duration_option("shutdown-timeout", &c::shutdown_timeout, 0ms, 5min,
                      "How long a node that ends waits for its peers to acknowledge what they were sent."));
  add(duration_option("ack-delay", &c::ack_delay, 0ms, 100ms,
                      "How long an acknowledgement waits for a message that it can travel with."));

  add(count_option("loops", &c::loops, 1, 64, "Progress loops, one thread each; every session lives on one of them."));
  add(duration_option("spin", &c::spin, 0ms, 10ms,
                      "How long an idle loop polls before it sleeps: a lower latency for more of a core."));

  constexpr std::uint64_t most_messages = 1'000'000;
  constexpr std::uint64_t most_bytes = 256 * gib;
  static_assert(most_messages <= transport::max_credit_messages && most_bytes <= transport::max_credit_bytes);
  add(count_option("window-messages", &c::window_messages, 1, most_messages,
                   "Messages in flight to one peer: sent, and not yet taken by their actor."));
  add(size_option("window-bytes", &c::window_bytes, 64 * kib, most_bytes,
                  "Bytes of small messages in flight to one peer."));
  add(size_option("bulk-window-bytes", &c::bulk_window_bytes, 64 * kib, most_bytes,
                  "Bytes of large messages in flight to one peer; one message larger than that travels alone."));
  add(count_option("target-window-messages", &c::target_window_messages, 1, most_messages,
                   "Messages in flight to one actor."));
  add(size_option("target-window-bytes", &c::target_window_bytes, 1 * kib, most_bytes,
                  "Bytes in flight to one actor."));
  add(size_option("max-message-bytes", &c::max_message_bytes, 1 * kib, most_bytes,
                  "The largest message that is sent or accepted."));
  add(count_option("max-peers", &c::max_peers, 1, 65536, "Peers at one time; further connections are refused."));
  add(count_option("max-pending-requests", &c::max_pending_requests, 1, most_messages,
                   "Requests to one peer without an answer yet; further ones fail with busy."));
  add(count_option("max-pending-handshakes", &c::max_pending_handshakes, 1, 4096,
                   "Connections that have not authenticated themselves yet; further ones are closed."));

  add(log_level_option());
  constexpr std::array<const char*, log_component_count> component_documentation{
      "The node itself: start, peers, shutdown.",
      "Links: connections, handshakes, heartbeats.",
      "Lanes: UCX endpoints and what becomes of them.",
      "Sessions: messages, credit, acknowledgements.",
      "Names: publishing and looking up.",
      "Progress loops.",
      "The chat sample.",
  };
  for (std::size_t i = 0; i < log_component_count; ++i)
    add(component_level_option(i, component_documentation[i]));
  add(log_file_option());
  add(log_rate_limit_option());

  const node_config defaults;
  for (auto& option : table)
    if (option.default_value.empty())
      option.default_value = option.get(defaults).value_or("<unset>");
  return table;
}

} // namespace

std::string config_option::environment() const {
  std::string result = "TROUPE_";
  for (const char c : name)
    result += c == '-' || c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

const std::vector<config_option>& config_options() {
  static const auto table = make_options();
  return table;
}

const config_option* find_option(const std::string& name) {
  const auto& table = config_options();
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& option) { return option.name == name; });
  return found == table.end() ? nullptr : &*found;
}

} // namespace troupe
