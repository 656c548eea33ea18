#include <troupe/transport/receive_window.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::proto {
bool operator==(const sack_range& a, const sack_range& b) {
  return a.first == b.first && a.last == b.last;
}
} // namespace troupe::proto

namespace troupe::transport {
namespace {

using item = std::unique_ptr<std::uint64_t>;
using numbers = std::vector<std::uint64_t>;
using ranges = std::vector<proto::sack_range>;

struct fixture {
  explicit fixture(std::size_t max_entries = default_window) : window(max_entries) {}

  auto deliver() {
    return [this](item&& x) {
      const item mine = std::move(x);
      ASSERT_TRUE(mine);
      delivered.push_back(*mine);
    };
  }

  verdict arrive(std::uint64_t seq, std::uint64_t after = 0, bool barrier = false) {
    return window.arrive(seq, after, barrier, std::make_unique<std::uint64_t>(seq), deliver());
  }

  verdict arrive_after(std::uint64_t seq, const numbers& predecessors) {
    return window.arrive(seq, predecessors, false, std::make_unique<std::uint64_t>(seq), deliver());
  }

  verdict complete(std::uint64_t seq, std::uint64_t after = 0) {
    return window.complete(seq, after, false, std::make_unique<std::uint64_t>(seq), deliver());
  }

  verdict skip(std::uint64_t seq, std::uint64_t after = 0) { return window.skip(seq, after, false, deliver()); }

  numbers take() { return std::exchange(delivered, {}); }

  ranges sack(std::size_t n = proto::max_sack_ranges) {
    ranges out(n);
    out.resize(window.ranges(out));
    return out;
  }

  receive_window<item> window;
  numbers delivered;
};

TEST(receive_window, delivers_what_arrives_in_order_at_once) {
  fixture f;
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.arrive(2, 1), verdict::delivered);
  EXPECT_EQ(f.arrive(3, 1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 2, 3}));
  EXPECT_EQ(f.window.cumulative(), 3u);
  EXPECT_EQ(f.window.delivered_count(), 3u);
  EXPECT_TRUE(f.sack().empty());
}

TEST(receive_window, a_gap_holds_back_its_own_pair_only) {
  fixture f;
  EXPECT_EQ(f.arrive(2), verdict::delivered);       // another pair
  EXPECT_EQ(f.arrive(3, 1), verdict::held);         // waits for the missing one
  EXPECT_EQ(f.arrive(4, 2), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{2, 4}));
  EXPECT_EQ(f.window.held_count(), 1u);
  EXPECT_EQ(f.window.cumulative(), 0u);
  EXPECT_EQ(f.sack(), (ranges{{2, 2}, {4, 4}}));
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 3}));
  EXPECT_EQ(f.window.cumulative(), 4u);
  EXPECT_EQ(f.window.held_count(), 0u);
  EXPECT_TRUE(f.sack().empty());
}

TEST(receive_window, a_chain_that_arrives_backwards_is_delivered_forwards) {
  fixture f;
  for (std::uint64_t seq = 100; seq > 1; --seq)
    EXPECT_EQ(f.arrive(seq, seq - 1), verdict::held);
  EXPECT_EQ(f.window.held_count(), 99u);
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  numbers expected(100);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(f.take(), expected);
  EXPECT_EQ(f.window.cumulative(), 100u);
}

// A release of any length takes no stack.
TEST(receive_window, a_very_long_chain_is_released_iteratively) {
  constexpr std::uint64_t n = 500'000;
  fixture f;
  for (std::uint64_t seq = 2; seq <= n; ++seq)
    ASSERT_EQ(f.arrive(seq, seq - 1), verdict::held);
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.delivered.size(), n);
  EXPECT_TRUE(std::is_sorted(f.delivered.begin(), f.delivered.end()));
  EXPECT_EQ(f.window.cumulative(), n);
  EXPECT_EQ(f.arrive(n + 2, n + 1), verdict::held);
  EXPECT_EQ(f.arrive(n + 1), verdict::delivered);
  EXPECT_EQ(f.window.cumulative(), n + 2);
}

