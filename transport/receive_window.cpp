#include <troupe/transport/receive_window.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

namespace troupe::transport {

window_order::window_order(std::size_t max_entries) : max_entries_(max_entries) {
  if (max_entries == 0 || max_entries > max_window)
    throw std::invalid_argument("receive window: max_entries is " + std::to_string(max_entries) + ", choose 1 to "
                                + std::to_string(max_window));
}

// -- judging ------------------------------------------------------------------

std::pair<verdict, std::uint32_t> window_order::admit(std::uint64_t seq, std::span<const std::uint64_t> predecessors,
                                                      bool barrier, source from) {
  if (std::any_of(predecessors.begin(), predecessors.end(), [=](auto p) { return p >= seq; }))
    return {verdict::malformed, none};
  if (auto refused = check(seq); refused != verdict::delivered)
    return {refused, none};
  reach(seq);
  const auto known = kind_of(seq);
  const auto is_new = cell_of(seq) != cell_full && known != kind::held;
  const auto is_announced = known == kind::announced;
  if (!is_new || (from == source::arrival && is_announced) || (from == source::completion && !is_announced))
    return {verdict::duplicate, none};

  if (seq == cumulative_ + 1)
    return {verdict::delivered, none};
  auto missing = predecessors.end();
  std::ptrdiff_t others = 0;
  if (!barrier) {
    const auto is_missing = [this](auto p) { return !filled(p); };
    missing = std::find_if(predecessors.begin(), predecessors.end(), is_missing);
    if (missing == predecessors.end())
      return {verdict::delivered, none};
    others = std::count_if(std::next(missing), predecessors.end(), is_missing);
    if (more_total_ + static_cast<std::size_t>(others) > max_pending_predecessors)
      barrier = true;
  }

  const auto i = node_for(seq);
  if (!barrier) {
    if (others != 0) {
      auto& more = more_[seq];
      more.reserve(static_cast<std::size_t>(others));
      std::copy_if(std::next(missing), predecessors.end(), std::back_inserter(more),
                   [this](auto p) { return !filled(p); });
      more_total_ += more.size();
      nodes_[i].more = true;
    }
    wait_for(*missing, i);
  }
  nodes_[i].what = kind::held;
  nodes_[i].barrier = barrier;
  ++held_;
  return {verdict::held, i};
}

verdict window_order::expect(std::uint64_t seq) {
  if (auto refused = check(seq); refused != verdict::delivered)
    return refused;
  reach(seq);
  auto& cell = cell_of(seq);
  if (cell == cell_unknown) {
    cell = cell_announced;
    return verdict::expected;
  }
  if (cell >= cell_first_node && nodes_[cell - cell_first_node].what == kind::awaited) {
    nodes_[cell - cell_first_node].what = kind::announced;
    return verdict::expected;
  }
  return verdict::duplicate;
}

bool window_order::forget(std::uint64_t seq) noexcept {
  if (seq <= cumulative_ || seq > highest_)
    return false;
  auto& cell = cell_of(seq);
  if (cell == cell_announced) {
    cell = cell_unknown;
    return true;
  }
  if (cell >= cell_first_node && nodes_[cell - cell_first_node].what == kind::announced) {
    nodes_[cell - cell_first_node].what = kind::awaited;
    return true;
  }
  return false;
}

/// delivered: nothing speaks against it yet.
verdict window_order::check(std::uint64_t seq) const noexcept {
  if (seq == 0)
    return verdict::malformed;
  if (seq <= cumulative_)
    return verdict::duplicate;
  if (seq - cumulative_ > max_entries_)
    return verdict::beyond_window;
  return verdict::delivered;
}

/// What is known of a number above the cumulative one that is not full; `free` when nothing is.
window_order::kind window_order::kind_of(std::uint64_t seq) const noexcept {
  const auto cell = cell_of(seq);
  if (cell >= cell_first_node)
    return nodes_[cell - cell_first_node].what;
  return cell == cell_announced ? kind::announced : kind::free;
}

bool window_order::filled(std::uint64_t seq) const noexcept {
  return seq <= cumulative_ || (seq <= highest_ && cell_of(seq) == cell_full);
}

/// Makes room for cells up to `seq`.
void window_order::reach(std::uint64_t seq) {
  const auto needed = static_cast<std::size_t>(seq - cumulative_);
  if (needed > cells_.size()) {
    std::vector<std::uint32_t> cells(std::max(min_ring_slots, std::bit_ceil(needed)));
    for (auto x = cumulative_ + 1; x <= highest_; ++x)
      cells[x & (cells.size() - 1)] = cell_of(x);
    cells_ = std::move(cells);
  }
  highest_ = std::max(highest_, seq);
}

// -- filling ------------------------------------------------------------------

void window_order::fill(std::uint64_t seq) {
  const auto before = cumulative_;
  auto waiter = none;
  if (auto cell = cell_of(seq); cell >= cell_first_node) {
    const auto i = cell - cell_first_node;
    waiter = nodes_[i].first_waiter;
    if (nodes_[i].what == kind::held)
      --held_;
    release(i);
  }
  if (seq == cumulative_ + 1) {
    advance(seq);
  } else {
    add_to_runs(seq);
    cell_of(seq) = cell_full;
  }
  while (waiter != none) {
    const auto next = std::exchange(nodes_[waiter].next, none);
    wake(waiter);
    waiter = next;
  }
  if (cumulative_ != before && cumulative_ < highest_)
    if (const auto cell = cell_of(cumulative_ + 1); cell >= cell_first_node && nodes_[cell - cell_first_node].barrier)
      push_ready(cell - cell_first_node);
}

void window_order::advance(std::uint64_t seq) noexcept {
  cell_of(seq) = cell_unknown;
  cumulative_ = seq;
  if (auto run = runs_.begin(); run != runs_.end() && run->first == seq + 1) {
    for (auto x = run->first; x <= run->second; ++x)
      cell_of(x) = cell_unknown;
    cumulative_ = run->second;
    runs_.erase(run);
  }
  highest_ = std::max(highest_, cumulative_);
}

void window_order::add_to_runs(std::uint64_t seq) {
  // Small messages that pass a slow one extend the last run: no search, no allocation.
  if (!runs_.empty())
    if (auto last = std::prev(runs_.end()); last->second + 1 == seq) {
      last->second = seq;
      return;
    }
  auto after = runs_.upper_bound(seq);
  const auto joins_after = after != runs_.end() && after->first == seq + 1;
  const auto last = joins_after ? after->second : seq;
  if (after != runs_.begin())
    if (auto before = std::prev(after); before->second + 1 == seq) {
      before->second = last;
      if (joins_after)
        runs_.erase(after);
      return;
    }
  auto hint = joins_after ? runs_.erase(after) : after;
  runs_.emplace_hint(hint, seq, last);
}

/// One predecessor of `waiter` is there: wait for the next one that is not, or be ready.
void window_order::wake(std::uint32_t waiter) {
  if (nodes_[waiter].more) {
    const auto at = more_.find(nodes_[waiter].seq);
    auto& more = at->second;
    while (!more.empty()) {
      const auto predecessor = more.back();
      more.pop_back();
      --more_total_;
      if (!filled(predecessor)) {
        wait_for(predecessor, waiter);
        return;
      }
    }
    more_.erase(at);
    nodes_[waiter].more = false;
  }
  push_ready(waiter);
}

void window_order::push_ready(std::uint32_t i) noexcept {
  nodes_[i].next = none;
  if (ready_last_ == none)
    ready_first_ = i;
  else
    nodes_[ready_last_].next = i;
  ready_last_ = i;
}

std::optional<window_order::place> window_order::next_ready() noexcept {
  if (ready_first_ == none)
    return std::nullopt;
  const auto i = ready_first_;
  ready_first_ = std::exchange(nodes_[i].next, none);
  if (ready_first_ == none)
    ready_last_ = none;
  return place{i, nodes_[i].seq};
}

// -- nodes --------------------------------------------------------------------

/// The node of a number above the cumulative one that is not full; made when it has none.
std::uint32_t window_order::node_for(std::uint64_t seq) {
  const auto known = cell_of(seq);
  if (known >= cell_first_node)
    return known - cell_first_node;
  auto i = free_;
  if (i == none) {
    i = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[i].next;
  }
  nodes_[i] = {};
  nodes_[i].seq = seq;
  nodes_[i].what = known == cell_announced ? kind::announced : kind::awaited;
  cell_of(seq) = i + cell_first_node;
  ++nodes_used_;
  return i;
}

void window_order::release(std::uint32_t i) noexcept {
  nodes_[i] = {};
  nodes_[i].next = free_;
  free_ = i;
  if (--nodes_used_ == 0 && nodes_.size() > kept_held_slots) {
    nodes_ = std::vector<node>();
    free_ = none;
  }
}

void window_order::wait_for(std::uint64_t predecessor, std::uint32_t waiter) {
  const auto p = node_for(predecessor);
  nodes_[waiter].next = std::exchange(nodes_[p].first_waiter, waiter);
}

// -- the rest -----------------------------------------------------------------

std::size_t window_order::ranges(std::span<proto::sack_range> out) const noexcept {
  std::size_t n = 0;
  for (auto run = runs_.begin(); run != runs_.end() && n < out.size(); ++run)
    out[n++] = {run->first, run->second};
  return n;
}

std::vector<window_order::place> window_order::held() const {
  std::vector<place> held;
  held.reserve(held_);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].what == kind::held)
      held.push_back({i, nodes_[i].seq});
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  return held;
}

void window_order::clear_held() noexcept {
  for (const auto& x : nodes_)
    if (x.what != kind::free)
      cell_of(x.seq) = x.what == kind::announced ? cell_announced : cell_unknown;
  nodes_.clear();
  more_.clear();
  free_ = ready_first_ = ready_last_ = none;
  held_ = nodes_used_ = more_total_ = 0;
}

} // namespace troupe::transport
