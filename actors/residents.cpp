#include <troupe/actors/residents.hpp>

#include <algorithm>

namespace troupe {

bool resident_list::add(resident& x) {
  std::lock_guard guard{mutex_};
  if (closed_)
    return false;
  x.previous_ = last_;
  x.next_ = nullptr;
  if (last_ != nullptr)
    last_->next_ = &x;
  last_ = &x;
  ++size_;
  return true;
}

void resident_list::remove(resident& x) {
  std::lock_guard guard{mutex_};
  if (last_ != &x && x.next_ == nullptr)
    return; // refused by add()
  if (x.previous_ != nullptr)
    x.previous_->next_ = x.next_;
  if (x.next_ != nullptr)
    x.next_->previous_ = x.previous_;
  else
    last_ = x.previous_;
  x.previous_ = x.next_ = nullptr;
  if (--size_ == 0)
    empty_.notify_all();
}

std::vector<caf::strong_actor_ptr> resident_list::all() const {
  std::vector<caf::strong_actor_ptr> result;
  std::lock_guard guard{mutex_};
  result.reserve(size_);
  for (auto x = last_; x != nullptr; x = x->previous_)
    result.emplace_back(x->control());
  return result;
}

resident* resident_list::newest(caf::strong_actor_ptr& handle) const {
  std::lock_guard guard{mutex_};
  if (last_ != nullptr)
    handle.reset(last_->control());
  return last_;
}

bool resident_list::await_empty(std::chrono::nanoseconds limit) const {
  std::unique_lock guard{mutex_};
  limit = std::min(limit, std::chrono::nanoseconds{std::chrono::hours{24}}); // beyond the clock's range it would wrap
  return empty_.wait_for(guard, limit, [this] { return size_ == 0; });
}

void resident_list::close() {
  std::lock_guard guard{mutex_};
  closed_ = true;
}

std::size_t resident_list::size() const {
  std::lock_guard guard{mutex_};
  return size_;
}

} // namespace troupe
