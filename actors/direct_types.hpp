// Message types of the user with a direct codec: no serializer, no allocation for each element.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>

#include <caf/actor_system_config.hpp>

#include <troupe/actors/element_codec.hpp>

namespace troupe {

/// A direct codec, and what it appends to the type's name so that only nodes with the same encoding match.
struct direct_type {
  std::shared_ptr<const element_codec> codec;
  std::string suffix;
};

/// Remembers, for the whole process, that elements of `type` travel by `how`; the first call for a type counts. Has an
/// effect on the type_tables made later, in systems where the type is registered. @threadsafe
void register_direct_type(std::type_index type, direct_type how);

/// The codec of a type that has one, else a null one. @threadsafe
[[nodiscard]] direct_type find_direct_type(std::type_index type);

/// Copies the bytes of a T, without those of its padding.
template <class T>
struct raw_format {
  static bool write(body_writer& out, const T& x) {
    T copy = x;
    __builtin_clear_padding(&copy); // what lies there is none of the peer's business
    return out.write(copy);
  }
  static bool read(body_reader& in, T& x) { return in.read(x); }
};

/// Makes `T` a message type that travels as its bytes. For structs of numbers and arrays of them: T must not hold
/// pointers, and every pattern of bytes must be a valid T (so no bool members and no enums that a switch relies on),
/// since the peer may send any. Nodes match it by `name` and size; they must run on machines of the same byte order and
/// layout. Before the actor system is made.
template <class T>
void add_trivial_message_type(caf::actor_system_config& config, std::string name) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types travel as their bytes");
  static_assert(std::is_class_v<T> && !std::is_empty_v<T>, "CAF's own types and empty ones are message types already");
  register_direct_type(typeid(T),
                       {std::make_shared<direct_codec<T, raw_format<T>>>(), "#raw" + std::to_string(sizeof(T))});
  config.add_message_type<T>(std::move(name));
}

} // namespace troupe
