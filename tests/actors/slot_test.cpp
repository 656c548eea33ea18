#include <troupe/actors/slot.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <tests/support/loops.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Notes what happens to it, and settles when told to. May need another slot alive, as an endpoint needs its worker.
class noted_slot final : public slot {
public:
  noted_slot(std::vector<std::string>& log, std::string name, lease<noted_slot> owner = {})
    : owner_(std::move(owner)), log_(log), name_(std::move(name)) {}
  ~noted_slot() override { log_.push_back("destroy " + name_); }
  void begin_close() override { log_.push_back("close " + name_); }
  bool settled() override { return is_settled; }
  void give_up() override { log_.push_back("give up " + name_); }
  std::chrono::nanoseconds close_limit() const override { return limit; }

  bool is_settled = true;
  std::chrono::nanoseconds limit = 10s;

private:
  lease<noted_slot> owner_;
  std::vector<std::string>& log_;
  std::string name_;
};

using log = std::vector<std::string>;

/// The test's thread is the loop's.
class Slot : public testing::Test {
protected:
  Slot() { loop_->adopt_this_thread(); }

  void turns(int n) {
    while (n-- > 0)
      loop_->run_turn();
  }

  log log_;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::unique_ptr<progress_loop> loop_ = std::make_unique<progress_loop>(system_);
};

TEST_F(Slot, ClosesAtOnceWhenItsLeaseEndsAndIsDestroyedInATurnAfterItSettled) {
  auto x = make_lease<noted_slot>(*loop_, log_, "a");
  x->is_settled = false;
  auto object = x.get();
  turns(3);
  EXPECT_EQ(log_, log{});
  x.reset();
  EXPECT_FALSE(x);
  EXPECT_EQ(log_, log{"close a"});
  turns(3);
  EXPECT_EQ(log_, log{"close a"});
  object->is_settled = true;
  turns(1);
  EXPECT_EQ(log_, (log{"close a", "destroy a"}));
  EXPECT_EQ(loop_->reaper().size(), 0u);
}

TEST_F(Slot, StaysOpenUntilTheLastLeaseEnds) {
  auto first = make_lease<noted_slot>(*loop_, log_, "a");
  auto second = first.share();
  EXPECT_EQ(first.get(), second.get());
  first = {};
  turns(2);
  EXPECT_EQ(log_, log{});
  second = {};
  turns(1);
  EXPECT_EQ(log_, (log{"close a", "destroy a"}));
}

TEST_F(Slot, MovingALeaseEndsNone) {
  auto first = make_lease<noted_slot>(*loop_, log_, "a");
  lease<noted_slot> second{std::move(first)};
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  auto& same = second;
  second = std::move(same);
  turns(2);
  EXPECT_EQ(log_, log{});
}

TEST_F(Slot, AssigningOverALeaseEndsTheOldOne) {
  auto x = make_lease<noted_slot>(*loop_, log_, "a");
  x = make_lease<noted_slot>(*loop_, log_, "b");
  turns(1);
  EXPECT_EQ(log_, (log{"close a", "destroy a"}));
  EXPECT_TRUE(x);
}

TEST_F(Slot, AnOwnerIsClosedOnlyAfterWhatNeedsItIsDestroyed) {
  auto owner = make_lease<noted_slot>(*loop_, log_, "worker");
  auto endpoint = make_lease<noted_slot>(*loop_, log_, "endpoint", owner.share());
  endpoint->is_settled = false;
  auto object = endpoint.get();
  owner.reset();
  endpoint.reset();
  turns(3);
  EXPECT_EQ(log_, log{"close endpoint"});
  object->is_settled = true;
  turns(2);
  EXPECT_EQ(log_, (log{"close endpoint", "destroy endpoint", "close worker", "destroy worker"}));
}

TEST_F(Slot, IsGivenUpAndDestroyedWhenItDoesNotSettleWithinItsLimit) {
  auto x = make_lease<noted_slot>(*loop_, log_, "a");
  x->is_settled = false;
  x->limit = 20ms;
  auto start = std::chrono::steady_clock::now();
  x.reset();
  while (loop_->reaper().settling() && std::chrono::steady_clock::now() - start < test::deadline)
    loop_->run_turn();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 19ms);
  EXPECT_EQ(log_, (log{"close a", "give up a", "destroy a"}));
  EXPECT_EQ(loop_->overdue_slots(), 1u);
}

TEST_F(Slot, ALeaseDroppedOnAnotherThreadEndsOnTheLoop) {
  auto x = make_lease<noted_slot>(*loop_, log_, "a");
  std::thread{[y = std::move(x)] {}}.join();
  EXPECT_EQ(log_, log{});
  turns(1);
  EXPECT_EQ(log_, (log{"close a", "destroy a"}));
}

TEST_F(Slot, SlotsStillLeasedWhenTheLoopStopsAreDestroyedNewestFirstAndTheirLeasesAreEmpty) {
  auto owner = make_lease<noted_slot>(*loop_, log_, "worker");
  auto endpoint = make_lease<noted_slot>(*loop_, log_, "endpoint", owner.share());
  auto extra = endpoint.share();
  loop_->stop();
  EXPECT_EQ(log_, (log{"close endpoint", "destroy endpoint", "close worker", "destroy worker"}));
  EXPECT_FALSE(owner);
  EXPECT_FALSE(endpoint);
  EXPECT_FALSE(extra.share());
  loop_.reset();
  extra.reset(); // knows that there is nothing any more
}

TEST_F(Slot, AStoppingLoopWaitsForAClosingSlotUntilItsLimit) {
  auto x = make_lease<noted_slot>(*loop_, log_, "a");
  x->is_settled = false;
  x->limit = 20ms;
  x.reset();
  auto start = std::chrono::steady_clock::now();
  loop_->stop();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 15ms);
  EXPECT_EQ(log_, (log{"close a", "give up a", "destroy a"}));
}

TEST_F(Slot, LeasesHeldByWhatTheStoppingLoopDropsAreReapedToo) {
  auto in_timer = std::make_shared<lease<noted_slot>>(make_lease<noted_slot>(*loop_, log_, "timer"));
  loop_->after(1h, [held = std::move(in_timer)] {});
  loop_->stop();
  EXPECT_EQ(log_, (log{"close timer", "destroy timer"}));
}

TEST(SlotOnASleepingLoop, IsReapedWithoutAnyOtherWork) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  progress_loop loop{system};
  loop.start();
  struct counting final : slot {
    explicit counting(std::atomic<bool>& gone) : gone(gone) {}
    ~counting() override { gone = true; }
    void begin_close() override { begun = std::chrono::steady_clock::now(); }
    bool settled() override { return std::chrono::steady_clock::now() - begun > 5ms; }
    std::atomic<bool>& gone;
    std::chrono::steady_clock::time_point begun;
  };
  std::atomic<bool> gone{false};
  test::on_loop(loop, [&] { make_lease<counting>(loop, gone).reset(); });
  EXPECT_TRUE(test::eventually([&] { return gone.load(); }));
  loop.stop();
  EXPECT_EQ(loop.overdue_slots(), 0u);
}

} // namespace
} // namespace troupe
