#include <troupe/actors/decoded_message.hpp>

#include <array>
#include <new>

#include <caf/intrusive_ptr.hpp>

#include <troupe/actors/codec_limits.hpp>
#include <troupe/actors/element_codec.hpp>

namespace troupe {

namespace {

constexpr std::size_t round_up(std::size_t x, std::size_t alignment) {
  return (x + alignment - 1) / alignment * alignment;
}

} // namespace

decoded_message* decoded_message::allocate(std::span<const element_codec* const> codecs) {
  constexpr auto block_alignment = alignof(std::max_align_t);
  static_assert(block_alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  static_assert(sizeof(decoded_message) % alignof(slot) == 0);
  std::array<std::size_t, max_message_elements> offsets;
  auto end = sizeof(decoded_message) + codecs.size() * sizeof(slot);
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    offsets[i] = round_up(end, codecs[i]->alignment());
    end = offsets[i] + codecs[i]->size();
  }
  auto* result = new (extra_bytes{end - sizeof(decoded_message)}) decoded_message;
  auto* block = reinterpret_cast<std::byte*>(result);
  for (std::size_t i = 0; i < codecs.size(); ++i)
    new (result->slots() + i) slot{codecs[i], block + offsets[i], nullptr};
  return result;
}

decoded_message* decoded_message::read(std::span<const element_codec* const> codecs, body_reader& in) {
  caf::intrusive_ptr<decoded_message> result{allocate(codecs), false};
  for (auto* codec : codecs) {
    auto& next = result->slots()[result->size_];
    next.element = codec->decode(next.place, in);
    if (next.element == nullptr) {
      in.annotate_failure(result->size_, codec->type());
      return nullptr;
    }
    ++result->size_;
    result->token_ = caf::add_to_type_token(result->token_, codec->type().first);
  }
  return result.detach();
}

decoded_message::~decoded_message() {
  for (auto i = size_; i > 0; --i)
    slots()[i - 1].codec->destroy(slots()[i - 1].place);
}

decoded_message* decoded_message::copy() const {
  std::array<const element_codec*, max_message_elements> codecs;
  for (std::size_t i = 0; i < size_; ++i)
    codecs[i] = slots()[i].codec;
  caf::intrusive_ptr<decoded_message> result{allocate({codecs.data(), size_}), false};
  for (; result->size_ < size_; ++result->size_) {
    auto& to = result->slots()[result->size_];
    to.element = to.codec->copy(to.place, slots()[result->size_].place);
  }
  result->token_ = token_;
  return result.detach();
}

void* decoded_message::get_mutable(std::size_t pos) {
  return slots()[pos].element;
}

caf::error decoded_message::load(std::size_t pos, caf::deserializer& source) {
  return slots()[pos].codec->load(slots()[pos].place, source);
}

std::size_t decoded_message::size() const noexcept {
  return size_;
}

std::uint32_t decoded_message::type_token() const noexcept {
  return token_;
}

caf::rtti_pair decoded_message::type(std::size_t pos) const noexcept {
  return slots()[pos].codec->type();
}

const void* decoded_message::get(std::size_t pos) const noexcept {
  return slots()[pos].element;
}

std::string decoded_message::stringify(std::size_t pos) const {
  return slots()[pos].codec->stringify(slots()[pos].place);
}

caf::type_erased_value_ptr decoded_message::copy(std::size_t pos) const {
  return slots()[pos].codec->value_of(slots()[pos].place);
}

caf::error decoded_message::save(std::size_t pos, caf::serializer& sink) const {
  return slots()[pos].codec->save(slots()[pos].place, sink);
}

decoded_message::slot* decoded_message::slots() noexcept {
  return reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(this) + sizeof(decoded_message));
}

const decoded_message::slot* decoded_message::slots() const noexcept {
  return reinterpret_cast<const slot*>(reinterpret_cast<const std::byte*>(this) + sizeof(decoded_message));
}

} // namespace troupe
