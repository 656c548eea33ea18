// Any protobuf message as an element of actor messages.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <google/protobuf/message.h>

#include <troupe/actors/direct_types.hpp>

namespace troupe {

/// A u32 number of bytes, then the message in protobuf's encoding.
struct protobuf_format {
  static bool write(body_writer& out, const google::protobuf::Message& x);
  /// errc::decode_failed for bytes that are no such message.
  static bool read(body_reader& in, google::protobuf::Message& x);
};

namespace detail {
caf::error serialize_protobuf(const google::protobuf::Message& x, std::string& bytes);
caf::error parse_protobuf(google::protobuf::Message& x, const std::string& bytes);
} // namespace detail

/// Makes protobuf messages message types under their full names. Sending one inside the node copies or shares it, but
/// never serializes it. Before the actor system is made.
template <class... Ts>
void add_protobuf_types(caf::actor_system_config& config) {
  static_assert((std::is_base_of_v<google::protobuf::Message, Ts> && ...), "only generated protobuf messages");
  (register_direct_type(typeid(Ts), {std::make_shared<direct_codec<Ts, protobuf_format>>(), ""}), ...);
  (config.add_message_type<Ts>(Ts::descriptor()->full_name()), ...);
}

} // namespace troupe

// CAF finds inspect by the namespace of a generated class's base, so that nothing is needed for each type.
namespace google::protobuf {

template <class Inspector, class T>
  requires std::is_base_of_v<Message, T>
typename Inspector::result_type inspect(Inspector& f, T& x) {
  if constexpr (!std::is_same_v<typename Inspector::result_type, caf::error>) {
    auto text = x.ShortDebugString();
    return f(caf::meta::type_name(x.GetTypeName().c_str()), text);
  } else {
    std::string bytes;
    if constexpr (Inspector::reads_state)
      if (auto err = troupe::detail::serialize_protobuf(x, bytes))
        return err;
    auto parse = [&] { return troupe::detail::parse_protobuf(x, bytes); };
    return f(bytes, caf::meta::load_callback(parse));
  }
}

} // namespace google::protobuf
