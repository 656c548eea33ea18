#include <troupe/transport/journal.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::transport {
namespace {

/// Owns memory and cannot be copied, so that sanitizers see an entry that is lost or ended twice.
using entry = std::unique_ptr<std::uint64_t>;
using numbers = std::vector<std::uint64_t>;
using ranges = std::vector<proto::sack_range>;

numbers from_to(std::uint64_t first, std::uint64_t last) {
  numbers out(last - first + 1);
  std::iota(out.begin(), out.end(), first);
  return out;
}

struct fixture {
  explicit fixture(journal_limits limits = {}) : book(limits) {}

  void append(std::uint64_t n, std::size_t bytes = 10) {
    for (; n > 0; --n) {
      const auto seq = book.next_seq();
      ASSERT_EQ(book.append(std::make_unique<std::uint64_t>(seq), bytes).seq, seq);
    }
  }

  auto end() {
    return [this](std::uint64_t seq, entry&& x) {
      const entry mine = std::move(x);
      ASSERT_TRUE(mine);
      EXPECT_EQ(*mine, seq);
      ended.push_back(seq);
    };
  }

  errc acknowledge(std::uint64_t cumulative, const ranges& more = {}) {
    return book.acknowledge(cumulative, more, end());
  }

  numbers take_ended() { return std::exchange(ended, {}); }

  numbers unacked() {
    numbers out;
    book.for_each_unacked([&](std::uint64_t seq, entry&, bool) { out.push_back(seq); });
    return out;
  }

