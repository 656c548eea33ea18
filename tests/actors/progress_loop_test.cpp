#include <troupe/actors/progress_loop.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <tests/support/loops.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::on_loop;

/// A poller whose work other threads bring, as a UCX worker's is: arm() says false while there is some, and after that
/// the descriptor becomes readable.
class mail_poller final : public poller {
public:
  mail_poller() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~mail_poller() { close(fd_); }

  /// @threadsafe
  void bring() {
    brought_.fetch_add(1, std::memory_order_seq_cst);
    if (armed_.exchange(false, std::memory_order_seq_cst)) {
      const std::uint64_t one = 1;
      ASSERT_EQ(write(fd_, &one, sizeof one), ssize_t{sizeof one});
    }
  }

  unsigned progress() override {
    ++polls;
    auto n = brought_.exchange(0, std::memory_order_seq_cst);
    taken.fetch_add(n);
    if (n != 0 && then)
      then();
    return static_cast<unsigned>(n);
  }
  int event_fd() override { return fd_; }
  bool arm() override {
    std::uint64_t count;
    static_cast<void>(!read(fd_, &count, sizeof count));
    armed_.store(true, std::memory_order_seq_cst);
    return brought_.load(std::memory_order_seq_cst) == 0;
  }

  std::atomic<std::uint64_t> polls{0};
  std::atomic<std::uint64_t> taken{0};
  std::function<void()> then;

private:
  int fd_;
  std::atomic<std::uint64_t> brought_{0};
  std::atomic<bool> armed_{false};
};

struct hook final : turn_hook {
  explicit hook(std::function<void()> f) : f(std::move(f)) {}
  void end_of_turn() noexcept override { f(); }
  std::function<void()> f;
};

class Loop : public testing::Test {
protected:
  ~Loop() override { loop_.stop(); }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  progress_loop loop_{system_};
};

/// The loop runs on a thread of its own.
class RunningLoop : public Loop {
protected:
  RunningLoop() { loop_.start(); }
};

/// The test's thread is the loop's: every step is the test's.
class SteppedLoop : public Loop {
protected:
  SteppedLoop() { loop_.adopt_this_thread(); }
};

// -- posted functions -------------------------------------------------------------

TEST_F(RunningLoop, RunsPostedFunctionsInOrderOnItsThread) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(loop_.post([&order, i] { order.push_back(i); }));
  EXPECT_TRUE(on_loop(loop_, [this] { return loop_.on_thread() && progress_loop::current() == &loop_; }));
  EXPECT_FALSE(loop_.on_thread());
  EXPECT_EQ(progress_loop::current(), nullptr);
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(RunningLoop, TakesFunctionsThatCannotBeCopied) {
  auto x = std::make_unique<int>(7);
  EXPECT_EQ(on_loop(loop_, [x = std::move(x)] { return *x; }), 7);
}

TEST_F(RunningLoop, KeepsTheOrderOfEachPostingThread) {
  constexpr int threads = 8, each = 5000;
  std::array<int, threads> next{};
  std::atomic<int> disorder{0};
  {
    std::vector<std::jthread> producers;
    for (int t = 0; t < threads; ++t)
      producers.emplace_back([&, t] {
        for (int i = 0; i < each; ++i)
          loop_.post([&, t, i] { disorder += next[t]++ != i; });
      });
  }
  on_loop(loop_, [] {});
  EXPECT_EQ(disorder, 0);
  for (auto n : next)
    EXPECT_EQ(n, each);
}

