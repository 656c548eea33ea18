#include <troupe/actors/body_deserializer.hpp>

#include <algorithm>
#include <cstring>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/type_nr.hpp>

#include <troupe/actors/local_types.hpp>
#include <troupe/actors/scalar_formats.hpp>

namespace troupe {

body_deserializer::body_deserializer(body_reader& in, caf::execution_unit* ctx) : caf::deserializer(ctx), in_(in) {
  // nop
}

caf::error body_deserializer::begin_object(std::uint16_t& type, std::string& name) {
  if (!in_.deepen() || !in_.read(type))
    return in_.failure();
  if (type != 0)
    return caf::none;
  auto bytes = in_.read_bytes();
  name.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return result(in_.ok() && check_types(name));
}

/// Called for messages inside structs: the name lists the types of all their elements. CAF would look them up too, but
/// code in its library loses the error when there is none.
bool body_deserializer::check_types(std::string_view name) {
  if (names_local_type(name))
    return in_.malformed("a message inside it holds a type that cannot travel there: " + std::string{name});
  constexpr std::string_view prefix = "@<>";
  if (!name.starts_with(prefix))
    return in_.malformed("a message inside it has no type");
  auto& known = in_.system().config().value_factories_by_name;
  for (name.remove_prefix(prefix.size()); !name.empty();) {
    name.remove_prefix(1); // the plus sign
    std::string type{name.substr(0, name.find('+'))};
    auto* builtin_end = caf::numbered_type_names + caf::type_nrs - 1;
    if (std::find(caf::numbered_type_names, builtin_end, type) == builtin_end && known.count(type) == 0)
      return in_.fail(errc::unknown_type,
                      "a message inside it holds the type " + type + ", which is not registered on this node");
    name.remove_prefix(type.size());
  }
  return true;
}

caf::error body_deserializer::end_object() {
  return caf::none;
}

caf::error body_deserializer::begin_sequence(std::size_t& size) {
  return result(in_.deepen() && in_.read_sequence(size));
}

caf::error body_deserializer::end_sequence() {
  return caf::none;
}

caf::error body_deserializer::apply_raw(std::size_t size, void* data) {
  auto bytes = in_.take(size);
  if (!in_.ok())
    return in_.failure();
  if (size != 0)
    std::memcpy(data, bytes.data(), size);
  return caf::none;
}

template <class T>
caf::error body_deserializer::read(T& x) {
  return result(in_.deepen() && in_.read(x));
}

caf::error body_deserializer::apply_impl(std::int8_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::uint8_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::int16_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::uint16_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::int32_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::uint32_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::int64_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(std::uint64_t& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(float& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(double& x) {
  return read(x);
}

caf::error body_deserializer::apply_impl(long double& x) {
  return result(long_double_format::read(in_, x));
}

caf::error body_deserializer::apply_impl(std::string& x) {
  return result(in_.deepen() && string_format<std::string>::read(in_, x));
}

caf::error body_deserializer::apply_impl(std::u16string& x) {
  return result(in_.deepen() && string_format<std::u16string>::read(in_, x));
}

caf::error body_deserializer::apply_impl(std::u32string& x) {
  return result(in_.deepen() && string_format<std::u32string>::read(in_, x));
}

caf::error body_deserializer::result(bool ok) const {
  return ok ? caf::error{} : in_.failure();
}

} // namespace troupe
