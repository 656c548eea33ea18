#include <troupe/runtime/quantity.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>

namespace troupe {

namespace {

using number = std::uint64_t;

constexpr std::array<std::pair<const char*, number>, 6> duration_units{{{"h", 3'600'000'000'000},
                                                                        {"min", 60'000'000'000},
                                                                        {"s", 1'000'000'000},
                                                                        {"ms", 1'000'000},
                                                                        {"us", 1'000},
                                                                        {"ns", 1}}};
constexpr std::array<std::pair<const char*, number>, 5> size_units{
    {{"TiB", number{1} << 40}, {"GiB", number{1} << 30}, {"MiB", number{1} << 20}, {"KiB", number{1} << 10}, {"B", 1}}};

constexpr const char* duration_hint =
    "a duration: write a whole number and a unit of ns, us, ms, s, min or h, such as 4s";
constexpr const char* size_hint = "a size: write a whole number and a unit of B, KiB, MiB, GiB or TiB, such as 64MiB";
constexpr const char* count_hint = "a whole number";

[[noreturn]] void refuse(const std::string& text, const char* hint) {
  throw std::invalid_argument('"' + text + "\" is not " + hint);
}

number to_number(const std::string& digits, const std::string& text, const char* hint) {
  number value = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end)
    refuse(text, hint);
  return value;
}

/// CLI11 finds and applies the unit. What it takes for a number beyond plain digits is refused before: signs, other
/// bases, spaces.
template <class Units>
number with_unit(const std::string& text, const Units& units, bool unit_required, const char* hint) {
  const auto unit_begin = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (unit_begin == 0 || !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(unit_begin), text.end(), is_letter))
    refuse(text, hint);
  using validator = CLI::AsNumberWithUnit;
  const auto options =
      validator::CASE_SENSITIVE | (unit_required ? validator::UNIT_REQUIRED : validator::UNIT_OPTIONAL);
  std::string value = text;
  try {
    const validator apply{std::map<std::string, number>{units.begin(), units.end()},
                          static_cast<validator::Options>(options)};
    if (!apply(value).empty())
      refuse(text, hint);
  } catch (const CLI::ValidationError&) {
    refuse(text, hint);
  }
  return to_number(value, text, hint);
}

template <class Units>
std::string format(number value, const Units& units) {
  for (const auto& [name, factor] : units)
    if (value != 0 && value % factor == 0)
      return std::to_string(value / factor) + name;
  return "0";
}

} // namespace

std::chrono::nanoseconds parse_duration(const std::string& text) {
  if (text == "0")
    return {};
  const auto value = with_unit(text, duration_units, true, duration_hint);
  if (value > static_cast<number>(std::numeric_limits<std::int64_t>::max()))
    refuse(text, duration_hint);
  return std::chrono::nanoseconds{static_cast<std::int64_t>(value)};
}

std::uint64_t parse_size(const std::string& text) { return with_unit(text, size_units, false, size_hint); }

std::uint64_t parse_count(const std::string& text) { return to_number(text, text, count_hint); }

std::string format_duration(std::chrono::nanoseconds value) {
  return format(static_cast<number>(value.count()), duration_units);
}

std::string format_size(std::uint64_t bytes) { return format(bytes, size_units); }

} // namespace troupe
