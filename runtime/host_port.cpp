#include <troupe/runtime/host_port.hpp>

#include <charconv>
#include <stdexcept>

namespace troupe {

namespace {

/// The longest DNS name; a longer host is no address.
constexpr std::size_t max_host_bytes = 253;

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument('"' + text +
                              "\" is not an address: write host:port, such as 127.0.0.1:7000 or [::1]:7000");
}

} // namespace

host_port parse_host_port(const std::string& text, const std::string& default_host) {
  std::string host;
  std::string port = text;
  if (const auto colon = text.rfind(':'); colon != std::string::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (!host.empty() && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (host.empty())
      refuse(text);
  } else if (host.find_first_of(":[]") != std::string::npos) {
    refuse(text);
  }
  if (host.size() > max_host_bytes || host.find_first_of(" \t\r\n/@") != std::string::npos)
    refuse(text);

  host_port result{host.empty() ? default_host : host, 0};
  const auto* end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data(), end, result.port);
  if (error != std::errc{} || stop != end)
    refuse(text);
  return result;
}

std::string to_string(const host_port& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? '[' + address.host + ']' : address.host) + ':' + std::to_string(address.port);
}

} // namespace troupe
