// A ucp_ep: the way to one peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <ucp/api/ucp.h>

#include <troupe/transport/inbound.hpp>
#include <troupe/transport/operation.hpp>

namespace troupe::transport {

class worker;
struct endpoint_state;

/// One piece of a gathered send: {buffer, length}. UCX only reads the buffer.
using io_slice = ucp_dt_iov_t;

/// Most pieces of one gathered send: the attachments of a message and two more.
inline constexpr std::size_t max_io_slices = 64 + 2;

enum class send_flags : std::uint8_t {
  none = 0,
  reply = 1, ///< the receiver gets a reply_ep
  rndv = 2,  ///< force rendezvous: no copy of the data is made
  eager = 4, ///< force eager
};
constexpr send_flags operator|(send_flags a, send_flags b) noexcept {
  return static_cast<send_flags>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool has(send_flags set, send_flags flag) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(flag)) != 0;
}

enum class close_mode : std::uint8_t {
  flush, ///< wait for what is outstanding, flush, then close; turns into force when the peer fails or on a later close(force)
  force, ///< at once: what is outstanding ends `canceled`
};

/// Made by worker::connect() and worker::accept(); all members belong to the worker's thread. Its peer-failure handling is
/// always on. UCX closes an endpoint exactly once; this class sees to it. May be destroyed at any time outside UCP
/// callbacks, before or after its worker: if it was not closed, destruction closes it by force, and the operations still
/// outstanding get their terminal call from the worker later.
class endpoint {
public:
  ~endpoint();
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  /// Sends `data_size` bytes as an active message. The header (<= proto::max_bulk_header), the data and the operation must
  /// live on until the terminal call, unless the answer is `completed` or `failed`. Never allocates in steady
  /// state, never blocks. On `failed`, `why` is: peer_reset (the peer failed), canceled (close() was called, or the worker
  /// abandoned), exceeds_limit (header or slices), not_allowed (called from inside a UCP callback), or what UCX said.
  [[nodiscard]] post_status am_send(am_id id, const void* header, std::size_t header_size, const void* data,
                                    std::size_t data_size, send_flags flags, operation& op, errc& why) noexcept;

  /// The same from up to max_io_slices pieces. The array itself must live on, too.
  [[nodiscard]] post_status am_send(am_id id, const void* header, std::size_t header_size,
                                    std::span<const io_slice> slices, send_flags flags, operation& op,
                                    errc& why) noexcept;

  /// Starts to close; sends fail from here on. Calling it again does nothing, except that force overtakes flush.
  /// Terminal calls of outstanding operations may run inside, or come from later progress. Called inside a UCP callback
  /// it takes effect when that progress call ends.
  void close(close_mode mode) noexcept;

  /// Whether UCX has finished closing. After close(), keep calling worker::progress() until settled().
  [[nodiscard]] bool closed() const noexcept;

  /// closed() and no send outstanding: nothing of this endpoint is left in UCX.
  [[nodiscard]] bool settled() const noexcept;

  /// Whether the peer was reported failed (see worker::drain_failures()).
  [[nodiscard]] bool failed() const noexcept;

  /// Sends that have not ended yet.
  [[nodiscard]] std::size_t outstanding() const noexcept;

  /// The transports of its lanes as UCX names them, sorted: "posix", "tcp". Empty once closed. Not for the hot path.
  [[nodiscard]] std::string transports() const;

  /// Null once close() took effect.
  [[nodiscard]] ucp_ep_h handle() const noexcept;

private:
  friend class worker;
  explicit endpoint(std::shared_ptr<endpoint_state> state) noexcept;

  std::shared_ptr<endpoint_state> state_;
};

} // namespace troupe::transport
