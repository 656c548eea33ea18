// What tests of the actor layer share: a system with loops, and waiting with a deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <troupe/actors/loop_module.hpp>
#include <troupe/actors/node_identity.hpp>

namespace troupe::test {

/// Any wait of a test gives up after this and fails the test.
inline constexpr std::chrono::seconds deadline{20};

/// Waits until `done()` says true. Returns whether it did before the deadline.
template <class F>
[[nodiscard]] bool eventually(F&& done, std::chrono::nanoseconds limit = deadline) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

/// Something another thread reports once. Unlike a std::promise it may be destroyed as soon as wait() returned.
class event {
public:
  void set() {
    std::lock_guard guard{mutex_};
    set_ = true;
    changed_.notify_all();
  }

  /// Returns whether it was set before the deadline.
  [[nodiscard]] bool wait() {
    std::unique_lock guard{mutex_};
    return changed_.wait_for(guard, deadline, [this] { return set_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

/// Runs `f` on the loop's thread and returns what it returns.
template <class F>
auto on_loop(progress_loop& loop, F f) {
  std::packaged_task<decltype(f())()> task{std::move(f)};
  auto result = task.get_future();
  if (!loop.post(std::move(task)))
    throw std::logic_error("the loop has stopped");
  return result.get();
}

inline loop_module_options options_for_tests() {
  loop_module_options options;
  options.node = node_id_of("test", 1);
  return options;
}

/// An actor system with loops. Members end in the order a node's do: system, then configuration.
struct loop_system {
  explicit loop_system(loop_module_options options = options_for_tests()) {
    config.set("scheduler.max-threads", std::size_t{2});
    loop_module::load(config, std::move(options));
    system.emplace(config);
  }

  loop_module& module() { return loop_module::of(*system); }
  progress_loop& loop(std::size_t index = 0) { return module().loop(index); }

  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
};

} // namespace troupe::test
