// A node as far as its links go, for tests: a service whose events are kept and can be waited for.
#pragma once

#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <troupe/proto/link.pb.h>
#include <troupe/transport/link_service.hpp>
#include <troupe/transport/tcp_socket.hpp>

namespace troupe::test {

using namespace std::chrono_literals;

/// How long anything may take that is meant to happen at once, on a busy machine under a sanitizer.
inline constexpr std::chrono::milliseconds patience{10000};

/// A number behind a lock that can be waited for.
class gate {
public:
  template <class F>
  auto change(F&& f) {
    std::lock_guard guard{mutex_};
    changed_.notify_all();
    return f();
  }
  template <class F>
  bool wait(F&& condition, std::chrono::milliseconds most = patience) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, most, condition);
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Keeps what one link reports.
class recorder : public transport::link_handler {
public:
  void on_frame(const v1::LinkFrame& frame) override {
    gate_.change([&] { frames_.push_back(frame); });
  }
  void on_progress(std::uint64_t, bool stalled) override {
    gate_.change([&] { stalls_.push_back(stalled); });
  }
  void on_down(const transport::link_down& why) override {
    gate_.change([&] { downs_.push_back(why); });
  }

  bool wait_frames(std::size_t n) {
    return gate_.wait([&] { return frames_.size() >= n; });
  }
  bool wait_stalls(std::size_t n) {
    return gate_.wait([&] { return stalls_.size() >= n; });
  }
  std::optional<transport::link_down> wait_down(std::chrono::milliseconds most = patience) {
    if (!gate_.wait([&] { return !downs_.empty(); }, most))
      return std::nullopt;
    return gate_.change([&] { return downs_.front(); });
  }
  std::vector<v1::LinkFrame> frames() {
    return gate_.change([&] { return frames_; });
  }
  std::vector<bool> stalls() {
    return gate_.change([&] { return stalls_; });
  }
  std::size_t downs() {
    return gate_.change([&] { return downs_.size(); });
  }

private:
  gate gate_;
  std::vector<v1::LinkFrame> frames_;
  std::vector<bool> stalls_;
  std::vector<transport::link_down> downs_;
};

using dial_result = result<std::shared_ptr<transport::link>>;

/// A dial whose end can be waited for.
class pending_dial {
public:
  void done(dial_result outcome) {
    gate_.change([&] {
      ++calls_;
      outcome_ = std::move(outcome);
    });
  }
  /// Empty when it did not end in time.
  std::optional<dial_result> wait(std::chrono::milliseconds most = patience) {
    if (!gate_.wait([&] { return outcome_.has_value(); }, most))
      return std::nullopt;
    return gate_.change([&] { return outcome_; });
  }
  int calls() {
    return gate_.change([&] { return calls_; });
  }

private:
  gate gate_;
  int calls_ = 0;
  std::optional<dial_result> outcome_;
};

inline transport::link_config config_of(const std::string& name, std::uint64_t incarnation) {
  transport::link_config out;
  out.identity = {name, incarnation};
  out.secret = "secret of the tests";
  out.library_version = "0.0.0";
  return out;
}

/// A service, its links in the order they came up, each with a recorder, and its events.
class link_node {
public:
  explicit link_node(transport::link_config config) : service_(observed(std::move(config))) {
    service_.set_accept_handler([this](std::shared_ptr<transport::link> made) {
      auto records = std::make_shared<recorder>();
      made->set_handler(records);
      gate_.change([&] { links_.emplace_back(made, records); });
    });
  }
  link_node(const std::string& name, std::uint64_t incarnation) : link_node(config_of(name, incarnation)) {}
  ~link_node() { service_.shutdown(); }

  transport::link_service& service() { return service_; }

  /// On a free port of loopback.
  std::uint16_t listen(std::uint16_t port = 0) {
    auto given = service_.listen("127.0.0.1", port);
    return given ? *given : std::uint16_t{0};
  }

