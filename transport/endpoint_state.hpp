// What an endpoint and its worker share. Internal to transport/: include it from sources and tests only.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ucp/api/ucp.h>

#include <troupe/transport/endpoint.hpp>
#include <troupe/transport/errc.hpp>

namespace troupe::transport {

/// Lives until the endpoint object is gone and nothing of it is left in UCX, as UCX's callbacks point to it.
struct endpoint_state {
  enum class phase : std::uint8_t {
    open,
    draining, ///< close(flush): waiting for outstanding sends
    flushing, ///< close(flush): ucp_ep_flush is pending
    flushed,  ///< next: ucp_ep_close
    closing,  ///< ucp_ep_close is pending
    closed,
  };

  worker* owner = nullptr;    ///< null once the worker was abandoned
  endpoint* handle = nullptr; ///< null once the endpoint object is gone
  ucp_ep_h ep = nullptr;      ///< null once ucp_ep_close was called
  std::size_t outstanding = 0;
  bool sendable = true; ///< open, not failed: the one check of the hot path
  bool failed = false;
  bool close_requested = false;
  bool force_requested = false;
  phase now = phase::open;
  errc failure = errc::ok;

  [[nodiscard]] bool settled() const noexcept { return now == phase::closed && outstanding == 0; }
};

} // namespace troupe::transport
