#include <troupe/actors/poller_set.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include <sys/eventfd.h>
#include <unistd.h>

#include <troupe/actors/sleep_gate.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct fake_poller final : poller {
  explicit fake_poller(int fd = -1) : fd(fd) {}
  unsigned progress() override {
    ++polls;
    if (then)
      then();
    return work;
  }
  int event_fd() override { return fd; }
  bool arm() override {
    ++arms;
    return !busy;
  }
  int fd;
  unsigned work = 0;
  bool busy = false;
  int polls = 0;
  int arms = 0;
  std::function<void()> then;
};

class PollerSet : public testing::Test {
protected:
  /// Polls once every `step` for `length` and returns how often `p` was asked.
  int polls(fake_poller& p, std::chrono::nanoseconds length, std::chrono::nanoseconds step) {
    auto before = p.polls;
    for (auto end = now_ + length; now_ < end; now_ += step)
      pollers_.progress(now_);
    return p.polls - before;
  }

  sleep_gate gate_;
  poller_set pollers_{gate_};
  poller_set::time_point now_ = poller_set::time_point{} + 1h;
  fake_poller shm_, net_;
};

TEST_F(PollerSet, AsksSharedMemoryEveryTurn) {
  pollers_.add(shm_, poll_class::shared_memory);
  EXPECT_EQ(polls(shm_, 100us, 1us), 100);
}

TEST_F(PollerSet, AsksTheNetworkEveryTurnWhenNoSharedMemoryIsThere) {
  pollers_.add(net_, poll_class::network);
  EXPECT_EQ(polls(net_, 100us, 1us), 100);
}

TEST_F(PollerSet, AsksTheNetworkAboutEvery10usBesideBusySharedMemory) {
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(net_, poll_class::network);
  shm_.work = 1;
  EXPECT_NEAR(polls(net_, 1ms, 1us), 100, 2);
}

TEST_F(PollerSet, AsksTheNetworkEveryTurnFor100usAfterItBroughtSomething) {
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(net_, poll_class::network);
  shm_.work = 1;
  polls(net_, 50us, 1us);
  net_.work = 1;
  EXPECT_NEAR(polls(net_, 30us, 1us), 30, 11); // from the first time it is asked on
  net_.work = 0;
  EXPECT_NEAR(polls(net_, 98us, 1us), 98, 2);
  EXPECT_NEAR(polls(net_, 100us, 1us), 10, 3);
}

TEST_F(PollerSet, AsksTheNetworkEveryTurnWhenSharedMemoryHasBeenQuietFor1ms) {
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(net_, poll_class::network);
  shm_.work = 1;
  polls(net_, 10us, 1us);
  shm_.work = 0;
  EXPECT_LT(polls(net_, 900us, 1us), 110);
  polls(net_, 200us, 1us);
  EXPECT_EQ(polls(net_, 100us, 1us), 100);
}

TEST_F(PollerSet, AsksEveryoneInTheTurnAfterAnAttemptToSleep) {
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(net_, poll_class::network);
  shm_.work = 1;
  polls(net_, 20us, 1us);
  auto before = net_.polls;
  pollers_.progress(now_);
  pollers_.progress(now_);
  EXPECT_LE(net_.polls, before + 1);
  before = net_.polls;
  EXPECT_TRUE(pollers_.arm());
  pollers_.progress(now_);
  EXPECT_EQ(net_.polls, before + 1);
}

TEST_F(PollerSet, SumsUpWhatThePollersReturn) {
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(net_, poll_class::network);
  shm_.work = 2;
  net_.work = 3;
  EXPECT_EQ(pollers_.progress(now_), 5u);
}

TEST_F(PollerSet, IsNotArmedWhenOneIsBusy) {
  fake_poller armed{eventfd(0, EFD_CLOEXEC)}, busy{eventfd(0, EFD_CLOEXEC)};
  busy.busy = true;
  pollers_.add(armed, poll_class::shared_memory);
  pollers_.add(busy, poll_class::network);
  EXPECT_FALSE(pollers_.has_blind());
  EXPECT_FALSE(pollers_.arm());
  busy.busy = false;
  EXPECT_TRUE(pollers_.arm());
  pollers_.remove(armed);
  pollers_.remove(busy);
  close(armed.fd);
  close(busy.fd);
}

TEST_F(PollerSet, KnowsWhetherSomeoneHasNoDescriptorOrOneThatCannotBePolled) {
  fake_poller unpollable{fileno(std::tmpfile())};
  pollers_.add(unpollable, poll_class::network);
  EXPECT_TRUE(pollers_.has_blind());
  pollers_.remove(unpollable);
  EXPECT_FALSE(pollers_.has_blind());
  pollers_.add(shm_, poll_class::shared_memory);
  EXPECT_TRUE(pollers_.has_blind());
  pollers_.remove(shm_);
  EXPECT_FALSE(pollers_.has_blind());
}

TEST_F(PollerSet, OneWithoutADescriptorKeepsTheLoopAwakeWhenItIsBusyToo) {
  pollers_.add(shm_, poll_class::shared_memory);
  EXPECT_TRUE(pollers_.arm());
  shm_.busy = true;
  EXPECT_FALSE(pollers_.arm());
}

TEST_F(PollerSet, ADescriptorThatBecomesReadableEndsASleepUntilItsPollerIsRemoved) {
  fake_poller p{eventfd(1, EFD_CLOEXEC)};
  pollers_.add(p, poll_class::network);
  auto slept = [this] {
    auto start = std::chrono::steady_clock::now();
    gate_.announce();
    gate_.wait(50ms);
    return std::chrono::steady_clock::now() - start;
  };
  EXPECT_LT(slept(), 50ms);
  pollers_.remove(p);
  EXPECT_GE(slept(), 50ms);
  close(p.fd);
}

TEST_F(PollerSet, AddingTwiceAndRemovingAStrangerChangeNothing) {
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(shm_, poll_class::network);
  pollers_.remove(net_);
  EXPECT_EQ(pollers_.size(), 1u);
  pollers_.progress(now_);
  EXPECT_EQ(shm_.polls, 1);
}

TEST_F(PollerSet, PollersMayAddAndRemovePollersAndThemselvesWhileTheyAreAsked) {
  std::vector<std::unique_ptr<fake_poller>> many;
  for (int i = 0; i < 40; ++i)
    many.push_back(std::make_unique<fake_poller>());
  shm_.then = [&] {
    shm_.then = nullptr;
    for (auto& p : many)
      pollers_.add(*p, poll_class::shared_memory);
    pollers_.remove(net_);
    pollers_.remove(shm_);
  };
  pollers_.add(shm_, poll_class::shared_memory);
  pollers_.add(net_, poll_class::shared_memory);
  pollers_.progress(now_);
  EXPECT_EQ(net_.polls, 0);
  EXPECT_EQ(many.back()->polls, 1);
  pollers_.progress(now_);
  EXPECT_EQ(shm_.polls, 1);
  EXPECT_EQ(many.back()->polls, 2);
  EXPECT_EQ(pollers_.size(), many.size());
}

} // namespace
} // namespace troupe
