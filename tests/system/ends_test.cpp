// Every way in which a connection, an actor or a process ends, and that each is told once and keeps nobody.

#include <sys/socket.h>
#include <netinet/in.h>

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Ends : public NodesOver {};

TROUPE_OVER_BOTH_TRANSPORTS(Ends);

/// A socket that takes connections and says nothing.
class mute_port {
public:
  mute_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(where);
    if (bind(socket_, reinterpret_cast<sockaddr*>(&where), size) != 0
        || getsockname(socket_, reinterpret_cast<sockaddr*>(&where), &size) != 0)
      throw std::runtime_error("no port");
    port_ = ntohs(where.sin_port);
  }
  ~mute_port() { close(socket_); }
  void open() const { ::listen(socket_, 8); }
  void take_and_drop() const {
    if (auto x = ::accept(socket_, nullptr, nullptr); x >= 0)
      ::close(x);
  }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
  const int socket_;
  std::uint16_t port_ = 0;
};

// -- connecting to nobody ------------------------------------------------------------

TEST_P(Ends, ConnectingToAClosedPortFailsOnceAndSaysSo) {
  mute_port closed; // bound, not listening
  const auto begin = clock_type::now();
  auto reached = self().connect(closed.address());
  ASSERT_FALSE(reached);
  EXPECT_EQ(code_of(reached.error()), errc::unreachable) << explain(reached.error());
  EXPECT_LT(clock_type::now() - begin, 5s);
}

TEST_P(Ends, AConnectionLostInTheHandshakeIsToldApartFromARefusedOne) {
  mute_port port;
  port.open();
  std::thread owner{[&] { port.take_and_drop(); }};
  const auto begin = clock_type::now();
  auto reached = self().connect(port.address());
  owner.join();
  ASSERT_FALSE(reached);
  EXPECT_NE(code_of(reached.error()), errc::unreachable) << explain(reached.error());
  EXPECT_LT(clock_type::now() - begin, 5s);
}

TEST_P(Ends, APeerKilledWhileBothSidesCloseIsDownOnce) {
  for (int round = 0; round < rounds(5, 100); ++round) {
    auto peer = start("peer");
    auto log = std::make_shared<journal_of_events>();
    auto mine = notes(log);
    self().subscribe(mine);
    auto there = connect(*peer);
    ASSERT_TRUE(log->wait("up peer"));
    caf::anon_send(mine, watch_atom::value, lookup(there, "echo"));
    ASSERT_TRUE(log->wait("watching"));
    peer->tell("disconnect tester");
    self().disconnect(there);
    peer->signal(SIGKILL);
    ASSERT_TRUE(log->wait("down peer")) << log->text();
    EXPECT_TRUE(log->wait("actor-down "));
    ASSERT_EQ(peer->exit_status(), 128 + SIGKILL);
    caf::anon_send(mine, std::uint64_t{1});
    ASSERT_TRUE(log->wait("number "));
    EXPECT_EQ(log->count("down peer"), 1u) << log->text();
    EXPECT_EQ(log->count("actor-down "), 1u) << log->text();
  }
}

// -- the end of a node ------------------------------------------------------------------

TEST_P(Ends, ALoneNodeStops) {
  auto alone = start("alone");
  alone->tell("stop");
  EXPECT_EQ(alone->exit_status(5000ms), 0) << alone->rest();
  for (int round = 0; round < rounds(5, 50); ++round) {
    auto signalled = start("signalled");
    signalled->signal(SIGTERM);
    ASSERT_EQ(signalled->exit_status(5000ms), 0) << signalled->rest();
  }
}

TEST_P(Ends, TwoNodesStopAtTheSameInstant) {
  for (int round = 0; round < rounds(10, 300); ++round) {
    auto a = start("a");
    auto b = start("b");
    ASSERT_TRUE(a->done("connect " + b->address()));
    ASSERT_TRUE(b->line("up a ")) << b->rest();
    a->signal(SIGTERM);
    b->signal(SIGTERM);
    ASSERT_EQ(a->exit_status(5000ms), 0) << "round " << round << "\n" << a->rest();
    ASSERT_EQ(b->exit_status(5000ms), 0) << "round " << round << "\n" << b->rest();
  }
}

TEST_P(Ends, ANodeStopsWhileItsPeerIsFrozen) {
  auto a = start("a");
  auto b = start("b");
  ASSERT_TRUE(a->done("connect " + b->address()));
  ASSERT_TRUE(b->freeze());
  a->signal(SIGTERM);
  EXPECT_EQ(a->exit_status(5000ms), 0) << a->rest();
}

