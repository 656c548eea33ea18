#include <troupe/actors/body_serializer.hpp>

#include <algorithm>

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/node_id.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/local_types.hpp>
#include <troupe/actors/scalar_formats.hpp>

namespace troupe {

body_serializer::body_serializer(body_writer& out, caf::execution_unit* ctx)
  : caf::serializer(ctx), out_(out), begin_(out.position()) {
  // nop
}

bool body_serializer::finish() {
  if (!out_.ok())
    return false;
  auto bytes = out_.position() - begin_;
  if (out_.position() < least_end_ || elements_ > bytes * max_elements_per_byte)
    return out_.fail(errc::exceeds_limit, "sequences of " + std::to_string(elements_) + " elements in "
                                            + std::to_string(bytes)
                                            + " bytes: long sequences need a byte for each element");
  for (auto id : seen_)
    if (auto ptr = out_.system().registry().get(id))
      out_.extras().handles.emplace_back(std::move(ptr));
  return true;
}

caf::error body_serializer::begin_object(std::uint16_t& type, std::string& name) {
  // Called for messages inside structs: the name lists the types of all their elements.
  if (names_local_type(name))
    return result(out_.fail(errc::unsupported, "a message inside it holds a type that cannot travel there: " + name));
  if (!out_.deepen())
    return out_.failure();
  out_.write(type);
  return type == 0 ? result(out_.write_bytes(name.data(), name.size())) : caf::error{};
}

caf::error body_serializer::end_object() {
  return caf::none;
}

caf::error body_serializer::begin_sequence(std::size_t& size) {
  if (!out_.deepen() || !out_.write_size(size))
    return out_.failure();
  least_end_ = std::max(least_end_, out_.position() + least_bytes_of_sequence(size));
  elements_ += size;
  return caf::none;
}

caf::error body_serializer::end_sequence() {
  return caf::none;
}

caf::error body_serializer::apply_raw(std::size_t size, void* data) {
  return result(out_.write(data, size));
}

template <class T>
caf::error body_serializer::write(const T& x) {
  if (!out_.deepen())
    return out_.failure();
  out_.write(x);
  return caf::none;
}

caf::error body_serializer::apply_impl(std::int8_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::uint8_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::int16_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::uint16_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::int32_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::uint32_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::int64_t& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(std::uint64_t& x) {
  // CAF writes a handle as the actor's id followed by the kind of its node id, and puts a local actor into the registry
  // without a word to the serializer. So whatever comes before the kind of a node id is looked up there afterwards: the
  // session must know what it hands out. A number that only looks like a handle costs a vain lookup.
  constexpr auto node_kind = static_cast<std::uint64_t>(caf::node_id::default_data::class_id);
  constexpr auto no_node = static_cast<std::uint64_t>(caf::atom(""));
  if ((x == node_kind || (x == no_node && !out_.system().node())) && last_u64_ != 0
      && last_u64_end_ == out_.position())
    seen_.push_back(last_u64_);
  auto err = write(x);
  last_u64_ = x;
  last_u64_end_ = out_.position();
  return err;
}

caf::error body_serializer::apply_impl(float& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(double& x) {
  return write(x);
}

caf::error body_serializer::apply_impl(long double& x) {
  return result(long_double_format::write(out_, x));
}

caf::error body_serializer::apply_impl(std::string& x) {
  return result(out_.deepen() && out_.write_bytes(x.data(), x.size()));
}

caf::error body_serializer::apply_impl(std::u16string& x) {
  return result(out_.deepen() && string_format<std::u16string>::write(out_, x));
}

caf::error body_serializer::apply_impl(std::u32string& x) {
  return result(out_.deepen() && string_format<std::u32string>::write(out_, x));
}

caf::error body_serializer::result(bool ok) const {
  return ok ? caf::error{} : out_.failure();
}

} // namespace troupe
