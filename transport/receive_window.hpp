// The receiver's half of delivery: each sequence number once, in order per pair, acknowledged in ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <troupe/proto/frame.hpp>
#include <troupe/transport/delivery_limits.hpp>

namespace troupe::transport {

/// What became of something that arrived.
enum class verdict : std::uint8_t {
  delivered,     ///< handed over (or, for a skip: the number is filled)
  held,          ///< waits for an earlier message
  expected,      ///< expect() only: announced, its data may come
  duplicate,     ///< seen before, or no longer expected: drop it, and acknowledge soon
  beyond_window, ///< further ahead than the sender may be: a faulty peer
  malformed,     ///< number 0, or a predecessor that is not lower: a faulty peer
};

/// A window without the items: the numbers, who waits for whom, and what to acknowledge. Use receive_window.
class window_order {
public:
  enum class source : std::uint8_t { arrival, completion, skip };

  /// A held frame: the place of its item, and its number.
  struct place {
    std::uint32_t index;
    std::uint64_t seq;
  };

  explicit window_order(std::size_t max_entries);

  /// True for the common case, in which step() is all there is to do: nothing is missing, this is the next number.
  [[nodiscard]] bool in_order(std::uint64_t seq) const noexcept {
    return seq == cumulative_ + 1 && highest_ == cumulative_;
  }
  void step() noexcept { highest_ = ++cumulative_; }

  /// Judges a frame. delivered: call fill(). held: the item belongs at the returned place.
  std::pair<verdict, std::uint32_t> admit(std::uint64_t seq, std::span<const std::uint64_t> predecessors, bool barrier,
                                          source from);
  verdict expect(std::uint64_t seq);
  bool forget(std::uint64_t seq) noexcept;
  /// Marks `seq` delivered and queues what waited for it.
  void fill(std::uint64_t seq);
  /// Takes the next frame whose wait is over; fill() it.
  std::optional<place> next_ready() noexcept;
  /// The held frames in sequence order; clear_held() forgets them.
  [[nodiscard]] std::vector<place> held() const;
  void clear_held() noexcept;

  [[nodiscard]] std::uint64_t cumulative() const noexcept { return cumulative_; }
  [[nodiscard]] std::uint64_t highest() const noexcept { return highest_; }
  [[nodiscard]] bool filled(std::uint64_t seq) const noexcept;
  [[nodiscard]] std::size_t ranges(std::span<proto::sack_range> out) const noexcept;
  [[nodiscard]] std::size_t range_count() const noexcept { return runs_.size(); }
  [[nodiscard]] std::size_t held_count() const noexcept { return held_; }
  [[nodiscard]] std::size_t places() const noexcept { return nodes_.size(); }

private:
  static constexpr std::uint32_t none = 0xffff'ffff;

  /// One cell for each number above the cumulative one: what is known of it, or the index of its node.
  enum : std::uint32_t { cell_unknown = 0, cell_announced = 1, cell_full = 2, cell_first_node = 3 };

  enum class kind : std::uint8_t { free, awaited, announced, held };

  /// A number that waits, or is waited for, or both.
  struct node {
    std::uint64_t seq = 0;
    std::uint32_t first_waiter = none;
    std::uint32_t next = none; ///< in a list of waiters, the ready queue or the free list
    kind what = kind::free;
    bool barrier = false;
    bool more = false; ///< more_ has further predecessors
  };

  [[nodiscard]] std::uint32_t& cell_of(std::uint64_t seq) noexcept { return cells_[seq & (cells_.size() - 1)]; }
  [[nodiscard]] std::uint32_t cell_of(std::uint64_t seq) const noexcept { return cells_[seq & (cells_.size() - 1)]; }
  [[nodiscard]] verdict check(std::uint64_t seq) const noexcept;
  [[nodiscard]] kind kind_of(std::uint64_t seq) const noexcept;
  void reach(std::uint64_t seq);
  std::uint32_t node_for(std::uint64_t seq);
  void release(std::uint32_t i) noexcept;
  void wait_for(std::uint64_t predecessor, std::uint32_t waiter);
  void wake(std::uint32_t waiter);
  void push_ready(std::uint32_t i) noexcept;
  void advance(std::uint64_t seq) noexcept;
  void add_to_runs(std::uint64_t seq);

  std::size_t max_entries_;
  std::uint64_t cumulative_ = 0;
  std::uint64_t highest_ = 0;
  std::vector<std::uint32_t> cells_; ///< a power of two of them; zero outside (cumulative_, highest_]
  std::map<std::uint64_t, std::uint64_t> runs_; ///< first to last of each run that is full, above cumulative_
  std::vector<node> nodes_;
  std::uint32_t free_ = none;
  std::uint32_t ready_first_ = none;
  std::uint32_t ready_last_ = none;
  std::size_t held_ = 0;
  std::size_t nodes_used_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> more_;
  std::size_t more_total_ = 0;
};

/// Takes frames in any order, with gaps and duplicates, and delivers each item once: after the messages it waits for,
/// and independent of all others. The cumulative number and the ranges say what was delivered, not what is held.
///
/// deliver(Item&&) is called for the item and for all that it releases, in their order, iteratively. It must not call
/// back into the window and must not throw. The in-order case costs no hash, no allocation and no look at a table.
///
/// Belongs to one thread. Memory: 4 bytes for each number from the lowest missing one to the highest one seen, plus
/// the held items; both are bounded by max_entries. The only exception that leaves it is std::bad_alloc.
template <class Item>
class receive_window {
  static_assert(std::is_nothrow_move_constructible_v<Item>);

public:
  /// `max_entries`: how far beyond cumulative() a number may be; at least what the sender's journal may have open.
  /// @throws std::invalid_argument when it is 0 or above max_window.
  explicit receive_window(std::size_t max_entries = default_window) : order_(max_entries) {}

