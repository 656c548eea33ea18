// Seeing a process on the same host die, and never mistaking another one for it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <troupe/transport/unique_fd.hpp>

namespace troupe::transport {

/// Which process, beyond its reusable pid.
struct process_id {
  std::uint64_t pid = 0;
  /// When it started, in clock ticks since boot (field 22 of /proc/PID/stat).
  std::uint64_t start_time = 0;
  /// The inode of its pid namespace: pids of two namespaces cannot be compared.
  std::uint64_t pid_namespace = 0;

  friend bool operator==(const process_id&, const process_id&) = default;
};

/// This process; start_time or pid_namespace is 0 where /proc does not tell. @threadsafe
[[nodiscard]] process_id this_process();

/// Whether `id`, as told by itself, runs: neither gone, nor a zombie, nor replaced by a process of the same pid. Empty
/// when it cannot be known: another pid namespace, or /proc does not show it. @threadsafe
[[nodiscard]] std::optional<bool> runs(const process_id& id);

/// Whether `id` has begun to exit, or has. A process closes its sockets while it exits, so one whose connection was
/// just lost and that is not exiting lives on. False when it cannot be known. @threadsafe
[[nodiscard]] bool exiting(const process_id& id);

/// Watches one process through a pidfd.
class process_watch {
public:
  /// Empty when `id` is not known for certain to be a running process of this pid namespace, or the kernel has no
  /// pidfds: then nothing may be concluded from pids. @threadsafe
  [[nodiscard]] static std::optional<process_watch> open(const process_id& id);

  /// Becomes readable when the process has ended (a zombie has). Owned by the watch.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Whether the process has ended. Does not block.
  [[nodiscard]] bool ended() const noexcept;

  /// Gives the descriptor away, for an event loop that wants to own it.
  [[nodiscard]] unique_fd release() && noexcept { return std::move(fd_); }

private:
  explicit process_watch(unique_fd fd) noexcept : fd_(std::move(fd)) {}

  unique_fd fd_;
};

} // namespace troupe::transport
