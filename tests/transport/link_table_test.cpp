#include <troupe/transport/link_table.hpp>

#include <gtest/gtest.h>

using namespace troupe::transport;

namespace {

struct fake_link {};
using table = link_table<fake_link>;
using inbound = table::inbound;
using outbound = table::outbound;

const link_identity low{"low", 1};
const link_identity high{"high", 9};
const link_identity high_again{"high", 12};

std::shared_ptr<fake_link> some_link() { return std::make_shared<fake_link>(); }

} // namespace

TEST(link_table, a_first_dial_proves_itself_and_a_first_caller_is_accepted) {
  table x{low, 4};
  EXPECT_EQ(x.on_hello(high), outbound::prove);
  EXPECT_EQ(x.on_proof(high, 1), inbound::accept);
}

TEST(link_table, a_second_dial_joins_the_first_and_then_finds_the_link) {
  table x{low, 4};
  x.claim(high);
  EXPECT_EQ(x.on_hello(high), outbound::join);
  x.release(high);
  auto made = some_link();
  x.add(high, 5, made);
  EXPECT_EQ(x.on_hello(high), outbound::exists);
  EXPECT_EQ(x.find(high), made);
  x.remove(high, made.get());
  EXPECT_EQ(x.on_hello(high), outbound::prove);
}

TEST(link_table, of_two_dials_at_once_the_one_of_the_higher_stays) {
  table here{high, 4};
  here.claim(low);
  EXPECT_EQ(here.on_proof(low, 1), inbound::defer);
  table there{low, 4};
  there.claim(high);
  EXPECT_EQ(there.on_proof(high, 1), inbound::accept);
}

TEST(link_table, the_losing_dials_proof_that_comes_in_late_does_not_replace_the_link) {
  table x{high, 4};
  // The peer agreed to the link in step 8, and had proved itself on the other connection in step 7.
  x.add(low, 8, some_link());
  EXPECT_EQ(x.on_proof(low, 7), inbound::defer);
  EXPECT_EQ(x.on_proof(low, 9), inbound::replace);
}

TEST(link_table, another_incarnation_is_let_in_only_after_the_live_one_was_asked) {
  table x{low, 4};
  auto old = some_link();
  x.add(high, 1, old);
  EXPECT_EQ(x.on_hello(high_again), outbound::probe);
  EXPECT_EQ(x.on_proof(high_again, 1), inbound::probe);
  EXPECT_EQ(x.namesake(high_again), old);
  EXPECT_EQ(x.find(high_again), nullptr);
  x.remove(high, old.get());
  EXPECT_EQ(x.on_proof(high_again, 1), inbound::accept);
}

TEST(link_table, takes_no_more_than_its_limit_but_replaces) {
  table x{low, 1};
  x.add(high, 1, some_link());
  EXPECT_EQ(x.on_hello({"third", 3}), outbound::full);
  EXPECT_EQ(x.on_proof({"third", 3}, 1), inbound::full);
  EXPECT_EQ(x.on_proof(high, 2), inbound::replace);
}

TEST(link_table, a_link_that_ends_late_does_not_take_its_successor_with_it) {
  table x{low, 4};
  auto old = some_link();
  x.add(high, 1, old);
  x.remove(high, old.get());
  auto young = some_link();
  x.add(high_again, 1, young);
  x.remove(high, old.get());
  EXPECT_EQ(x.find(high_again), young);
}