  std::shared_ptr<pending_dial> start_dial(std::uint16_t port, const std::string& host = "127.0.0.1",
                                           std::chrono::milliseconds deadline = patience) {
    auto out = std::make_shared<pending_dial>();
    service_.dial(host, port, deadline, [out](dial_result outcome) { out->done(std::move(outcome)); });
    return out;
  }

  /// The link, or the failure; errc::in_progress when it did not end in time.
  dial_result dial(std::uint16_t port, const std::string& host = "127.0.0.1",
                   std::chrono::milliseconds deadline = patience) {
    auto outcome = start_dial(port, host, deadline)->wait(deadline + patience);
    return outcome ? *outcome : failure{errc::in_progress, "the dial did not end"};
  }

  bool wait_links(std::size_t n) {
    return gate_.wait([&] { return links_.size() >= n; });
  }
  std::size_t links() {
    return gate_.change([&] { return links_.size(); });
  }
  std::shared_ptr<transport::link> at(std::size_t i) {
    return gate_.change([&] { return links_.at(i).first; });
  }
  std::shared_ptr<recorder> records(std::size_t i) {
    return gate_.change([&] { return links_.at(i).second; });
  }

  /// Waits for an event of this kind and code.
  bool wait_event(transport::link_event::kind what, errc code, std::size_t times = 1) {
    return gate_.wait([&] {
      std::size_t n = 0;
      for (const auto& event : events_)
        n += event.what == what && event.code == code;
      return n >= times;
    });
  }
  std::string events() {
    return gate_.change([&] {
      std::string out;
      for (const auto& event : events_)
        out += std::string{to_string(event.code)} + " " + event.remote + " " + event.text + "\n";
      return out;
    });
  }

private:
  transport::link_config observed(transport::link_config config) {
    config.observer = [this](const transport::link_event& event) { gate_.change([&] { events_.push_back(event); }); };
    return config;
  }

  gate gate_;
  std::vector<std::pair<std::shared_ptr<transport::link>, std::shared_ptr<recorder>>> links_;
  std::vector<transport::link_event> events_;
  transport::link_service service_;
};

inline std::size_t open_fds() {
  std::size_t n = 0;
  auto* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr)
    ++n;
  ::closedir(dir);
  return n;
}

/// Polls a condition that nothing announces.
inline bool becomes(const std::function<bool()>& condition, std::chrono::milliseconds most = patience) {
  auto end = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    ::usleep(2000);
  }
  return true;
}

/// A bare blocking connection to a port of loopback, for peers that do not keep to the protocol.
class raw_client {
public:
  explicit raw_client(std::uint16_t port) {
    auto address = transport::socket_address::from("127.0.0.1", port);
    fd_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    connected_ = ::connect(fd_.get(), address->data(), address->size()) == 0;
    timeval most{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  }

  [[nodiscard]] bool connected() const { return connected_; }
  void send(const std::string& bytes) {
    static_cast<void>(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  void end_of_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

  /// Everything up to the end; `closed` says whether the end came.
  std::string receive_all(bool& closed) {
    std::string out;
    char chunk[4096];
    for (;;) {
      auto n = ::recv(fd_.get(), chunk, sizeof(chunk), 0);
      if (n > 0) {
        out.append(chunk, static_cast<std::size_t>(n));
        continue;
      }
      closed = n == 0 || errno == ECONNRESET;
      return out;
    }
  }

  /// The next whole frame's body; empty when none comes.
  std::string receive_frame() {
    auto head = receive(4);
    if (head.size() < 4)
      return {};
    std::uint32_t size = 0;
    for (int i = 3; i >= 0; --i)
      size = size << 8 | static_cast<unsigned char>(head[static_cast<std::size_t>(i)]);
    return receive(size);
  }

private:
  std::string receive(std::size_t n) {
    std::string out(n, '\0');
    auto got = ::recv(fd_.get(), out.data(), n, MSG_WAITALL);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }

  transport::unique_fd fd_;
  bool connected_ = false;
};

} // namespace troupe::test
