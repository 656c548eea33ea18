// CAF's serializer interface over a message's body: for the types that have no direct codec.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/serializer.hpp>

#include <troupe/actors/body_writer.hpp>

namespace troupe {

/// Writes one element with the element's inspect function. Numbers are written as their bytes, so that floating-point
/// values keep every bit.
class body_serializer final : public caf::serializer {
public:
  body_serializer(body_writer& out, caf::execution_unit* ctx);

  /// Call after the element was written: checks that the reader will accept its sequences, and reports the local actors
  /// whose handles were met. Answers out.ok().
  bool finish();

  /// For members that the codec writes its own way.
  [[nodiscard]] body_writer& out() noexcept { return out_; }

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
  template <class T>
  caf::error write(const T& x);
  caf::error result(bool ok) const;

  body_writer& out_;
  const std::size_t begin_;
  std::size_t least_end_ = 0;       // where the element must end at least for the reader to accept its sequences
  std::uint64_t elements_ = 0;      // of all sequences
  std::uint64_t last_u64_ = 0;      // the value before this one, if it was a u64
  std::size_t last_u64_end_ = 0;    // and where it ended
  std::vector<caf::actor_id> seen_; // what looked like the ids of actors
};

} // namespace troupe
