#include <troupe/actors/timer_queue.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

class TimerQueue : public testing::Test {
protected:
  timer_queue::time_point at(std::chrono::nanoseconds offset) const { return start_ + offset; }
  std::function<void()> note(int what) {
    return [this, what] { ran_.push_back(what); };
  }

  const timer_queue::time_point start_ = timer_queue::time_point{} + 1h;
  timer_queue timers_;
  std::vector<int> ran_;
};

TEST_F(TimerQueue, RunsWhatIsDueInTheOrderOfTheTimesAndEqualTimesInTheOrderTheyWereArmed) {
  timers_.arm(at(30ns), note(4));
  timers_.arm(at(10ns), note(1));
  timers_.arm(at(20ns), note(2));
  timers_.arm(at(20ns), note(3));
  timers_.arm(at(40ns), note(5));
  EXPECT_EQ(timers_.run_due(at(30ns)), 4u);
  EXPECT_EQ(ran_, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(timers_.size(), 1u);
}

TEST_F(TimerQueue, TellsWhenTheNextOneIsDue) {
  EXPECT_EQ(timers_.next(), timer_queue::time_point::max());
  timers_.arm(at(20ns), note(1));
  auto first = timers_.arm(at(10ns), note(2));
  EXPECT_EQ(timers_.next(), at(10ns));
  timers_.cancel(first);
  EXPECT_EQ(timers_.next(), at(20ns));
}

TEST_F(TimerQueue, RunsNothingBeforeItsTime) {
  timers_.arm(at(10ns), note(1));
  EXPECT_EQ(timers_.run_due(at(9ns)), 0u);
  EXPECT_TRUE(ran_.empty());
}

TEST_F(TimerQueue, CancelsOnceAndKnowsNoStaleOrForeignId) {
  auto id = timers_.arm(at(10ns), note(1));
  EXPECT_TRUE(id);
  EXPECT_FALSE(timer_id{});
  EXPECT_TRUE(timers_.cancel(id));
  EXPECT_FALSE(timers_.cancel(id));
  EXPECT_FALSE(timers_.cancel(timer_id{}));
  auto ran = timers_.arm(at(10ns), note(2));
  timers_.run_due(at(10ns));
  EXPECT_FALSE(timers_.cancel(ran));
  EXPECT_EQ(ran_, std::vector{2});
}

TEST_F(TimerQueue, LetsATimerCancelAnotherOneThatIsDueInTheSameCall) {
  timer_id second;
  timers_.arm(at(1ns), [&] { EXPECT_TRUE(timers_.cancel(second)); });
  second = timers_.arm(at(2ns), note(2));
  EXPECT_EQ(timers_.run_due(at(5ns)), 1u);
  EXPECT_TRUE(ran_.empty());
}

TEST_F(TimerQueue, ATimerCannotCancelItselfWhileItRuns) {
  timer_id self;
  bool cancelled = true;
  self = timers_.arm(at(1ns), [&] { cancelled = timers_.cancel(self); });
  timers_.run_due(at(1ns));
  EXPECT_FALSE(cancelled);
}

TEST_F(TimerQueue, ATimerArmedByATimerWaitsForTheNextCallEvenIfItIsDue) {
  timers_.arm(at(2ns), [&] {
    ran_.push_back(1);
    timers_.arm(at(0ns), note(2));
  });
  EXPECT_EQ(timers_.run_due(at(2ns)), 1u);
  EXPECT_EQ(ran_, std::vector{1});
  EXPECT_EQ(timers_.run_due(at(2ns)), 1u);
  EXPECT_EQ(ran_, (std::vector{1, 2}));
}

TEST_F(TimerQueue, WhatAForgottenTimerHoldsMayStillCancelTimers) {
  struct canceller {
    timer_queue* timers;
    timer_id other;
    ~canceller() { timers->cancel(other); }
  };
  auto other = timers_.arm(at(5ns), note(1));
  auto held = std::make_shared<canceller>(&timers_, other);
  timers_.arm(at(1ns), [held] {});
  held.reset();
  timers_.clear();
  EXPECT_TRUE(timers_.empty());
}

} // namespace
} // namespace troupe