  journal<entry> book;
  numbers ended;
};

TEST(journal, numbers_entries_from_one_and_keeps_them_in_posting_order) {
  fixture f;
  EXPECT_EQ(f.book.next_seq(), 1u);
  EXPECT_EQ(f.book.first_unacked(), 1u);
  f.append(3, 5);
  EXPECT_EQ(f.book.next_seq(), 4u);
  EXPECT_EQ(f.book.size(), 3u);
  EXPECT_EQ(f.book.bytes(), 15u);
  EXPECT_EQ(f.unacked(), from_to(1, 3));
  EXPECT_EQ(**f.book.at(2), 2u);
  EXPECT_EQ(f.book.at(0), nullptr);
  EXPECT_EQ(f.book.at(4), nullptr);
}

TEST(journal, a_cumulative_acknowledgement_ends_each_entry_once_in_order) {
  fixture f;
  f.append(10);
  EXPECT_EQ(f.acknowledge(4), errc::ok);
  EXPECT_EQ(f.take_ended(), from_to(1, 4));
  EXPECT_EQ(f.acknowledge(4), errc::ok);
  EXPECT_EQ(f.take_ended(), numbers{});
  EXPECT_EQ(f.acknowledge(10), errc::ok);
  EXPECT_EQ(f.take_ended(), from_to(5, 10));
  EXPECT_TRUE(f.book.empty());
  EXPECT_EQ(f.book.bytes(), 0u);
  EXPECT_EQ(f.book.first_unacked(), 11u);
}

TEST(journal, an_older_acknowledgement_that_comes_late_changes_nothing) {
  fixture f;
  f.append(10);
  EXPECT_EQ(f.acknowledge(6), errc::ok);
  f.take_ended();
  EXPECT_EQ(f.acknowledge(2, {{4, 5}}), errc::ok);
  EXPECT_EQ(f.take_ended(), numbers{});
  EXPECT_EQ(f.book.first_unacked(), 7u);
}

TEST(journal, the_ranges_of_an_older_acknowledgement_still_count) {
  fixture f;
  f.append(10);
  f.acknowledge(3);
  f.take_ended();
  EXPECT_EQ(f.acknowledge(1, {{3, 4}, {8, 9}}), errc::ok);
  EXPECT_EQ(f.take_ended(), (numbers{4, 8, 9}));
  EXPECT_EQ(f.book.first_unacked(), 5u);
}

TEST(journal, ranges_end_entries_beyond_a_gap_and_only_new_ones_when_repeated) {
  fixture f;
  f.append(12);
  EXPECT_EQ(f.acknowledge(1, {{3, 4}, {7, 8}}), errc::ok);
  EXPECT_EQ(f.take_ended(), (numbers{1, 3, 4, 7, 8}));
  EXPECT_EQ(f.unacked(), (numbers{2, 5, 6, 9, 10, 11, 12}));
  EXPECT_EQ(f.acknowledge(1, {{3, 9}}), errc::ok);
  EXPECT_EQ(f.take_ended(), (numbers{5, 6, 9}));
  EXPECT_EQ(f.book.at(3), nullptr);
  EXPECT_EQ(f.acknowledge(10), errc::ok);
  EXPECT_EQ(f.take_ended(), (numbers{2, 10}));
  EXPECT_EQ(f.book.size(), 2u);
}

TEST(journal, the_first_unacked_number_passes_entries_that_ranges_ended) {
  fixture f;
  f.append(5);
  f.acknowledge(0, {{2, 4}});
  f.take_ended();
  EXPECT_EQ(f.book.first_unacked(), 1u);
  f.acknowledge(1);
  EXPECT_EQ(f.book.first_unacked(), 5u);
  EXPECT_EQ(f.book.span(), 1u);
}

// Repeating a long range with one more number at a time must not walk the range each time.
TEST(journal, a_growing_range_costs_only_its_new_entries) {
  constexpr std::uint64_t n = 200'000;
  fixture f;
  f.append(n, 1);
  for (std::uint64_t last = 2; last <= n; ++last)
    ASSERT_EQ(f.acknowledge(0, {{2, last}}), errc::ok);
  EXPECT_EQ(f.ended, from_to(2, n));
  EXPECT_EQ(f.book.size(), 1u);
}

TEST(journal, refuses_acknowledgements_that_cannot_be_true_and_does_not_change) {
  fixture f;
  f.append(10);
  f.acknowledge(2, {{5, 6}});
  f.take_ended();
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  const std::vector<std::pair<std::uint64_t, ranges>> lies = {
      {11, {}},                // never sent
      {huge, {}},              //
      {3, {{6, 5}}},           // inverted
      {3, {{3, 5}}},           // at the cumulative number
      {3, {{2, 5}}},           // below it
      {3, {{0, 0}}},           //
      {3, {{9, 11}}},          // beyond the newest
      {3, {{9, huge}}},        //
      {3, {{5, 7}, {7, 8}}},   // overlapping
      {3, {{8, 9}, {5, 6}}},   // descending
      {3, {{5, 6}, {5, 6}}},   // twice
      {3, {{5, 6}, {8, 7}}},   // the second one inverted
  };
  for (const auto& [cumulative, more] : lies) {
    EXPECT_EQ(f.acknowledge(cumulative, more), errc::protocol_error) << cumulative;
    EXPECT_EQ(f.take_ended(), numbers{});
    EXPECT_EQ(f.book.first_unacked(), 3u);
    EXPECT_EQ(f.unacked(), (numbers{3, 4, 7, 8, 9, 10}));
  }
  fixture empty;
  EXPECT_EQ(empty.acknowledge(0), errc::ok);
  EXPECT_EQ(empty.acknowledge(1), errc::protocol_error);
  EXPECT_EQ(empty.acknowledge(0, {{1, 1}}), errc::protocol_error);
}

TEST(journal, a_full_journal_refuses_and_leaves_the_entry_with_the_caller) {
  fixture f{{4, 1000}};
  f.append(4, 1);
  auto x = std::make_unique<std::uint64_t>(5);
  const auto refused = f.book.append(std::move(x), 1);
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.code, errc::busy);
  EXPECT_EQ(refused.seq, 0u);
  ASSERT_TRUE(x);
  EXPECT_EQ(f.book.next_seq(), 5u);
  f.acknowledge(1);
  EXPECT_EQ(f.book.append(std::move(x), 1).seq, 5u);
}

