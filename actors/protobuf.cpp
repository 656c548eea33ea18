#include <troupe/actors/protobuf.hpp>

#include <array>
#include <limits>

namespace troupe {

namespace {

constexpr std::size_t max_protobuf_bytes = std::numeric_limits<int>::max(); // protobuf's own limit

/// Null when it can be serialized; its own functions would write to stderr instead of answering.
caf::error check(const google::protobuf::Message& x, std::size_t size) {
  if (!x.IsInitialized())
    return make_error(errc::invalid_param, x.GetTypeName() + " lacks required fields: "
                                             + x.InitializationErrorString());
  if (size > max_protobuf_bytes)
    return make_error(errc::exceeds_limit, x.GetTypeName() + " of " + std::to_string(size)
                                             + " bytes: protobuf allows 2^31 - 1");
  return caf::none;
}

bool parse(google::protobuf::Message& x, std::span<const std::byte> bytes) {
  return bytes.size() <= max_protobuf_bytes && x.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))
         && x.IsInitialized();
}

} // namespace

bool protobuf_format::write(body_writer& out, const google::protobuf::Message& x) {
  auto size = x.ByteSizeLong();
  if (auto err = check(x, size))
    return out.fail(std::move(err));
  out.write(static_cast<std::uint32_t>(size));
  std::array<std::byte, 1024> near;
  if (size <= near.size()) {
    x.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(near.data()));
    return out.write(near.data(), size);
  }
  std::string far;
  x.AppendPartialToString(&far);
  return out.write(far.data(), far.size());
}

bool protobuf_format::read(body_reader& in, google::protobuf::Message& x) {
  auto bytes = in.read_bytes();
  if (!in.ok())
    return false;
  return parse(x, bytes) || in.malformed("bytes that are no " + x.GetTypeName());
}

caf::error detail::serialize_protobuf(const google::protobuf::Message& x, std::string& bytes) {
  if (auto err = check(x, x.ByteSizeLong()))
    return err;
  bytes.clear();
  x.AppendPartialToString(&bytes);
  return caf::none;
}

caf::error detail::parse_protobuf(google::protobuf::Message& x, const std::string& bytes) {
  if (parse(x, std::as_bytes(std::span{bytes})))
    return caf::none;
  return make_error(errc::decode_failed, "bytes that are no " + x.GetTypeName());
}

} // namespace troupe
