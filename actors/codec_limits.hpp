// The limits of the message codec. A sender that keeps to them is never refused by a receiver that checks them.
#pragma once

#include <cstddef>

namespace troupe {

/// Payloads above this size are not copied into a message's body: they travel beside it as attachments.
inline constexpr std::size_t attach_threshold = 4 * 1024;
/// Elements of one message, or of one message inside another.
inline constexpr std::size_t max_message_elements = 64;
/// Messages inside messages (and inside the context of errors).
inline constexpr std::size_t max_message_depth = 8;
/// Message types one node knows; vector<T> and stream<T> of each added type count.
inline constexpr std::size_t max_type_names = 4096;
/// Bytes of one type's name.
inline constexpr std::size_t max_type_name = 255;
/// Bytes of an error's context on the wire. A longer one is sent as a text, cut to this length.
inline constexpr std::size_t max_error_context = 1024;
/// Stack that a value of a recursive type may use while it is encoded or decoded.
inline constexpr std::size_t max_codec_stack = 256 * 1024;
/// Up to this many elements a sequence may have eight elements for each byte (std::vector<bool>); longer ones need a
/// byte for each element.
inline constexpr std::size_t max_packed_sequence = 1024 * 1024;
/// Up to this many elements a sequence may take no bytes at all (empty types).
inline constexpr std::size_t max_empty_sequence = 64;
/// Elements of all sequences of one message, for each byte of it.
inline constexpr std::size_t max_elements_per_byte = 16;

/// The fewest bytes in which a sequence of `elements` is accepted.
constexpr std::size_t least_bytes_of_sequence(std::size_t elements) noexcept {
  if (elements <= max_empty_sequence)
    return 0;
  return elements <= max_packed_sequence ? (elements + 7) / 8 : elements;
}

} // namespace troupe
