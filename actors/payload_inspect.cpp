#include <troupe/actors/payload_inspect.hpp>

#include <algorithm>

#include <caf/actor_system_config.hpp>
#include <caf/deserializer.hpp>
#include <caf/serializer.hpp>

#include <troupe/actors/body_deserializer.hpp>
#include <troupe/actors/body_serializer.hpp>

namespace troupe {

caf::error inspect(caf::serializer& sink, payload& x) {
  if (auto* body = dynamic_cast<body_serializer*>(&sink))
    return body->out().write_payload(x) ? caf::error{} : body->out().failure();
  auto size = x.size();
  return caf::error::eval([&] { return sink.begin_sequence(size); },
                          [&] {
                            // CAF reads and writes through the same pointer type; a serializer only reads.
                            auto* bytes = const_cast<std::byte*>(x.data());
                            return size != 0 ? sink.apply_raw(size, bytes) : caf::error{};
                          },
                          [&] { return sink.end_sequence(); });
}

caf::error inspect(caf::deserializer& source, payload& x) {
  if (auto* body = dynamic_cast<body_deserializer*>(&source))
    return body->in().read_payload(x) ? caf::error{} : body->in().failure();
  std::size_t size = 0;
  if (auto err = source.begin_sequence(size))
    return err;
  // The size may be anything: memory is taken as the bytes turn up.
  constexpr std::size_t step = 64 * 1024;
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    auto have = bytes.size();
    bytes.resize(have + std::min(step, size - have));
    if (auto err = source.apply_raw(bytes.size() - have, bytes.data() + have))
      return err;
  }
  x = payload::copy_of(bytes.data(), bytes.size());
  return source.end_sequence();
}

std::string to_string(const payload& x) {
  return "payload(" + std::to_string(x.size()) + ")";
}

void add_payload_type(caf::actor_system_config& config) {
  config.add_message_type<payload>("troupe::payload");
}

} // namespace troupe
