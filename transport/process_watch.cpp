#include <troupe/transport/process_watch.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

namespace troupe::transport {

namespace {

struct process_stat {
  char state = 0;
  unsigned flags = 0; ///< PF_... of the kernel, for the main thread
  std::uint64_t start_time = 0;
};

// Field `index` counted from the state, which is 0; empty past the end.
std::string_view field(std::string_view fields, int index) {
  while (index-- > 0) {
    auto space = fields.find(' ');
    if (space == std::string_view::npos)
      return {};
    fields.remove_prefix(space + 1);
  }
  return fields.substr(0, fields.find(' '));
}

template <class T>
bool read_number(std::string_view text, T& out) {
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
}

// Empty when the process is gone (`gone` is true) or hidden.
std::optional<process_stat> read_stat(const std::string& pid, bool& gone) {
  gone = false;
  unique_fd file{::open(("/proc/" + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) {
    gone = errno == ENOENT;
    return std::nullopt;
  }
  char text[1024];
  auto n = ::read(file.get(), text, sizeof(text));
  if (n <= 0) {
    gone = n < 0 && errno == ESRCH;
    return std::nullopt;
  }
  // The command stands in parentheses and may contain anything, parentheses too.
  std::string_view all{text, static_cast<std::size_t>(n)};
  auto close = all.rfind(") ");
  if (close == std::string_view::npos)
    return std::nullopt;
  all.remove_prefix(close + 2);
  process_stat out;
  auto state = field(all, 0);
  if (state.empty() || !read_number(field(all, 6), out.flags) || !read_number(field(all, 19), out.start_time))
    return std::nullopt;
  out.state = state[0];
  return out;
}

bool has_ended(char state) { return state == 'Z' || state == 'X' || state == 'x'; }

// A pid may be compared with ours: same namespace, and a number the kernel takes.
bool comparable(const process_id& id) {
  auto self = this_process();
  return self.pid_namespace != 0 && self.start_time != 0 && id.pid_namespace == self.pid_namespace &&
         id.start_time != 0 && id.pid > 0 && id.pid <= static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max());
}

} // namespace

process_id this_process() {
  process_id out;
  out.pid = static_cast<std::uint64_t>(::getpid());
  bool gone;
  if (auto stat = read_stat("self", gone))
    out.start_time = stat->start_time;
  struct stat space;
  if (::stat("/proc/self/ns/pid", &space) == 0)
    out.pid_namespace = space.st_ino;
  return out;
}

std::optional<bool> runs(const process_id& id) {
  if (!comparable(id))
    return std::nullopt;
  bool gone;
  auto stat = read_stat(std::to_string(id.pid), gone);
  if (stat)
    return stat->start_time == id.start_time && !has_ended(stat->state);
  // Gone, or hidden by hidepid: the kernel knows which.
  if (gone && ::kill(static_cast<pid_t>(id.pid), 0) != 0 && errno == ESRCH)
    return false;
  return std::nullopt;
}

bool exiting(const process_id& id) {
  if (!comparable(id))
    return false;
  static constexpr unsigned pf_exiting = 0x4; // include/linux/sched.h
  bool gone;
  auto stat = read_stat(std::to_string(id.pid), gone);
  if (!stat)
    return gone;
  return stat->start_time != id.start_time || (stat->flags & pf_exiting) != 0 || has_ended(stat->state);
}

std::optional<process_watch> process_watch::open(const process_id& id) {
  if (!comparable(id))
    return std::nullopt;
  unique_fd fd{static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(id.pid), 0))};
  // Opened first and compared then: whoever has the pid now is what the descriptor stands for.
  if (!fd || runs(id) != true)
    return std::nullopt;
  return process_watch{std::move(fd)};
}

bool process_watch::ended() const noexcept {
  pollfd poll{fd_.get(), POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

} // namespace troupe::transport
