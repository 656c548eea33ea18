// The codec of every type without a direct one: CAF's inspect functions over the body.
#pragma once

#include <functional>

#include <caf/type_erased_value.hpp>

#include <troupe/actors/element_codec.hpp>

namespace troupe {

/// Keeps an element as CAF's type-erased value, which takes an allocation for each.
class fallback_codec final : public element_codec {
public:
  /// `make` makes an empty element.
  explicit fallback_codec(std::function<caf::type_erased_value_ptr()> make);

  bool encode(const caf::type_erased_tuple& content, std::size_t pos, body_writer& out) const override;
  void* decode(void* place, body_reader& in) const override;
  void* copy(void* place, const void* from) const override;
  void destroy(void* place) const noexcept override;
  [[nodiscard]] std::string stringify(const void* place) const override;
  [[nodiscard]] caf::type_erased_value_ptr value_of(const void* place) const override;
  caf::error save(const void* place, caf::serializer& sink) const override;
  caf::error load(void* place, caf::deserializer& source) const override;

private:
  static const caf::type_erased_value_ptr& at(const void* place) noexcept;

  std::function<caf::type_erased_value_ptr()> make_;
};

} // namespace troupe