TEST_F(Loop, DestroysFunctionsUnrunThatItsEndOvertookAndRefusesLaterOnes) {
  auto held = std::make_shared<int>(0);
  bool ran = false;
  EXPECT_TRUE(loop_.post([&ran, held] { ran = true; }));
  loop_.stop();
  EXPECT_FALSE(loop_.post([&ran, held] { ran = true; }));
  EXPECT_FALSE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(Loop, APostRacingWithTheEndRunsOrIsDestroyed) {
  loop_.start();
  auto held = std::make_shared<int>(0);
  std::atomic<int> ran{0};
  int accepted = 0;
  std::latch going{1};
  std::jthread producer{[&] {
    while (loop_.post([&ran, &going, held] {
      if (++ran == 100)
        going.count_down();
    }))
      ++accepted;
  }};
  going.wait();
  loop_.stop();
  producer.join();
  EXPECT_LE(ran, accepted);
  EXPECT_GE(ran, 100);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(SteppedLoop, WhatAFunctionPostsRunsInTheNextTurn) {
  int runs = 0;
  loop_.post([&] {
    ++runs;
    loop_.post([&] { ++runs; });
  });
  EXPECT_TRUE(loop_.run_turn());
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(loop_.run_turn());
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(loop_.run_turn());
}

// -- the order of a turn -----------------------------------------------------------

TEST_F(SteppedLoop, ATurnRunsFunctionsThenSharedMemoryThenNetworkThenTimersThenHooks) {
  std::vector<std::string> order;
  mail_poller shm, net;
  hook last{[&] { order.push_back("hook"); }};
  shm.then = [&] { order.push_back("shm"); };
  net.then = [&] { order.push_back("net"); };
  loop_.add_poller(net, poll_class::network);
  loop_.add_poller(shm, poll_class::shared_memory);
  net.bring();
  shm.bring();
  loop_.after(-1s, [&] { order.push_back("timer"); });
  loop_.call_at_turn_end(last);
  loop_.post([&] { order.push_back("function"); });
  loop_.run_turn();
  EXPECT_EQ(order, (std::vector<std::string>{"function", "shm", "net", "timer", "hook"}));
  loop_.remove_poller(shm);
  loop_.remove_poller(net);
}

TEST_F(SteppedLoop, AHookArmedAnywhereInATurnRunsOnceAtItsEnd) {
  int runs = 0;
  hook flush{[&] { ++runs; }};
  mail_poller p;
  p.then = [&] { loop_.call_at_turn_end(flush); };
  loop_.add_poller(p, poll_class::shared_memory);
  p.bring();
  for (int i = 0; i < 5; ++i)
    loop_.post([&] { loop_.call_at_turn_end(flush); });
  loop_.after(-1s, [&] { loop_.call_at_turn_end(flush); });
  loop_.run_turn();
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(loop_.run_turn());
  loop_.remove_poller(p);
}

TEST_F(RunningLoop, WhatAHookOrAPollerSchedulesRunsWithoutASleepBetween) {
  test::event done;
  std::uint64_t sleeps = 0;
  hook last{[&] {
    sleeps = loop_.sleeps();
    loop_.post([&] {
      EXPECT_EQ(loop_.sleeps(), sleeps);
      done.set();
    });
  }};
  mail_poller p;
  p.then = [&] { loop_.call_at_turn_end(last); };
  on_loop(loop_, [&] { loop_.add_poller(p, poll_class::network); });
  p.bring();
  ASSERT_TRUE(done.wait());
  on_loop(loop_, [&] { loop_.remove_poller(p); });
}

// -- timers --------------------------------------------------------------------------

TEST_F(RunningLoop, ATimerRunsOnTheLoopNotBeforeItsTimeAndWakesASleepingLoop) {
  test::event fired;
  std::chrono::steady_clock::time_point end;
  const auto start = std::chrono::steady_clock::now();
  on_loop(loop_, [&] {
    loop_.after(20ms, [&] {
      EXPECT_TRUE(loop_.on_thread());
      end = std::chrono::steady_clock::now();
      fired.set();
    });
  });
  ASSERT_TRUE(fired.wait());
  EXPECT_GE(end - start, 20ms);
  EXPECT_GT(loop_.sleeps(), 0u);
}

TEST_F(RunningLoop, TimersRunInOrderAndCancelledOnesDoNot) {
  std::vector<int> order;
  test::event done;
  on_loop(loop_, [&] {
    loop_.after(6ms, [&] { order.push_back(3); });
    loop_.after(2ms, [&] { order.push_back(1); });
    auto never = loop_.after(3ms, [&] { order.push_back(0); });
    loop_.after(4ms, [&] { order.push_back(2); });
    loop_.after(8ms, [&] { done.set(); });
    EXPECT_TRUE(loop_.cancel(never));
    EXPECT_FALSE(loop_.cancel(never));
  });
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST_F(SteppedLoop, ADelayBeyondTheClockNeverEnds) {
  bool ran = false;
  loop_.after(std::chrono::nanoseconds::max(), [&] { ran = true; });
  EXPECT_FALSE(loop_.run_turn());
  EXPECT_FALSE(ran);
}

// -- sleeping and waking ---------------------------------------------------------------

TEST_F(RunningLoop, LosesNoWakeUp) {
  // Each round the loop is somewhere between its last work and deep sleep; a lost wake-up shows as a stuck round.
  constexpr int rounds = 100'000;
  std::atomic<int> seen{0};
  for (int i = 1; i <= rounds; ++i) {
    loop_.post([&seen, i] { seen.store(i, std::memory_order_release); });
    const auto end = std::chrono::steady_clock::now() + test::deadline;
    for (int spins = 0; seen.load(std::memory_order_acquire) != i; ++spins) {
      if (spins % 64 == 63)
        std::this_thread::yield();
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "round " << i;
    }
    for (int pause = i * 7919 % 97; pause > 0; --pause) // vary where the next one meets the loop
      seen.load(std::memory_order_relaxed);
  }
}

TEST(LoopThatNeverSpins, LosesNoWakeUpOfFunctionsAndPollers) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  loop_options options;
  options.spin = 0ns;
  progress_loop loop{system, options};
  loop.start();
  mail_poller shm, net;
  on_loop(loop, [&] {
    loop.add_poller(shm, poll_class::shared_memory);
    loop.add_poller(net, poll_class::network);
  });
  std::atomic<std::uint64_t> ran{0};
  constexpr std::uint64_t rounds = 20'000;
  auto await = [](std::atomic<std::uint64_t>& x, std::uint64_t n) {
    const auto end = std::chrono::steady_clock::now() + test::deadline;
    while (x.load() < n) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() > end)
        return false;
    }
    return true;
  };
  std::jthread third{[&] {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      net.bring();
      if (!await(net.taken, i))
        break;
    }
  }};
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    loop.post([&ran] { ++ran; });
    shm.bring();
    ASSERT_TRUE(await(ran, i)) << i;
    ASSERT_TRUE(await(shm.taken, i)) << i;
  }
  third.join();
  EXPECT_EQ(net.taken, rounds);
  EXPECT_GT(loop.sleeps(), 0u);
  on_loop(loop, [&] {
    loop.remove_poller(shm);
    loop.remove_poller(net);
  });
  loop.stop();
}

