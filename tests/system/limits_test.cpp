// Limits and repetition: descriptors run out, addresses swallow everything, connections come and go.

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Limits : public NodesOver {
protected:
  [[nodiscard]] std::unique_ptr<node> another(int number) const {
    return std::make_unique<node>(config_of("client" + std::to_string(number), transport()));
  }
};

TROUPE_OVER_BOTH_TRANSPORTS(Limits);

// -- descriptors ------------------------------------------------------------------------

void few_descriptors() {
  rlimit few{128, 128};
  setrlimit(RLIMIT_NOFILE, &few);
}

TEST_P(Limits, ANodeThatRunsOutOfDescriptorsRefusesAndRecovers) {
  peer_node server{"server", transport(), {}, {}, few_descriptors};
  struct client {
    std::unique_ptr<node> self;
    caf::actor echo;
  };
  std::vector<client> clients;
  auto refused = false;
  for (int i = 0; i < 60 && !refused; ++i) {
    auto x = std::make_unique<node>([&] {
      auto config = config_of("client" + std::to_string(i), transport());
      config.handshake_timeout = 2s;
      config.connect_timeout = 3s;
      return config;
    }());
    auto there = x->connect(server.address());
    if (!there) {
      refused = true;
      EXPECT_FALSE(explain(there.error()).empty());
      break;
    }
    auto echo = x->lookup(*there, "echo");
    ASSERT_TRUE(echo) << i << ": " << explain(echo.error());
    clients.push_back({std::move(x), *echo});
  }
  ASSERT_TRUE(refused) << clients.size() << " clients with " << descriptors_of(server.id()) << " descriptors";
  ASSERT_GE(clients.size(), 2u) << server.rest();
  // It waits quietly, and those who are in are served.
  const auto before = cpu_of(server.id());
  std::this_thread::sleep_for(1s); // the time of the measurement
  EXPECT_LT(cpu_of(server.id()) - before, 300ms);
  for (auto& x : clients)
    EXPECT_EQ(ask<std::string>(x.self->system(), x.echo, "hello"), "hello");
  // Half of them go; there is room again.
  clients.resize(clients.size() / 2);
  auto fresh = std::make_unique<node>(config_of("fresh", transport()));
  caf::expected<peer> there = make_error(errc::internal);
  EXPECT_TRUE(eventually([&] {
    there = fresh->connect(server.address());
    return static_cast<bool>(there);
  })) << (there ? "" : explain(there.error()))
      << ", open descriptors: " << descriptors_of(server.id()) << "\n" << server.rest();
  for (auto& x : clients)
    EXPECT_EQ(ask<std::string>(x.self->system(), x.echo, "hello"), "hello");
  EXPECT_FALSE(server.exit_status(0ms)) << server.rest();
}

TEST_P(Limits, ConnectionsThatComeAndGoLeaveNothingBehind) {
  auto server = start("server");
  auto cycle = [&](int n) {
    for (int i = 0; i < n; ++i) {
      auto there = self().connect(server->address());
      ASSERT_TRUE(there) << i << ": " << explain(there.error());
      ASSERT_EQ(ask<std::string>(system(), lookup(*there, "echo"), "hello"), "hello");
      ASSERT_FALSE(self().disconnect(*there));
      ASSERT_TRUE(eventually([&] { return !self().session_of(*there); }));
    }
  };
  cycle(3);
  auto at_rest = [&] { // whatever the last session held is given back
    auto now = descriptors_of(server->id());
    eventually([&] { return std::exchange(now, descriptors_of(server->id())) == descriptors_of(server->id()); }, 500ms);
    return now;
  };
  ASSERT_TRUE(server->line("down "));
  const auto ours = descriptors_of(getpid());
  const auto theirs = at_rest();
  const auto threads = threads_of(server->id());
  const auto memory = memory_of(server->id());
  cycle(rounds(25, 2000));
  EXPECT_TRUE(eventually([&] { return descriptors_of(getpid()) <= ours + 4; })) << ours << ", now "
                                                                                 << descriptors_of(getpid());
  EXPECT_TRUE(eventually([&] { return descriptors_of(server->id()) <= theirs + 4; })) << theirs << ", now "
                                                                                      << descriptors_of(server->id());
  EXPECT_LE(threads_of(server->id()), threads + 1);
  EXPECT_LT(memory_of(server->id()), memory + (rounds(64u, 128u) << 20));
}

