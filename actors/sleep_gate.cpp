#include <troupe/actors/sleep_gate.hpp>

#include <cerrno>
#include <climits>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int to_milliseconds(std::chrono::nanoseconds timeout) {
  if (timeout < std::chrono::nanoseconds{0})
    return -1;
  auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  return rounded_up < INT_MAX ? static_cast<int>(rounded_up) : INT_MAX;
}

} // namespace

sleep_gate::sleep_gate() {
  event_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (event_fd_ < 0)
    fail("cannot create the eventfd of a loop");
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ < 0 || !watch(event_fd_)) {
    auto error = errno;
    if (epoll_fd_ >= 0)
      close(epoll_fd_);
    close(event_fd_);
    errno = error;
    fail("cannot create the epoll set of a loop");
  }
}

sleep_gate::~sleep_gate() {
  close(epoll_fd_);
  close(event_fd_);
}

void sleep_gate::wait(std::chrono::nanoseconds timeout) noexcept {
  sleeps_.store(sleeps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // One event suffices: whatever it is, the caller looks at everything. Descriptors are level-triggered.
  epoll_event event;
  int ready = -1;
  if (fine_timeouts_) {
    timespec limit{};
    if (timeout >= std::chrono::nanoseconds{0}) {
      auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
      limit.tv_sec = static_cast<time_t>(seconds.count());
      limit.tv_nsec = static_cast<long>((timeout - seconds).count());
    }
    ready = epoll_pwait2(epoll_fd_, &event, 1, timeout < std::chrono::nanoseconds{0} ? nullptr : &limit, nullptr);
    fine_timeouts_ = ready >= 0 || (errno != ENOSYS && errno != EPERM); // a sandbox may refuse what it does not know
  }
  if (!fine_timeouts_)
    ready = epoll_wait(epoll_fd_, &event, 1, to_milliseconds(timeout));
  // A waker that took the flag down has written or will write; what it writes late ends a later wait, which may return
  // early. The counter is read whenever it may be set, also when another descriptor was reported.
  const bool signalled = !asleep_.exchange(false, std::memory_order_relaxed);
  if (signalled || (ready > 0 && event.data.fd == event_fd_)) {
    std::uint64_t count;
    static_cast<void>(read(event_fd_, &count, sizeof count));
  }
}

bool sleep_gate::watch(int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void sleep_gate::unwatch(int fd) noexcept {
  epoll_event event{};
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, &event);
}

void sleep_gate::signal() noexcept {
  wakes_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  static_cast<void>(!write(event_fd_, &one, sizeof one)); // it cannot fail: the counter is far from full
}

} // namespace troupe
