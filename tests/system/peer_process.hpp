// Programs as processes of their own, for tests: what they print, what they use, and how they end.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::test {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

/// How long anything may take that is meant to happen at once, on a busy machine under a sanitizer.
inline constexpr std::chrono::milliseconds patience{10000};

/// Whether the long rounds were asked for.
inline bool nightly() {
  const char* scale = std::getenv("TROUPE_TEST_SCALE");
  return scale != nullptr && std::string{scale} == "nightly";
}

/// `ci` rounds, or `many` at nightly scale.
template <class T>
T rounds(T ci, T many) {
  return nightly() ? many : ci;
}

// -- what a process uses ------------------------------------------------------------

inline std::size_t entries_of(pid_t id, const char* what) {
  std::error_code ignored;
  std::size_t n = 0;
  for (std::filesystem::directory_iterator it{"/proc/" + std::to_string(id) + "/" + what, ignored}, end; it != end;
       it.increment(ignored))
    ++n;
  return n;
}

inline std::size_t descriptors_of(pid_t id) {
  return entries_of(id, "fd");
}

inline std::size_t threads_of(pid_t id) {
  return entries_of(id, "task");
}

/// Whether it handles the signal itself.
inline bool catches(pid_t id, int number) {
  std::ifstream in{"/proc/" + std::to_string(id) + "/status"};
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("SigCgt:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (number - 1) & 1) != 0;
  return false;
}

/// Resident memory in bytes, shared memory included.
inline std::size_t memory_of(pid_t id) {
  std::ifstream in{"/proc/" + std::to_string(id) + "/status"};
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmRSS:"))
      return std::stoull(line.substr(6)) * 1024;
  return 0;
}

/// Time on a core since it started, of all its threads.
inline std::chrono::nanoseconds cpu_of(pid_t id) {
  std::error_code ignored;
  std::uint64_t total = 0;
  for (auto& task : std::filesystem::directory_iterator{"/proc/" + std::to_string(id) + "/task", ignored}) {
    std::uint64_t ran = 0;
    std::ifstream{task.path() / "schedstat"} >> ran;
    total += ran;
  }
  return std::chrono::nanoseconds{total};
}

/// Calls `condition` until it holds; for what nobody sends an event of.
template <class F>
bool eventually(F&& condition, std::chrono::milliseconds most = patience) {
  auto until = clock_type::now() + most;
  while (!condition()) {
    if (clock_type::now() > until)
      return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

// -- processes ------------------------------------------------------------------------

/// A program that runs. Its lines on standard output and standard error are kept until they are asked for. Killed with
/// this object.
class child_process {
public:
  /// `before` runs in the child just before the program: async-signal-safe calls only.
  explicit child_process(std::vector<std::string> command, std::map<std::string, std::string> environment = {},
                         void (*before)() = nullptr) {
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    std::vector<char*> words;
    for (auto& word : command)
      words.push_back(word.data());
    words.push_back(nullptr);
    std::vector<std::string> settings;
    for (auto** x = environ; *x != nullptr; ++x) {
      std::string setting{*x};
      if (!environment.contains(setting.substr(0, setting.find('='))))
        settings.push_back(std::move(setting));
    }
    for (auto& [name, value] : environment)
      settings.push_back(name + "=" + value);
    std::vector<char*> env;
    for (auto& x : settings)
      env.push_back(x.data());
    env.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      dup2(input[0], STDIN_FILENO);
      dup2(output[1], STDOUT_FILENO);
      dup2(output[1], STDERR_FILENO);
      if (before != nullptr)
        before();
      execve(words[0], words.data(), env.data());
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    output_ = output[0];
    if (id_ < 0)
      throw std::runtime_error("no process");
    reader_ = std::thread{[this] { read_all(); }};
  }

  ~child_process() {
    if (!status_) {
      kill(id_, SIGKILL);
      kill(id_, SIGCONT);
      waitpid(id_, nullptr, 0);
    }
    close(input_);
    reader_.join();
    close(output_);
  }

  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void signal(int number) const { kill(id_, number); }

  /// Stops it, and waits until every thread has stopped.
  [[nodiscard]] bool freeze() const {
    kill(id_, SIGSTOP);
    return eventually([this] { return state() == 'T'; });
  }
  void thaw() const { kill(id_, SIGCONT); }

  void tell(const std::string& line) const {
    auto text = line + "\n";
    if (write(input_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("cannot tell the process: " + line);
  }

  /// Takes the first line not yet taken that starts with `start`, and returns what follows that; nullopt: there was
  /// none in time.
  [[nodiscard]] std::optional<std::string> line(const std::string& start, std::chrono::milliseconds most = patience) {
    std::unique_lock lock{mutex_};
    std::optional<std::string> found;
    changed_.wait_for(lock, most, [&] {
      auto it = std::find_if(lines_.begin(), lines_.end(), [&](auto& x) { return x.starts_with(start); });
      if (it == lines_.end())
        return closed_;
      found = it->substr(start.size());
      lines_.erase(it);
      return true;
    });
    return found;
  }

  /// tell(), and what it says: empty when it is done, otherwise why not.
  [[nodiscard]] std::string outcome(const std::string& command, std::chrono::milliseconds most = patience) {
    tell(command);
    const auto until = clock_type::now() + most;
    do {
      if (line("done " + command, 0ms))
        return "";
      if (auto why = line("failed " + command + ": ", 1ms))
        return *why;
    } while (clock_type::now() < until);
    return "no answer";
  }
  /// tell(), and whether it says that it is done.
  [[nodiscard]] bool done(const std::string& command, std::chrono::milliseconds most = patience) {
    return outcome(command, most).empty();
  }

  /// The lines not yet taken.
  [[nodiscard]] std::string rest() const {
    std::lock_guard guard{mutex_};
    std::string text;
    for (auto& x : lines_)
      text += x + "\n";
    return text;
  }

  /// How many lines not yet taken start with `start`.
  [[nodiscard]] std::size_t count(const std::string& start) const {
    std::lock_guard guard{mutex_};
    return static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [&](auto& x) { return x.starts_with(start); }));
  }

  /// Waits for its end. The exit status; 128 + the signal that ended it; nullopt: it goes on.
  [[nodiscard]] std::optional<int> exit_status(std::chrono::milliseconds most = patience) {
    eventually(
      [this] {
        int status = 0;
        if (!status_ && waitpid(id_, &status, WNOHANG) == id_)
          status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return status_.has_value();
      },
      most);
    return status_;
  }

private:
  [[nodiscard]] char state() const {
    std::ifstream in{"/proc/" + std::to_string(id_) + "/stat"};
    std::string text;
    std::getline(in, text);
    auto at = text.rfind(')');
    return at == std::string::npos || at + 2 >= text.size() ? '?' : text[at + 2];
  }

  void read_all() {
    std::string seen;
    char bytes[4096];
    for (ssize_t size; (size = read(output_, bytes, sizeof(bytes))) > 0;) {
      seen.append(bytes, static_cast<std::size_t>(size));
      std::lock_guard guard{mutex_};
      for (auto end = seen.find('\n'); end != std::string::npos; end = seen.find('\n')) {
        lines_.push_back(seen.substr(0, end));
        seen.erase(0, end + 1);
      }
      changed_.notify_all();
    }
    std::lock_guard guard{mutex_};
    closed_ = true;
    changed_.notify_all();
  }

  pid_t id_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::optional<int> status_;
  std::thread reader_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool closed_ = false;
};

} // namespace troupe::test