TEST(receive_window, several_may_wait_for_the_same_message) {
  fixture f;
  EXPECT_EQ(f.arrive(2, 1), verdict::held);
  EXPECT_EQ(f.arrive(3, 1), verdict::held);
  EXPECT_EQ(f.arrive(4, 3), verdict::held);
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  auto got = f.take();
  EXPECT_EQ(got.front(), 1u);
  EXPECT_LT(std::find(got.begin(), got.end(), 3u), std::find(got.begin(), got.end(), 4u));
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (numbers{1, 2, 3, 4}));
}

TEST(receive_window, every_duplicate_is_recognised_and_leaves_the_item_with_the_caller) {
  fixture f;
  f.arrive(1);
  f.arrive(3);
  f.arrive(5, 4);
  EXPECT_EQ(f.arrive(1), verdict::duplicate);    // cumulative
  EXPECT_EQ(f.arrive(3), verdict::duplicate);    // beyond a gap
  EXPECT_EQ(f.arrive(5, 4), verdict::duplicate); // held
  EXPECT_EQ(f.take(), (numbers{1, 3}));
  auto x = std::make_unique<std::uint64_t>(3);
  EXPECT_EQ(f.window.arrive(3, 0, false, std::move(x), f.deliver()), verdict::duplicate);
  EXPECT_TRUE(x);
  EXPECT_EQ(f.window.delivered_count(), 2u);
}

TEST(receive_window, a_faulty_number_or_predecessor_is_refused_without_effect) {
  fixture f{16};
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(f.arrive(0), verdict::malformed);
  EXPECT_EQ(f.arrive(1, 1), verdict::malformed);
  EXPECT_EQ(f.arrive(1, 2), verdict::malformed);
  EXPECT_EQ(f.arrive(3, huge), verdict::malformed);
  EXPECT_EQ(f.arrive_after(3, {1, 3}), verdict::malformed);
  EXPECT_EQ(f.arrive(17), verdict::beyond_window);
  EXPECT_EQ(f.arrive(huge), verdict::beyond_window);
  EXPECT_EQ(f.window.expect(0), verdict::malformed);
  EXPECT_EQ(f.window.expect(17), verdict::beyond_window);
  EXPECT_EQ(f.skip(17), verdict::beyond_window);
  EXPECT_EQ(f.take(), numbers{});
  EXPECT_EQ(f.window.cumulative(), 0u);
  EXPECT_EQ(f.window.highest(), 0u);
  EXPECT_EQ(f.arrive(16), verdict::delivered);
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.arrive(17), verdict::delivered);
}

TEST(receive_window, impossible_limits_are_refused_at_construction) {
  EXPECT_THROW(receive_window<item>{0}, std::invalid_argument);
  EXPECT_THROW(receive_window<item>{max_window + 1}, std::invalid_argument);
  EXPECT_NO_THROW(receive_window<item>{max_window});
}

TEST(receive_window, ranges_merge_and_the_lowest_are_reported_first) {
  fixture f;
  for (const std::uint64_t seq : {9, 3, 5, 4, 12, 11})
    f.arrive(seq);
  EXPECT_EQ(f.sack(), (ranges{{3, 5}, {9, 9}, {11, 12}}));
  EXPECT_EQ(f.sack(2), (ranges{{3, 5}, {9, 9}}));
  EXPECT_EQ(f.sack(0), ranges{});
  EXPECT_EQ(f.window.range_count(), 3u);
  f.arrive(10);
  EXPECT_EQ(f.sack(), (ranges{{3, 5}, {9, 12}}));
  f.arrive(1);
  EXPECT_EQ(f.window.cumulative(), 1u);
  f.arrive(2);
  EXPECT_EQ(f.window.cumulative(), 5u);
  EXPECT_EQ(f.sack(), (ranges{{9, 12}}));
}

TEST(receive_window, what_is_held_is_not_acknowledged) {
  fixture f;
  f.arrive(3, 2);
  f.arrive(4);
  EXPECT_EQ(f.sack(), (ranges{{4, 4}}));
  EXPECT_FALSE(f.window.filled(3));
  EXPECT_TRUE(f.window.filled(4));
  EXPECT_FALSE(f.window.filled(5));
  EXPECT_EQ(f.window.highest(), 4u);
}

