#include <troupe/actors/spin_budget.hpp>

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(SpinBudget, StartsAsConfigured) {
  EXPECT_EQ(spin_budget{50us}.get(), 50us);
}

TEST(SpinBudget, ShrinksToTheShortestWhenWorkKeepsComingAfterLongSleeps) {
  spin_budget spin{50us};
  for (int i = 0; i < 20; ++i)
    spin.missed(10ms);
  EXPECT_EQ(spin.get(), spin_budget::shortest);
}

TEST(SpinBudget, GrowsToItsLimitWhenWorkComesLateInTheSpin) {
  spin_budget spin{50us};
  for (int i = 0; i < 20; ++i)
    spin.hit(spin.get());
  EXPECT_EQ(spin.get(), 50us * spin_budget::max_growth);
}

TEST(SpinBudget, StaysWhenWorkComesEarlyInTheSpin) {
  spin_budget spin{50us};
  for (int i = 0; i < 20; ++i)
    spin.hit(5us);
  EXPECT_EQ(spin.get(), 50us);
}

TEST(SpinBudget, RecoversAtOnceWhenASlightlyLongerSpinWouldHaveCaughtTheWork) {
  spin_budget spin{50us};
  for (int i = 0; i < 20; ++i)
    spin.missed(10ms);
  spin.missed(60us);
  EXPECT_GT(spin.get(), 60us);
  EXPECT_LE(spin.get(), 50us * spin_budget::max_growth);
}

TEST(SpinBudget, NeverSpinsWhenConfiguredNotTo) {
  for (auto configured : {0us, -1us}) {
    spin_budget spin{configured};
    spin.hit(1us);
    spin.missed(0us);
    spin.missed(1us);
    EXPECT_EQ(spin.get(), 0us);
  }
}

} // namespace
} // namespace troupe
