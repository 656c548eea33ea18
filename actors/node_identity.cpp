#include <troupe/actors/node_identity.hpp>

#include <string>

#include <troupe/transport/hmac.hpp>

namespace troupe {

namespace {

/// Keeps these digests apart from every other use of the same function.
constexpr std::string_view purpose = "troupe node id";

/// The incarnation in 8 bytes, then the name: no other pair gives the same bytes.
std::string message_of(std::string_view name, std::uint64_t incarnation) {
  std::string message;
  for (int shift = 0; shift < 64; shift += 8)
    message += static_cast<char>(incarnation >> shift);
  message += name;
  return message;
}

} // namespace

caf::node_id node_id_of(std::string_view name, std::uint64_t incarnation) {
  const auto digest = transport::hmac_sha256(purpose, message_of(name, incarnation));
  auto byte = digest.begin();
  caf::node_id::default_data::host_id_type host;
  for (auto& x : host)
    x = static_cast<std::uint8_t>(*byte++);
  std::uint32_t process = 0;
  for (int i = 0; i < 4; ++i)
    process = process << 8 | static_cast<std::uint8_t>(*byte++);
  if (process == 0) // CAF takes it for "no node"
    process = 1;
  return caf::make_node_id(process, host);
}

} // namespace troupe
