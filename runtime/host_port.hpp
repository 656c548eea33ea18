// An address as people write it: host:port.
#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// A host name or numeric address (IPv6 without its brackets) and a port. Nothing is resolved here.
struct host_port {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const host_port&, const host_port&) = default;
};

/// Reads "host:port", "[v6]:port", ":port" or "port"; the last two mean `default_host`. Throws std::invalid_argument
/// with a text that says what is expected. @threadsafe
[[nodiscard]] host_port parse_host_port(const std::string& text, const std::string& default_host = "127.0.0.1");

/// The form that parse_host_port() reads back. @threadsafe
[[nodiscard]] std::string to_string(const host_port& address);

} // namespace troupe
