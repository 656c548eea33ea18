// Credit: a receiver that does not keep up holds back its senders, and memory stays within the windows.

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

constexpr std::uint64_t window = 64;

class Credit : public NodesOver {
protected:
  /// A node whose actors take `window` messages each.
  void start_server(std::vector<std::string> arguments = {"--target-window-messages", "64"}) {
    server = start("server", std::move(arguments));
    there = connect(*server);
  }

  /// Every operation that was accepted has ended in exactly one way.
  [[nodiscard]] bool conserved(const session_state& x) const {
    return x.accepted == x.ok + x.failed + x.canceled + x.indeterminate + x.journal_entries;
  }

  std::unique_ptr<peer_node> server;
  peer there;
};

TROUPE_OVER_BOTH_TRANSPORTS(Credit);

caf::message numbered(std::uint64_t n) {
  return caf::make_message(put_atom::value, std::uint64_t{0}, n, numbered_payload(0, n, 100));
}

// -- refusals ------------------------------------------------------------------------

TEST_P(Credit, ASenderWithoutCreditGetsItsMessageBackAndIsToldWhenThereIsCreditAgain) {
  start_server();
  auto gate = lookup(there, "gate");
  auto log = std::make_shared<journal_of_events>();
  auto sender = notes(log);
  const auto target = caf::actor_cast<caf::strong_actor_ptr>(gate);
  const auto me = caf::actor_cast<caf::strong_actor_ptr>(sender);
  const std::uint64_t many = 3 * window;
  for (std::uint64_t n = 0; n < many; ++n)
    gate->enqueue(me, caf::make_message_id(), numbered(n), nullptr);
  ASSERT_TRUE(log->wait("refused busy")) << log->text();
  EXPECT_EQ(log->count("refused busy"), many - window);
  EXPECT_EQ(log->count("credit"), 0u);
  ASSERT_TRUE(server->done("open"));
  ASSERT_TRUE(log->wait("credit"));
  // Once, whatever the number of refusals; and what was not refused arrived.
  auto seen = ask<sink_report>(system(), gate, get_atom::value);
  ASSERT_TRUE(seen) << explain(seen.error());
  EXPECT_EQ(seen->messages, window);
  EXPECT_EQ(log->count("credit"), 1u);
  EXPECT_EQ(state(there).refused, many - window);
  // There is credit, indeed.
  gate->enqueue(me, caf::make_message_id(), numbered(window), nullptr);
  seen = ask<sink_report>(system(), gate, get_atom::value);
  EXPECT_EQ(seen->messages, window + 1);
  EXPECT_EQ(seen->out_of_order, 0u);
}

TEST_P(Credit, APinnedSenderIsRefusedAsWell) {
  start_server();
  auto gate = lookup(there, "gate");
  auto log = std::make_shared<journal_of_events>();
  self().spawn_pinned([log, gate](pinned_actor* me) -> caf::behavior {
    for (std::uint64_t n = 0; n < 2 * window; ++n)
      me->send(gate, put_atom::value, std::uint64_t{0}, n, numbered_payload(0, n, 100));
    return {
      [log](const refused& x) { log->note("refused " + std::string{to_string(code_of(x.reason))}); },
      [log](const credit_available&) { log->note("credit"); },
    };
  });
  ASSERT_TRUE(log->wait("refused busy", window)) << log->text();
  ASSERT_TRUE(server->done("open"));
  EXPECT_TRUE(log->wait("credit"));
}

TEST_P(Credit, ARequestWithoutCreditIsAnsweredWithBusy) {
  start_server();
  auto gate = lookup(there, "gate");
  auto log = std::make_shared<journal_of_events>();
  self().spawn([gate, log](caf::event_based_actor* me) {
    for (std::uint64_t n = 0; n < window + 5; ++n)
      me->request(gate, caf::infinite, put_atom::value, std::uint64_t{0}, n, std::string{"x"})
        .then([log] { log->note("answered"); },
              [log](const caf::error& why) { log->note("failed " + std::string{to_string(code_of(why))}); });
  });
  ASSERT_TRUE(log->wait("failed busy", 5)) << log->text();
  EXPECT_EQ(log->count("failed"), 5u);
  ASSERT_TRUE(server->done("open"));
  EXPECT_TRUE(log->wait("answered", window)) << log->text();
}

