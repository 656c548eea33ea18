// A peer that is frozen: its connections stay open, and nothing says that it is gone but its silence.

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

constexpr auto down_after = 400ms;
/// Until the silence is noticed on a busy machine; far below what a kernel would take to end a connection.
constexpr auto noticed = 3000ms;

class Frozen : public NodesOver {
protected:
  void SetUp() override {
    configure([](node_config& x) { x.down_after = down_after; });
    server = start("server", {"--down-after", "400ms"});
    events = std::make_shared<journal_of_events>();
    self().subscribe(notes(events));
    there = connect(*server);
    ASSERT_TRUE(events->wait("up server"));
  }

  std::unique_ptr<peer_node> server;
  event_log events;
  peer there;
};

TROUPE_OVER_BOTH_TRANSPORTS(Frozen);

TEST_P(Frozen, AnIdlePeerIsDownAfterTheConfiguredSilence) {
  auto log = std::make_shared<journal_of_events>();
  caf::anon_send(notes(log), watch_atom::value, lookup(there, "echo"));
  ASSERT_TRUE(log->wait("watching"));
  ASSERT_TRUE(server->freeze());
  const auto begin = clock_type::now();
  ASSERT_TRUE(events->wait("down server timed_out", 1, noticed)) << events->text();
  EXPECT_GT(clock_type::now() - begin, down_after / 2);
  EXPECT_TRUE(log->wait("actor-down "));
  EXPECT_EQ(log->count("actor-down "), 1u);
}

TEST_P(Frozen, ALargeMessageOnItsWayEndsWithTheSession) {
  auto sink = lookup(there, "sink");
  auto session = self().session_of(there);
  ASSERT_TRUE(session);
  auto log = std::make_shared<journal_of_events>();
  auto owner = notes(log);
  ASSERT_TRUE(server->freeze());
  auto content = caf::make_message(put_atom::value, std::uint64_t{0}, std::uint64_t{0},
                                   numbered_payload(0, 0, 64u << 20));
  caf::send_as(owner, *session, send_op{1, caf::actor_cast<caf::strong_actor_ptr>(sink), content});
  ASSERT_TRUE(events->wait("down server timed_out", 1, noticed)) << events->text();
  ASSERT_TRUE(log->wait("op 1 "));
  EXPECT_EQ(log->count("op 1 indeterminate"), 1u) << log->text();
  caf::anon_send(owner, std::uint64_t{1});
  ASSERT_TRUE(log->wait("number "));
  EXPECT_EQ(log->count("op "), 1u) << log->text();
}

TEST_P(Frozen, ARequestThatWaitsFailsWithTheSession) {
  auto echo = lookup(there, "echo");
  ASSERT_TRUE(server->freeze());
  const auto begin = clock_type::now();
  auto answer = ask<std::string>(system(), echo, "are you there?");
  ASSERT_FALSE(answer);
  EXPECT_EQ(code_of(answer.error()), errc::timed_out) << explain(answer.error());
  EXPECT_NE(answer.error(), caf::sec::request_timeout); // it is the session that ended, not the patience of the test
  EXPECT_LT(clock_type::now() - begin, noticed);
}

TEST_P(Frozen, OtherPeersAreServedMeanwhile) {
  auto other = start("other", {"--down-after", "400ms"});
  auto echo = lookup(connect(*other), "echo");
  auto log = std::make_shared<journal_of_events>();
  ASSERT_TRUE(server->freeze());
  while (events->count("down server") == 0) {
    const auto begin = clock_type::now();
    ASSERT_EQ(ask<std::string>(system(), echo, "hello"), "hello");
    ASSERT_LT(clock_type::now() - begin, 300ms);
    if (clock_type::now() - begin > noticed)
      break;
  }
  EXPECT_EQ(events->count("down other"), 0u) << events->text();
  EXPECT_EQ(ask<std::string>(system(), echo, "hello"), "hello");
}

TEST_P(Frozen, OneThatContinuesIsToldAndComesBackAsANewSession) {
  for (int round = 0; round < rounds(2, 20); ++round) {
    auto echo = lookup(there, "echo");
    ASSERT_TRUE(server->freeze());
    ASSERT_TRUE(events->wait("down server", static_cast<std::size_t>(round) + 1, noticed)) << events->text();
    server->thaw();
    ASSERT_TRUE(server->line("down tester ")) << server->rest();
    // The old reference stays dead, the new session works, and no frame of the old one is in it.
    auto again = connect(*server);
    EXPECT_NE(again.session, there.session);
    EXPECT_EQ(again.incarnation, there.incarnation);
    there = again;
    EXPECT_FALSE(ask<std::string>(system(), echo, "old"));
    EXPECT_EQ(ask<std::string>(system(), lookup(there, "echo"), "new"), "new");
    EXPECT_EQ(state(there).foreign_frames, 0u);
    ASSERT_TRUE(events->wait("up server", static_cast<std::size_t>(round) + 2)) << events->text();
  }
}

TEST_P(Frozen, AShortFreezeHarmsNobody) {
  auto sink = lookup(there, "sink");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(server->freeze());
    caf::anon_send(sink, put_atom::value, std::uint64_t{0}, static_cast<std::uint64_t>(round),
                   numbered_payload(0, static_cast<std::uint64_t>(round), 100000));
    std::this_thread::sleep_for(100ms); // the freeze itself, shorter than two heartbeats are missed
    server->thaw();
    caf::expected<sink_report> seen = make_error(errc::internal);
    EXPECT_TRUE(eventually([&] { // the question is of another pair: it may overtake
      seen = ask<sink_report>(system(), sink, get_atom::value);
      return !seen || seen->messages == static_cast<std::uint64_t>(round) + 1;
    }));
    ASSERT_TRUE(seen) << explain(seen.error());
    EXPECT_EQ(seen->out_of_order + seen->damaged, 0u);
  }
  EXPECT_EQ(events->count("down server"), 0u) << events->text();
}

} // namespace