// What lies above a gap still occupies the window of the other side.
TEST(journal, entries_are_limited_by_the_span_of_their_numbers) {
  fixture f{{4, 1000}};
  f.append(4, 1);
  f.acknowledge(0, {{2, 4}});
  EXPECT_EQ(f.book.size(), 1u);
  EXPECT_EQ(f.book.admits(1), errc::busy);
  f.acknowledge(1);
  EXPECT_EQ(f.book.admits(1), errc::ok);
}

TEST(journal, bytes_are_limited_and_too_large_is_told_from_full) {
  fixture f{{100, 1000}};
  EXPECT_EQ(f.book.admits(1000), errc::ok);
  EXPECT_EQ(f.book.admits(1001), errc::exceeds_limit);
  EXPECT_EQ(f.book.admits(std::numeric_limits<std::size_t>::max()), errc::exceeds_limit);
  f.append(1, 600);
  EXPECT_EQ(f.book.admits(400), errc::ok);
  EXPECT_EQ(f.book.admits(401), errc::busy);
  f.append(1, 400);
  EXPECT_EQ(f.book.admits(0), errc::ok);
  EXPECT_EQ(f.book.admits(1), errc::busy);
  f.acknowledge(1);
  EXPECT_EQ(f.book.bytes(), 400u);
  EXPECT_EQ(f.book.admits(600), errc::ok);
}

TEST(journal, impossible_limits_are_refused_at_construction) {
  EXPECT_THROW((journal<entry>{{0, 1}}), std::invalid_argument);
  EXPECT_THROW((journal<entry>{{1, 0}}), std::invalid_argument);
  EXPECT_THROW((journal<entry>{{max_window + 1, 1}}), std::invalid_argument);
  EXPECT_NO_THROW((journal<entry>{{max_window, 1}}));
}

TEST(journal, a_canceled_entry_ends_at_once_and_is_not_ended_again) {
  fixture f;
  f.append(4);
  int calls = 0;
  EXPECT_EQ(f.book.cancel(2, [&](entry& x) {
    ++calls;
    EXPECT_EQ(*x, 2u);
    x.reset();
  }),
            errc::ok);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(f.book.size(), 3u);
  EXPECT_EQ(f.book.bytes(), 30u);
  EXPECT_EQ(f.book.at(2), nullptr);
  EXPECT_EQ(f.acknowledge(4), errc::ok);
  EXPECT_EQ(f.take_ended(), (numbers{1, 3, 4}));
}

// The peer's window has to see the number filled, so a replay must know of it.
TEST(journal, a_canceled_entry_stays_as_a_tombstone_until_acknowledged) {
  fixture f;
  f.append(3);
  f.book.cancel(1, [](entry& x) { x.reset(); });
  EXPECT_EQ(f.book.first_unacked(), 1u);
  std::vector<std::pair<std::uint64_t, bool>> seen;
  f.book.for_each_unacked([&](std::uint64_t seq, entry&, bool canceled) { seen.emplace_back(seq, canceled); });
  EXPECT_EQ(seen, (std::vector<std::pair<std::uint64_t, bool>>{{1, true}, {2, false}, {3, false}}));
  EXPECT_EQ(f.acknowledge(0, {{2, 2}}), errc::ok);
  EXPECT_EQ(f.acknowledge(2), errc::ok);
  EXPECT_EQ(f.take_ended(), numbers{2});
  EXPECT_EQ(f.book.first_unacked(), 3u);
}

TEST(journal, a_tombstone_is_handed_over_apart_once_its_number_is_acknowledged_or_failed) {
  fixture f;
  f.append(4);
  for (const std::uint64_t seq : {2, 3, 4})
    f.book.cancel(seq, [](entry&) {});
  numbers tombstones;
  const auto bury = [&](std::uint64_t seq, entry&& x) {
    const entry mine = std::move(x);
    EXPECT_EQ(*mine, seq);
    tombstones.push_back(seq);
  };
  EXPECT_EQ(f.book.acknowledge(1, ranges{{3, 3}}, f.end(), bury), errc::ok);
  EXPECT_EQ(f.take_ended(), numbers{1});
  EXPECT_EQ(tombstones, numbers{3});
  f.book.fail_all(f.end(), bury);
  EXPECT_EQ(f.take_ended(), numbers{});
  EXPECT_EQ(tombstones, (numbers{3, 2, 4}));
}

