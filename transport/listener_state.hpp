// What a listener, its connection requests and its worker share. Internal to transport/.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include <ucp/api/ucp.h>

#include <troupe/transport/listener.hpp>

namespace troupe::transport {

/// How long a ucp_listener outlives its listener, refusing everybody. UCX leaves dangling pointers to it in connections
/// that were accepted but have not said anything yet, and crashes when they do.
inline constexpr std::chrono::milliseconds listener_grace{1000};

struct listener_state {
  worker* owner = nullptr;
  ucp_listener_h handle = nullptr;       ///< null once closed
  std::deque<ucp_conn_request_h> waiting; ///< undecided, not taken
  std::vector<ucp_conn_request_h> taken;  ///< undecided, in a connection_request
  std::vector<ucp_conn_request_h> excess; ///< to be rejected when the current progress call ends
  std::uint64_t rejected_in_excess = 0;
  socket_address address; ///< what it is bound to
  bool retired = false;
  std::chrono::steady_clock::time_point destroy_at{}; ///< when retired

  static void on_request(ucp_conn_request_h request, void* arg) noexcept;
  bool forget(ucp_conn_request_h request) noexcept; ///< takes it off `taken`; false: it was decided
  void reject(ucp_conn_request_h request) noexcept;
  void reject_excess() noexcept;
  void reject_all() noexcept; ///< and whatever comes from now on
  void close() noexcept; ///< rejects all that is undecided and destroys the ucp_listener at once
};

} // namespace troupe::transport
