// The direct codecs of CAF's own types.
#pragma once

#include <cstdint>
#include <memory>

#include <troupe/actors/element_codec.hpp>

namespace troupe {

/// The codec of the builtin type with this number (caf::type_nr), null when it has none of its own.
[[nodiscard]] std::shared_ptr<const element_codec> make_builtin_codec(std::uint16_t type_nr);

} // namespace troupe