TEST_P(Ends, AGoodbyeIsDownWithAReasonOfItsOwn) {
  auto peer = start("peer");
  auto log = std::make_shared<journal_of_events>();
  self().subscribe(notes(log));
  auto there = connect(*peer);
  const std::uint64_t many = 1000;
  auto receiver = std::make_shared<journal_of_events>();
  auto numbers = notes(receiver);
  // What was accepted before the goodbye arrives.
  ASSERT_FALSE(ask_for_nothing(system(), lookup(there, "forwarder"), burst_atom::value, numbers, many));
  peer->tell("stop");
  ASSERT_TRUE(log->wait("down peer "));
  EXPECT_EQ(log->count("down peer peer_closing"), 1u) << log->text();
  EXPECT_TRUE(receiver->wait("number ", many)) << receiver->count("number ");
  EXPECT_EQ(peer->exit_status(5000ms), 0);
}

TEST_P(Ends, AStoppedNodeAndAKilledOneGiveActorsDifferentReasons) {
  std::vector<std::string> reasons;
  for (auto signal : {SIGTERM, SIGKILL}) {
    auto peer = start("peer");
    auto log = std::make_shared<journal_of_events>();
    auto there = connect(*peer);
    caf::anon_send(notes(log), watch_atom::value, lookup(there, "echo"));
    ASSERT_TRUE(log->wait("watching"));
    peer->signal(signal);
    ASSERT_TRUE(log->wait("actor-down "));
    ASSERT_TRUE(peer->exit_status());
    EXPECT_EQ(log->count("actor-down "), 1u) << log->text();
    reasons.push_back(log->all().back());
  }
  EXPECT_NE(reasons[0], reasons[1]);
}

TEST_P(Ends, WhoOnceTalkedToARemoteActorDoesNotKeepAProcess) {
  auto server = start("server");
  server->tell("actors");
  auto baseline = server->line("actors ");
  {
    node client{config_of("client", transport())};
    auto there = client.connect(server->address());
    ASSERT_TRUE(there);
    ASSERT_TRUE(server->line("up client"));
    // A child that only we hold does work for us, and we go.
    auto spawner = client.lookup(*there, "spawner");
    ASSERT_TRUE(spawner);
    auto child = ask<caf::actor>(client.system(), *spawner, spawn_atom::value, "echo");
    ASSERT_TRUE(child);
    auto forwarder = client.lookup(*there, "forwarder");
    ASSERT_TRUE(forwarder);
    EXPECT_EQ(ask<std::string>(client.system(), *forwarder, forward_atom::value, *child, "hello"), "hello");
  }
  ASSERT_TRUE(server->line("down client")) << server->rest();
  std::optional<std::string> now;
  EXPECT_TRUE(eventually([&] {
    server->tell("actors");
    now = server->line("actors ");
    return now == baseline;
  })) << "at first "
      << baseline.value_or("?") << ", now " << now.value_or("?");
  server->tell("stop");
  EXPECT_EQ(server->exit_status(5000ms), 0) << server->rest();
}

// -- a server comes back on its port ---------------------------------------------------------

TEST_P(Ends, AKilledServerListensOnItsPortAgainAtOnce) {
  auto server = start("server");
  const auto address = server->address();
  for (int round = 0; round < rounds(5, 20); ++round) {
    auto there = connect(*server);
    ASSERT_EQ(ask<std::string>(system(), lookup(there, "echo"), "hello"), "hello");
    server->signal(SIGKILL);
    ASSERT_EQ(server->exit_status(), 128 + SIGKILL);
    const auto begin = clock_type::now();
    server = start("server", {"--listen", address});
    EXPECT_LT(clock_type::now() - begin, 1500ms);
    ASSERT_EQ(server->address(), address);
  }
}

TEST_P(Ends, AListenerIsRestartedOnItsPortInTheSameProcess) {
  auto server = start("server");
  auto there = connect(*server);
  for (int round = 0; round < rounds(5, 20); ++round) {
    ASSERT_TRUE(server->done("stop-listening"));
    ASSERT_TRUE(server->done("listen " + server->address(), 1000ms)) << server->rest();
    ASSERT_EQ(ask<std::string>(system(), lookup(there, "echo"), "hello"), "hello"); // peers stay
  }
  auto second = std::make_unique<child_process>(
    peer_node::command("second", transport(), {"--listen", server->address()}));
  EXPECT_EQ(second->exit_status(), 1); // never a silent listener elsewhere
  EXPECT_NE(second->rest().find(server->address()), std::string::npos) << second->rest();
}

// -- withdrawn names -----------------------------------------------------------------------------------

TEST_P(Ends, AnUnpublishedActorIsNotFoundAndOldHandlesStayValid) {
  auto server = start("server");
  auto there = connect(*server);
  auto echo = lookup(there, "echo");
  ASSERT_TRUE(server->done("unpublish echo"));
  const auto begin = clock_type::now();
  auto found = self().lookup(there, "echo");
  EXPECT_LT(clock_type::now() - begin, 1s);
  ASSERT_FALSE(found);
  EXPECT_EQ(code_of(found.error()), errc::not_found);
  EXPECT_EQ(ask<std::string>(system(), echo, "still valid"), "still valid");
  // The name is free for another one.
  ASSERT_TRUE(server->done("publish echo counter"));
  EXPECT_NE(lookup(there, "echo"), echo);
}

} // namespace