TEST_P(Credit, ABlockingSenderWaits) {
  start_server();
  auto gate = lookup(there, "gate");
  const std::uint64_t many = 10 * window;
  std::atomic<std::uint64_t> sent{0};
  std::thread sender{[&] {
    caf::scoped_actor me{system()};
    for (std::uint64_t n = 0; n < many; ++n, ++sent)
      me->send(gate, put_atom::value, std::uint64_t{0}, n, numbered_payload(0, n, 100));
  }};
  EXPECT_TRUE(eventually([&] { return sent >= window; }));
  EXPECT_FALSE(eventually([&] { return sent > window; }, 200ms)) << sent;
  EXPECT_TRUE(server->done("open"));
  sender.join();
  EXPECT_EQ(sent, many);
  auto seen = ask<sink_report>(system(), gate, get_atom::value);
  ASSERT_TRUE(seen) << explain(seen.error());
  EXPECT_EQ(seen->messages, many);
  EXPECT_EQ(seen->out_of_order + seen->damaged, 0u);
}

TEST_P(Credit, ABlockedSenderIsSetFreeWhenThePeerDies) {
  start_server();
  auto gate = lookup(there, "gate");
  std::atomic<std::uint64_t> sent{0};
  std::thread sender{[&] {
    caf::scoped_actor me{system()};
    for (std::uint64_t n = 0; n < 10 * window; ++n, ++sent)
      me->send(gate, put_atom::value, std::uint64_t{0}, n, numbered_payload(0, n, 100));
  }};
  EXPECT_TRUE(eventually([&] { return sent >= window; }));
  server->signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return sent == 10 * window; }));
  sender.join();
}

TEST_P(Credit, CreditComesBackFromManyTargets) {
  start_server({"--window-messages", "256"});
  auto spawner = lookup(there, "spawner");
  std::vector<caf::actor> sinks;
  for (int i = 0; i < 200; ++i) {
    auto sink = ask<caf::actor>(system(), spawner, spawn_atom::value, "sink");
    ASSERT_TRUE(sink);
    sinks.push_back(*sink);
  }
  // Many times the window of the session: it stalls for good if the credit of one target is forgotten.
  caf::scoped_actor me{system()};
  for (std::uint64_t n = 0; n < 20; ++n)
    for (auto& sink : sinks)
      me->send(sink, put_atom::value, std::uint64_t{0}, n, std::string{"x"});
  for (auto& sink : sinks) {
    auto seen = ask<sink_report>(system(), sink, get_atom::value);
    ASSERT_TRUE(seen) << explain(seen.error());
    EXPECT_EQ(seen->messages, 20u);
  }
}

// -- memory --------------------------------------------------------------------------------

TEST_P(Credit, ASlowReceiverKeepsTheMemoryOfBothSidesFlat) {
  start_server({"--target-window-bytes", "16MiB", "--window-bytes", "16MiB", "--bulk-window-bytes", "16MiB"});
  auto slow = lookup(there, "slow"); // takes a hundred messages a second
  std::atomic<bool> enough{false};
  std::thread sender{[&] {
    caf::scoped_actor me{system()};
    auto small = numbered_payload(0, 0, 1000);
    for (std::uint64_t n = 0; !enough; ++n)
      me->send(slow, put_atom::value, std::uint64_t{0}, n, n % 64 == 0 ? numbered_payload(0, n, 100000) : small);
  }};
  // Once the windows are full it stays as it is.
  EXPECT_TRUE(eventually([&] { return state(there).accepted > 4000; }));
  const auto ours = memory_of(getpid());
  const auto theirs = memory_of(server->id());
  std::this_thread::sleep_for(rounds(4000ms, 60000ms)); // the time of the measurement
  EXPECT_LT(memory_of(getpid()), ours + (24u << 20));
  EXPECT_LT(memory_of(server->id()), theirs + (24u << 20));
  enough = true;
  server->signal(SIGKILL);
  sender.join();
}

