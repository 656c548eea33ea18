#include <troupe/transport/socket_address.hpp>

#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace troupe::transport {

socket_address::socket_address(const sockaddr* address, socklen_t size) noexcept {
  if (address == nullptr)
    return;
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in))
    size_ = sizeof(sockaddr_in);
  else if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6))
    size_ = sizeof(sockaddr_in6);
  std::memcpy(&storage_, address, size_);
}

result<socket_address> socket_address::from(const std::string& ip, std::uint16_t port) {
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, ip.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    return socket_address{reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)};
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    return socket_address{reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)};
  }
  return failure{errc::invalid_address, "'" + ip + "' is not an IP address: write one such as 127.0.0.1 or ::1"};
}

std::uint16_t socket_address::port() const noexcept {
  if (size_ == sizeof(sockaddr_in))
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (size_ == sizeof(sockaddr_in6))
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return 0;
}

std::string socket_address::ip() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (size_ == sizeof(sockaddr_in))
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, text, sizeof(text));
  else if (size_ == sizeof(sockaddr_in6))
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, text, sizeof(text));
  return text;
}

std::string socket_address::to_string() const {
  if (empty())
    return "(no address)";
  auto host = size_ == sizeof(sockaddr_in6) ? "[" + ip() + "]" : ip();
  return host + ":" + std::to_string(port());
}

} // namespace troupe::transport
