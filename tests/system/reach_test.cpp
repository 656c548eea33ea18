// Actors of other processes as if they were here: lookup, requests, handles, monitors, links, ends.

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Reach : public NodesOver {
protected:
  void SetUp() override { server = start("server"); }

  std::unique_ptr<peer_node> server;
};

TROUPE_OVER_BOTH_TRANSPORTS(Reach);

// -- names and requests -------------------------------------------------------------

TEST_P(Reach, APublishedActorAnswersRequests) {
  auto there = connect(*server);
  EXPECT_EQ(there.name, "server");
  auto echo = lookup(there, "echo");
  EXPECT_EQ(ask<std::string>(system(), echo, "hello"), "hello");
  EXPECT_EQ(ask<std::string>(system(), lookup(there, "pinned-echo"), "hello"), "hello");
  auto counter = lookup(there, "counter");
  for (std::uint64_t n = 1; n <= 100; ++n)
    caf::anon_send(counter, add_atom::value, n);
  EXPECT_TRUE(eventually([&] { return ask<std::uint64_t>(system(), counter, get_atom::value) == 5050u; }));
}

TEST_P(Reach, PinnedActorsOfBothNodesTalk) {
  auto echo = lookup(connect(*server), "pinned-echo");
  auto log = std::make_shared<journal_of_events>();
  self().spawn_pinned([log, echo](pinned_actor* me) -> caf::behavior {
    for (std::uint64_t n = 0; n < 100; ++n)
      me->send(echo, n);
    me->request(echo, patience, "last").then([log](const std::string& x) { log->note("answer " + x); });
    return {[log](std::uint64_t n) { log->note("number " + std::to_string(n)); }};
  });
  EXPECT_TRUE(log->wait("answer last")) << log->text();
  EXPECT_TRUE(log->wait("number 99")) << log->text();
  EXPECT_EQ(log->count("number "), 100u);
}

TEST_P(Reach, ANameThatIsNotPublishedIsNotFound) {
  auto there = connect(*server);
  auto found = self().lookup(there, "nobody");
  ASSERT_FALSE(found);
  EXPECT_EQ(code_of(found.error()), errc::not_found) << explain(found.error());
}

TEST_P(Reach, AMessageThatTheTargetDoesNotTakeIsAnsweredWithAnError) {
  auto counter = lookup(connect(*server), "counter");
  auto answer = ask<std::uint64_t>(system(), counter, "no number");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), caf::sec::unexpected_message) << explain(answer.error());
}

TEST_P(Reach, ATypeThatThePeerDoesNotKnowIsAnsweredWithAnError) {
  auto there = connect(*server);
  auto echo = lookup(there, "echo");
  auto answer = ask<private_note>(system(), echo, private_note{7});
  ASSERT_FALSE(answer);
  EXPECT_EQ(code_of(answer.error()), errc::unknown_type) << explain(answer.error());
  EXPECT_EQ(ask<std::string>(system(), echo, "still there"), "still there");
}

TEST_P(Reach, ManyRequestsAtOnceAreAllAnswered) {
  auto echo = lookup(connect(*server), "echo");
  caf::scoped_actor me{system()};
  const auto many = rounds<std::uint64_t>(2000, 100000);
  std::uint64_t sum = 0;
  for (std::uint64_t n = 0; n < many; ++n)
    caf::anon_send(echo, n); // whose answers go nowhere
  std::vector<caf::response_handle<caf::blocking_actor, caf::message, true>> asked;
  for (std::uint64_t n = 0; n < 1000; ++n)
    asked.push_back(me->request(echo, patience, n));
  for (auto& x : asked)
    x.receive([&](std::uint64_t n) { sum += n; }, [](const caf::error& why) { ADD_FAILURE() << explain(why); });
  EXPECT_EQ(sum, 999u * 1000u / 2);
}

// -- handles ---------------------------------------------------------------------------

