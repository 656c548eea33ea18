// The limits of the actor layer: every queue, table and window of a session, in one place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// What one session may hold. A node tells its peer the windows in the handshake; the sender keeps to what the receiver
/// said, so the receiver's memory for undelivered and unconsumed messages is at most window_bytes + bulk_window_bytes
/// plus one message that is larger than its window (admitted only when nothing else is in flight).
struct session_limits {
  /// Messages in flight to the peer: sent, and not yet out of the mailbox of their target. Default is 8192.
  std::uint64_t window_messages = 8192;
  /// Bytes of those that fit into a batch. Default is 64 MiB.
  std::uint64_t window_bytes = 64u << 20;
  /// Messages on the bulk lane in flight. Default is 1024.
  std::uint64_t bulk_window_messages = 1024;
  /// Bytes on the bulk lane in flight. Default is 256 MiB.
  std::uint64_t bulk_window_bytes = 256u << 20;
  /// Messages in flight to one target. Default is 4096.
  std::uint64_t target_window_messages = 4096;
  /// Bytes in flight to one target. Default is 64 MiB.
  std::uint64_t target_window_bytes = 64u << 20;
  /// The largest message, its attachments included. Default is 1 GiB.
  std::uint64_t max_message_bytes = 1u << 30;
  /// Down, exit, link and reply messages may exceed the windows by this many messages. Default is 8192.
  std::uint64_t reserve_messages = 8192;
  /// ... and by this many bytes. Default is 16 MiB.
  std::uint64_t reserve_bytes = 16u << 20;
  /// Requests that wait for their response. Default is 65536.
  std::size_t max_pending_requests = 65536;
  /// Actors of this node that the peer may address. Default is 1 M.
  std::size_t max_exports = 1u << 20;
  /// Actors that were refused and wait for credit_available; more are refused without a later notice, which is counted.
  /// Default is 4096.
  std::size_t max_credit_waiters = 4096;
  /// The longest an acknowledgement waits for a message to travel with. Default is 200 us.
  std::chrono::nanoseconds ack_delay = std::chrono::microseconds{200};
  /// The longest that returned credit waits. Default is 10 ms.
  std::chrono::nanoseconds credit_delay = std::chrono::milliseconds{10};
  /// Bringing up the lanes of an epoch takes at most this long. Default is 5 s.
  std::chrono::nanoseconds lanes_deadline = std::chrono::seconds{5};
  /// What the lanes still hold when a peer died is taken for at most this long. Default is 10 ms.
  std::chrono::nanoseconds last_frames = std::chrono::milliseconds{10};
  /// A goodbye is acknowledged within this time, or the session ends without. Default is 2 s.
  std::chrono::nanoseconds goodbye_deadline = std::chrono::seconds{2};
};

/// Bulk messages posted to UCX at one time; further ones wait in the session, so that UCX's own queues stay short.
inline constexpr std::size_t max_bulk_in_flight = 16;
/// Batches posted to UCX that have not completed; further messages gather in the next batch meanwhile.
inline constexpr std::size_t max_batches_in_flight = 8;

} // namespace troupe
