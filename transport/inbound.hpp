// An active message as it arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ucp/api/ucp.h>

namespace troupe::transport {

/// Active message ids, small and dense: every worker registers all of them before its address can be known.
enum class am_id : std::uint16_t { message = 1, bulk = 2 };
inline constexpr std::uint16_t last_am_id = 2;

/// A received message, as worker::drain() hands it out. Its pointers are valid during that call only; worker::keep()
/// makes it last. The same message may arrive in either form, whatever its size, and on either id:
/// eager, with its data at hand, or as a rendezvous, whose data has to be asked for with worker::receive().
struct inbound {
  am_id id = am_id::message;
  bool rendezvous = false; ///< the data is still at the sender; `data` is null
  bool held = false;       ///< holds a UCX descriptor that has to be released
  std::uint32_t header_size = 0;
  const std::byte* header = nullptr;
  const std::byte* data = nullptr;
  std::size_t size = 0;        ///< bytes of data, at hand or to be received
  ucp_ep_h reply_ep = nullptr; ///< set when the sender asked for it (send_flags::reply)
  void* desc = nullptr;        ///< UCX's descriptor, while held

  [[nodiscard]] std::span<const std::byte> header_bytes() const noexcept { return {header, header_size}; }
  [[nodiscard]] std::span<const std::byte> data_bytes() const noexcept { return {data, data ? size : 0}; }
};

} // namespace troupe::transport