TEST_P(Reach, HandlesTravelInBothDirections) {
  auto there = connect(*server);
  auto child = ask<caf::actor>(system(), lookup(there, "spawner"), spawn_atom::value, "counter");
  ASSERT_TRUE(child) << explain(child.error());
  EXPECT_FALSE(ask_for_nothing(system(), *child, add_atom::value, std::uint64_t{5}));
  EXPECT_EQ(ask<std::uint64_t>(system(), *child, get_atom::value), 5u);
  // Ours goes there and is used there ...
  auto log = std::make_shared<journal_of_events>();
  auto mine = notes(log);
  caf::anon_send(lookup(there, "forwarder"), tell_atom::value, mine, "from afar");
  EXPECT_TRUE(log->wait("text from afar"));
  // ... and comes back as the very actor that it is.
  auto back = ask<caf::actor>(system(), lookup(there, "echo"), mine);
  ASSERT_TRUE(back) << explain(back.error());
  EXPECT_EQ(*back, mine);
  EXPECT_EQ(lookup(there, "counter"), lookup(there, "counter"));
}

TEST_P(Reach, AHandleOfAThirdNodeWorksWhereThatNodeIsConnected) {
  auto third = start("third");
  ASSERT_TRUE(server->done("connect " + third->address()));
  auto there = connect(*server);
  auto child = ask<caf::actor>(system(), lookup(connect(*third), "spawner"), spawn_atom::value, "mute");
  ASSERT_TRUE(child);
  ASSERT_FALSE(ask_for_nothing(system(), lookup(there, "watcher"), watch_atom::value, *child));
  caf::anon_send(lookup(there, "forwarder"), tell_atom::value, *child, "hello");
  EXPECT_TRUE(third->line("asked")) << third->rest();
  EXPECT_EQ(server->count("saw-down "), 0u) << server->rest();
  third->signal(SIGKILL);
  EXPECT_TRUE(server->line("saw-down ")) << server->rest();
}

TEST_P(Reach, ARequestThatIsDelegatedToAnotherNodeIsAnswered) {
  auto there = connect(*server);
  auto forwarder = lookup(there, "forwarder");
  // On the server itself, back to where it came from, and on to a third node.
  EXPECT_EQ(ask<std::string>(system(), forwarder, forward_atom::value, lookup(there, "echo"), "one"), "one");
  auto mine = self().spawn([]() -> caf::behavior { return {[](const std::string& x) { return x + "!"; }}; });
  auto answer = ask<std::string>(system(), forwarder, forward_atom::value, mine, "two");
  EXPECT_EQ(answer, "two!") << (answer ? "" : explain(answer.error()));
  auto third = start("third");
  ASSERT_TRUE(server->done("connect " + third->address()));
  auto far = lookup(connect(*third), "echo");
  answer = ask<std::string>(system(), forwarder, forward_atom::value, far, "three");
  EXPECT_EQ(answer, "three") << (answer ? "" : explain(answer.error()));
}

// -- monitors, links, exits ----------------------------------------------------------------

TEST_P(Reach, AMonitorHearsTheExactReason) {
  auto there = connect(*server);
  auto spawner = lookup(there, "spawner");
  const std::pair<ending, std::string> ends[] = {
    {ending::normally, explain(caf::make_error(caf::exit_reason::normal))},
    {ending::with_error, explain(caf::error{mortal_error_code, mortal_error_category})},
    {ending::by_exception, explain(make_error(caf::sec::runtime_error))},
  };
  for (auto& [how, reason] : ends) {
    auto log = std::make_shared<journal_of_events>();
    auto watcher = notes(log);
    auto mortal = ask<caf::actor>(system(), spawner, spawn_atom::value, "mortal");
    ASSERT_TRUE(mortal);
    caf::anon_send(watcher, watch_atom::value, *mortal);
    ASSERT_TRUE(log->wait("watching"));
    caf::anon_send(*mortal, die_atom::value, static_cast<std::int32_t>(how));
    EXPECT_TRUE(log->wait("actor-down ")) << static_cast<int>(how);
    EXPECT_TRUE(log->wait("actor-down " + reason, 1, 0ms)) << "wanted " << reason << "\n" << log->text();
    // Who asks afterwards hears it as well, once.
    auto late = std::make_shared<journal_of_events>();
    caf::anon_send(notes(late), watch_atom::value, *mortal);
    EXPECT_TRUE(late->wait("actor-down "));
    EXPECT_EQ(log->count("actor-down "), 1u);
  }
}

