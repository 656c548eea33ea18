// CAF's deserializer interface over a message's body: for the types that have no direct codec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <caf/deserializer.hpp>

#include <troupe/actors/body_reader.hpp>

namespace troupe {

/// Reads one element with the element's inspect function. Every size is checked before CAF allocates for it.
class body_deserializer final : public caf::deserializer {
public:
  body_deserializer(body_reader& in, caf::execution_unit* ctx);

  /// For members that the codec reads its own way.
  [[nodiscard]] body_reader& in() noexcept { return in_; }

  caf::error begin_object(std::uint16_t& type, std::string& name) override;
  caf::error end_object() override;
  caf::error begin_sequence(std::size_t& size) override;
  caf::error end_sequence() override;
  caf::error apply_raw(std::size_t size, void* data) override;

protected:
  caf::error apply_impl(std::int8_t& x) override;
  caf::error apply_impl(std::uint8_t& x) override;
  caf::error apply_impl(std::int16_t& x) override;
  caf::error apply_impl(std::uint16_t& x) override;
  caf::error apply_impl(std::int32_t& x) override;
  caf::error apply_impl(std::uint32_t& x) override;
  caf::error apply_impl(std::int64_t& x) override;
  caf::error apply_impl(std::uint64_t& x) override;
  caf::error apply_impl(float& x) override;
  caf::error apply_impl(double& x) override;
  caf::error apply_impl(long double& x) override;
  caf::error apply_impl(std::string& x) override;
  caf::error apply_impl(std::u16string& x) override;
  caf::error apply_impl(std::u32string& x) override;

private:
  bool check_types(std::string_view name);
  template <class T>
  caf::error read(T& x);
  caf::error result(bool ok) const;

  body_reader& in_;
};

} // namespace troupe
