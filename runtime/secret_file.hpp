// The shared secret of a file.
#pragma once

#include <string>

namespace troupe {

/// Reads a file of 1 to max_secret_bytes bytes, without one line break at its end. Throws std::invalid_argument with a
/// text that says why not: it cannot be read, other users may read or write it, it is empty or too long. @threadsafe
[[nodiscard]] std::string read_secret_file(const std::string& path);

/// Whether users outside the file's owner and group may read or write it; false when there is no such file. @threadsafe
[[nodiscard]] bool open_to_others(const std::string& path) noexcept;

} // namespace troupe
