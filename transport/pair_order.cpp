#include <troupe/transport/pair_order.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

namespace troupe::transport {

namespace {

std::uint32_t hash_of(std::uint64_t sender, std::uint64_t target) noexcept {
  const std::array key{sender, target};
  return static_cast<std::uint32_t>(
      std::hash<std::string_view>{}({reinterpret_cast<const char*>(key.data()), sizeof(key)}));
}

} // namespace

std::uint64_t pair_order::link(std::uint64_t sender, std::uint64_t target, std::uint64_t seq) {
  if (is_recent(sender, target))
    return std::exchange(pairs_[recent_].newest, seq);
  const auto hash = hash_of(sender, target);
  recent_ = find(sender, target, hash);
  if (recent_ != none)
    return std::exchange(pairs_[recent_].newest, seq);
  const auto i = allocate();
  pairs_[i] = {sender, target, seq, hash, none, none, none};
  enter(i);
  peak_ = std::max(peak_, ++used_);
  recent_ = i;
  return 0;
}

void pair_order::acknowledged(std::uint64_t sender, std::uint64_t target, std::uint64_t seq) noexcept {
  if (used_ == 0)
    return;
  const auto i = is_recent(sender, target) ? recent_ : find(sender, target, hash_of(sender, target));
  if (i == none || pairs_[i].newest != seq)
    return;
  leave(i);
  pairs_[i].newest = 0;
  pairs_[i].next = free_;
  free_ = i;
  if (recent_ == i)
    recent_ = none;
  if (--used_ == 0) {
    // Empty: give the memory of a burst back once it is long over.
    if (buckets_.size() > min_ring_slots && peak_ < buckets_.size() / 4)
      clear();
    peak_ = 0;
  }
}

std::size_t pair_order::predecessors_of(std::uint64_t sender, std::span<std::uint64_t> out) const noexcept {
  if (used_ == 0)
    return 0;
  std::size_t n = 0;
  const auto& head = buckets_[std::hash<std::uint64_t>{}(sender) & (buckets_.size() - 1)];
  for (auto i = head.senders; i != none; i = pairs_[i].next_sibling) {
    if (pairs_[i].sender != sender)
      continue;
    if (n == out.size())
      return n + 1;
    out[n++] = pairs_[i].newest;
  }
  return n;
}

void pair_order::clear() noexcept {
  pairs_ = std::vector<pair>();
  buckets_ = std::vector<bucket>();
  free_ = recent_ = none;
  used_ = peak_ = 0;
}

std::uint32_t pair_order::find(std::uint64_t sender, std::uint64_t target, std::uint32_t hash) const noexcept {
  if (used_ == 0)
    return none;
  auto i = buckets_[hash & (buckets_.size() - 1)].pairs;
  while (i != none && (pairs_[i].target != target || pairs_[i].sender != sender))
    i = pairs_[i].next;
  return i;
}

bool pair_order::is_recent(std::uint64_t sender, std::uint64_t target) const noexcept {
  return recent_ != none && pairs_[recent_].target == target && pairs_[recent_].sender == sender;
}

pair_order::bucket& pair_order::pair_bucket(std::uint32_t hash) noexcept {
  return buckets_[hash & (buckets_.size() - 1)];
}

pair_order::bucket& pair_order::sender_bucket(std::uint64_t sender) noexcept {
  return buckets_[std::hash<std::uint64_t>{}(sender) & (buckets_.size() - 1)];
}

void pair_order::enter(std::uint32_t i) noexcept {
  auto& x = pairs_[i];
  auto& pairs = pair_bucket(x.hash).pairs;
  x.next = std::exchange(pairs, i);
  auto& senders = sender_bucket(x.sender).senders;
  x.prev_sibling = none;
  x.next_sibling = std::exchange(senders, i);
  if (x.next_sibling != none)
    pairs_[x.next_sibling].prev_sibling = i;
}

void pair_order::leave(std::uint32_t i) noexcept {
  const auto& x = pairs_[i];
  auto* at = &pair_bucket(x.hash).pairs;
  while (*at != i)
    at = &pairs_[*at].next;
  *at = x.next;
  if (x.prev_sibling == none)
    sender_bucket(x.sender).senders = x.next_sibling;
  else
    pairs_[x.prev_sibling].next_sibling = x.next_sibling;
  if (x.next_sibling != none)
    pairs_[x.next_sibling].prev_sibling = x.prev_sibling;
}

std::uint32_t pair_order::allocate() {
  if (free_ != none)
    return std::exchange(free_, pairs_[free_].next);
  if (pairs_.size() >= buckets_.size())
    rehash(std::max(min_ring_slots, buckets_.size() * 2));
  pairs_.emplace_back();
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

void pair_order::rehash(std::size_t buckets) {
  buckets_ = std::vector<bucket>(buckets);
  for (std::uint32_t i = 0; i < pairs_.size(); ++i)
    if (pairs_[i].newest != 0)
      enter(i);
}

} // namespace troupe::transport