// -- close, and connect again --------------------------------------------------------------

TEST_P(Limits, APeerThatWasClosedIsConnectedAgain) {
  auto server = start("server");
  auto log = std::make_shared<journal_of_events>();
  self().subscribe(notes(log));
  for (int round = 0; round < rounds(20, 300); ++round) {
    auto there = self().connect(server->address());
    ASSERT_TRUE(there) << "round " << round << ": " << explain(there.error());
    ASSERT_EQ(ask<std::string>(system(), lookup(*there, "echo"), "ping"), "ping");
    ASSERT_FALSE(self().disconnect(*there));
    ASSERT_TRUE(log->wait("down server", static_cast<std::size_t>(round) + 1)) << log->text();
  }
  EXPECT_EQ(log->count("up server"), log->count("down server"));
}

TEST_P(Limits, APeerThatIsBeingClosedIsConnectedAgainWithoutWaiting) {
  auto server = start("server");
  for (int round = 0; round < rounds(20, 300); ++round) {
    auto there = self().connect(server->address());
    ASSERT_TRUE(there) << "round " << round << ": " << explain(there.error());
    auto echo = self().lookup(*there, "echo");
    ASSERT_TRUE(echo) << "round " << round << ": " << explain(echo.error());
    auto answer = ask<std::string>(system(), *echo, "ping");
    ASSERT_TRUE(answer) << "round " << round << ": " << explain(answer.error());
    ASSERT_FALSE(self().disconnect(*there));
  }
}

TEST_P(Limits, ManyNodesComeAndGoAtOnce) {
  auto server = start("server");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < rounds(4, 100); ++round) {
        auto mine = another(i * 1000 + round);
        auto there = mine->connect(server->address());
        ASSERT_TRUE(there) << explain(there.error());
        auto echo = mine->lookup(*there, "echo");
        ASSERT_TRUE(echo) << explain(echo.error());
        ASSERT_EQ(ask<std::string>(mine->system(), *echo, "hello"), "hello");
      }
    });
  }
  for (auto& x : threads)
    x.join();
  EXPECT_TRUE(eventually([&] { return server->count("up ") == server->count("down "); })) << server->rest();
}

// -- addresses that swallow everything ---------------------------------------------------------

TEST_P(Limits, AnAddressThatNeverAnswersHoldsUpNobody) {
  auto hole = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(where);
  ASSERT_EQ(bind(hole, reinterpret_cast<sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(hole, 0), 0); // never accepted
  ASSERT_EQ(getsockname(hole, reinterpret_cast<sockaddr*>(&where), &size), 0);
  const auto address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));

  configure([](node_config& x) {
    x.connect_timeout = 2s;
    x.handshake_timeout = 2s;
  });
  auto server = start("server");
  auto healthy = start("healthy");
  auto echo = lookup(connect(*server), "counter");
  std::atomic<int> waiting{0};
  std::vector<std::thread> stuck;
  for (int i = 0; i < 4; ++i) {
    stuck.emplace_back([&] {
      ++waiting;
      const auto begin = clock_type::now();
      auto reached = self().connect(address);
      --waiting;
      ASSERT_FALSE(reached);
      EXPECT_EQ(code_of(reached.error()), errc::timed_out) << explain(reached.error());
      EXPECT_LT(clock_type::now() - begin, 4s);
    });
  }
  EXPECT_TRUE(eventually([&] { return waiting == 4; }));
  auto begin = clock_type::now();
  auto other = self().connect(healthy->address());
  EXPECT_LT(clock_type::now() - begin, 1s);
  EXPECT_TRUE(other) << explain(other.error());
  auto slowest = clock_type::duration::zero();
  while (waiting == 4 && clock_type::now() - begin < 1s) {
    const auto sent = clock_type::now();
    caf::anon_send(echo, add_atom::value, std::uint64_t{1});
    slowest = std::max(slowest, clock_type::now() - sent);
    ASSERT_TRUE(ask<std::uint64_t>(system(), echo, get_atom::value));
  }
  EXPECT_LT(slowest, 100ms) << "10 ms on an idle machine";
  for (auto& x : stuck)
    x.join();
  close(hole);
}

} // namespace
