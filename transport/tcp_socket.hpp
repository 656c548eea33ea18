// TCP sockets as file descriptors: non-blocking, closed on exec, without Nagle's delay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/transport/result.hpp>
#include <troupe/transport/socket_address.hpp>
#include <troupe/transport/unique_fd.hpp>

namespace troupe::transport {

struct tcp_listener {
  unique_fd socket;
  socket_address address; ///< with the port that was given for port 0
};

/// Listens on the first of `addresses` that can be bound, with SO_REUSEADDR. Fails with address_in_use, not_allowed,
/// invalid_address (not one of this host) or no_resource. @threadsafe
[[nodiscard]] result<tcp_listener> listen_tcp(const std::vector<socket_address>& addresses);

/// What an accept came to.
struct accepted_socket {
  unique_fd socket;       ///< none when `error` is not 0
  socket_address address; ///< of the peer
  int error = 0;          ///< errno; EAGAIN when nobody waits
};

/// Takes a connection that waits, if any; does not block. @threadsafe
[[nodiscard]] accepted_socket accept_tcp(int listener) noexcept;

/// Begins to connect: wait until the socket is writable, then ask connect_outcome(). Fails at once with unreachable,
/// no_resource or invalid_address. @threadsafe
[[nodiscard]] result<unique_fd> connect_tcp(const socket_address& address);

/// How connecting to `address` ended: errc::ok, or unreachable, timed_out, ... with a text. @threadsafe
[[nodiscard]] failure connect_outcome(int socket, const socket_address& address);

/// Both ends as "host:port"; empty when not connected. @threadsafe
[[nodiscard]] std::string local_address(int socket);
[[nodiscard]] std::string remote_address(int socket);

/// Whether an errno says that the process or the system has run out of descriptors or memory. @threadsafe
[[nodiscard]] bool out_of_resources(int error) noexcept;

} // namespace troupe::transport
