// The table of a node's options: the one place that knows their names, ranges and meaning.
//
// Flags, environment variables, the configuration file, `troupe info` and the README's table all follow from it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <troupe/runtime/config.hpp>
#include <troupe/transport/link_config.hpp>

namespace troupe {

// -- limits of this layer -----------------------------------------------------

inline constexpr std::size_t max_name_bytes = 255;
inline constexpr std::size_t max_secret_bytes = transport::max_secret_bytes;
inline constexpr std::size_t max_config_file_bytes = 1024 * 1024;

/// One option of node_config.
struct config_option {
  std::string name; ///< "down-after": the key in a file; the flag is --down-after, the variable TROUPE_DOWN_AFTER
  std::string default_value; ///< as a person would write it, or describes it: "<down-after / 4>"
  std::string range;         ///< of the values allowed
  std::string documentation; ///< one or two sentences, without the default and the range
  bool quoted = false;       ///< a text, to be quoted in a file

  /// Parses and assigns. Throws std::invalid_argument with a text that says what is expected.
  std::function<void(node_config&, const std::string&)> set;
  /// The effective value as set() reads it; nullopt: unset. Never a secret: "(set, not shown)".
  std::function<std::optional<std::string>(const node_config&)> get;
  /// Throws std::invalid_argument when the field is out of its range.
  std::function<void(const node_config&)> check;

  [[nodiscard]] std::string flag() const { return "--" + name; }
  [[nodiscard]] std::string environment() const;
};

/// In the order in which they are shown. @threadsafe
[[nodiscard]] const std::vector<config_option>& config_options();

/// nullptr: no option of that name. @threadsafe
[[nodiscard]] const config_option* find_option(const std::string& name);

} // namespace troupe
