// A message that came from a peer, in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <caf/detail/message_data.hpp>

namespace troupe {

class body_reader;
class element_codec;

/// The elements lie behind the object, where their codecs put them: one allocation for the whole message, and none for
/// an element that needs no memory of its own. To the behaviours of actors it is a message like any other.
class decoded_message final : public caf::detail::message_data {
public:
  /// Reads one element for each codec, in order. Null after in.fail(). The caller owns the first reference. Throws what
  /// the constructors of elements throw.
  [[nodiscard]] static decoded_message* read(std::span<const element_codec* const> codecs, body_reader& in);

  decoded_message(const decoded_message&) = delete;
  decoded_message& operator=(const decoded_message&) = delete;
  ~decoded_message() override;

  /// The block is larger than the object, so it is freed without a size.
  static void operator delete(void* block) { ::operator delete(block); }

  // -- message_data -------------------------------------------------------------

  [[nodiscard]] decoded_message* copy() const override;
  void* get_mutable(std::size_t pos) override;
  caf::error load(std::size_t pos, caf::deserializer& source) override;
  [[nodiscard]] std::size_t size() const noexcept override;
  [[nodiscard]] std::uint32_t type_token() const noexcept override;
  [[nodiscard]] caf::rtti_pair type(std::size_t pos) const noexcept override;
  [[nodiscard]] const void* get(std::size_t pos) const noexcept override;
  [[nodiscard]] std::string stringify(std::size_t pos) const override;
  [[nodiscard]] caf::type_erased_value_ptr copy(std::size_t pos) const override;
  caf::error save(std::size_t pos, caf::serializer& sink) const override;

private:
  struct slot {
    const element_codec* codec;
    void* place;   // what the codec constructed
    void* element; // the value in it
  };
  struct extra_bytes {
    std::size_t value;
  };

  static void* operator new(std::size_t size, extra_bytes extra) { return ::operator new(size + extra.value); }
  static void operator delete(void* block, extra_bytes) { ::operator delete(block); }

  decoded_message() = default;
  static decoded_message* allocate(std::span<const element_codec* const> codecs);
  [[nodiscard]] slot* slots() noexcept;
  [[nodiscard]] const slot* slots() const noexcept;

  std::size_t size_ = 0; // elements constructed so far
  std::uint32_t token_ = 0xFFFFFFFF;
};

} // namespace troupe
