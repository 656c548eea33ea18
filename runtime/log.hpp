// The log: a level per component, one line per message, shared by all nodes of a process.
//
//   log_info(log_component::session, "peer {} is up over {}", name, transport);
//   log_limited(log_component::link, log_level::warn, "closed {}: {}", address, reason);  // at most 10 a second here
//
// A line reads: time, level, component, node, text. The time is the local time at start plus the monotonic time since
// then: it never jumps. What is disabled costs one relaxed load and formats nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace troupe {

// -- vocabulary ---------------------------------------------------------------

enum class log_component : std::uint8_t { node, link, lane, session, names, loop, chat };
inline constexpr std::size_t log_component_count = 7;

enum class log_level : std::uint8_t { trace, debug, info, warn, error, off };

/// A longer text is cut, and the line says by how much.
inline constexpr std::size_t max_log_text = 4 * 1024;

[[nodiscard]] std::string_view to_string(log_component component) noexcept;
[[nodiscard]] std::string_view to_string(log_level level) noexcept;
/// nullopt: no such level. @threadsafe
[[nodiscard]] std::optional<log_level> parse_log_level(std::string_view text) noexcept;

// -- settings -----------------------------------------------------------------

struct log_settings {
  log_level level = log_level::warn;                                         ///< of components without one of their own
  std::array<std::optional<log_level>, log_component_count> component_level; ///< indexed by log_component
  std::string file;                                                          ///< appended to; empty: standard error
  unsigned rate_limit = 10;                                                  ///< lines/s of one log_limited(); 0: all

  [[nodiscard]] log_level level_of(log_component component) const noexcept {
    return component_level[static_cast<std::size_t>(component)].value_or(level);
  }
};

/// Applies to the whole process, at once; the last call counts. Throws std::runtime_error, and changes nothing, when
/// the file cannot be opened. @threadsafe
void configure_log(const log_settings& settings);

/// Writes what log_limited() has suppressed and not yet told, then flushes. @threadsafe
void flush_log();

/// Names the node whose thread this is in the lines it logs, until the thread ends or names another. Empty: the process
/// name of name_log_process().
void name_log_thread(std::string node);
/// The node named by threads without a name of their own. @threadsafe
void name_log_process(std::string node);

// -- writing ------------------------------------------------------------------

namespace detail {

extern std::array<std::atomic<log_level>, log_component_count> log_thresholds;

void vlog(log_component component, log_level level, fmt::string_view format, fmt::format_args args);
void vlog_limited(const std::source_location& where, log_component component, log_level level, fmt::string_view format,
                  fmt::format_args args);

/// A format string that knows where it was written.
template <class... Args>
struct located_format {
  template <class Text>
  consteval located_format(const Text& text, std::source_location at = std::source_location::current())
      : format(text), where(at) {}

  fmt::format_string<Args...> format;
  std::source_location where;
};

} // namespace detail

/// Whether a line of this component and level would be written. @threadsafe
[[nodiscard]] inline bool log_enabled(log_component component, log_level level) noexcept {
  return level >= detail::log_thresholds[static_cast<std::size_t>(component)].load(std::memory_order_relaxed);
}

/// Writes a line already formatted; control characters in it are escaped, as in every line. Of the shape that the
/// layers below, which know no log, take as a hook. @threadsafe
void log_text(log_component component, log_level level, std::string_view text);

/// @threadsafe
template <class... Args>
void log(log_component component, log_level level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(component, level))
    detail::vlog(component, level, format, fmt::make_format_args(args...));
}

/// @threadsafe
template <class... Args>
void log_trace(log_component component, fmt::format_string<Args...> format, Args&&... args) {
  log(component, log_level::trace, format, std::forward<Args>(args)...);
}

/// @threadsafe
template <class... Args>
void log_debug(log_component component, fmt::format_string<Args...> format, Args&&... args) {
  log(component, log_level::debug, format, std::forward<Args>(args)...);
}

/// @threadsafe
template <class... Args>
void log_info(log_component component, fmt::format_string<Args...> format, Args&&... args) {
  log(component, log_level::info, format, std::forward<Args>(args)...);
}

/// @threadsafe
template <class... Args>
void log_warn(log_component component, fmt::format_string<Args...> format, Args&&... args) {
  log(component, log_level::warn, format, std::forward<Args>(args)...);
}

/// @threadsafe
template <class... Args>
void log_error(log_component component, fmt::format_string<Args...> format, Args&&... args) {
  log(component, log_level::error, format, std::forward<Args>(args)...);
}

/// For what a peer or a fault can repeat at will: writes at most log_settings::rate_limit lines a second from this
/// place in the source, and says how many it left out when it writes again or flush_log() is called. @threadsafe
template <class... Args>
void log_limited(log_component component, log_level level, detail::located_format<std::type_identity_t<Args>...> format,
                 Args&&... args) {
  if (log_enabled(component, level))
    detail::vlog_limited(format.where, component, level, format.format, fmt::make_format_args(args...));
}

} // namespace troupe
