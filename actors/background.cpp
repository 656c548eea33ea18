#include <troupe/actors/background.hpp>

#include <system_error>

#include <pthread.h>

#include <troupe/actors/error.hpp>

namespace troupe {

background_thread::~background_thread() {
  stop();
}

caf::error background_thread::enqueue(std::unique_ptr<job> x) {
  std::lock_guard guard{mutex_};
  if (stopped_)
    return make_error(errc::canceled, "cannot run a background job: the node is stopping");
  if (jobs_.size() >= max_queued)
    return make_error(errc::busy, "cannot run a background job: " + std::to_string(max_queued) + " of them wait");
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error& why) {
      return make_error(errc::no_resource, std::string{"cannot start the background thread: "} + why.what());
    }
  }
  jobs_.push_back(std::move(x));
  changed_.notify_one();
  return {};
}

void background_thread::stop() {
  std::deque<std::unique_ptr<job>> unrun; // destroyed without the lock: what they hold may do anything
  {
    std::lock_guard guard{mutex_};
    stopped_ = true;
    unrun.swap(jobs_);
    changed_.notify_one();
  }
  if (thread_.joinable())
    thread_.join();
}

void background_thread::run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  std::unique_lock guard{mutex_};
  for (;;) {
    changed_.wait(guard, [this] { return stopped_ || !jobs_.empty(); });
    if (stopped_)
      return;
    auto next = std::move(jobs_.front());
    jobs_.pop_front();
    guard.unlock();
    next->run();
    next.reset();
    guard.lock();
  }
}

} // namespace troupe
