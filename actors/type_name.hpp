// Types and elements in the words of an error's text.
#pragma once

#include <cstddef>
#include <string>

#include <caf/error.hpp>
#include <caf/rtti_pair.hpp>

namespace troupe {

/// The name of a type as a person knows it: CAF's name of a builtin type, the C++ name of any other. @threadsafe
[[nodiscard]] std::string type_name(caf::rtti_pair type);

/// Puts "element <pos> (<type>): " before the text of one of Troupe's errors. The errors of others stay as they are.
[[nodiscard]] caf::error annotate(caf::error why, std::size_t pos, const std::string& type);

} // namespace troupe
