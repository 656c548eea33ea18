#include <troupe/actors/poller_set.hpp>

#include <algorithm>

#include <troupe/actors/sleep_gate.hpp>

namespace troupe {

void poller_set::add(poller& p, poll_class kind) {
  auto here = [&p](const list& xs) {
    return std::any_of(xs.entries.begin(), xs.entries.end(), [&p](const entry& x) { return x.who == &p; });
  };
  if (here(shared_memory_) || here(network_))
    return;
  auto fd = p.event_fd();
  if (fd >= 0 && !gate_.watch(fd))
    fd = -1;
  if (fd < 0)
    ++blind_;
  auto& xs = kind == poll_class::shared_memory ? shared_memory_ : network_;
  xs.entries.push_back({&p, fd});
  ++xs.alive;
  ask_all_ = true;
}

void poller_set::remove(poller& p) noexcept {
  if (!remove(shared_memory_, p))
    remove(network_, p);
}

bool poller_set::remove(list& xs, poller& p) noexcept {
  auto i = std::find_if(xs.entries.begin(), xs.entries.end(), [&p](const entry& x) { return x.who == &p; });
  if (i == xs.entries.end())
    return false;
  if (i->fd >= 0)
    gate_.unwatch(i->fd);
  else
    --blind_;
  i->who = nullptr;
  --xs.alive;
  xs.has_holes = true;
  if (!walking_)
    close_holes(xs);
  return true;
}

void poller_set::close_holes(list& xs) noexcept {
  if (!xs.has_holes)
    return;
  std::erase_if(xs.entries, [](const entry& x) { return x.who == nullptr; });
  xs.has_holes = false;
}

unsigned poller_set::progress(time_point now) {
  unsigned total = 0;
  if (auto work = walk(shared_memory_); work != 0) {
    shared_memory_traffic_ = now;
    total += work;
  }
  if (network_due(now)) {
    network_polled_ = now;
    if (auto work = walk(network_); work != 0) {
      network_traffic_ = now;
      total += work;
    }
  }
  ask_all_ = false;
  return total;
}

bool poller_set::network_due(time_point now) const noexcept {
  if (network_.alive == 0)
    return false;
  return ask_all_ || shared_memory_.alive == 0 || now - network_traffic_ < network_attention
         || now - shared_memory_traffic_ > shared_memory_attention || now - network_polled_ >= relaxed_interval;
}

unsigned poller_set::walk(list& xs) {
  if (xs.entries.empty())
    return 0;
  unsigned total = 0;
  walking_ = true;
  for (std::size_t i = 0; i < xs.entries.size(); ++i) // by index: progress() may add to the list
    if (auto who = xs.entries[i].who; who != nullptr)
      total += who->progress();
  walking_ = false;
  close_holes(xs);
  return total;
}

bool poller_set::arm() {
  ask_all_ = true;
  return arm(shared_memory_) && arm(network_);
}

bool poller_set::arm(list& xs) {
  return std::all_of(xs.entries.begin(), xs.entries.end(), [](const entry& x) { return x.who->arm(); });
}

} // namespace troupe
