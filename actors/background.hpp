// One thread for what must not happen on a loop: name resolution, file I/O, the creation of UCX workers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <caf/error.hpp>

namespace troupe {

/// Runs jobs one after the other. @threadsafe
class background_thread {
public:
  /// Jobs that wait; more are refused with errc::busy.
  static constexpr std::size_t max_queued = 1024;

  /// The thread starts with the first job.
  explicit background_thread(std::string name) : name_(std::move(name)) {}
  background_thread(const background_thread&) = delete;
  background_thread& operator=(const background_thread&) = delete;

  /// Calls stop().
  ~background_thread();

  /// Queues `job`, any callable without arguments; it must not throw and hands its result over itself, for instance
  /// with progress_loop::post(). Errors: busy (max_queued jobs wait), canceled (stopped), no_resource (no thread); then
  /// the job was destroyed unrun.
  template <class F>
  [[nodiscard]] caf::error submit(F&& job) {
    return enqueue(std::make_unique<job_of<std::decay_t<F>>>(std::forward<F>(job)));
  }

  /// Waits for the job that runs and destroys the others unrun. Not from a job. Idempotent.
  void stop();

private:
  struct job {
    virtual ~job() = default;
    virtual void run() noexcept = 0;
  };
  template <class F>
  struct job_of final : job {
    template <class G>
    explicit job_of(G&& g) : f(std::forward<G>(g)) {}
    void run() noexcept override { f(); }
    F f;
  };

  caf::error enqueue(std::unique_ptr<job> x);
  void run();

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<job>> jobs_;
  bool stopped_ = false;
  std::thread thread_;
};

} // namespace troupe