TEST_P(Reach, ALinkEndsTheOtherSideInBothDirections) {
  auto there = connect(*server);
  auto spawner = lookup(there, "spawner");
  auto mortal = ask<caf::actor>(system(), spawner, spawn_atom::value, "mortal");
  ASSERT_TRUE(mortal);
  auto log = std::make_shared<journal_of_events>();
  auto mine = notes(log);
  caf::anon_send(mine, link_atom::value, *mortal);
  ASSERT_TRUE(log->wait("linked"));
  caf::anon_send(*mortal, die_atom::value, static_cast<std::int32_t>(ending::with_error));
  EXPECT_TRUE(log->wait("actor-exit "));
  EXPECT_TRUE(log->wait("actor-exit " + explain(caf::error{mortal_error_code, mortal_error_category}), 1, 0ms))
    << log->text();
  // Linked here, ends here: the other side hears it.
  auto watcher = ask<caf::actor>(system(), spawner, spawn_atom::value, "watcher");
  ASSERT_TRUE(watcher);
  auto second = std::make_shared<journal_of_events>();
  auto other = notes(second);
  caf::anon_send(other, link_atom::value, *watcher);
  ASSERT_TRUE(second->wait("linked"));
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
  EXPECT_TRUE(server->line("saw-exit ")) << server->rest();
  // Linked there, ends here.
  auto third = std::make_shared<journal_of_events>();
  auto last = notes(third);
  ASSERT_FALSE(ask_for_nothing(system(), lookup(there, "watcher"), link_atom::value, last));
  caf::anon_send_exit(last, caf::exit_reason::user_shutdown);
  EXPECT_TRUE(server->line("saw-exit ")) << server->rest();
}

TEST_P(Reach, AnEndedLinkTellsNothing) {
  auto there = connect(*server);
  auto mortal = ask<caf::actor>(system(), lookup(there, "spawner"), spawn_atom::value, "mortal");
  ASSERT_TRUE(mortal);
  auto log = std::make_shared<journal_of_events>();
  auto mine = notes(log);
  caf::anon_send(mine, link_atom::value, *mortal);
  ASSERT_TRUE(log->wait("linked"));
  caf::anon_send(mine, unlink_atom::value, *mortal);
  ASSERT_TRUE(log->wait("unlinked"));
  caf::anon_send(mine, watch_atom::value, *mortal);
  ASSERT_TRUE(log->wait("watching"));
  caf::anon_send(*mortal, die_atom::value, static_cast<std::int32_t>(ending::with_error));
  EXPECT_TRUE(log->wait("actor-down ")); // it died, and only the monitor says so
  caf::anon_send(mine, std::uint64_t{1});
  ASSERT_TRUE(log->wait("number 1"));
  EXPECT_EQ(log->count("actor-exit "), 0u) << log->text();
}

TEST_P(Reach, AnExitMessageEndsARemoteActor) {
  auto there = connect(*server);
  auto mortal = ask<caf::actor>(system(), lookup(there, "spawner"), spawn_atom::value, "mortal");
  ASSERT_TRUE(mortal);
  auto log = std::make_shared<journal_of_events>();
  caf::anon_send(notes(log), watch_atom::value, *mortal);
  ASSERT_TRUE(log->wait("watching"));
  caf::anon_send_exit(*mortal, caf::exit_reason::user_shutdown);
  EXPECT_TRUE(log->wait("actor-down " + explain(caf::make_error(caf::exit_reason::user_shutdown)))) << log->text() << server->rest();
}

