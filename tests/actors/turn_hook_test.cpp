#include <troupe/actors/turn_hook.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

namespace troupe {
namespace {

struct hook final : turn_hook {
  explicit hook(std::function<void()> f) : f(std::move(f)) {}
  void end_of_turn() noexcept override { f(); }
  std::function<void()> f;
};

TEST(TurnHook, RunsOncePerArmingHoweverOftenItWasArmed) {
  turn_hook_list hooks;
  int runs = 0;
  hook x{[&] { ++runs; }};
  hooks.arm(x);
  hooks.arm(x);
  EXPECT_TRUE(x.armed());
  EXPECT_EQ(hooks.run(), 1u);
  EXPECT_FALSE(x.armed());
  EXPECT_EQ(hooks.run(), 0u);
  EXPECT_EQ(runs, 1);
}

TEST(TurnHook, RunsInTheOrderOfArming) {
  turn_hook_list hooks;
  std::vector<int> order;
  hook a{[&] { order.push_back(1); }}, b{[&] { order.push_back(2); }}, c{[&] { order.push_back(3); }};
  hooks.arm(b);
  hooks.arm(c);
  hooks.arm(a);
  hooks.arm(b);
  hooks.run();
  EXPECT_EQ(order, (std::vector{2, 3, 1}));
}

TEST(TurnHook, ArmedByAHookItWaitsForTheNextTurn) {
  turn_hook_list hooks;
  int runs = 0;
  hook again{[&] {
    ++runs;
    hooks.arm(again);
  }};
  hooks.arm(again);
  EXPECT_EQ(hooks.run(), 1u);
  EXPECT_FALSE(hooks.empty());
  EXPECT_EQ(hooks.run(), 1u);
  EXPECT_EQ(runs, 2);
}

TEST(TurnHook, DestroyedWhileArmedItDoesNotRun) {
  turn_hook_list hooks;
  int runs = 0;
  {
    hook gone{[&] { ++runs; }};
    hooks.arm(gone);
  }
  EXPECT_TRUE(hooks.empty());
  EXPECT_EQ(hooks.run(), 0u);
  EXPECT_EQ(runs, 0);
}

TEST(TurnHook, MayDestroyItselfAndAnotherOneOfTheSameTurn) {
  turn_hook_list hooks;
  int runs = 0;
  auto other = std::make_unique<hook>([&] { ++runs; });
  std::unique_ptr<hook> self;
  self = std::make_unique<hook>([&] {
    ++runs;
    other.reset();
    auto guard = std::move(self);
  });
  hook last{[&] { ++runs; }};
  hooks.arm(*self);
  hooks.arm(*other);
  hooks.arm(last);
  EXPECT_EQ(hooks.run(), 2u);
  EXPECT_EQ(runs, 2);
}

TEST(TurnHook, ALongerLivedHookIsDisarmedByTheEndOfItsList) {
  hook x{[] {}};
  {
    turn_hook_list hooks;
    hooks.arm(x);
  }
  EXPECT_FALSE(x.armed());
}

} // namespace
} // namespace troupe
