// Writes the body of one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <caf/actor_control_block.hpp>
#include <caf/error.hpp>
#include <caf/fwd.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/proto/frame.hpp>
#include <troupe/transport/payload.hpp>

namespace troupe {

struct encoded_extras;
class type_table;

/// What the codecs of elements write to. The first failure stays; whatever is written after it does not count. Lives on
/// the stack of one encode call.
class body_writer {
public:
  body_writer(caf::actor_system& system, const type_table& types, proto::byte_writer& out, encoded_extras& extras,
              caf::execution_unit* ctx) noexcept
    : system_(system), types_(types), out_(out), extras_(extras), ctx_(ctx) {}
  body_writer(const body_writer&) = delete;
  body_writer& operator=(const body_writer&) = delete;

  // -- values, in the order of the reader's functions ---------------------------
  // All answer ok(), so that a codec can return the last call.

  bool write(const void* data, std::size_t size) noexcept {
    out_.write(data, size);
    return true;
  }

  template <class T>
  bool write(const T& x) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.write(&x, sizeof(T));
    return true;
  }

  /// A u32 number of bytes, then the bytes.
  bool write_bytes(const void* data, std::size_t size);

  /// A u32 number of elements; errc::exceeds_limit when it does not fit.
  bool write_size(std::size_t size);

  /// The bytes, or the index and size of an attachment.
  bool write_payload(const payload& x);

  /// An actor's id and node; reports a local one in the extras. `x` may be null, and its actor may be gone.
  bool write_handle(const caf::actor_control_block* x);

  /// An error with its context.
  bool write_error(const caf::error& x);

  /// A whole message: number of elements, their types, the elements.
  bool write_tuple(const caf::type_erased_tuple& content);

  // -- failures -----------------------------------------------------------------

  [[nodiscard]] bool ok() const noexcept { return !failure_; }
  [[nodiscard]] const caf::error& failure() const noexcept { return failure_; }

  /// Remembers the first failure. Always false.
  bool fail(caf::error why) noexcept;
  bool fail(errc code, std::string text) { return fail(make_error(code, std::move(text))); }

  /// Whether a value of a recursive type may go one level deeper; fails when max_codec_stack is used up.
  bool deepen();

  // -- properties -----------------------------------------------------------------

  [[nodiscard]] caf::actor_system& system() const noexcept { return system_; }
  [[nodiscard]] caf::execution_unit* context() const noexcept { return ctx_; }
  [[nodiscard]] encoded_extras& extras() noexcept { return extras_; }
  /// Bytes written, or what they would be when the memory was too small.
  [[nodiscard]] std::size_t position() const noexcept { return out_.needed(); }

private:
  bool write_context(const caf::message& context);

  caf::actor_system& system_;
  const type_table& types_;
  proto::byte_writer& out_;
  encoded_extras& extras_;
  caf::execution_unit* ctx_;
  const std::byte* const stack_base_ = static_cast<const std::byte*>(__builtin_frame_address(0));
  std::size_t depth_ = 0;
  caf::error failure_;
};

} // namespace troupe