TEST_P(Credit, AFrozenReceiverKeepsTheMemoryOfTheSenderFlat) {
  configure([](node_config& x) { x.down_after = 60s; });
  start_server({"--target-window-bytes", "16MiB", "--window-bytes", "16MiB", "--bulk-window-bytes", "16MiB",
                "--down-after", "60s"});
  auto sink = lookup(there, "sink");
  ASSERT_TRUE(server->freeze());
  std::atomic<bool> enough{false};
  std::atomic<std::uint64_t> sent{0};
  std::thread sender{[&] {
    caf::scoped_actor me{system()};
    for (std::uint64_t n = 0; !enough && n < 1000; ++n, ++sent)
      me->send(sink, put_atom::value, std::uint64_t{0}, n, numbered_payload(0, n, 1u << 20));
  }};
  EXPECT_TRUE(eventually([&] { return sent >= 15; }));
  EXPECT_FALSE(eventually([&] { return sent > 20; }, 500ms)) << sent;
  server->thaw();
  EXPECT_TRUE(eventually([&] { return sent > 100; }, 20000ms)) << sent;
  enough = true;
  sender.join();
}

// -- conservation -----------------------------------------------------------------------------

TEST_P(Credit, EveryOperationEndsInExactlyOneMessage) {
  start_server();
  auto sink = lookup(there, "sink");
  auto session = self().session_of(there);
  ASSERT_TRUE(session);
  auto log = std::make_shared<journal_of_events>();
  auto owner = notes(log);
  const std::uint64_t many = rounds<std::uint64_t>(500, 50000);
  for (std::uint64_t id = 1; id <= many; ++id)
    caf::send_as(owner, *session, send_op{id, caf::actor_cast<caf::strong_actor_ptr>(sink), numbered(id)});
  ASSERT_TRUE(log->wait("op ", many)) << log->count("op ");
  auto busy = std::uint64_t{0};
  for (std::uint64_t id = 1; id <= many; ++id) {
    auto name = "op " + std::to_string(id) + " ";
    ASSERT_EQ(log->count(name), 1u) << name;
    busy += log->count(name + "busy");
    EXPECT_EQ(log->count(name + "ok") + log->count(name + "busy"), 1u) << name;
  }
  auto seen = ask<sink_report>(system(), sink, get_atom::value);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->messages, many - busy);
  EXPECT_TRUE(eventually([&] { return conserved(state(there)); }));
}

TEST_P(Credit, OperationsEndOnceAlsoWhenThePeerIsKilled) {
  for (int round = 0; round < rounds(4, 50); ++round) {
    start_server({});
    auto sink = lookup(there, "sink");
    auto session = self().session_of(there);
    ASSERT_TRUE(session);
    auto log = std::make_shared<journal_of_events>();
    auto owner = notes(log);
    const std::uint64_t many = 400;
    for (std::uint64_t id = 1; id <= many; ++id) {
      auto size = id % 10 == 0 ? 300000u : 100u;
      caf::send_as(owner, *session,
                   send_op{id, caf::actor_cast<caf::strong_actor_ptr>(sink),
                           caf::make_message(put_atom::value, std::uint64_t{0}, id, numbered_payload(0, id, size))});
      if (id == many / 2)
        server->signal(SIGKILL);
    }
    ASSERT_TRUE(eventually([&] { return self().session_of(there) ? false : true; }));
    // The session actor is gone, and with it what it had not looked at: such commands were never accepted.
    caf::anon_send(owner, std::uint64_t{1});
    ASSERT_TRUE(log->wait("number "));
    for (std::uint64_t id = 1; id <= many; ++id)
      ASSERT_LE(log->count("op " + std::to_string(id) + " "), 1u) << id;
    EXPECT_GE(log->count("op "), many / 2) << log->text();
  }
}

TEST_P(Credit, CountsAddUpAfterMixedTraffic) {
  start_server({});
  auto echo = lookup(there, "echo");
  auto counter = lookup(there, "counter");
  for (std::uint64_t n = 0; n < 1000; ++n)
    caf::anon_send(counter, add_atom::value, n);
  for (int n = 0; n < 20; ++n) {
    EXPECT_EQ(ask<std::string>(system(), echo, "hello"), "hello");
    EXPECT_TRUE(ask<payload>(system(), echo, numbered_payload(1, 2, 100000)));
  }
  session_state x;
  EXPECT_TRUE(eventually([&] {
    x = state(there);
    return conserved(x) && x.journal_entries == 0;
  })) << x.accepted
      << " " << x.ok << " " << x.failed << " " << x.canceled << " " << x.indeterminate << " " << x.journal_entries;
  EXPECT_EQ(x.failed + x.canceled + x.indeterminate, 0u);
  EXPECT_EQ(x.held_back, 0u);
  EXPECT_EQ(x.pending_requests, 0u);
  EXPECT_LT(x.exports, 50u) << "senders that are gone are still known";
}

} // namespace
