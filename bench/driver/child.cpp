#include "bench/driver/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {

namespace {

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string(what) + ": " + std::strerror(errno)); }

std::chrono::milliseconds left(deadline until) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return std::max(rest, std::chrono::milliseconds{0});
}

// Runs in the new process: nothing here may allocate, so everything is prepared before the fork.
[[noreturn]] void become(char* const* command, char* const* environment, const cpu_set_t* cpus, int output, int errors,
                         pid_t driver) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != driver)
    _exit(127);
  if (cpus != nullptr)
    sched_setaffinity(0, sizeof *cpus, cpus);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execvpe(command[0], command, environment);
  static constexpr char text[] = "the program cannot be started\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(127);
}

} // namespace

child::child(const setup& what) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!what.environment.contains(text.substr(0, text.find('='))))
      variables.push_back(text);
  }
  for (const auto& [name, value] : what.environment)
    variables.push_back(name + "=" + value);

  std::vector<char*> command;
  std::vector<char*> environment;
  for (const auto& word : what.command)
    command.push_back(const_cast<char*>(word.c_str()));
  for (const auto& variable : variables)
    environment.push_back(const_cast<char*>(variable.c_str()));
  command.push_back(nullptr);
  environment.push_back(nullptr);

  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (what.cpu)
    CPU_SET(static_cast<std::size_t>(*what.cpu), &cpus);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    fail("no pipe");
  errors_ = memfd_create("bench-child-errors", MFD_CLOEXEC);
  const pid_t driver = getpid();
  process_ = errors_ < 0 ? -1 : fork();
  if (process_ == 0)
    become(command.data(), environment.data(), what.cpu ? &cpus : nullptr, ends[1], errors_, driver);
  close(ends[1]);
  output_ = ends[0];
  if (process_ < 0) {
    const int why = errno;
    close(output_);
    if (errors_ >= 0)
      close(errors_);
    errno = why;
    fail("no process");
  }
  running_ = true;
}

child::~child() {
  finish();
  close(output_);
  close(errors_);
}

std::optional<std::string> child::read_line(deadline until) {
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      auto line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd ready{output_, POLLIN, 0};
    const int found = poll(&ready, 1, static_cast<int>(left(until).count()));
    if (found < 0 && errno == EINTR)
      continue;
    if (found <= 0)
      return std::nullopt;
    char chunk[4096];
    const auto size = read(output_, chunk, sizeof chunk);
    if (size > 0) {
      buffer_.append(chunk, static_cast<std::size_t>(size));
      continue;
    }
    if (buffer_.empty())
      return std::nullopt;
    buffer_ += '\n'; // a last line that was not ended
  }
}

bool child::ended_well(deadline until) {
  while (!reap(false) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  return !running_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

void child::finish() {
  if (reap(false))
    return;
  kill(process_, SIGKILL);
  reap(true);
}

bool child::reap(bool block) {
  while (running_) {
    const auto found = waitpid(process_, &status_, block ? 0 : WNOHANG);
    if (found == process_ || (found < 0 && errno != EINTR))
      running_ = false;
    else if (!block)
      break;
  }
  return !running_;
}

std::string child::complaints() const {
  static constexpr off_t most = 2000;
  const auto end = lseek(errors_, 0, SEEK_END);
  const auto begin = std::max<off_t>(0, end - most);
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, end - begin)), '\0');
  const auto size = pread(errors_, text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

} // namespace troupe::bench
