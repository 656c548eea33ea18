// Who watches or asks an actor hears of its end exactly once, whenever it began to.

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Watch : public NodesOver {};

TROUPE_OVER_BOTH_TRANSPORTS(Watch);

// -- monitors around the moment of death --------------------------------------------------------

TEST_P(Watch, AMonitorSetAroundTheDeathHearsOfItOnce) {
  auto server = start("server");
  auto there = connect(*server);
  auto spawner = lookup(there, "spawner");
  for (int round = 0; round < rounds(50, 2000); ++round) {
    auto mortal = ask<caf::actor>(system(), spawner, spawn_atom::value, "mortal");
    ASSERT_TRUE(mortal);
    std::vector<event_log> logs;
    std::vector<caf::actor> watchers;
    for (int i = 0; i < 4; ++i) {
      logs.push_back(std::make_shared<journal_of_events>());
      watchers.push_back(self().spawn(note_taker, logs.back()));
    }
    caf::anon_send(watchers[0], watch_atom::value, *mortal);
    caf::anon_send(*mortal, die_atom::value, std::int32_t{round % 3});
    caf::anon_send(watchers[1], watch_atom::value, *mortal);
    if (round % 2 == 0) {
      ASSERT_TRUE(logs[0]->wait("actor-down ")) << round;
    }
    caf::anon_send(watchers[2], watch_atom::value, *mortal);
    auto why = ask_for_nothing(system(), lookup(there, "watcher"), watch_atom::value, *mortal);
    ASSERT_FALSE(why) << explain(why);
    caf::anon_send(watchers[3], watch_atom::value, *mortal);
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(logs[i]->wait("actor-down ")) << "round " << round << ", watcher " << i;
      caf::anon_send(watchers[i], std::uint64_t{1});
      ASSERT_TRUE(logs[i]->wait("number "));
      ASSERT_EQ(logs[i]->count("actor-down "), 1u);
    }
  }
}

TEST_P(Watch, AMonitorSetAroundTheDeathOfAProcessHearsOfItOnce) {
  for (int round = 0; round < rounds(6, 100); ++round) {
    auto victim = start("victim");
    auto there = connect(*victim);
    auto echo = lookup(there, "echo");
    std::vector<event_log> logs;
    std::vector<caf::actor> watchers;
    victim->signal(SIGKILL);
    const auto until = clock_type::now() + 20ms;
    do {
      logs.push_back(std::make_shared<journal_of_events>());
      watchers.push_back(self().spawn(note_taker, logs.back()));
      caf::anon_send(watchers.back(), watch_atom::value, echo);
      ASSERT_TRUE(logs.back()->wait("watching"));
    } while (clock_type::now() < until);
    for (auto& log : logs) {
      ASSERT_TRUE(log->wait("actor-down "));
      EXPECT_EQ(log->count("actor-down "), 1u);
    }
  }
}

// -- requests without a time limit -----------------------------------------------------------------

constexpr auto never_answered = "never answered";

template <class... Ts>
caf::error answer_to(caf::actor_system& system, const caf::actor& whom, Ts&&... question) {
  caf::scoped_actor self{system};
  caf::error answer;
  auto answered = false;
  auto asked = self->request(whom, caf::infinite, std::forward<Ts>(question)...);
  // An endless request that is never answered would hang the test: a second message ends the wait.
  auto id = asked.id();
  std::thread watchdog;
  std::mutex mutex;
  std::condition_variable changed;
  auto over = false;
  auto me = caf::actor_cast<caf::strong_actor_ptr>(self.ptr());
  watchdog = std::thread{[&] {
    std::unique_lock lock{mutex};
    if (!changed.wait_for(lock, patience, [&] { return over; }))
      me->enqueue(nullptr, id, caf::make_message(make_error(errc::internal, never_answered)), nullptr);
  }};
  asked.receive([&](const std::string&) { answered = true; }, [&](caf::error& why) { answer = std::move(why); });
  {
    std::lock_guard guard{mutex};
    over = true;
    changed.notify_all();
  }
  watchdog.join();
  return answered ? caf::none : answer;
}

TEST_P(Watch, AnEndlessRequestIsAnsweredHoweverItsReceiverEnds) {
  auto server = start("server");
  auto there = connect(*server);
  auto spawner = lookup(there, "spawner");
  // It ends before it takes the request.
  auto mortal = ask<caf::actor>(system(), spawner, spawn_atom::value, "mortal");
  ASSERT_TRUE(mortal);
  caf::anon_send(*mortal, die_atom::value, static_cast<std::int32_t>(ending::normally));
  auto why = answer_to(system(), *mortal, std::int64_t{1});
  EXPECT_TRUE(why);
  EXPECT_NE(text_of(why), never_answered);
  // It throws.
  mortal = ask<caf::actor>(system(), spawner, spawn_atom::value, "mortal");
  why = answer_to(system(), *mortal, 2.0);
  EXPECT_TRUE(why);
  EXPECT_NE(text_of(why), never_answered);
  // Its process is killed after it took the request.
  std::thread killer{[&] {
    EXPECT_TRUE(server->line("asked"));
    server->signal(SIGKILL);
  }};
  why = answer_to(system(), lookup(there, "mute"), "are you there?");
  killer.join();
  EXPECT_TRUE(why);
  EXPECT_EQ(code_of(why), errc::peer_dead) << explain(why);
}

} // namespace