// -- the end of a process --------------------------------------------------------------------

TEST_P(Reach, AKilledProcessIsKnownDeadAtOnce) {
  std::vector<double> milliseconds;
  for (int round = 0; round < rounds(7, 50); ++round) {
    auto victim = start("victim" + std::to_string(round));
    auto log = std::make_shared<journal_of_events>();
    auto watcher = notes(log);
    self().subscribe(watcher);
    auto there = connect(*victim);
    ASSERT_TRUE(log->wait("up victim" + std::to_string(round)));
    caf::anon_send(watcher, watch_atom::value, lookup(there, "echo"));
    ASSERT_TRUE(log->wait("watching"));
    const auto begin = clock_type::now();
    victim->signal(SIGKILL);
    ASSERT_TRUE(log->wait("actor-down ", 1, 1000ms)) << log->text();
    milliseconds.push_back(std::chrono::duration<double, std::milli>(clock_type::now() - begin).count());
    ASSERT_TRUE(log->wait("down victim" + std::to_string(round) + " peer_dead")) << log->text();
    EXPECT_EQ(log->count("actor-down "), 1u);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  RecordProperty("down_p50_ms", std::to_string(milliseconds[milliseconds.size() / 2]));
  EXPECT_LT(milliseconds[milliseconds.size() / 2], 200) << "20 ms on an idle machine";
}

TEST_P(Reach, NodeEventsComeOncePerSessionAndAfterTheLastMessage) {
  for (int round = 0; round < rounds(3, 20); ++round) {
    auto peer = start("peer");
    auto log = std::make_shared<journal_of_events>();
    auto mine = notes(log);
    self().subscribe(mine);
    self().subscribe(mine); // twice is once
    auto there = connect(*peer);
    ASSERT_TRUE(log->wait("up peer " + transport()));
    const std::uint64_t many = 2000;
    caf::anon_send(lookup(there, "forwarder"), burst_atom::value, mine, many);
    ASSERT_TRUE(log->wait("number "));
    caf::anon_send(lookup(there, "mortal"), die_atom::value, static_cast<std::int32_t>(ending::with_its_process));
    ASSERT_TRUE(log->wait("down peer ")) << log->text();
    caf::anon_send(mine, "end of round");
    ASSERT_TRUE(log->wait("text end of round"));
    EXPECT_EQ(log->count("up peer"), 1u);
    EXPECT_EQ(log->count("down peer"), 1u);
    auto events = log->all();
    auto down = std::find_if(events.begin(), events.end(), [](auto& x) { return x.starts_with("down peer"); });
    EXPECT_FALSE(std::any_of(down, events.end(), [](auto& x) { return x.starts_with("number"); }));
    std::uint64_t expected = 0; // a prefix of what was sent, without a hole
    for (auto& x : events) {
      if (x.starts_with("number ")) {
        ASSERT_EQ(x, "number " + std::to_string(expected++));
      }
    }
  }
}

TEST_P(Reach, WhatIsSentToADeadReferenceIsRefused) {
  auto there = connect(*server);
  auto echo = lookup(there, "echo");
  auto log = std::make_shared<journal_of_events>();
  self().subscribe(notes(log));
  server->signal(SIGKILL);
  ASSERT_TRUE(log->wait("down server"));
  auto answer = ask<std::string>(system(), echo, "anybody?");
  ASSERT_FALSE(answer);
  EXPECT_EQ(code_of(answer.error()), errc::peer_dead) << explain(answer.error());
  auto found = self().lookup(there, "echo");
  ASSERT_FALSE(found);
  EXPECT_EQ(code_of(found.error()), errc::unknown_peer) << explain(found.error());
}

} // namespace