  receive_window(const receive_window&) = delete;
  receive_window& operator=(const receive_window&) = delete;

  // -- arrivals ---------------------------------------------------------------

  /// A whole message: waits for `after` (0: for nothing) or, with `barrier`, for everything below `seq`.
  /// Takes the item when delivered or held, and leaves it in place otherwise.
  template <class F>
  verdict arrive(std::uint64_t seq, std::uint64_t after, bool barrier, Item&& item, F&& deliver) {
    if (order_.in_order(seq) && after < seq) [[likely]] {
      order_.step();
      ++delivered_;
      deliver(std::move(item));
      return verdict::delivered;
    }
    return place(seq, {&after, 1}, barrier, window_order::source::arrival, std::move(item), deliver);
  }

  /// The same with any number of predecessors (zeros are ignored); the caller bounds them (max_predecessors).
  template <class F>
  verdict arrive(std::uint64_t seq, std::span<const std::uint64_t> predecessors, bool barrier, Item&& item,
                 F&& deliver) {
    return place(seq, predecessors, barrier, window_order::source::arrival, std::move(item), deliver);
  }

  /// A message was announced whose data is still to come (a bulk message): verdict expected, once. From now on
  /// arrive() and expect() of the number are duplicates; complete(), skip() or forget() end it.
  verdict expect(std::uint64_t seq) { return order_.expect(seq); }

  /// The data of an expected message is there; like arrive(). A duplicate when it was skipped or forgotten.
  template <class F>
  verdict complete(std::uint64_t seq, std::uint64_t after, bool barrier, Item&& item, F&& deliver) {
    return place(seq, {&after, 1}, barrier, window_order::source::completion, std::move(item), deliver);
  }

  /// The data will not come this way: the number counts as never seen. False: it was not expected.
  bool forget(std::uint64_t seq) noexcept { return order_.forget(seq); }

  /// The sender canceled it. Fills the number without an item, in its order: `after` and `barrier` are those of the
  /// original message, because its successors wait for it in place of its predecessors.
  template <class F>
  verdict skip(std::uint64_t seq, std::uint64_t after, bool barrier, F&& deliver) {
    auto [what, at] = order_.admit(seq, {&after, 1}, barrier, window_order::source::skip);
    if (what == verdict::delivered) {
      order_.fill(seq);
      release(deliver);
    }
    return what;
  }

  /// Hands over what is held, on_dropped(seq, Item&&) in sequence order, and counts it as never seen. For the end of a
  /// session: what these wait for will not come.
  template <class F>
  void drop_held(F&& on_dropped) {
    const auto held = order_.held();
    order_.clear_held();
    for (const auto& at : held)
      if (at.index < items_.size() && items_[at.index]) {
        Item item(std::move(*items_[at.index]));
        items_[at.index].reset();
        on_dropped(at.seq, std::move(item));
      }
  }

  // -- acknowledging ----------------------------------------------------------

  /// Every number up to this one was delivered (or skipped).
  [[nodiscard]] std::uint64_t cumulative() const noexcept { return order_.cumulative(); }

  /// Writes the lowest ranges delivered beyond cumulative() and returns how many; range_count() says how many there
  /// are.
  std::size_t ranges(std::span<proto::sack_range> out) const noexcept { return order_.ranges(out); }
  [[nodiscard]] std::size_t range_count() const noexcept { return order_.range_count(); }

  /// Whether `seq` was delivered or skipped.
  [[nodiscard]] bool filled(std::uint64_t seq) const noexcept { return order_.filled(seq); }
  /// The highest number seen.
  [[nodiscard]] std::uint64_t highest() const noexcept { return order_.highest(); }

  /// Items handed to deliver() so far.
  [[nodiscard]] std::uint64_t delivered_count() const noexcept { return delivered_; }
  /// Frames that wait for others now (items and skips).
  [[nodiscard]] std::size_t held_count() const noexcept { return order_.held_count(); }

private:
  template <class F>
  verdict place(std::uint64_t seq, std::span<const std::uint64_t> predecessors, bool barrier,
                window_order::source from, Item&& item, F& deliver) {
    auto [what, at] = order_.admit(seq, predecessors, barrier, from);
    if (what == verdict::delivered) {
      order_.fill(seq);
      ++delivered_;
      deliver(std::move(item));
      release(deliver);
    } else if (what == verdict::held) {
      if (at >= items_.size())
        items_.resize(order_.places());
      items_[at].emplace(std::move(item));
    }
    return what;
  }

  template <class F>
  void release(F& deliver) {
    while (auto next = order_.next_ready()) {
      if (next->index < items_.size() && items_[next->index]) {
        Item item(std::move(*items_[next->index]));
        items_[next->index].reset();
        order_.fill(next->seq);
        ++delivered_;
        deliver(std::move(item));
      } else {
        order_.fill(next->seq);
      }
    }
    if (items_.size() > kept_held_slots && order_.places() == 0)
      items_ = std::vector<std::optional<Item>>();
  }

  window_order order_;
  std::vector<std::optional<Item>> items_;
  std::uint64_t delivered_ = 0;
};

} // namespace troupe::transport
