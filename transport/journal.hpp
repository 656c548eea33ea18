// What was accepted for sending and is not acknowledged yet, in posting order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <troupe/proto/frame.hpp>
#include <troupe/transport/delivery_limits.hpp>
#include <troupe/transport/errc.hpp>

namespace troupe::transport {

struct journal_limits {
  std::size_t max_entries = default_window;      ///< sequence numbers from the oldest unacknowledged to the newest
  std::size_t max_bytes = default_journal_bytes; ///< sum of the bytes given to append()

  /// @throws std::invalid_argument when a limit is 0 or max_entries is above max_window.
  void check() const;
};

/// What append() did: the number of the entry, or why it was refused.
struct append_result {
  errc code = errc::ok;
  std::uint64_t seq = 0; ///< 0 when refused

  explicit operator bool() const noexcept { return code == errc::ok; }
};

/// `protocol_error` unless an acknowledgement can be true of a journal whose next number is `next`: `cumulative` is
/// below `next`; the ranges ascend, are not inverted, do not overlap, lie above `cumulative` and below `next`. That it
/// is older than an earlier one is no error. @threadsafe
[[nodiscard]] errc check_acknowledgement(std::uint64_t next, std::uint64_t cumulative,
                                         std::span<const proto::sack_range> ranges) noexcept;

/// For acknowledge() and fail_all() where nothing is ever canceled.
struct ignore_tombstone {
  template <class Entry>
  void operator()(std::uint64_t, Entry&&) const noexcept {}
};

/// Numbers entries 1, 2, 3, ... and keeps each from its acceptance until its one terminal: acknowledged, canceled, or
/// failed. A full journal refuses (backpressure); it never evicts.
///
/// Entries live in a power-of-two ring indexed by sequence number: no allocation per entry, O(1) amortised for append
/// and cumulative acknowledgement; an acknowledged range costs its new entries only, however often it is repeated.
///
/// Belongs to one thread. Callbacks may call append(), and no other non-const function. The only exception that leaves
/// it is std::bad_alloc from append() when the ring grows; the journal is unchanged then. Callbacks must not throw.
/// Entries that are left when the journal is destroyed are destroyed without a terminal: call fail_all() first.
template <class Entry>
class journal {
  static_assert(std::is_nothrow_move_constructible_v<Entry>);

public:
  /// @throws std::invalid_argument for impossible limits.
  explicit journal(journal_limits limits = {}) : limits_(limits) { limits_.check(); }

  ~journal() {
    for (auto seq = first_; seq < next_; ++seq)
      if (auto& s = slot_of(seq); s.state != state::done)
        s.entry()->~Entry();
  }

  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;

  // -- accepting --------------------------------------------------------------

  /// What append() would answer: ok; `exceeds_limit`: never, it is above max_bytes by itself; `busy`: not now.
  [[nodiscard]] errc admits(std::size_t bytes) const noexcept {
    if (bytes > limits_.max_bytes)
      return errc::exceeds_limit;
    if (span() >= limits_.max_entries || bytes > limits_.max_bytes - bytes_)
      return errc::busy;
    return errc::ok;
  }

  /// Takes `entry`, which counts as `bytes`, and numbers it next_seq(). A refused entry is left in place.
  append_result append(Entry&& entry, std::size_t bytes) {
    if (auto why = admits(bytes); why != errc::ok)
      return {why, 0};
    if (span() == capacity_)
      grow();
    auto& s = slot_of(next_);
    ::new (static_cast<void*>(s.storage)) Entry(std::move(entry));
    s.state = state::live;
    s.value = bytes;
    bytes_ += bytes;
    ++live_;
    peak_ = std::max<std::size_t>(peak_, span() + 1);
    return {errc::ok, next_++};
  }

  // -- terminals --------------------------------------------------------------

  /// Ends every entry that is acknowledged by this and not by an earlier call: on_terminal(seq, Entry&&), once each, in
  /// sequence order. A canceled one had its terminal: its tombstone goes to on_tombstone(seq, Entry&&) instead, so that
  /// its pair can be forgotten (pair_order::acknowledged). The caller bounds the number of ranges.
  /// `protocol_error`: the peer acknowledges what was never sent, or the ranges make no sense; nothing has changed.
  template <class F, class G = ignore_tombstone>
  errc acknowledge(std::uint64_t cumulative, std::span<const proto::sack_range> ranges, F&& on_terminal,
                   G&& on_tombstone = {}) {
    if (auto why = check_acknowledgement(next_, cumulative, ranges); why != errc::ok)
      return why;
    while (first_ <= cumulative)
      finish(first_++, on_terminal, on_tombstone);
    for (const auto& range : ranges)
      finish_range(range, on_terminal, on_tombstone);
    first_ = next_unacked(first_);
    if (first_ == next_)
      shrink();
    return errc::ok;
  }

  /// Ends one entry that is not acknowledged: on_canceled(Entry&), which may empty it. What is left of it stays as a
  /// tombstone of 0 bytes until its number is acknowledged, because the peer's window has to see the number filled:
  /// post a skip for it (receive_window::skip, with the `after` of the original, or as a barrier if it had more
  /// predecessors), now and in every replay. Whether the message itself was delivered first, is unknown.
  /// `not_found`: no such number yet. `too_late`: it had its terminal.
  template <class F>
  errc cancel(std::uint64_t seq, F&& on_canceled) {
    if (seq == 0 || seq >= next_)
      return errc::not_found;
    if (seq < first_ || slot_of(seq).state != state::live)
      return errc::too_late;
    auto& s = slot_of(seq);
    bytes_ -= s.value;
    s.value = 0;
    s.state = state::canceled;
    --live_;
    on_canceled(*s.entry());
    return errc::ok;
  }