TEST(receive_window, a_barrier_waits_for_everything_below_it) {
  fixture f;
  EXPECT_EQ(f.arrive(4, 0, true), verdict::held);
  EXPECT_EQ(f.arrive(5, 4), verdict::held);
  f.arrive(3);
  f.arrive(1);
  EXPECT_EQ(f.take(), (numbers{3, 1}));
  f.arrive(2);
  EXPECT_EQ(f.take(), (numbers{2, 4, 5}));
  EXPECT_EQ(f.arrive(6, 0, true), verdict::delivered);
}

TEST(receive_window, barriers_in_a_row_are_released_in_a_row) {
  fixture f;
  EXPECT_EQ(f.arrive(3, 0, true), verdict::held);
  EXPECT_EQ(f.arrive(2, 0, true), verdict::held);
  EXPECT_EQ(f.arrive(5, 0, true), verdict::held);
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 2, 3}));
  EXPECT_EQ(f.arrive(4), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{4, 5}));
}

TEST(receive_window, a_down_waits_for_all_its_predecessors) {
  fixture f;
  EXPECT_EQ(f.arrive_after(6, {0, 1, 3, 5}), verdict::held);
  f.arrive(3);
  f.arrive(5);
  EXPECT_EQ(f.take(), (numbers{3, 5}));
  f.arrive(1);
  EXPECT_EQ(f.take(), (numbers{1, 6}));
  EXPECT_EQ(f.arrive_after(7, {1, 3}), verdict::delivered);
  EXPECT_EQ(f.arrive_after(8, {}), verdict::delivered);
  f.take();
  // In every order of arrival.
  numbers order = {1, 2, 3, 4};
  do {
    fixture g;
    EXPECT_EQ(g.arrive_after(5, {1, 2, 3, 4}), verdict::held);
    for (std::size_t i = 0; i < 3; ++i)
      g.arrive(order[i]);
    EXPECT_EQ(g.window.held_count(), 1u);
    g.arrive(order[3]);
    EXPECT_EQ(g.delivered.back(), 5u);
    EXPECT_EQ(g.window.cumulative(), 5u);
  } while (std::next_permutation(order.begin(), order.end()));
}

// A peer that names more predecessors than the window remembers still gets its order.
TEST(receive_window, a_down_with_too_many_predecessors_to_remember_becomes_a_barrier) {
  fixture f;
  constexpr std::uint64_t n = max_pending_predecessors + 10;
  numbers all(n);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(f.arrive_after(n + 1, all), verdict::held);
  for (std::uint64_t seq = n; seq > 1; --seq)
    f.arrive(seq);
  EXPECT_EQ(f.window.held_count(), 1u);
  f.arrive(1);
  EXPECT_EQ(f.delivered.back(), n + 1);
  EXPECT_EQ(f.window.cumulative(), n + 1);
}

TEST(receive_window, an_announced_message_is_delivered_when_its_data_is_there) {
  fixture f;
  EXPECT_EQ(f.window.expect(1), verdict::expected);
  EXPECT_EQ(f.window.expect(1), verdict::duplicate);
  EXPECT_EQ(f.arrive(1), verdict::duplicate);
  EXPECT_EQ(f.arrive(2, 1), verdict::held);
  EXPECT_EQ(f.window.expect(1), verdict::duplicate);
  EXPECT_EQ(f.window.cumulative(), 0u);
  EXPECT_EQ(f.complete(1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 2}));
  EXPECT_EQ(f.complete(1), verdict::duplicate);
  EXPECT_EQ(f.window.cumulative(), 2u);
}

TEST(receive_window, announced_messages_complete_in_any_order_and_are_delivered_in_theirs) {
  fixture f;
  EXPECT_EQ(f.window.expect(1), verdict::expected);
  EXPECT_EQ(f.window.expect(2), verdict::expected);
  EXPECT_EQ(f.arrive(3, 2), verdict::held);
  EXPECT_EQ(f.complete(2, 1), verdict::held);
  EXPECT_EQ(f.complete(2, 1), verdict::duplicate);
  EXPECT_EQ(f.window.expect(2), verdict::duplicate);
  EXPECT_EQ(f.complete(1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 2, 3}));
}

