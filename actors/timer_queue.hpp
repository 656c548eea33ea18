// Functions to call at a time. Pure: it is told the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace troupe {

/// Names one armed timer; false if default-constructed. Stale ones are harmless: a number is never used twice.
struct timer_id {
  std::chrono::steady_clock::time_point due{};
  std::uint64_t number = 0;

  explicit operator bool() const noexcept { return number != 0; }
  bool operator==(const timer_id&) const = default;
};

/// Not threadsafe. Timers run in the order of their times, equal times in the order they were armed.
class timer_queue {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Calls `f` once, when run_due() is told a time of at least `due`. O(log n). `f` must not throw.
  timer_id arm(time_point due, std::function<void()> f);

  /// True if the timer was armed and will not run; false if it ran, runs now, was cancelled, or never was. O(log n).
  bool cancel(timer_id id) noexcept;

  /// Runs what is due at `now` and returns how many ran. The functions may arm and cancel; one armed meanwhile waits
  /// for the next call, even if it is due.
  unsigned run_due(time_point now);

  /// When the next one is due; time_point::max() if there is none.
  [[nodiscard]] time_point next() const noexcept {
    return timers_.empty() ? time_point::max() : timers_.begin()->first.first;
  }

  [[nodiscard]] bool empty() const noexcept { return timers_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return timers_.size(); }

  /// Forgets all timers without running them.
  void clear() noexcept;

private:
  using key = std::pair<time_point, std::uint64_t>;

  std::map<key, std::function<void()>> timers_;
  std::uint64_t last_number_ = 0;
};

} // namespace troupe
