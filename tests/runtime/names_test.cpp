#include <troupe/runtime/names.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

#include <troupe/actors/error.hpp>

namespace {

using troupe::errc;

class Names : public ::testing::Test {
protected:
  void TearDown() override {
    names.clear();
    caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
    who = nullptr;
  }

  caf::actor_system_config config;
  caf::actor_system system{config};
  caf::actor who = system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  troupe::name_table names;
};

TEST_F(Names, FindWhatWasPublished) {
  ASSERT_FALSE(names.publish("room", who));
  auto found = names.find("room");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, who);
}

TEST_F(Names, RefuseASecondActorUnderOneName) {
  ASSERT_FALSE(names.publish("room", who));
  EXPECT_EQ(troupe::code_of(names.publish("room", who)), errc::already_exists);
}

TEST_F(Names, RefuseEmptyAndTooLongNamesAndEmptyHandles) {
  EXPECT_EQ(troupe::code_of(names.publish("", who)), errc::invalid_param);
  EXPECT_EQ(troupe::code_of(names.publish(std::string(256, 'x'), who)), errc::invalid_param);
  EXPECT_EQ(troupe::code_of(names.publish("room", caf::actor{})), errc::invalid_param);
  EXPECT_FALSE(names.publish(std::string(255, 'x'), who));
}

TEST_F(Names, AreGoneOnceUnpublishedAndCanBeUsedAgain) {
  ASSERT_FALSE(names.publish("room", who));
  ASSERT_FALSE(names.unpublish("room"));
  EXPECT_EQ(troupe::code_of(names.find("room").error()), errc::not_found);
  EXPECT_EQ(troupe::code_of(names.unpublish("room")), errc::not_found);
  EXPECT_FALSE(names.publish("room", who));
}

} // namespace