TEST(receive_window, a_forgotten_announcement_may_come_again) {
  fixture f;
  EXPECT_FALSE(f.window.forget(1));
  EXPECT_EQ(f.window.expect(1), verdict::expected);
  EXPECT_TRUE(f.window.forget(1));
  EXPECT_FALSE(f.window.forget(1));
  EXPECT_EQ(f.complete(1), verdict::duplicate);
  EXPECT_EQ(f.arrive(2, 1), verdict::held);
  EXPECT_FALSE(f.window.forget(1)); // waited for, not announced
  EXPECT_FALSE(f.window.forget(2)); // held, not announced
  EXPECT_EQ(f.window.expect(1), verdict::expected);
  EXPECT_TRUE(f.window.forget(1));
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 2}));
  EXPECT_FALSE(f.window.forget(1));
}

TEST(receive_window, a_skipped_number_counts_as_filled_without_an_item) {
  fixture f;
  EXPECT_EQ(f.arrive(2, 1), verdict::held);
  EXPECT_EQ(f.skip(1), verdict::delivered);
  EXPECT_EQ(f.take(), numbers{2});
  EXPECT_EQ(f.window.cumulative(), 2u);
  EXPECT_EQ(f.window.delivered_count(), 1u);
  EXPECT_EQ(f.skip(1), verdict::duplicate);
  EXPECT_EQ(f.arrive(1), verdict::duplicate); // the message came after all, too late
  EXPECT_EQ(f.skip(3, 2), verdict::delivered);
  EXPECT_EQ(f.window.cumulative(), 3u);
}

// Successors of a canceled message wait for it in place of what it waited for.
TEST(receive_window, a_skipped_number_keeps_the_order_around_it) {
  fixture f;
  EXPECT_EQ(f.arrive(3, 2), verdict::held);
  EXPECT_EQ(f.skip(2, 1), verdict::held);
  EXPECT_EQ(f.take(), numbers{});
  EXPECT_EQ(f.skip(2, 1), verdict::duplicate);
  EXPECT_EQ(f.arrive(1), verdict::delivered);
  EXPECT_EQ(f.take(), (numbers{1, 3}));
  EXPECT_EQ(f.window.cumulative(), 3u);
}

TEST(receive_window, an_announced_message_can_be_skipped) {
  fixture f;
  f.window.expect(1);
  EXPECT_EQ(f.skip(1), verdict::delivered);
  EXPECT_EQ(f.complete(1), verdict::duplicate);
  EXPECT_FALSE(f.window.forget(1));
  EXPECT_EQ(f.window.cumulative(), 1u);
}

TEST(receive_window, what_is_held_at_the_end_is_handed_back_in_order) {
  fixture f;
  f.arrive(2);
  f.arrive(7, 3);
  f.arrive(5, 4);
  f.arrive(9, 0, true);
  f.arrive_after(8, {1, 3, 6});
  f.skip(6, 3);
  f.window.expect(10);
  f.take();
  numbers dropped;
  f.window.drop_held([&](std::uint64_t seq, item&& x) {
    const item mine = std::move(x);
    EXPECT_EQ(*mine, seq);
    dropped.push_back(seq);
  });
  EXPECT_EQ(dropped, (numbers{5, 7, 8, 9}));
  EXPECT_EQ(f.window.held_count(), 0u);
  // As though they had never arrived; what was delivered or announced stays known.
  EXPECT_EQ(f.arrive(2), verdict::duplicate);
  EXPECT_EQ(f.window.expect(10), verdict::duplicate);
  for (const std::uint64_t seq : {1, 3, 4, 5, 6, 7, 8, 9})
    EXPECT_EQ(f.arrive(seq), verdict::delivered);
  EXPECT_EQ(f.complete(10), verdict::delivered);
  EXPECT_EQ(f.window.cumulative(), 10u);
}

TEST(receive_window, a_full_window_of_held_messages_is_released_whole) {
  constexpr std::size_t n = kept_held_slots * 4;
  fixture f{n};
  for (int round = 0; round < 3; ++round) {
    const auto base = f.window.cumulative();
    for (std::uint64_t i = 2; i <= n; ++i)
      ASSERT_EQ(f.arrive(base + i, base + 1), verdict::held);
    EXPECT_EQ(f.arrive(base + n + 1), verdict::beyond_window);
    EXPECT_EQ(f.window.held_count(), n - 1);
    EXPECT_EQ(f.arrive(base + 1), verdict::delivered);
    EXPECT_EQ(f.take().size(), n);
    EXPECT_EQ(f.window.cumulative(), base + n);
  }
}

} // namespace
} // namespace troupe::transport
