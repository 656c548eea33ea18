// How long a loop without work spins before it sleeps. Pure: it is told the times.
#pragma once

#include <algorithm>
#include <chrono>

namespace troupe {

/// Learns from what spinning brought: work found late in a spin, or soon after falling asleep, makes the next spin
/// longer, up to max_growth times the configured one; long sleeps make it shorter, down to shortest.
class spin_budget {
public:
  using nanoseconds = std::chrono::nanoseconds;

  /// The budget grows to at most this many times the configured spin.
  static constexpr int max_growth = 4;
  /// The budget shrinks to at most this, so that a loop that is mostly idle costs next to nothing.
  static constexpr nanoseconds shortest = std::chrono::microseconds{2};

  /// `configured` <= 0: never spin.
  explicit spin_budget(nanoseconds configured) noexcept
    : floor_(std::clamp(configured, nanoseconds{0}, shortest)),
      ceiling_(std::max(configured, nanoseconds{0}) * max_growth),
      budget_(std::max(configured, nanoseconds{0})) {}

  [[nodiscard]] nanoseconds get() const noexcept { return budget_; }

  /// Work came after `gap` of spinning.
  void hit(nanoseconds gap) noexcept {
    if (gap > budget_ / 2)
      budget_ = std::min(ceiling_, budget_ * 2);
  }

  /// Work came after a sleep, `gap` after the work before it.
  void missed(nanoseconds gap) noexcept {
    budget_ = gap <= ceiling_ ? std::min(ceiling_, std::max(budget_, gap) * 2) : std::max(floor_, budget_ / 2);
  }

private:
  nanoseconds floor_;
  nanoseconds ceiling_;
  nanoseconds budget_;
};

} // namespace troupe
