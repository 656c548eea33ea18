#include <troupe/transport/ack_policy.hpp>

#include <chrono>

#include <gtest/gtest.h>

namespace troupe::transport {
namespace {

using namespace std::chrono_literals;

const time_point start{std::chrono::hours(1)};

TEST(ack_policy, nothing_is_due_while_nothing_was_delivered) {
  ack_policy policy;
  EXPECT_FALSE(policy.due(start + 1h));
  EXPECT_FALSE(policy.deadline());
}

TEST(ack_policy, an_acknowledgement_is_due_after_so_many_deliveries) {
  ack_policy policy{{3, 1ms}};
  policy.on_delivered(start);
  policy.on_delivered(start);
  EXPECT_FALSE(policy.due(start));
  policy.on_delivered(start);
  EXPECT_TRUE(policy.due(start));
  EXPECT_EQ(policy.deadline(), time_point::min());
  EXPECT_EQ(policy.pending(), 3u);
  policy.on_sent();
  EXPECT_FALSE(policy.due(start + 1h));
  EXPECT_EQ(policy.pending(), 0u);
}

TEST(ack_policy, an_acknowledgement_is_due_so_long_after_the_first_delivery_not_the_last) {
  ack_policy policy{{100, 1ms}};
  policy.on_delivered(start);
  policy.on_delivered(start + 900us, 5);
  EXPECT_EQ(policy.deadline(), start + 1ms);
  EXPECT_FALSE(policy.due(start + 1ms - 1ns));
  EXPECT_TRUE(policy.due(start + 1ms));
}

TEST(ack_policy, one_that_rode_on_other_traffic_starts_the_delay_anew) {
  ack_policy policy{{100, 1ms}};
  policy.on_delivered(start);
  policy.on_sent();
  EXPECT_FALSE(policy.deadline());
  policy.on_delivered(start + 5ms);
  EXPECT_EQ(policy.deadline(), start + 6ms);
}

TEST(ack_policy, a_request_is_due_at_once_even_with_nothing_new) {
  ack_policy policy{{100, 1ms}};
  policy.request();
  EXPECT_TRUE(policy.due(start));
  EXPECT_EQ(policy.deadline(), time_point::min());
  policy.on_sent();
  EXPECT_FALSE(policy.due(start));
}

TEST(credit_return_policy, a_return_is_due_when_a_fraction_of_either_window_was_consumed) {
  credit_return_policy policy{{{100, 1000}, 4, 5ms}};
  EXPECT_FALSE(policy.due(start + 1h));
  EXPECT_FALSE(policy.deadline());
  policy.on_consumed(start, 24, 249);
  EXPECT_FALSE(policy.due(start));
  policy.on_consumed(start, 1, 0);
  EXPECT_TRUE(policy.due(start));
  EXPECT_EQ(policy.deadline(), time_point::min());
  EXPECT_EQ(policy.pending(), (credit_amount{25, 249}));
  policy.on_sent();
  EXPECT_FALSE(policy.due(start + 1h));
  policy.on_consumed(start, 1, 250);
  EXPECT_TRUE(policy.due(start));
}

TEST(credit_return_policy, a_return_is_due_so_long_after_the_first_consumption) {
  credit_return_policy policy{{{100, 1000}, 4, 5ms}};
  policy.on_consumed(start, 1, 1);
  policy.on_consumed(start + 4ms, 1, 1);
  EXPECT_EQ(policy.deadline(), start + 5ms);
  EXPECT_FALSE(policy.due(start + 5ms - 1ns));
  EXPECT_TRUE(policy.due(start + 5ms));
}

// A window too small to have a fraction, and no fraction at all, still return.
TEST(credit_return_policy, tiny_windows_return_every_message) {
  credit_return_policy tiny{{{1, 1}, 4, 5ms}};
  tiny.on_consumed(start, 1, 0);
  EXPECT_TRUE(tiny.due(start));
  credit_return_policy whole{{{2, 100}, 0, 5ms}};
  whole.on_consumed(start, 1, 0);
  EXPECT_FALSE(whole.due(start));
  whole.on_consumed(start, 1, 0);
  EXPECT_TRUE(whole.due(start));
}

} // namespace
} // namespace troupe::transport
