// How the elements of one type travel, and how they live inside a decoded message.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <caf/deep_to_string.hpp>
#include <caf/deserializer.hpp>
#include <caf/make_type_erased_value.hpp>
#include <caf/rtti_pair.hpp>
#include <caf/serializer.hpp>
#include <caf/type_erased_tuple.hpp>

#include <troupe/actors/body_reader.hpp>
#include <troupe/actors/body_writer.hpp>
#include <troupe/actors/guarded_members.hpp>

namespace troupe {

/// One for each registered type. Stateless as far as its users see: every function is @threadsafe. A decoded message
/// keeps each element in a `place` of size() bytes that the element's codec constructed and destroys.
class element_codec {
public:
  virtual ~element_codec() = default;

  /// The type of the elements.
  [[nodiscard]] caf::rtti_pair type() const noexcept { return type_; }
  /// Bytes of a place, and their alignment (at most that of std::max_align_t).
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }

  /// Writes element `pos` of `content`, which has this type. False after out.fail().
  virtual bool encode(const caf::type_erased_tuple& content, std::size_t pos, body_writer& out) const = 0;

  /// Reads an element into `place`. Answers where the element is, or null after in.fail(); nothing is constructed then.
  virtual void* decode(void* place, body_reader& in) const = 0;

  /// Copies the element of another place. May throw what the element's copy constructor throws.
  virtual void* copy(void* place, const void* from) const = 0;
  virtual void destroy(void* place) const noexcept = 0;

  // What CAF asks of the elements of a message.
  [[nodiscard]] virtual std::string stringify(const void* place) const = 0;
  [[nodiscard]] virtual caf::type_erased_value_ptr value_of(const void* place) const = 0;
  virtual caf::error save(const void* place, caf::serializer& sink) const = 0;
  virtual caf::error load(void* place, caf::deserializer& source) const = 0;

protected:
  element_codec(caf::rtti_pair type, std::size_t size, std::size_t alignment) noexcept
    : type_(type), size_(size), alignment_(alignment) {}

private:
  caf::rtti_pair type_;
  std::size_t size_;
  std::size_t alignment_;
};

/// A codec without CAF's serializer in the way: `Format` has
///   static bool write(body_writer&, const T&)   and
///   static bool read(body_reader&, T&)          which answer whether it worked.
template <class T, class Format>
class direct_codec final : public element_codec {
  static_assert(alignof(T) <= alignof(std::max_align_t), "over-aligned message elements are not supported");

public:
  direct_codec() : element_codec(caf::make_rtti_pair<T>(), sizeof(T), alignof(T)) {}

  bool encode(const caf::type_erased_tuple& content, std::size_t pos, body_writer& out) const override {
    return Format::write(out, *static_cast<const T*>(content.get(pos)));
  }

  void* decode(void* place, body_reader& in) const override {
    auto* x = new (place) T{};
    if (Format::read(in, *x))
      return x;
    x->~T();
    return nullptr;
  }

  void* copy(void* place, const void* from) const override { return new (place) T(at(from)); }
  void destroy(void* place) const noexcept override { static_cast<T*>(place)->~T(); }
  std::string stringify(const void* place) const override { return caf::deep_to_string(at(place)); }
  caf::type_erased_value_ptr value_of(const void* place) const override {
    return caf::make_type_erased_value<T>(at(place));
  }
  caf::error save(const void* place, caf::serializer& sink) const override { return sink(const_cast<T&>(at(place))); }
  caf::error load(void* place, caf::deserializer& source) const override { return source(*static_cast<T*>(place)); }

private:
  static const T& at(const void* place) noexcept { return *static_cast<const T*>(place); }
};

} // namespace troupe
