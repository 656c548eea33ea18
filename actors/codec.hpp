// Messages as bytes, and bytes as messages.
//
// A body is
//   u8  number of elements
//   u16 type id of each element, as numbered by the sender's type_table
//   the elements, one after the other, each in the encoding of its type
// little-endian and unaligned. Payloads above attach_threshold are not in it: the body holds their index and size, and
// they travel beside it. Values come back bit by bit as they were: NaN payloads, -0.0, embedded NULs, invalid UTF-8.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <caf/actor_control_block.hpp>
#include <caf/error.hpp>
#include <caf/expected.hpp>
#include <caf/fwd.hpp>
#include <caf/message.hpp>

#include <troupe/actors/codec_limits.hpp>
#include <troupe/actors/guarded_members.hpp>
#include <troupe/actors/handle_source.hpp>
#include <troupe/actors/payload_inspect.hpp>
#include <troupe/actors/type_table.hpp>
#include <troupe/proto/frame.hpp>

namespace troupe {

/// What belongs to a message beside its body. The caller may use one again and again to save allocations.
struct encoded_extras {
  /// At most proto::max_attachments; further payloads are copied into the body.
  std::vector<payload> attachments;
  /// Local actors whose handle is inside the message, in no order and possibly more than once.
  std::vector<caf::strong_actor_ptr> handles;

  void clear() noexcept {
    attachments.clear();
    handles.clear();
  }
};

/// Encodes and decodes messages of one actor system. Knows no peer; nothing in it changes. All members are @threadsafe.
class codec {
public:
  /// Both must outlive the codec.
  codec(caf::actor_system& system, const type_table& types) noexcept : system_(system), types_(types) {}

  [[nodiscard]] const type_table& types() const noexcept { return types_; }

  /// Writes the body of `content` to `out` and sets `extras` to what belongs to it. If `out` overflowed, provide
  /// out.needed() bytes and call again. `ctx` may be null. Fails with
  /// errc::unknown_type: an element's type is not registered here (the text names it),
  /// errc::exceeds_limit: more than max_message_elements, max_message_depth, ...,
  /// errc::unsupported: a type that never leaves its node (see local_types.hpp), a handle from a node named by an URI,
  /// or whatever the element's own inspect function answered.
  ///
  /// A local actor whose handle is an element (or in a vector<actor>, a down_msg, ...) is only reported in
  /// extras.handles. One that is hidden deeper, inside a struct, is reported too, but CAF also keeps it in
  /// system.registry() until it terminates.
  caf::error encode(const caf::type_erased_tuple& content, proto::byte_writer& out, encoded_extras& extras,
                    caf::execution_unit* ctx) const;

  /// Reads a body that came from a peer. Trusts nothing in it: memory use is bounded by a small multiple of the bytes
  /// present. `handles` finds the actors whose handle is an element; those hidden inside structs are found by CAF,
  /// through `ctx` and its proxy_registry_ptr(). Fails with
  /// errc::unknown_type: an element's type is not known here (the text names it),
  /// errc::decode_failed: truncated, malformed, or followed by garbage (the text says where).
  [[nodiscard]] caf::expected<caf::message> decode(std::span<const std::byte> body,
                                                   std::span<const payload> attachments, const peer_types& theirs,
                                                   handle_source& handles, caf::execution_unit* ctx) const;

  /// Writes an error: category, code, and its context, as the values it holds where they can be encoded, fit into
  /// max_error_context and hold no handle, otherwise as a text. Cannot fail; `out` may overflow, but never needs more
  /// than max_error_context + 16 bytes.
  void encode_error(const caf::error& why, proto::byte_writer& out, caf::execution_unit* ctx = nullptr) const;

  /// Reads what encode_error wrote into `why`. Answers errc::decode_failed or errc::unknown_type when it cannot.
  caf::error decode_error(std::span<const std::byte> body, const peer_types& theirs, handle_source& handles,
                          caf::execution_unit* ctx, caf::error& why) const;

private:
  caf::actor_system& system_;
  const type_table& types_;
};

} // namespace troupe
