// Lets a troupe::payload be an element of a message, or a member of a struct that is one.
#pragma once

#include <string>

#include <caf/error.hpp>
#include <caf/fwd.hpp>

#include <troupe/transport/payload.hpp>

namespace troupe {

/// Writes the bytes; into a message to another node, a payload above attach_threshold is not copied but attached, also
/// when it is a member of a struct.
caf::error inspect(caf::serializer& sink, payload& x);

/// Reads the bytes back into a block of its own, or shares the attachment.
caf::error inspect(caf::deserializer& source, payload& x);

/// The size alone: "payload(1048576)".
[[nodiscard]] std::string to_string(const payload& x);

/// Makes `payload` a message type of every actor system made with `config`. Once for each configuration.
void add_payload_type(caf::actor_system_config& config);

} // namespace troupe
