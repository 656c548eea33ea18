#include "console.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "text.hpp"

namespace chat {

namespace {

constexpr const char* erase_line = "\r\033[K";

bool can_prompt() {
  const char* kind = std::getenv("TERM");
  return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

} // namespace

console::console() : terminal_(can_prompt()), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wakeup_ < 0)
    throw std::runtime_error(std::string{"cannot open the console: "} + std::strerror(errno));
}

console::~console() {
  close();
  ::close(wakeup_);
}

void console::show(const std::string& line) {
  const std::lock_guard lock{output_};
  if (terminal_)
    std::cout << erase_line;
  std::cout << line << '\n';
  show_prompt();
}

void console::show_prompt() {
  if (terminal_ && !prompt_.empty())
    std::cout << prompt_;
  std::cout.flush();
}

void console::listen(const std::string& prompt, std::function<void(std::string)> typed, std::function<void()> ended) {
  {
    const std::lock_guard lock{output_};
    prompt_ = prompt;
    show_prompt();
  }
  typed_ = std::move(typed);
  ended_ = std::move(ended);
  reader_ = std::thread{[this] { read_lines(); }};
}

void console::close() {
  if (!reader_.joinable())
    return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wakeup_, &one, sizeof one);
  reader_.join();
  const std::lock_guard lock{output_};
  if (terminal_)
    std::cout << erase_line << std::flush;
  prompt_.clear();
}

void console::read_lines() {
  // A read of std::cin could not be ended from outside.
  std::string line;
  bool too_long = false;
  for (;;) {
    pollfd ready[]{{STDIN_FILENO, POLLIN, 0}, {wakeup_, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno == EINTR)
      continue;
    if (ready[1].revents != 0)
      return;
    char bytes[4096];
    const auto size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR)
      continue;
    if (size <= 0) {
      if (!line.empty() && !too_long)
        typed_(std::move(line));
      ended_();
      return;
    }
    for (ssize_t at = 0; at < size; ++at) {
      if (bytes[at] != '\n') {
        too_long = too_long || line.size() == max_text;
        if (!too_long)
          line += bytes[at];
        continue;
      }
      if (std::exchange(too_long, false))
        show("* not said: a line has at most " + std::to_string(max_text) + " bytes; say it in several");
      else
        typed_(line);
      line.clear();
      const std::lock_guard lock{output_};
      show_prompt();
    }
  }
}

} // namespace chat
