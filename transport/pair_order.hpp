// The sender's half of the order between two actors: which earlier message a message has to wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <troupe/transport/delivery_limits.hpp>

namespace troupe::transport {

/// Remembers for each (sender, target) pair its newest sequence number that is not acknowledged. A message names that
/// number as its `after`; the receiving side holds the message back until it is delivered. A pair with nothing
/// unacknowledged waits for nothing and takes no memory: there are never more pairs than unacknowledged messages.
///
/// Belongs to one thread. Memory: about 48 bytes a pair. Throws std::bad_alloc at most, and from link() only.
class pair_order {
public:
  /// Makes `seq` the newest number of the pair and returns the one before it, or 0 when the message waits for nothing.
  /// `seq` has to be accepted: ask journal::admits() first, and pass journal::next_seq(). Numbers ascend.
  std::uint64_t link(std::uint64_t sender, std::uint64_t target, std::uint64_t seq);

  /// Call for each message that is acknowledged (or ended by journal::fail_all), with its pair. Forgets the pair when
  /// `seq` is its newest. For a canceled message call it when the journal hands over the tombstone, not before:
  /// successors have to wait for what the canceled one waited for.
  void acknowledged(std::uint64_t sender, std::uint64_t target, std::uint64_t seq) noexcept;

  /// For a `down`: the numbers it has to wait for, the newest of every pair of `sender`, in no particular order.
  /// Returns how many there are; when more than out.size(), `out` is not complete, and the count stops at
  /// out.size() + 1: send the frame as a barrier then. O(pairs of the sender).
  std::size_t predecessors_of(std::uint64_t sender, std::span<std::uint64_t> out) const noexcept;

  /// Pairs with unacknowledged messages.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

  /// Forgets all.
  void clear() noexcept;

private:
  static constexpr std::uint32_t none = 0xffff'ffff;

  struct pair {
    std::uint64_t sender;
    std::uint64_t target;
    std::uint64_t newest;       ///< 0: the node is free
    std::uint32_t hash;         ///< of sender and target
    std::uint32_t next;         ///< in the bucket of the pair, or in the free list
    std::uint32_t next_sibling; ///< in the bucket of the sender
    std::uint32_t prev_sibling;
  };

  /// Two buckets in one: the pairs with this hash, and the pairs whose sender has this hash.
  struct bucket {
    std::uint32_t pairs = none;
    std::uint32_t senders = none;
  };

  std::uint32_t find(std::uint64_t sender, std::uint64_t target, std::uint32_t hash) const noexcept;
  [[nodiscard]] bool is_recent(std::uint64_t sender, std::uint64_t target) const noexcept;
  bucket& pair_bucket(std::uint32_t hash) noexcept;
  bucket& sender_bucket(std::uint64_t sender) noexcept;
  void enter(std::uint32_t i) noexcept;
  void leave(std::uint32_t i) noexcept;
  std::uint32_t allocate();
  void rehash(std::size_t buckets);

  std::vector<pair> pairs_;
  std::vector<bucket> buckets_;
  std::uint32_t free_ = none;
  std::uint32_t recent_ = none; ///< streaks of one pair need no hash
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

} // namespace troupe::transport
