#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe::bench {

using deadline = std::chrono::steady_clock::time_point;

/// A moment `seconds` from now.
inline deadline in(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

/// A process started by the driver: its standard output is read line by line, its standard error is kept.
/// Destroying the object kills the process and waits for it; it dies with the driver in any case.
class child {
public:
  struct setup {
    std::vector<std::string> command;               ///< program and arguments; the program is looked up in PATH
    std::map<std::string, std::string> environment; ///< added to the driver's own
    std::optional<int> cpu;                         ///< the only CPU the process may use
  };

  /// Starts it. Throws std::runtime_error when the system gives no process, pipe or file.
  explicit child(const setup& what);
  ~child();
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  /// The next line of its standard output, without the newline; none once it ended or `until` is past.
  std::optional<std::string> read_line(deadline until);

  /// Waits until it has ended or `until` is past. True if it ended with exit status 0.
  bool ended_well(deadline until);

  /// Kills it (if it is still there) and waits for it.
  void finish();

  pid_t process() const { return process_; }

  /// What it wrote to standard error, at most the last 2000 bytes.
  std::string complaints() const;

private:
  bool reap(bool block);

  pid_t process_ = -1;
  bool running_ = false;
  int status_ = 0;
  int output_ = -1;
  int errors_ = -1;
  std::string buffer_;
};

} // namespace troupe::bench
