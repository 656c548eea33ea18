#include <troupe/transport/pair_order.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::transport {
namespace {

using numbers = std::vector<std::uint64_t>;

numbers predecessors(const pair_order& order, std::uint64_t sender) {
  numbers out(1024);
  const auto n = order.predecessors_of(sender, out);
  EXPECT_LE(n, out.size());
  out.resize(std::min(n, out.size()));
  std::sort(out.begin(), out.end());
  return out;
}

TEST(pair_order, a_message_waits_for_the_one_before_it_of_its_own_pair_only) {
  pair_order order;
  EXPECT_EQ(order.link(1, 10, 1), 0u);
  EXPECT_EQ(order.link(1, 11, 2), 0u);
  EXPECT_EQ(order.link(2, 10, 3), 0u);
  EXPECT_EQ(order.link(1, 10, 4), 1u);
  EXPECT_EQ(order.link(2, 10, 5), 3u);
  EXPECT_EQ(order.link(1, 10, 6), 4u);
  EXPECT_EQ(order.link(10, 1, 7), 0u);
  EXPECT_EQ(order.size(), 4u);
}

TEST(pair_order, a_pair_whose_newest_message_is_acknowledged_waits_for_nothing_and_is_forgotten) {
  pair_order order;
  order.link(1, 10, 1);
  order.link(1, 10, 2);
  order.acknowledged(1, 10, 1);
  EXPECT_EQ(order.size(), 1u);
  order.acknowledged(1, 10, 2);
  EXPECT_EQ(order.size(), 0u);
  EXPECT_EQ(order.link(1, 10, 3), 0u);
}

TEST(pair_order, ranges_may_acknowledge_the_newest_before_the_older_ones) {
  pair_order order;
  order.link(1, 10, 1);
  order.link(1, 10, 2);
  order.acknowledged(1, 10, 2);
  EXPECT_EQ(order.size(), 0u);
  order.acknowledged(1, 10, 1);
  EXPECT_EQ(order.size(), 0u);
}

TEST(pair_order, acknowledging_an_unknown_pair_changes_nothing) {
  pair_order order;
  order.acknowledged(1, 10, 1);
  order.link(1, 10, 1);
  order.acknowledged(1, 11, 1);
  order.acknowledged(2, 10, 1);
  EXPECT_EQ(order.size(), 1u);
  EXPECT_EQ(order.link(1, 10, 2), 1u);
}

TEST(pair_order, the_predecessors_of_a_sender_are_the_newest_of_each_of_its_pairs) {
  pair_order order;
  EXPECT_EQ(predecessors(order, 1), numbers{});
  order.link(1, 10, 1);
  order.link(1, 11, 2);
  order.link(2, 10, 3);
  order.link(1, 10, 4);
  EXPECT_EQ(predecessors(order, 1), (numbers{2, 4}));
  EXPECT_EQ(predecessors(order, 2), numbers{3});
  EXPECT_EQ(predecessors(order, 3), numbers{});
  order.acknowledged(1, 11, 2);
  EXPECT_EQ(predecessors(order, 1), numbers{4});
}

TEST(pair_order, more_predecessors_than_fit_are_reported_so_that_the_frame_becomes_a_barrier) {
  pair_order order;
  for (std::uint64_t target = 1; target <= 5; ++target)
    order.link(1, target, target);
  std::array<std::uint64_t, 4> out{};
  EXPECT_EQ(order.predecessors_of(1, out), out.size() + 1);
  EXPECT_EQ(order.predecessors_of(1, {}), 1u);
  EXPECT_EQ(order.predecessors_of(2, {}), 0u);
  order.acknowledged(1, 3, 3);
  EXPECT_EQ(order.predecessors_of(1, out), 4u);
}

TEST(pair_order, clear_forgets_everything_and_leaves_a_usable_table) {
  pair_order order;
  for (std::uint64_t i = 1; i <= 1000; ++i)
    order.link(i % 7, i, i);
  order.clear();
  EXPECT_EQ(order.size(), 0u);
  EXPECT_EQ(predecessors(order, 3), numbers{});
  EXPECT_EQ(order.link(3, 3, 1001), 0u);
  EXPECT_EQ(predecessors(order, 3), numbers{1001});
}

// Against a plain map: few senders and targets (long streaks) up to many (growing, colliding, recycling).
TEST(pair_order, agrees_with_a_plain_map_under_random_use) {
  for (const std::uint64_t actors : {1, 3, 40, 5000}) {
    SCOPED_TRACE(actors);
    std::mt19937_64 random(actors);
    pair_order order;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> reference;
    struct message {
      std::uint64_t sender, target, seq;
    };
    std::deque<message> open;
    std::uint64_t seq = 0;
    for (int step = 0; step < 60'000; ++step) {
      const auto filling = (step / 5000) % 2 == 0;
      if (open.empty() || random() % 100 < (filling ? 70u : 30u)) {
        message m{random() % actors, random() % actors, ++seq};
        auto& newest = reference[{m.sender, m.target}];
        ASSERT_EQ(order.link(m.sender, m.target, m.seq), newest);
        newest = m.seq;
        open.push_back(m);
      } else {
        // Mostly in order, sometimes not, as with ranges.
        const auto i = random() % 4 == 0 ? random() % open.size() : 0;
        const auto m = open[i];
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        order.acknowledged(m.sender, m.target, m.seq);
        if (auto at = reference.find({m.sender, m.target}); at != reference.end() && at->second == m.seq)
          reference.erase(at);
      }
      ASSERT_EQ(order.size(), reference.size());
      ASSERT_LE(order.size(), open.size());
      if (step % 97 == 0) {
        const auto sender = random() % actors;
        numbers expected;
        for (auto at = reference.lower_bound({sender, 0}); at != reference.end() && at->first.first == sender; ++at)
          expected.push_back(at->second);
        std::sort(expected.begin(), expected.end());
        if (expected.size() <= 1024) {
          ASSERT_EQ(predecessors(order, sender), expected);
        }
      }
    }
    for (const auto& m : open)
      order.acknowledged(m.sender, m.target, m.seq);
    EXPECT_EQ(order.size(), 0u);
  }
}

} // namespace
} // namespace troupe::transport
