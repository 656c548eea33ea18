#include <troupe/transport/name_lookup.hpp>

#include <gtest/gtest.h>

#include <future>
#include <thread>

using namespace troupe;
using namespace troupe::transport;
using namespace std::chrono_literals;

TEST(name_lookup, takes_literals_as_they_are) {
  auto v4 = look_up("127.0.0.1", 80);
  ASSERT_TRUE(v4);
  ASSERT_EQ(v4->size(), 1u);
  EXPECT_EQ((*v4)[0].to_string(), "127.0.0.1:80");
  auto v6 = look_up("::1", 80);
  ASSERT_TRUE(v6);
  EXPECT_EQ((*v6)[0].to_string(), "[::1]:80");
}

TEST(name_lookup, puts_the_ipv4_address_of_localhost_first) {
  auto found = look_up("localhost", 80);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ((*found)[0].to_string(), "127.0.0.1:80");
}

TEST(name_lookup, says_which_name_cannot_be_resolved) {
  auto failed = look_up("no-such-host.invalid", 80);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::invalid_address);
  EXPECT_NE(failed.error().text.find("'no-such-host.invalid'"), std::string::npos) << failed.error().text;
  EXPECT_EQ(look_up("", 80).error().code, errc::invalid_address);
  EXPECT_EQ(look_up(std::string(300, 'h'), 80).error().code, errc::invalid_address);
  EXPECT_EQ(look_up(std::string("127.0.0.1\0x", 11), 80).error().code, errc::invalid_address);
}

TEST(name_lookup, answers_literals_here_and_names_on_another_thread) {
  name_lookup lookups;
  std::thread::id where;
  lookups.start("127.0.0.1", 1, [&](auto) { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
  std::promise<std::thread::id> answered;
  lookups.start("localhost", 1, [&](auto) { answered.set_value(std::this_thread::get_id()); });
  auto future = answered.get_future();
  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_NE(future.get(), std::this_thread::get_id());
}

TEST(name_lookup, answers_every_one_of_many) {
  name_lookup lookups;
  std::vector<std::promise<void>> answered(100);
  for (auto& each : answered)
    lookups.start("localhost", 1, [&each](auto) { each.set_value(); });
  for (auto& each : answered)
    ASSERT_EQ(each.get_future().wait_for(20s), std::future_status::ready);
}
