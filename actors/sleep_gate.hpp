// How a loop's thread goes to sleep without missing a wake-up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe {

/// One sleeping thread and any number of wakers. The sleeper calls announce(), then checks once more for work: a waker
/// first publishes its work and then calls wake(), so one of the two sees the other (both use sequentially consistent
/// operations; Dekker's argument). A waker pays one load unless the thread sleeps.
class sleep_gate {
public:
  /// Throws std::system_error if the process has no file descriptor left.
  sleep_gate();
  sleep_gate(const sleep_gate&) = delete;
  sleep_gate& operator=(const sleep_gate&) = delete;
  ~sleep_gate();

  // -- the sleeper ------------------------------------------------------------

  /// From here on wake() ends the coming wait().
  void announce() noexcept { asleep_.store(true, std::memory_order_seq_cst); }

  /// There was work after all: no wait() follows.
  void retract() noexcept { asleep_.store(false, std::memory_order_relaxed); }

  /// Sleeps until woken, until a watched descriptor is readable, or until `timeout` passed (negative: no limit). May
  /// return early. Granularity: a nanosecond where the kernel has epoll_pwait2, else a millisecond, rounded up.
  void wait(std::chrono::nanoseconds timeout) noexcept;

  /// Whether readable `fd` ends wait(). False if the kernel refuses it (not pollable, watched already). The descriptor
  /// must stay open until unwatch(fd).
  [[nodiscard]] bool watch(int fd) noexcept;
  void unwatch(int fd) noexcept;

  /// How often wait() was called.
  [[nodiscard]] std::uint64_t sleeps() const noexcept { return sleeps_.load(std::memory_order_relaxed); }

  // -- wakers -----------------------------------------------------------------

  /// Ends the wait() that was announced, if any. Call it after the work is published. @threadsafe
  void wake() noexcept {
    if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst))
      signal();
  }

  /// How often a sleeping thread had to be woken by a system call. @threadsafe
  [[nodiscard]] std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }

private:
  void signal() noexcept;

  int event_fd_ = -1;
  int epoll_fd_ = -1;
  bool fine_timeouts_ = true;
  std::atomic<std::uint64_t> sleeps_{0};
  std::atomic<std::uint64_t> wakes_{0};
  alignas(64) std::atomic<bool> asleep_{false};
};

} // namespace troupe
