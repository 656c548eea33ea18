#include <troupe/transport/tcp_socket.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include <troupe/transport/link_config.hpp>

namespace troupe::transport {

namespace {

std::string describe(int error) { return std::generic_category().message(error); }

failure out_of_resources_failure(const std::string& what, int error) {
  return {errc::no_resource, what + ": " + describe(error) + "; close something, or raise the limit (ulimit -n)"};
}

unique_fd open_socket(const socket_address& address) {
  return unique_fd{::socket(address.data()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
}

void send_at_once(int socket) {
  int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

using name_function = int (*)(int, sockaddr*, socklen_t*);

socket_address name_of(int socket, name_function get) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (get(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return {};
  return {reinterpret_cast<sockaddr*>(&storage), size};
}

failure listen_failure(const socket_address& address, int error) {
  auto what = "cannot listen on " + address.to_string();
  switch (error) {
  case EADDRINUSE:
    return {errc::address_in_use, what + ": the port is in use; stop what listens there, or choose another port"};
  case EACCES:
    return {errc::not_allowed, what + ": permission denied; choose a port above 1023"};
  case EADDRNOTAVAIL:
    return {errc::invalid_address, what + ": this host has no such address; choose one of its own, or 0.0.0.0"};
  default:
    break;
  }
  if (out_of_resources(error))
    return out_of_resources_failure(what, error);
  return {errc::invalid_address, what + ": " + describe(error) + "; check the address"};
}

failure connect_failure(const socket_address& address, int error) {
  auto what = "cannot connect to " + address.to_string();
  switch (error) {
  case ECONNREFUSED:
    return {errc::unreachable, what + ": connection refused; nothing listens there, start the node or check the port"};
  case ENETUNREACH:
  case EHOSTUNREACH:
    return {errc::unreachable, what + ": " + describe(error) + "; check the address and the network"};
  case ETIMEDOUT:
    return {errc::timed_out, what + ": no answer; check the address and firewalls"};
  case ECONNRESET:
    return {errc::unreachable, what + ": connection reset; check what listens there"};
  case EAFNOSUPPORT:
  case EINVAL:
    return {errc::invalid_address, what + ": " + describe(error) + "; check the address"};
  default:
    break;
  }
  if (out_of_resources(error))
    return out_of_resources_failure(what, error);
  return {errc::unreachable, what + ": " + describe(error) + "; check the address and firewalls"};
}

} // namespace

bool out_of_resources(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

result<tcp_listener> listen_tcp(const std::vector<socket_address>& addresses) {
  failure why{errc::invalid_address, "no address to listen on"};
  for (const auto& address : addresses) {
    auto socket = open_socket(address);
    int on = 1;
    // A server that was killed a moment ago left connections in TIME_WAIT: they must not keep its port from it.
    if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        ::bind(socket.get(), address.data(), address.size()) != 0 || ::listen(socket.get(), listen_backlog) != 0) {
      why = listen_failure(address, errno);
      continue;
    }
    auto bound = name_of(socket.get(), ::getsockname);
    return tcp_listener{std::move(socket), bound};
  }
  return why;
}

accepted_socket accept_tcp(int listener) noexcept {
  accepted_socket out;
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  out.socket.reset(::accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!out.socket) {
    out.error = errno == EWOULDBLOCK ? EAGAIN : errno;
    return out;
  }
  out.address = {reinterpret_cast<sockaddr*>(&storage), size};
  send_at_once(out.socket.get());
  return out;
}

result<unique_fd> connect_tcp(const socket_address& address) {
  auto socket = open_socket(address);
  if (!socket)
    return connect_failure(address, errno);
  send_at_once(socket.get());
  if (::connect(socket.get(), address.data(), address.size()) != 0 && errno != EINPROGRESS && errno != EINTR)
    return connect_failure(address, errno);
  return socket;
}

failure connect_outcome(int socket, const socket_address& address) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
    error = errno;
  // Connecting to a free port of one's own ephemeral range may meet oneself: nobody listens there either.
  if (error == 0 && local_address(socket) == remote_address(socket))
    error = ECONNREFUSED;
  if (error != 0)
    return connect_failure(address, error);
  return {errc::ok, {}};
}

std::string local_address(int socket) {
  auto address = name_of(socket, ::getsockname);
  return address.empty() ? "" : address.to_string();
}

std::string remote_address(int socket) {
  auto address = name_of(socket, ::getpeername);
  return address.empty() ? "" : address.to_string();
}

} // namespace troupe::transport
