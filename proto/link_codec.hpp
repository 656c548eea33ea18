// Link frames as bytes: a 4-byte little-endian length, then that many bytes of an encoded LinkFrame.
//
// Nothing here trusts the sender: a length is checked against the bound before anything is kept for it, and a decoded
// frame is handed out only when every field keeps to its limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <troupe/proto/link.pb.h>

namespace troupe::proto {

// -- limits of a link -------------------------------------------------------

inline constexpr std::size_t link_prefix_bytes = 4;
/// The largest frame from a peer that has not proved yet that it knows the secret.
inline constexpr std::size_t max_unproved_frame_bytes = 4 * 1024;
/// The largest frame from an authenticated peer.
inline constexpr std::size_t max_link_frame_bytes = 1024 * 1024;

inline constexpr std::uint32_t link_magic = 0x4c505254; // "TRPL"
inline constexpr std::size_t link_nonce_bytes = 32;
inline constexpr std::size_t link_hmac_bytes = 32;
inline constexpr std::size_t link_ticket_bytes = 16;
inline constexpr std::size_t max_node_name_bytes = 255;
inline constexpr std::size_t max_link_features = 16;
inline constexpr std::size_t max_link_transports = 8;
/// Of one feature or transport name.
inline constexpr std::size_t max_link_token_bytes = 32;
inline constexpr std::size_t max_host_id_bytes = 128;
inline constexpr std::size_t max_library_version_bytes = 64;
/// Of an encoded Terms.
inline constexpr std::size_t max_terms_bytes = 2 * 1024;
/// Of a reason that a person reads. Longer ones are cut when they are sent.
inline constexpr std::size_t max_link_text_bytes = 512;
inline constexpr std::size_t max_type_names = 4096;
inline constexpr std::size_t max_type_name_bytes = 255;
inline constexpr std::size_t max_worker_address_bytes = 64 * 1024;
/// Of the host part of an address.
inline constexpr std::size_t max_host_name_bytes = 255;
/// Heartbeat interval and down_after of a peer, in milliseconds.
inline constexpr std::uint32_t min_down_after_ms = 40;
inline constexpr std::uint32_t max_down_after_ms = 24 * 60 * 60 * 1000;

// -- one frame --------------------------------------------------------------

/// The name of the first field in `frame` that exceeds its limit or lacks what it must have ("hello.name");
/// empty when there is none. A frame of no known kind is "kind". @threadsafe
[[nodiscard]] std::string_view field_out_of_limits(const v1::LinkFrame& frame);

/// Appends `frame`, with its length, to `out`. False, and `out` is as before, when the frame breaks a limit or has more
/// than `bound` bytes. @threadsafe
[[nodiscard]] bool encode_link_frame(const v1::LinkFrame& frame, std::string& out,
                                     std::size_t bound = max_link_frame_bytes);

/// Decodes the bytes behind a length. False when they are no frame or break a limit; `why` then says which, in static
/// memory. @threadsafe
[[nodiscard]] bool decode_link_frame(std::span<const std::byte> body, v1::LinkFrame& frame, std::string_view& why);

/// Whether `text` is UTF-8 without control characters. @threadsafe
[[nodiscard]] bool is_link_text(std::string_view text) noexcept;

/// `text` cut to max_link_text_bytes, at a character's boundary, with control characters and bytes that are no UTF-8
/// replaced: fit to be sent, and to be logged when a peer sent it. @threadsafe
[[nodiscard]] std::string clean_link_text(std::string_view text);

// -- a stream of frames -----------------------------------------------------

/// Cuts a stream of bytes into frames. Holds at most one frame and what arrived behind it in the same read.
class link_frame_cutter {
public:
  enum class status {
    frame,     ///< a whole frame was taken out
    need_more, ///< feed it
    too_large, ///< the length exceeds the bound; the stream cannot be read any further
    empty,     ///< a length of zero, which no frame has; likewise
  };

  explicit link_frame_cutter(std::size_t bound) noexcept : bound_(bound) {}

  /// Holds for every frame not taken out yet.
  void bound(std::size_t bytes) noexcept { bound_ = bytes; }
  [[nodiscard]] std::size_t bound() const noexcept { return bound_; }

  /// Appends bytes as they came. Take out the frames before you feed more.
  void feed(std::span<const std::byte> bytes);

  /// Takes the next frame's bytes, valid until the next call.
  [[nodiscard]] status next(std::span<const std::byte>& body);

  /// The length that was too large.
  [[nodiscard]] std::uint32_t claimed() const noexcept { return claimed_; }

  /// The first bytes that were not taken out, in printable form: what a stream that is no link begins with.
  [[nodiscard]] std::string excerpt() const;

  /// Whether a frame has begun and is not complete.
  [[nodiscard]] bool in_frame() const noexcept { return taken_ != buffer_.size(); }

private:
  std::string buffer_;
  std::size_t taken_ = 0;
  std::size_t bound_;
  std::uint32_t claimed_ = 0;
};

} // namespace troupe::proto
