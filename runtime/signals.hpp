// SIGINT and SIGTERM as an orderly end.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace troupe {

/// While one exists, SIGINT and SIGTERM no longer kill the process: they end wait(). A handler does it, not a blocked
/// mask: whatever thread the signal lands on, an application's own included, the outcome is the same, and before and
/// after the process can be interrupted as usual. A second signal kills a process that does not end.
class stop_signals {
public:
  /// Throws std::system_error. More than one may exist: all hear the signal.
  stop_signals();
  /// The last one restores what was in force before the first.
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  /// Blocks until a signal came (its number) or wake() was called (0), before or after the call. @threadsafe
  int wait() noexcept;
  /// The same with a limit; nullopt: nothing happened in time. @threadsafe
  std::optional<int> wait_for(std::chrono::milliseconds limit) noexcept;
  /// Ends this object's wait(), now or later. @threadsafe
  void wake() noexcept;

private:
  int wake_fd_ = -1;
};

/// Blocks every signal that may interrupt a thread, but not those of a fault, while it lives. Threads started meanwhile
/// inherit that: a node's threads never take a signal.
class signal_shield {
public:
  signal_shield() noexcept;
  ~signal_shield();
  signal_shield(const signal_shield&) = delete;
  signal_shield& operator=(const signal_shield&) = delete;

  /// The same for the rest of the calling thread's life.
  static void block_this_thread() noexcept;

private:
  sigset_t before_;
};

} // namespace troupe
