// How often one thing may be said.
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

/// Admits so many events per second and counts the others. Not threadsafe; the clock is handed in.
class rate_limiter {
public:
  using clock = std::chrono::steady_clock;

  struct verdict {
    bool admitted = false;
    std::uint64_t suppressed = 0; ///< events refused since the last admitted one; 0 when this one is refused
  };

  /// `per_second` 0 admits everything.
  verdict admit(clock::time_point now, unsigned per_second) noexcept {
    if (now - window_start_ >= std::chrono::seconds(1) || !started_) {
      started_ = true;
      window_start_ = now;
      admitted_ = 0;
    }
    if (per_second != 0 && admitted_ >= per_second) {
      ++suppressed_;
      return {};
    }
    ++admitted_;
    return {true, take_suppressed()};
  }

  /// The events refused since the last admitted one, which are then forgotten.
  std::uint64_t take_suppressed() noexcept {
    const auto count = suppressed_;
    suppressed_ = 0;
    return count;
  }

private:
  clock::time_point window_start_{};
  unsigned admitted_ = 0;
  std::uint64_t suppressed_ = 0;
  bool started_ = false;
};

} // namespace troupe
