#include <troupe/actors/background.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include <troupe/actors/error.hpp>

#include <tests/support/loops.hpp>

namespace troupe {
namespace {

TEST(Background, RunsJobsInOrderOnOneOtherThread) {
  std::vector<std::thread::id> threads;
  test::event done;
  background_thread back{"test"};
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(back.submit([&threads] { threads.push_back(std::this_thread::get_id()); }));
  EXPECT_FALSE(back.submit([&done] { done.set(); }));
  ASSERT_TRUE(done.wait());
  ASSERT_EQ(threads.size(), 10u);
  EXPECT_NE(threads.front(), std::this_thread::get_id());
  EXPECT_EQ(std::count(threads.begin(), threads.end(), threads.front()), 10);
}

TEST(Background, TakesJobsThatCannotBeCopied) {
  background_thread back{"test"};
  std::promise<int> result;
  auto future = result.get_future();
  EXPECT_FALSE(
      back.submit([result = std::move(result), x = std::make_unique<int>(7)]() mutable { result.set_value(*x); }));
  EXPECT_EQ(future.get(), 7);
}

TEST(Background, RefusesMoreThanItsLimitOfWaitingJobs) {
  test::event gate, started;
  background_thread back{"test"};
  EXPECT_FALSE(back.submit([&] {
    started.set();
    EXPECT_TRUE(gate.wait());
  }));
  ASSERT_TRUE(started.wait());
  for (std::size_t i = 0; i < background_thread::max_queued; ++i)
    ASSERT_FALSE(back.submit([] {}));
  auto why = back.submit([] {});
  EXPECT_EQ(code_of(why), errc::busy);
  EXPECT_NE(explain(why).find("1024"), std::string::npos);
  gate.set();
}

TEST(Background, StopWaitsForTheRunningJobAndDestroysTheOthersUnrun) {
  test::event gate, started;
  background_thread back{"test"};
  std::atomic<int> ran{0};
  auto held = std::make_shared<int>(0);
  EXPECT_FALSE(back.submit([&] {
    started.set();
    EXPECT_TRUE(gate.wait());
    ++ran;
  }));
  ASSERT_TRUE(started.wait());
  EXPECT_FALSE(back.submit([&ran, held] { ++ran; }));
  auto release = std::async(std::launch::async, [&] { gate.set(); });
  back.stop();
  EXPECT_LE(ran.load(), 2); // the second one may have begun before stop() took the lock
  EXPECT_GE(ran.load(), 1);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(code_of(back.submit([] {})), errc::canceled);
}

TEST(Background, StoppedBeforeItsFirstJobItHasNoThreadToWaitFor) {
  background_thread back{"test"};
  back.stop();
  back.stop();
  EXPECT_EQ(code_of(back.submit([] {})), errc::canceled);
}

} // namespace
} // namespace troupe
