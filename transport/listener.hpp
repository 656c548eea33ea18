// A ucp_listener and the connection requests that reach it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <ucp/api/ucp.h>

#include <troupe/transport/result.hpp>
#include <troupe/transport/socket_address.hpp>

namespace troupe::transport {

class worker;
struct listener_state;

/// Connection requests that may wait for a decision at one listener, taken or not. Further ones are rejected.
inline constexpr std::size_t max_pending_connections = 64;

/// A connection request, decided exactly once: by worker::accept(), by reject(), or, if it is destroyed (or the listener
/// is) undecided, by a rejection. Belongs to the worker's thread.
class connection_request {
public:
  connection_request(connection_request&& other) noexcept;
  connection_request& operator=(connection_request&& other) noexcept;
  ~connection_request();

  /// The other end. Empty when UCX does not tell.
  [[nodiscard]] socket_address peer() const;

  /// Refuses: the other side's endpoint fails with `rejected`. Does nothing if already decided.
  void reject() noexcept;

  /// False once decided, or once its listener is gone.
  [[nodiscard]] bool pending() const noexcept;

private:
  friend class listener;
  friend class worker;
  connection_request(std::shared_ptr<listener_state> state, ucp_conn_request_h handle) noexcept;
  ucp_conn_request_h take() noexcept;

  std::shared_ptr<listener_state> state_;
  ucp_conn_request_h handle_ = nullptr;
};

/// Made by worker::listen(). Belongs to the worker's thread. Destroy it before the worker; a worker that goes first takes
/// the listener along. Destruction stops accepting: what is undecided, or comes later, is rejected. The port stays
/// bound until the worker has made progress for another second (UCX crashes when a listener goes while a client is
/// half-way in); the same worker can listen on it again at once.
class listener {
public:
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  /// The address it is bound to, with the port the system chose if port 0 was asked for.
  [[nodiscard]] const socket_address& address() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept { return address().port(); }

  /// The oldest request not yet taken, if any. Look after each worker::progress().
  [[nodiscard]] std::optional<connection_request> next();

  /// Requests refused because max_pending_connections were waiting.
  [[nodiscard]] std::uint64_t rejected_in_excess() const noexcept;

private:
  friend class worker;
  explicit listener(std::shared_ptr<listener_state> state) noexcept;

  std::shared_ptr<listener_state> state_;
};

} // namespace troupe::transport
