// A ucp_context: which transport, on which device, with which UCX options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ucp/api/ucp.h>

namespace troupe::transport {

/// How two processes exchange data. One context (and so one worker) serves one of them: an idle TCP endpoint on the worker
/// of a shared-memory peer would nearly double that peer's round trip.
enum class lane_transport : std::uint8_t { shm, tcp };

/// "shm" or "tcp". @threadsafe
[[nodiscard]] std::string_view to_string(lane_transport x) noexcept;

/// Owns a ucp_context. Workers share it (std::shared_ptr) and keep it alive. The transport is the context's own choice and
/// wins over UCX_TLS and UCX_NET_DEVICES of the environment; notices() tells when it did. All members @threadsafe.
class context {
public:
  /// Calls prepare_environment() first. `net_device` is the interface for tcp ("lo", "eth0"), or a comma-separated list
  /// of them; shm ignores it. Throws std::runtime_error with a text that names what failed, the cause and the setting
  /// that helps.
  explicit context(lane_transport transport, std::string net_device = "lo");
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  [[nodiscard]] lane_transport transport() const noexcept { return transport_; }
  [[nodiscard]] const std::string& net_device() const noexcept { return net_device_; }
  [[nodiscard]] ucp_context_h handle() const noexcept { return handle_; }

  /// What UCX opened, as "transport/device": {"posix/memory"}, {"tcp/lo"}. `self` is left out.
  [[nodiscard]] const std::vector<std::string>& transports() const noexcept { return transports_; }

  /// Settings of the environment that this context does not follow, one sentence each, for the log.
  [[nodiscard]] const std::vector<std::string>& notices() const noexcept { return notices_; }

private:
  lane_transport transport_;
  std::string net_device_;
  ucp_context_h handle_ = nullptr;
  std::vector<std::string> transports_;
  std::vector<std::string> notices_;
};

/// Bytes of shared memory that one shm worker takes when it is created.
[[nodiscard]] std::size_t shm_bytes_per_worker() noexcept;

} // namespace troupe::transport
