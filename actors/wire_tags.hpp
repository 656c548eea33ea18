// The one-byte tags inside bodies.
#pragma once

#include <cstdint>

namespace troupe {

/// How a payload is written.
enum class payload_tag : std::uint8_t {
  inlined = 0,  ///< u32 size, the bytes
  attached = 1, ///< u16 index among the attachments, which are used in order; u64 size
};

/// How a handle is written.
enum class handle_tag : std::uint8_t {
  null = 0,
  node = 1,    ///< u64 actor id, u32 process id, 20 bytes of host id
  no_node = 2, ///< u64 actor id: from a system that has no node id
};

/// How an error is written.
enum class error_tag : std::uint8_t {
  none = 0,   ///< no error
  plain = 1,  ///< u8 code, u64 category
  text = 2,   ///< like plain; then a u32 size and the text that is the context
  values = 3, ///< like plain; then the context as a body
};

} // namespace troupe