  /// Ends everything that is left: on_terminal(seq, Entry&&) in posting order, on_tombstone() as in acknowledge(). The
  /// journal is empty afterwards, goes on numbering where it was, and ignores acknowledgements of what it ended.
  template <class F, class G = ignore_tombstone>
  void fail_all(F&& on_terminal, G&& on_tombstone = {}) {
    for (const auto end = next_; first_ < end;)
      finish(first_++, on_terminal, on_tombstone);
    if (first_ == next_)
      shrink();
  }

  // -- looking ----------------------------------------------------------------

  /// Visits what is not acknowledged, in posting order: visit(seq, Entry&, bool canceled). For replays: a canceled one
  /// is a tombstone, to be posted as a skip. `visit` must not change the journal.
  template <class F>
  void for_each_unacked(F&& visit) {
    for (auto seq = next_unacked(first_); seq < next_; seq = next_unacked(seq + 1)) {
      auto& s = slot_of(seq);
      visit(seq, *s.entry(), s.state == state::canceled);
    }
  }

  /// The entry, or null when it had its terminal or does not exist yet. Valid until the next non-const call.
  [[nodiscard]] Entry* at(std::uint64_t seq) noexcept {
    if (seq < first_ || seq >= next_ || slot_of(seq).state != state::live)
      return nullptr;
    return slot_of(seq).entry();
  }

  /// The lowest number that is not acknowledged; next_seq() when there is none.
  [[nodiscard]] std::uint64_t first_unacked() const noexcept { return first_; }
  /// The number that the next entry gets.
  [[nodiscard]] std::uint64_t next_seq() const noexcept { return next_; }
  /// Entries without a terminal.
  [[nodiscard]] std::size_t size() const noexcept { return live_; }
  [[nodiscard]] bool empty() const noexcept { return live_ == 0; }
  /// Bytes of the entries without a terminal.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Numbers from first_unacked() to the newest: what max_entries limits.
  [[nodiscard]] std::size_t span() const noexcept { return static_cast<std::size_t>(next_ - first_); }
  [[nodiscard]] const journal_limits& limits() const noexcept { return limits_; }

private:
  enum state : std::uint64_t { live, canceled, done };

  struct slot {
    alignas(Entry) std::byte storage[sizeof(Entry)];
    std::uint64_t state : 2;
    /// Live: its bytes. Done: a higher number, all below which (from this one on) are done; see next_unacked().
    std::uint64_t value : 62;

    Entry* entry() noexcept { return std::launder(reinterpret_cast<Entry*>(storage)); }
  };

  slot& slot_of(std::uint64_t seq) noexcept { return slots_[seq & (capacity_ - 1)]; }

  /// The lowest number >= seq that is not done. Shortens the way it went (a disjoint-set forest over done slots).
  std::uint64_t next_unacked(std::uint64_t seq) noexcept {
    while (seq < next_ && slot_of(seq).state == state::done) {
      auto to = static_cast<std::uint64_t>(slot_of(seq).value);
      if (to < next_ && slot_of(to).state == state::done)
        to = slot_of(seq).value = slot_of(to).value;
      seq = to;
    }
    return seq;
  }

  /// Takes one entry out of its slot and hands it over, unless it is done. The slot is settled before the callback,
  /// which may make the ring grow.
  template <class F, class G>
  void finish(std::uint64_t seq, F& on_terminal, G& on_tombstone) {
    auto& s = slot_of(seq);
    if (s.state == state::done)
      return;
    const auto was = s.state;
    Entry entry(std::move(*s.entry()));
    s.entry()->~Entry();
    if (was == state::live) {
      bytes_ -= s.value;
      --live_;
    }
    s.state = state::done;
    s.value = seq + 1;
    if (was == state::live)
      on_terminal(seq, std::move(entry));
    else
      on_tombstone(seq, std::move(entry));
  }

  template <class F, class G>
  void finish_range(const proto::sack_range& range, F& on_terminal, G& on_tombstone) {
    const auto from = std::max(range.first, first_);
    if (from > range.last)
      return;
    auto seq = next_unacked(from);
    while (seq <= range.last) {
      finish(seq, on_terminal, on_tombstone);
      seq = next_unacked(seq + 1);
    }
    slot_of(from).value = seq;
  }

  void resize(std::size_t capacity) {
    auto slots = std::make_unique_for_overwrite<slot[]>(capacity);
    for (auto seq = first_; seq < next_; ++seq) {
      auto& from = slot_of(seq);
      auto& to = slots[seq & (capacity - 1)];
      to.state = from.state;
      to.value = from.value;
      if (from.state != state::done) {
        ::new (static_cast<void*>(to.storage)) Entry(std::move(*from.entry()));
        from.entry()->~Entry();
      }
    }
    slots_ = std::move(slots);
    capacity_ = capacity;
  }

  void grow() { resize(capacity_ == 0 ? min_ring_slots : capacity_ * 2); }

  /// Called when empty: gives memory back when a burst is long over, so that one burst does not pin it for ever and a
  /// steady load never reallocates.
  void shrink() noexcept {
    if (capacity_ > min_ring_slots && peak_ < capacity_ / 4) {
      capacity_ = 0;
      slots_.reset();
    }
    peak_ = 0;
  }

  journal_limits limits_;
  std::unique_ptr<slot[]> slots_;
  std::size_t capacity_ = 0;
  std::uint64_t first_ = 1;
  std::uint64_t next_ = 1;
  std::size_t bytes_ = 0;
  std::size_t live_ = 0;
  std::size_t peak_ = 0;
};

} // namespace troupe::transport
