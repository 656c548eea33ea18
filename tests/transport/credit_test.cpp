#include <troupe/transport/credit.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::transport {
namespace {

constexpr auto huge = std::numeric_limits<std::uint64_t>::max();

TEST(credit_account, admits_until_the_message_limit_is_out) {
  credit_account account{{3, 1000, 0, 0}};
  EXPECT_TRUE(account.take(1));
  EXPECT_TRUE(account.take(1));
  EXPECT_TRUE(account.take(0));
  EXPECT_FALSE(account.take(0));
  EXPECT_EQ(account.used(), (credit_amount{3, 2}));
  EXPECT_TRUE(account.give_back(1, 1));
  EXPECT_TRUE(account.take(1));
}

TEST(credit_account, admits_bytes_up_to_the_limit_and_not_one_more) {
  credit_account account{{100, 1000, 0, 0}};
  EXPECT_TRUE(account.take(600));
  EXPECT_FALSE(account.take(401));
  EXPECT_FALSE(account.take(huge));
  EXPECT_TRUE(account.take(400));
  EXPECT_FALSE(account.take(1));
  EXPECT_TRUE(account.take(0));
  EXPECT_EQ(account.used(), (credit_amount{3, 1000}));
}

TEST(credit_account, a_message_above_the_whole_window_passes_alone) {
  credit_account account{{100, 1000, 10, 100}};
  EXPECT_TRUE(account.take(5000));
  EXPECT_FALSE(account.take(1));
  EXPECT_FALSE(account.take_reserved(1));
  EXPECT_TRUE(account.give_back(1, 5000));
  EXPECT_TRUE(account.take(1));
  EXPECT_FALSE(account.take(5000));
}

TEST(credit_account, refuses_what_it_cannot_count) {
  credit_account account{{1, 1, 0, 0}};
  EXPECT_FALSE(account.take(max_credit_bytes + 1));
  EXPECT_FALSE(account.take(huge));
  EXPECT_EQ(account.used(), credit_amount{});
  EXPECT_TRUE(account.take(max_credit_bytes));
  EXPECT_EQ(account.used(), (credit_amount{1, max_credit_bytes}));
  EXPECT_TRUE(account.give_back(1, max_credit_bytes));
}

TEST(credit_account, the_reserve_is_for_reserved_takers_only) {
  credit_account account{{2, 100, 2, 50}};
  EXPECT_TRUE(account.take(50));
  EXPECT_TRUE(account.take(50));
  EXPECT_FALSE(account.take(0));
  EXPECT_TRUE(account.take_reserved(50));
  EXPECT_FALSE(account.take_reserved(1));
  EXPECT_TRUE(account.take_reserved(0));
  EXPECT_FALSE(account.take_reserved(0));
  EXPECT_EQ(account.used(), (credit_amount{4, 150}));
  // What the reserve lent has to come back before ordinary messages pass again.
  EXPECT_TRUE(account.give_back(2, 50));
  EXPECT_FALSE(account.take(0));
  EXPECT_TRUE(account.give_back(1, 50));
  EXPECT_TRUE(account.take(0));
}

TEST(credit_account, more_given_back_than_taken_is_reported_and_clamped) {
  credit_account account{{10, 1000, 0, 0}};
  EXPECT_FALSE(account.give_back(1, 0));
  EXPECT_TRUE(account.give_back(0, 0));
  EXPECT_TRUE(account.take(100));
  EXPECT_TRUE(account.take(100));
  EXPECT_FALSE(account.give_back(1, 300));
  EXPECT_EQ(account.used(), (credit_amount{1, 0}));
  EXPECT_FALSE(account.give_back(huge, huge));
  EXPECT_EQ(account.used(), credit_amount{});
  EXPECT_TRUE(account.take(1000));
}

TEST(credit_account, bytes_that_no_message_holds_are_reported_and_freed) {
  credit_account account{{10, 1000, 0, 0}};
  EXPECT_TRUE(account.take(1000));
  EXPECT_FALSE(account.give_back(1, 999));
  EXPECT_EQ(account.used(), credit_amount{});
}

TEST(credit_account, is_low_when_less_than_half_of_both_limits_is_out) {
  credit_account account{{4, 100, 0, 0}};
  EXPECT_TRUE(account.low());
  EXPECT_TRUE(account.take(10));
  EXPECT_TRUE(account.low());
  EXPECT_TRUE(account.take(10));
  EXPECT_FALSE(account.low());
  EXPECT_TRUE(account.give_back(1, 10));
  EXPECT_TRUE(account.low());
  EXPECT_TRUE(account.give_back(1, 10));
  EXPECT_TRUE(account.take(50));
  EXPECT_FALSE(account.low());
  credit_account one{{1, 1, 0, 0}};
  EXPECT_TRUE(one.low());
}

TEST(credit_account, impossible_limits_are_refused_at_construction) {
  EXPECT_THROW(credit_account({0, 1, 0, 0}), std::invalid_argument);
  EXPECT_THROW(credit_account({1, 0, 0, 0}), std::invalid_argument);
  EXPECT_THROW(credit_account({max_credit_messages, 1, 1, 0}), std::invalid_argument);
  EXPECT_THROW(credit_account({1, max_credit_bytes, 0, 1}), std::invalid_argument);
  EXPECT_THROW(credit_account({huge, 1, 1, 0}), std::invalid_argument);
  EXPECT_NO_THROW(credit_account({max_credit_messages - 1, max_credit_bytes - 1, 1, 1}));
}

TEST(credit_account, the_last_countable_message_does_not_spill) {
  credit_account account{{2, max_credit_bytes, 0, 0}};
  EXPECT_TRUE(account.take(max_credit_bytes));
  EXPECT_FALSE(account.take(1));
  EXPECT_TRUE(account.take(0));
  EXPECT_EQ(account.used(), (credit_amount{2, max_credit_bytes}));
}

// Senders on several threads against one returner: never above the limit, nothing lost.
TEST(credit_account, threads_never_exceed_the_limits_together) {
  constexpr std::uint64_t messages = 64;
  constexpr std::uint64_t bytes = 4096;
  credit_account account{{messages, bytes, 0, 0}};
  std::atomic<std::uint64_t> out_messages{0};
  std::atomic<std::uint64_t> out_bytes{0};
  std::atomic<bool> exceeded{false};
  std::atomic<bool> mistaken{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<std::uint64_t> mine;
      for (int i = 0; i < 50'000; ++i) {
        const std::uint64_t size = random() % 200;
        if (random() % 2 == 0 && account.take(size)) {
          // Counted after the take and uncounted before the return: never above what the account holds.
          if (++out_messages > messages || (out_bytes += size) > bytes)
            exceeded = true;
          mine.push_back(size);
        } else if (!mine.empty()) {
          const auto back = mine.back();
          mine.pop_back();
          --out_messages;
          out_bytes -= back;
          if (!account.give_back(1, back))
            mistaken = true;
        }
      }
      for (const auto back : mine) {
        --out_messages;
        out_bytes -= back;
        if (!account.give_back(1, back))
          mistaken = true;
      }
    });
  for (auto& t : threads)
    t.join();
  EXPECT_FALSE(exceeded);
  EXPECT_FALSE(mistaken);
  EXPECT_EQ(account.used(), credit_amount{});
}

} // namespace
} // namespace troupe::transport
