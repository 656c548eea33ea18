#include <troupe/actors/codec.hpp>

#include <exception>

#include <caf/actor_system.hpp>

#include <troupe/actors/body_reader.hpp>
#include <troupe/actors/body_writer.hpp>

namespace troupe {

caf::error codec::encode(const caf::type_erased_tuple& content, proto::byte_writer& out, encoded_extras& extras,
                         caf::execution_unit* ctx) const {
  extras.clear();
  body_writer writer{system_, types_, out, extras, ctx};
  // Copies of elements are made here; what they throw must not reach the sender's mailbox loop.
  try {
    writer.write_tuple(content);
  } catch (const std::exception& x) {
    writer.fail(errc::internal, std::string{"an exception while encoding: "} + x.what());
  }
  return writer.failure();
}

caf::expected<caf::message> codec::decode(std::span<const std::byte> body, std::span<const payload> attachments,
                                          const peer_types& theirs, handle_source& handles,
                                          caf::execution_unit* ctx) const {
  body_reader reader{system_, types_, theirs, handles, body, attachments, ctx};
  caf::message result;
  try {
    if (reader.read_message(result) && reader.expect_end())
      return result;
  } catch (const std::exception& x) {
    reader.malformed(std::string{"an exception while decoding: "} + x.what());
  }
  return reader.failure();
}

void codec::encode_error(const caf::error& why, proto::byte_writer& out, caf::execution_unit* ctx) const {
  encoded_extras extras;
  body_writer writer{system_, types_, out, extras, ctx};
  writer.write_error(why);
}

caf::error codec::decode_error(std::span<const std::byte> body, const peer_types& theirs, handle_source& handles,
                               caf::execution_unit* ctx, caf::error& why) const {
  body_reader reader{system_, types_, theirs, handles, body, {}, ctx};
  try {
    if (reader.read_error(why) && reader.expect_end())
      return caf::none;
  } catch (const std::exception& x) {
    reader.malformed(std::string{"an exception while decoding: "} + x.what());
  }
  return reader.failure();
}

} // namespace troupe
