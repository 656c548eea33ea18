#include <troupe/actors/timer_queue.hpp>

namespace troupe {

timer_id timer_queue::arm(time_point due, std::function<void()> f) {
  auto number = ++last_number_;
  timers_.emplace(key{due, number}, std::move(f));
  return {due, number};
}

bool timer_queue::cancel(timer_id id) noexcept {
  auto timer = timers_.extract(key{id.due, id.number}); // its function is destroyed when the map is whole again
  return !timer.empty();
}

unsigned timer_queue::run_due(time_point now) {
  const auto last_before = last_number_;
  unsigned count = 0;
  auto next = timers_.begin();
  while (next != timers_.end() && next->first.first <= now) {
    if (next->first.second > last_before) {
      ++next;
      continue;
    }
    auto timer = timers_.extract(next);
    timer.mapped()();
    ++count;
    next = timers_.begin(); // the function may have changed anything
  }
  return count;
}

void timer_queue::clear() noexcept {
  // What the functions hold may cancel timers when it goes.
  auto gone = std::move(timers_);
  timers_.clear();
}

} // namespace troupe
