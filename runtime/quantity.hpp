// Durations and sizes as people write them: 500ms, 4s, 64KiB, 1GiB.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace troupe {

/// A whole number and a unit of ns, us, ms, s, min or h; "0" needs no unit. Throws std::invalid_argument with a text
/// that says what is expected. @threadsafe
[[nodiscard]] std::chrono::nanoseconds parse_duration(const std::string& text);

/// Bytes: a whole number, alone or with a unit of B, KiB, MiB, GiB or TiB. Throws std::invalid_argument with a text
/// that says what is expected. @threadsafe
[[nodiscard]] std::uint64_t parse_size(const std::string& text);

/// A whole number without a unit. Throws std::invalid_argument with a text that says what is expected. @threadsafe
[[nodiscard]] std::uint64_t parse_count(const std::string& text);

/// In the largest unit that leaves a whole number, so that parse_duration() reads the same value back. @threadsafe
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds value);

/// In the largest unit that leaves a whole number, so that parse_size() reads the same value back. @threadsafe
[[nodiscard]] std::string format_size(std::uint64_t bytes);

} // namespace troupe
