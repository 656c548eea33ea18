// An IP address and port, for UCX's sockaddr interfaces.
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>

#include <troupe/transport/result.hpp>

namespace troupe::transport {

/// A value: IPv4 or IPv6 address and port. Resolves no names.
class socket_address {
public:
  socket_address() noexcept = default;
  socket_address(const sockaddr* address, socklen_t size) noexcept; ///< anything but IPv4 and IPv6 becomes empty

  /// `ip` is a literal such as 127.0.0.1 or ::1. Fails with invalid_address. @threadsafe
  static result<socket_address> from(const std::string& ip, std::uint16_t port);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::string ip() const;
  [[nodiscard]] std::string to_string() const; ///< "127.0.0.1:4000", "[::1]:4000"

private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

} // namespace troupe::transport
