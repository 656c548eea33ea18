#include <troupe/runtime/log.hpp>

#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <troupe/runtime/rate_limiter.hpp>

namespace troupe {

namespace {

constexpr std::array<std::string_view, log_component_count> component_names{"node",  "link", "lane", "session",
                                                                            "names", "loop", "chat"};
constexpr std::array<std::string_view, 6> level_names{"trace", "debug", "info", "warn", "error", "off"};

constexpr const char* line_pattern = "%H:%M:%S.%f %^%-7l%$ %-7n %v";

spdlog::level::level_enum to_spdlog(log_level level) {
  switch (level) {
  case log_level::trace:
    return spdlog::level::trace;
  case log_level::debug:
    return spdlog::level::debug;
  case log_level::info:
    return spdlog::level::info;
  case log_level::warn:
    return spdlog::level::warn;
  case log_level::error:
    return spdlog::level::err;
  case log_level::off:
    break;
  }
  return spdlog::level::off;
}

/// A place in the source.
struct site {
  const char* file;
  std::uint_least32_t line;
  std::uint_least32_t column;

  friend bool operator==(const site&, const site&) = default;
};

struct site_hash {
  std::size_t operator()(const site& where) const noexcept {
    return std::hash<const void*>{}(where.file) ^ (std::size_t{where.line} << 8) ^ where.column;
  }
};

/// What one log_limited() has done so far.
struct site_state {
  rate_limiter limiter;
  log_component component;
  log_level level;
  std::string format; ///< names the message when only a count of it is reported
};

struct log_state {
  log_state() {
    for (std::size_t i = 0; i < log_component_count; ++i) {
      loggers[i] = std::make_unique<spdlog::logger>(std::string{component_names[i]}, sink);
      // The thresholds in the header decide what is written.
      loggers[i]->set_level(spdlog::level::trace);
      // A killed process has told what it knew.
      loggers[i]->flush_on(spdlog::level::trace);
    }
    use(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  }

  void use(spdlog::sink_ptr target) {
    target->set_formatter(std::make_unique<spdlog::pattern_formatter>(line_pattern));
    sink->set_sinks({std::move(target)});
  }

  const std::chrono::system_clock::time_point wall_start = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point steady_start = std::chrono::steady_clock::now();
  const std::shared_ptr<spdlog::sinks::dist_sink_mt> sink = std::make_shared<spdlog::sinks::dist_sink_mt>();
  std::array<std::unique_ptr<spdlog::logger>, log_component_count> loggers;

  std::mutex configure_mutex;
  std::string file; ///< written to now; empty: standard error

  std::atomic<unsigned> rate_limit{log_settings{}.rate_limit};
  std::mutex sites_mutex;
  std::unordered_map<site, site_state, site_hash> sites; ///< as many as there are calls of log_limited() in the program

  std::mutex name_mutex;
  std::string process_name;
};

/// Never destroyed: threads may log until the very end of the process.
log_state& state() {
  static auto& instance = *new log_state;
  return instance;
}

thread_local std::string thread_name;

std::string current_name() {
  if (!thread_name.empty())
    return thread_name;
  auto& log = state();
  const std::lock_guard lock{log.name_mutex};
  return log.process_name.empty() ? "-" : log.process_name;
}

/// Names and texts of peers end up in the log: no byte of theirs may begin a line of its own or drive a terminal.
void append_escaped(std::string& line, std::string_view text) {
  const auto kept = text.substr(0, max_log_text);
  for (const char c : kept) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", byte);
    else
      line.push_back(c);
  }
  if (kept.size() < text.size())
    fmt::format_to(std::back_inserter(line), " ... ({} bytes more)", text.size() - kept.size());
}

std::string suppressed_note(std::uint64_t count, std::string_view format) {
  return fmt::format("{} more like \"{}\" were suppressed (log-rate-limit)", count, format);
}

} // namespace

namespace detail {

// Constant-initialised: right before any constructor that logs.
static_assert(log_component_count == 7);
constinit std::array<std::atomic<log_level>, log_component_count> log_thresholds{
    log_level::warn, log_level::warn, log_level::warn, log_level::warn,
    log_level::warn, log_level::warn, log_level::warn};

void vlog(log_component component, log_level level, fmt::string_view format, fmt::format_args args) {
  log_text(component, level, fmt::vformat(format, args));
}

void vlog_limited(const std::source_location& where, log_component component, log_level level, fmt::string_view format,
                  fmt::format_args args) {
  auto& log = state();
  std::uint64_t suppressed = 0;
  {
    const std::lock_guard lock{log.sites_mutex};
    const site key{where.file_name(), where.line(), where.column()};
    auto found = log.sites.find(key);
    if (found == log.sites.end())
      found = log.sites.emplace(key, site_state{{}, component, level, {format.data(), format.size()}}).first;
    const auto verdict = found->second.limiter.admit(rate_limiter::clock::now(), log.rate_limit.load());
    if (!verdict.admitted)
      return;
    suppressed = verdict.suppressed;
  }
  if (suppressed > 0)
    log_text(component, level, suppressed_note(suppressed, {format.data(), format.size()}));
  vlog(component, level, format, args);
}

} // namespace detail

std::string_view to_string(log_component component) noexcept {
  const auto index = static_cast<std::size_t>(component);
  return index < component_names.size() ? component_names[index] : "unknown";
}

std::string_view to_string(log_level level) noexcept {
  const auto index = static_cast<std::size_t>(level);
  return index < level_names.size() ? level_names[index] : "unknown";
}

std::optional<log_level> parse_log_level(std::string_view text) noexcept {
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (level_names[i] == text)
      return static_cast<log_level>(i);
  return std::nullopt;
}

void configure_log(const log_settings& settings) {
  auto& log = state();
  const std::lock_guard lock{log.configure_mutex};
  if (settings.file != log.file) {
    spdlog::sink_ptr target;
    try {
      if (settings.file.empty())
        target = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
      else
        target = std::make_shared<spdlog::sinks::basic_file_sink_mt>(settings.file);
    } catch (const spdlog::spdlog_ex&) {
      throw std::runtime_error(fmt::format("cannot write the log file {}: {}; choose another with log-file",
                                           settings.file, std::strerror(errno)));
    }
    log.use(std::move(target));
    log.file = settings.file;
  }
  log.rate_limit.store(settings.rate_limit);
  for (std::size_t i = 0; i < log_component_count; ++i)
    detail::log_thresholds[i].store(settings.level_of(static_cast<log_component>(i)), std::memory_order_relaxed);
}

void flush_log() {
  auto& log = state();
  struct pending {
    log_component component;
    log_level level;
    std::string text;
  };
  std::vector<pending> notes;
  {
    const std::lock_guard lock{log.sites_mutex};
    for (auto& [where, said] : log.sites)
      if (const auto count = said.limiter.take_suppressed(); count > 0)
        notes.push_back({said.component, said.level, suppressed_note(count, said.format)});
  }
  for (const auto& note : notes)
    log_text(note.component, note.level, note.text);
  log.sink->flush();
}

void name_log_thread(std::string node) { thread_name = std::move(node); }

void name_log_process(std::string node) {
  auto& log = state();
  const std::lock_guard lock{log.name_mutex};
  log.process_name = std::move(node);
}

void log_text(log_component component, log_level level, std::string_view text) {
  if (!log_enabled(component, level) || level == log_level::off)
    return;
  auto& log = state();
  std::string line = current_name();
  line += ": ";
  append_escaped(line, text);
  const auto since_start = std::chrono::duration_cast<std::chrono::system_clock::duration>(
      std::chrono::steady_clock::now() - log.steady_start);
  log.loggers[static_cast<std::size_t>(component)]->log(log.wall_start + since_start, spdlog::source_loc{},
                                                        to_spdlog(level), line);
}

} // namespace troupe