TEST_F(RunningLoop, AProbeTellsAnIdleLoopFromAHungOne) {
  ASSERT_TRUE(eventually([this] {
    auto sleeps = loop_.sleeps(); // asleep: no turn for a while
    auto turns = loop_.turns();
    std::this_thread::sleep_for(5ms);
    return sleeps == loop_.sleeps() && turns == loop_.turns();
  }));
  for (int i = 0; i < 1000; ++i) {
    auto before = loop_.probe();
    ASSERT_TRUE(eventually([&] { return loop_.turns() > before; })) << i;
  }
  test::event gate;
  test::event hung;
  loop_.post([&] {
    hung.set();
    EXPECT_TRUE(gate.wait());
  });
  ASSERT_TRUE(hung.wait());
  auto before = loop_.probe();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(loop_.turns(), before);
  gate.set();
  EXPECT_TRUE(eventually([&] { return loop_.turns() > before; }));
}

TEST_F(RunningLoop, CountsATurnWhenItWakesForATimerOnly) {
  test::event done;
  auto before = on_loop(loop_, [&] {
    loop_.after(10ms, [&] { done.set(); });
    return loop_.turns();
  });
  ASSERT_TRUE(done.wait());
  EXPECT_TRUE(eventually([&] { return loop_.turns() > before; }));
}

TEST_F(RunningLoop, PollsNetworkLessOftenThanSharedMemoryWhileThatIsBusy) {
  mail_poller net;
  struct : poller {
    unsigned progress() override {
      polls.fetch_add(1, std::memory_order_relaxed);
      return 1;
    }
    int event_fd() override { return -1; }
    bool arm() override { return false; }
    std::atomic<std::uint64_t> polls{0};
  } shm;
  const auto start = std::chrono::steady_clock::now();
  on_loop(loop_, [&] {
    loop_.add_poller(shm, poll_class::shared_memory);
    loop_.add_poller(net, poll_class::network);
  });
  std::this_thread::sleep_for(50ms);
  on_loop(loop_, [&] {
    loop_.remove_poller(shm);
    loop_.remove_poller(net);
  });
  const auto length = std::chrono::steady_clock::now() - start;
  EXPECT_LE(net.polls, static_cast<std::uint64_t>(length / poller_set::relaxed_interval) + 2);
  EXPECT_GT(net.polls, 10u);
  EXPECT_GT(shm.polls, 2 * net.polls);
}

TEST(IdleLoop, CostsLessThanOnePercentOfACoreWithPollersAndATimer) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  progress_loop loop{system};
  loop.start();
  std::array<mail_poller, 4> pollers;
  std::atomic<int> ticks{0};
  std::function<void()> tick = [&] {
    ++ticks;
    loop.after(1s, tick);
  };
  on_loop(loop, [&] {
    loop.add_poller(pollers[0], poll_class::network);
    for (std::size_t i = 1; i < pollers.size(); ++i)
      loop.add_poller(pollers[i], poll_class::shared_memory);
    tick();
  });
  clockid_t cpu_clock;
  pthread_t thread = on_loop(loop, [] { return pthread_self(); });
  ASSERT_EQ(pthread_getcpuclockid(thread, &cpu_clock), 0);
  auto cpu = [&] {
    timespec now;
    clock_gettime(cpu_clock, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
  };
  const auto before = cpu();
  std::this_thread::sleep_for(1s);
  const auto used = cpu() - before;
  EXPECT_LT(used, 10ms);
  RecordProperty("microseconds", static_cast<int>(used / 1us));
  std::cout << "idle: " << used / 1us << " us in 1 s\n";
  loop.probe(); // heartbeats, too, are cheap
  const auto with_probes = cpu();
  for (int i = 0; i < 100; ++i) {
    loop.probe();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(cpu() - with_probes, 10ms);
  on_loop(loop, [&] {
    for (auto& p : pollers)
      loop.remove_poller(p);
  });
  loop.stop();
  EXPECT_GE(ticks, 1);
}

TEST_F(Loop, StopsWhetherOrNotItRanAndOnlyOnce) {
  loop_.stop();
  loop_.stop();
  progress_loop other{system_};
  other.start();
  other.stop();
  other.stop();
  EXPECT_FALSE(other.post([] {}));
}

} // namespace
} // namespace troupe
