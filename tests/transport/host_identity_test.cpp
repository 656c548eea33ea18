#include <troupe/transport/host_identity.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

using namespace troupe::transport;

TEST(host_identity, is_the_same_each_time_and_names_boot_and_shared_memory) {
  auto one = this_host();
  auto two = this_host();
  EXPECT_EQ(one.host_id, two.host_id);
  EXPECT_EQ(one.uid, ::geteuid());
  // A UUID, a colon, a number.
  ASSERT_GT(one.host_id.size(), 37u);
  EXPECT_EQ(one.host_id[36], ':');
  EXPECT_TRUE(same_host(one, two));
  EXPECT_TRUE(shares_memory(one, two));
}

TEST(host_identity, an_unknown_host_is_no_ones_host) {
  host_identity unknown;
  EXPECT_FALSE(same_host(unknown, unknown));
  EXPECT_FALSE(same_host(unknown, this_host()));
}

TEST(host_identity, another_users_memory_is_not_shared) {
  auto mine = this_host();
  auto theirs = mine;
  theirs.uid += 1;
  EXPECT_TRUE(same_host(mine, theirs));
  EXPECT_FALSE(shares_memory(mine, theirs));
}
