#include <troupe/runtime/signals.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <system_error>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

constexpr std::array handled{SIGINT, SIGTERM};

/// One descriptor for the whole process, never closed: a handler that is just running must find it open.
std::atomic<int> signal_fd{-1};
std::atomic<int> received{0};

std::mutex install_mutex;
int installed = 0;
std::array<struct sigaction, handled.size()> previous;

void raise_event(int fd) noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full: then it is readable, which is all that is wanted.
  [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
}

void clear_event(int fd) noexcept {
  std::uint64_t value = 0;
  [[maybe_unused]] const auto taken = ::read(fd, &value, sizeof value);
}

// Async-signal-safe: lock-free atomics, write(), signal() and raise().
void on_signal(int number) {
  const int saved = errno;
  if (received.exchange(number) == 0) {
    raise_event(signal_fd.load());
  } else {
    // Whoever signals twice does not want to wait for the orderly end.
    ::signal(number, SIG_DFL);
    ::raise(number);
  }
  errno = saved;
}

int make_event() {
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0)
    throw std::system_error(errno, std::generic_category(), "cannot create an eventfd to wait for signals");
  return fd;
}

} // namespace

stop_signals::stop_signals() {
  const std::lock_guard lock{install_mutex};
  if (signal_fd.load() < 0)
    signal_fd.store(make_event());
  wake_fd_ = make_event();
  if (installed++ > 0)
    return;
  received.store(0);
  clear_event(signal_fd.load());
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < handled.size(); ++i)
    ::sigaction(handled[i], &action, &previous[i]);
}

stop_signals::~stop_signals() {
  const std::lock_guard lock{install_mutex};
  if (--installed == 0)
    for (std::size_t i = 0; i < handled.size(); ++i)
      ::sigaction(handled[i], &previous[i], nullptr);
  ::close(wake_fd_);
}

int stop_signals::wait() noexcept {
  for (;;)
    if (const auto number = wait_for(std::chrono::hours(24)))
      return *number;
}

std::optional<int> stop_signals::wait_for(std::chrono::milliseconds limit) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    std::array<pollfd, 2> fds{{{signal_fd.load(), POLLIN, 0}, {wake_fd_, POLLIN, 0}}};
    const int ready = ::poll(fds.data(), fds.size(), left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready > 0)
      return (fds[0].revents != 0) ? received.load() : 0;
    if (ready == 0 && left.count() <= 0)
      return std::nullopt;
  }
}

void stop_signals::wake() noexcept { raise_event(wake_fd_); }

signal_shield::signal_shield() noexcept {
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before_);
  block_this_thread();
}

signal_shield::~signal_shield() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void signal_shield::block_this_thread() noexcept {
  sigset_t blocked;
  ::sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    ::sigdelset(&blocked, fault);
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

} // namespace troupe