TEST(journal, cancel_says_why_it_cannot) {
  fixture f;
  f.append(5);
  f.acknowledge(1, {{4, 4}});
  const auto never = [](entry&) { FAIL(); };
  EXPECT_EQ(f.book.cancel(0, never), errc::not_found);
  EXPECT_EQ(f.book.cancel(6, never), errc::not_found);
  EXPECT_EQ(f.book.cancel(1, never), errc::too_late);
  EXPECT_EQ(f.book.cancel(4, never), errc::too_late);
  EXPECT_EQ(f.book.cancel(2, [](entry&) {}), errc::ok);
  EXPECT_EQ(f.book.cancel(2, never), errc::too_late);
}

TEST(journal, fail_all_ends_what_is_left_once_in_posting_order) {
  fixture f;
  f.append(6);
  f.acknowledge(1, {{3, 3}});
  f.book.cancel(5, [](entry& x) { x.reset(); });
  f.take_ended();
  f.book.fail_all(f.end());
  EXPECT_EQ(f.take_ended(), (numbers{2, 4, 6}));
  EXPECT_TRUE(f.book.empty());
  EXPECT_EQ(f.book.bytes(), 0u);
  EXPECT_EQ(f.book.span(), 0u);
  EXPECT_EQ(f.book.next_seq(), 7u);
  f.book.fail_all(f.end());
  EXPECT_EQ(f.acknowledge(6), errc::ok);
  EXPECT_EQ(f.take_ended(), numbers{});
}

TEST(journal, callbacks_may_append_even_when_the_ring_has_to_grow) {
  fixture f;
  f.append(min_ring_slots);
  numbers ended;
  const auto append_more = [&](std::uint64_t seq, entry&& x) {
    EXPECT_EQ(*x, seq);
    ended.push_back(seq);
    f.append(3);
  };
  EXPECT_EQ(f.book.acknowledge(min_ring_slots / 2, ranges{{min_ring_slots / 2 + 2, min_ring_slots}}, append_more),
            errc::ok);
  EXPECT_EQ(ended.size(), min_ring_slots - 1);
  EXPECT_TRUE(std::is_sorted(ended.begin(), ended.end()));
  EXPECT_EQ(f.book.next_seq(), 1 + min_ring_slots + 3 * ended.size());
  // fail_all ends what there was when it was called.
  const auto left = f.book.size();
  ended.clear();
  f.book.fail_all(append_more);
  EXPECT_EQ(ended.size(), left);
  EXPECT_EQ(f.book.size(), 3 * left);
  const auto next = f.book.next_seq();
  f.book.fail_all(f.end());
  EXPECT_EQ(f.take_ended(), from_to(next - 3 * left, next - 1));
}

TEST(journal, the_ring_grows_wraps_and_shrinks_without_losing_an_entry) {
  fixture f;
  for (const std::uint64_t burst : {1, 63, 64, 65, 1000, 5000, 1, 1, 1, 1, 300}) {
    f.append(burst / 2 + 1);
    f.acknowledge(f.book.first_unacked() + burst / 4);
    f.append(burst);
    const auto first = f.book.first_unacked();
    f.take_ended();
    EXPECT_EQ(f.acknowledge(f.book.next_seq() - 1), errc::ok);
    EXPECT_EQ(f.take_ended(), from_to(first, f.book.next_seq() - 1));
  }
}

TEST(journal, entries_left_at_destruction_are_destroyed) {
  const auto alive = std::make_shared<int>(1);
  {
    journal<std::shared_ptr<int>> book;
    for (int i = 0; i < 100; ++i)
      book.append(std::shared_ptr<int>(alive), 1);
    book.acknowledge(10, ranges{{20, 30}}, [](std::uint64_t, std::shared_ptr<int>&&) {});
    EXPECT_EQ(alive.use_count(), 1 + 100 - 21);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

} // namespace
} // namespace troupe::transport
