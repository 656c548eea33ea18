// Reads the body of one message from a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <caf/actor_control_block.hpp>
#include <caf/error.hpp>
#include <caf/fwd.hpp>
#include <caf/rtti_pair.hpp>

#include <troupe/actors/codec_limits.hpp>
#include <troupe/actors/error.hpp>
#include <troupe/proto/frame.hpp>
#include <troupe/transport/payload.hpp>

namespace troupe {

class handle_source;
class peer_types;
class type_table;

/// What the codecs of elements read from. Trusts nothing: every length is checked against the bytes present. The first
/// failure stays, and every later read fails. Lives on the stack of one decode call.
class body_reader {
public:
  body_reader(caf::actor_system& system, const type_table& types, const peer_types& theirs, handle_source& handles,
              std::span<const std::byte> body, std::span<const payload> attachments, caf::execution_unit* ctx) noexcept
    : system_(system), types_(types), theirs_(theirs), handles_(handles), in_(body), attachments_(attachments),
      ctx_(ctx), element_budget_(body.size() * max_elements_per_byte) {}
  body_reader(const body_reader&) = delete;
  body_reader& operator=(const body_reader&) = delete;

  // -- values: false after the first failure --------------------------------------

  template <class T>
  bool read(T& x) {
    return in_.read(x) || truncated();
  }

  /// The next `size` bytes, in place; empty and not ok() when there are fewer.
  std::span<const std::byte> take(std::size_t size) {
    auto bytes = in_.take(size);
    if (!in_.ok())
      truncated();
    return bytes;
  }

  /// Bytes behind a u32 number of bytes, in place.
  std::span<const std::byte> read_bytes();

  /// A u32 number of elements, of which each has at least `element_size` bytes on the wire.
  bool read_size(std::size_t& size, std::size_t element_size);

  /// A u32 number of elements of an unknown size; bounds what all sequences of the body may have together.
  bool read_sequence(std::size_t& size);

  bool read_payload(payload& x);
  bool read_handle(caf::strong_actor_ptr& x);
  bool read_error(caf::error& x);
  bool read_message(caf::message& x);

  /// Fails when bytes or attachments are left.
  bool expect_end();

  // -- failures ---------------------------------------------------------------------

  [[nodiscard]] bool ok() const noexcept { return !failure_; }
  [[nodiscard]] const caf::error& failure() const noexcept { return failure_; }

  /// Remembers the first failure. Always false.
  bool fail(caf::error why) noexcept;
  bool fail(errc code, std::string text) { return fail(make_error(code, std::move(text))); }
  /// Always false.
  bool malformed(std::string text) { return fail(errc::decode_failed, std::move(text)); }

  /// Says in the failure's text which element could not be read.
  void annotate_failure(std::size_t pos, caf::rtti_pair type);

  /// Whether a value of a recursive type may go one level deeper; fails when max_codec_stack is used up.
  bool deepen();

  // -- properties ---------------------------------------------------------------------

  [[nodiscard]] caf::actor_system& system() const noexcept { return system_; }
  [[nodiscard]] caf::execution_unit* context() const noexcept { return ctx_; }
  [[nodiscard]] std::size_t remaining() const noexcept { return in_.rest().size(); }

private:
  bool truncated();
  bool unknown_type(std::uint16_t id);

  caf::actor_system& system_;
  const type_table& types_;
  const peer_types& theirs_;
  handle_source& handles_;
  proto::frame_reader in_;
  std::span<const payload> attachments_;
  std::size_t next_attachment_ = 0;
  caf::execution_unit* ctx_;
  std::size_t element_budget_; // elements that sequences may still announce
  const std::byte* const stack_base_ = static_cast<const std::byte*>(__builtin_frame_address(0));
  std::size_t depth_ = 0;
  caf::error failure_;
};

} // namespace troupe
