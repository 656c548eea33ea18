// What a misspelt name was meant to be.
#pragma once

#include <string>
#include <vector>

namespace troupe {

/// The element of `names` that `wrong` is most likely meant to be; empty when none is near. @threadsafe
[[nodiscard]] std::string nearest_name(const std::string& wrong, const std::vector<std::string>& names);

} // namespace troupe
