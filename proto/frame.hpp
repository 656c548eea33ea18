// What travels on a lane: fixed little-endian structs, no protobuf.
//
// One active message on a lane is a lane_header followed by
//   batch:  `count` frames, each a message_header and its body;
//   bulk:   one message_header, `aux` attachment sizes (u64 each) and, unless body_in_data, the body; the active
//           message's data are the body if body_in_data, then the attachments one after the other;
//   ticket: a 16-byte one-time ticket, the first active message of a lane.
// Every length is checked against the bytes present before it is used: decoding never trusts the sender.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace troupe::proto {

static_assert(std::endian::native == std::endian::little, "lane frames are written in place, little-endian");

// -- limits of this layer ---------------------------------------------------

/// The largest batch: one eager active message of posix shared memory (8192 bytes less UCX's own headers).
inline constexpr std::size_t max_batch_bytes = 8 * 1024;
/// The largest body inside a batch. Anything larger travels on the bulk lane.
inline constexpr std::size_t max_inline_body = 6 * 1024;
/// The lane_header, message_header and body of a bulk message travel in the active message's user header.
inline constexpr std::size_t max_bulk_header = 4 * 1024;
inline constexpr std::size_t ticket_size = 16;
inline constexpr std::size_t max_sack_ranges = 32;
inline constexpr std::size_t max_credit_returns = 64;
/// Attachments (payloads above the inline threshold) of one message.
inline constexpr std::size_t max_attachments = 64;

// -- frames -----------------------------------------------------------------

enum class lane_frame : std::uint16_t { batch = 1, bulk = 2, ticket = 3 };

/// First in every active message of a lane.
struct lane_header {
  std::uint64_t epoch_key; ///< random key of the epoch, from the link; anything else is dropped and counted
  std::uint64_t ack;       ///< cumulative: every sequence number up to this one was delivered
  std::uint32_t epoch;
  lane_frame kind;
  std::uint16_t count; ///< message frames that follow (batch), 1 (bulk), 0 (ticket)
};
static_assert(sizeof(lane_header) == 24);

enum class message_kind : std::uint8_t {
  message = 1,  ///< an actor message, sequenced
  monitor = 2,  ///< sequenced: tell me when `target` dies
  down = 3,     ///< sequenced: `sender` died; the body is the encoded reason
  link = 4,     ///< sequenced: `sender` (here) is linked to `target` (there)
  unlink = 5,   ///< sequenced
  nack = 6,     ///< sequenced: a request could not be handed over; `message_id` names it, the body is the error
  ack = 16,     ///< unsequenced: sack_range[`aux`] then credit_return[rest of the body]
};

/// Flags of a message_header.
enum message_flag : std::uint8_t {
  barrier = 1, ///< deliver only after every lower sequence number (a down that has more predecessors than fit)
  replay = 2,  ///< posted again after an epoch was lost
  body_in_data = 4, ///< bulk: the body is too large for the active message's header and leads its data
};

/// First in every frame of a batch, and in a bulk message.
struct message_header {
  std::uint64_t seq;        ///< of the session, 1, 2, 3, ...; 0 when unsequenced
  std::uint64_t after;      ///< the pair's previous sequence number that was not acknowledged; 0: waits for nothing
  std::uint64_t sender;     ///< actor id on the sending node, 0: none
  std::uint64_t target;     ///< actor id on the receiving node, 0: the node itself
  std::uint64_t message_id; ///< CAF's message id, with its request, response and priority bits
  std::uint32_t size;       ///< bytes of the body that follows
  std::uint16_t aux;        ///< message: attachments (bulk); ack: number of SACK ranges; down: extra predecessors
  message_kind kind;
  std::uint8_t flags;
};
static_assert(sizeof(message_header) == 48);

/// An inclusive range of sequence numbers delivered beyond the cumulative acknowledgement.
struct sack_range {
  std::uint64_t first;
  std::uint64_t last;
};
static_assert(sizeof(sack_range) == 16);

/// Messages that left the mailbox of `target` since the last return, those of the message lane and those of the bulk
/// lane apart: the two have windows of their own, so that one huge message never uses up the credit of small ones.
struct credit_return {
  std::uint64_t target;
  std::uint32_t messages;
  std::uint32_t bulk_messages;
  std::uint64_t bytes;
  std::uint64_t bulk_bytes;
};
static_assert(sizeof(credit_return) == 32);

// -- bounded reading and writing --------------------------------------------

/// Reads fixed structs from untrusted bytes. Once a read did not fit, ok() is false and every later read fails.
class frame_reader {
public:
  explicit frame_reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  /// Copies the next `sizeof(T)` bytes into `x`.
  template <class T>
  bool read(T& x) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!ok_ || bytes_.size() < sizeof(T))
      return ok_ = false;
    std::memcpy(&x, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }

  /// Takes the next `n` bytes without copying them; empty and not ok when there are fewer.
  std::span<const std::byte> take(std::size_t n) noexcept {
    if (!ok_ || bytes_.size() < n) {
      ok_ = false;
      return {};
    }
    auto head = bytes_.first(n);
    bytes_ = bytes_.subspan(n);
    return head;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return bytes_; }

private:
  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

/// Writes into memory of a fixed size and goes on counting past its end, so that the caller learns what would have
/// fitted: when overflown() is true nothing useful was written and needed() is the size to provide.
class byte_writer {
public:
  explicit byte_writer(std::span<std::byte> memory) noexcept : memory_(memory) {}

  void write(const void* data, std::size_t n) noexcept {
    if (n != 0 && used_ <= memory_.size() && n <= memory_.size() - used_)
      std::memcpy(memory_.data() + used_, data, n);
    used_ += n;
  }

  template <class T>
  void write(const T& x) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    write(&x, sizeof(T));
  }

  [[nodiscard]] bool overflown() const noexcept { return used_ > memory_.size(); }
  [[nodiscard]] std::size_t needed() const noexcept { return used_; }

private:
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

} // namespace troupe::proto
