#include <troupe/runtime/config.hpp>

#include <array>
#include <atomic>
#include <optional>

#include <unistd.h>

#include <troupe/runtime/config_options.hpp>
#include <troupe/runtime/host_port.hpp>
#include <troupe/runtime/secret_file.hpp>
#include <troupe/runtime/system_config.hpp>

namespace troupe {

namespace {

/// Nodes of one process that were not given a name must not share one.
std::string unique_name() {
  static std::atomic<unsigned> count{0};
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0')
    host = {"host"};
  auto name = std::string{host.data()} + '-' + std::to_string(::getpid());
  if (const auto before = count.fetch_add(1); before > 0)
    name += '-' + std::to_string(before + 1);
  return name;
}

void complete(std::optional<std::string>& address) {
  if (address)
    address = to_string(parse_host_port(*address));
}

} // namespace

std::string_view to_string(transport_choice choice) noexcept {
  switch (choice) {
  case transport_choice::automatic:
    return "auto";
  case transport_choice::shm:
    return "shm";
  case transport_choice::tcp:
    return "tcp";
  }
  return "unknown";
}

std::string_view to_string(value_origin origin) noexcept {
  switch (origin) {
  case value_origin::default_value:
    return "default";
  case value_origin::file:
    return "file";
  case value_origin::environment:
    return "environment";
  case value_origin::flag:
    return "flag";
  }
  return "unknown";
}

node_config::node_config() : thread_name_(std::make_shared<std::string>()), caf_(make_system_config(thread_name_)) {
  // nop
}

node_config::~node_config() = default;
node_config::node_config(node_config&&) noexcept = default;
node_config& node_config::operator=(node_config&&) noexcept = default;

session_limits node_config::limits() const noexcept {
  session_limits result;
  result.window_messages = window_messages;
  result.window_bytes = window_bytes;
  result.bulk_window_bytes = bulk_window_bytes;
  result.target_window_messages = target_window_messages;
  result.target_window_bytes = target_window_bytes;
  result.max_message_bytes = max_message_bytes;
  result.max_pending_requests = max_pending_requests;
  result.ack_delay = ack_delay;
  result.goodbye_deadline = shutdown_timeout;
  return result;
}

void node_config::prepare() {
  if (name.empty())
    name = unique_name();
  for (const auto& option : config_options()) {
    try {
      option.check(*this);
    } catch (const std::invalid_argument& why) {
      throw usage_error(option.name + ": " + why.what());
    }
  }
  if (secret.empty() && !secret_file.empty()) {
    try {
      secret = read_secret_file(secret_file);
    } catch (const std::invalid_argument& why) {
      throw usage_error(std::string{"secret-file: "} + why.what());
    }
  }
  complete(listen);
  complete(connect);
  *thread_name_ = name;
}

value_origin node_config::origin(const std::string& option) const {
  const auto found = origins_.find(option);
  return found == origins_.end() ? value_origin::default_value : found->second;
}

std::string node_config::describe_origin(const std::string& option) const {
  std::string text{to_string(origin(option))};
  const auto* known = find_option(option);
  switch (origin(option)) {
  case value_origin::default_value:
    break;
  case value_origin::file:
    text += ' ' + file_;
    break;
  case value_origin::environment:
    text += ' ' + (known != nullptr ? known->environment() : option);
    break;
  case value_origin::flag:
    text += " --" + option;
    break;
  }
  return text;
}

} // namespace troupe
