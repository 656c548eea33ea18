#include <troupe/runtime/signals.hpp>

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace troupe {
namespace {

constexpr auto deadline = 10s;

TEST(StopSignals, EitherSignalEndsTheWait) {
  for (const int number : {SIGINT, SIGTERM}) {
    stop_signals signals;
    ::kill(::getpid(), number);
    EXPECT_EQ(signals.wait_for(deadline), number);
  }
}

TEST(StopSignals, ASignalSentBeforeTheWaitIsNotLost) {
  stop_signals signals;
  ::raise(SIGTERM);
  EXPECT_EQ(signals.wait_for(0ms), SIGTERM);
  EXPECT_EQ(signals.wait(), SIGTERM);
}

TEST(StopSignals, WithoutASignalTheLimitCounts) {
  stop_signals signals;
  EXPECT_EQ(signals.wait_for(1ms), std::nullopt);
}

TEST(StopSignals, AnotherThreadCanEndTheWait) {
  stop_signals signals;
  std::thread other{[&] { signals.wake(); }};
  EXPECT_EQ(signals.wait(), 0);
  other.join();
}

TEST(StopSignals, AWakeBeforeTheWaitIsNotLostAndIsForOneObjectOnly) {
  stop_signals first;
  stop_signals second;
  first.wake();
  EXPECT_EQ(first.wait_for(deadline), 0);
  EXPECT_EQ(second.wait_for(0ms), std::nullopt);
}

TEST(StopSignals, AllObjectsHearASignal) {
  stop_signals first;
  stop_signals second;
  ::raise(SIGINT);
  EXPECT_EQ(first.wait_for(deadline), SIGINT);
  EXPECT_EQ(second.wait_for(deadline), SIGINT);
}

TEST(StopSignals, ASignalThatLandsOnAForeignThreadCountsToo) {
  stop_signals signals;
  // As a terminal does when the main thread has the signal blocked.
  std::thread other{[] { ::pthread_kill(::pthread_self(), SIGINT); }};
  other.join();
  EXPECT_EQ(signals.wait_for(deadline), SIGINT);
}

TEST(StopSignals, AnOldSignalDoesNotEndALaterWait) {
  {
    stop_signals signals;
    ::raise(SIGTERM);
  }
  stop_signals signals;
  EXPECT_EQ(signals.wait_for(0ms), std::nullopt);
}

TEST(StopSignalsDeathTest, ASecondSignalKills) {
  EXPECT_EXIT(
      {
        stop_signals signals;
        ::raise(SIGINT);
        ::raise(SIGTERM);
        std::_Exit(3);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, AfterwardsASignalKillsAgain) {
  EXPECT_EXIT(
      {
        { stop_signals signals; }
        ::raise(SIGINT);
        std::_Exit(3);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(SignalShield, ThreadsStartedUnderItTakeNoSignal) {
  sigset_t inside;
  {
    const signal_shield shield;
    std::thread{[&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &inside); }}.join();
  }
  EXPECT_EQ(::sigismember(&inside, SIGINT), 1);
  EXPECT_EQ(::sigismember(&inside, SIGTERM), 1);
  EXPECT_EQ(::sigismember(&inside, SIGSEGV), 0);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGINT), 0);
}

} // namespace
} // namespace troupe
