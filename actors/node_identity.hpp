// How a node is told apart from every other one inside CAF.
#pragma once

#include <cstdint>
#include <string_view>

#include <caf/node_id.hpp>

namespace troupe {

/// The CAF node id of the node `name` in its life `incarnation`: the same on every host, different for another name or
/// incarnation (HMAC-SHA-256 of both, shortened to CAF's 20 bytes of host id and 4 of process id). Always valid. Throws
/// std::runtime_error if OpenSSL has no such function. @threadsafe
[[nodiscard]] caf::node_id node_id_of(std::string_view name, std::uint64_t incarnation);

} // namespace troupe
