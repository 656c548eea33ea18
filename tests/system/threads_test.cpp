// Many threads use one peer at once, also while it comes up and while it goes.

#include <atomic>

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

constexpr int thread_count = 8;

class Threads : public NodesOver {
protected:
  template <class F>
  static void on_all_threads(F&& f) {
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i)
      threads.emplace_back([&f, i] { f(i); });
    for (auto& x : threads)
      x.join();
  }
};

TROUPE_OVER_BOTH_TRANSPORTS(Threads);

TEST_P(Threads, AllConnectAtOnceAndShareOneSession) {
  auto server = start("server");
  self(); // made by one thread
  std::mutex mutex;
  std::vector<peer> peers;
  on_all_threads([&](int) {
    auto reached = self().connect(server->address());
    ASSERT_TRUE(reached) << explain(reached.error());
    std::lock_guard guard{mutex};
    peers.push_back(*reached);
  });
  ASSERT_EQ(peers.size(), static_cast<std::size_t>(thread_count));
  for (auto& x : peers)
    EXPECT_EQ(x.session, peers.front().session);
  EXPECT_TRUE(server->line("up tester"));
  EXPECT_EQ(ask<std::string>(system(), lookup(peers.front(), "echo"), "hello"), "hello");
  EXPECT_EQ(server->count("up "), 0u) << server->rest();
}

TEST_P(Threads, AllAskAtOnce) {
  auto server = start("server");
  auto there = connect(*server);
  auto echo = lookup(there, "echo");
  std::atomic<std::uint64_t> answers{0};
  const auto each = rounds<std::uint64_t>(500, 20000);
  on_all_threads([&](int i) {
    caf::scoped_actor me{system()};
    for (std::uint64_t n = 0; n < each; ++n) {
      auto question = static_cast<std::uint64_t>(i) << 32 | n;
      me->request(echo, patience, question)
        .receive([&](std::uint64_t x) { answers += x == question ? 1 : 0; },
                 [](const caf::error& why) { ADD_FAILURE() << explain(why); });
    }
  });
  EXPECT_EQ(answers, each * thread_count);
}

TEST_P(Threads, LookupsConnectsAndSendsMixWithClosing) {
  auto server = start("server");
  self();
  const auto until = clock_type::now() + rounds(2000ms, 30000ms);
  std::atomic<std::uint64_t> answers{0}, failures{0};
  on_all_threads([&](int i) {
    caf::scoped_actor me{system()};
    while (clock_type::now() < until) {
      auto reached = self().connect(server->address());
      if (!reached) { // closed by another one in this moment
        ++failures;
        continue;
      }
      auto echo = self().lookup(*reached, "echo");
      if (!echo) {
        ++failures;
        continue;
      }
      for (int n = 0; n < 20; ++n)
        me->request(*echo, patience, "hello")
          .receive([&](const std::string&) { ++answers; },
                   [&](const caf::error& why) {
                     ++failures;
                     EXPECT_NE(why, caf::sec::request_timeout) << "unanswered";
                   });
      if (i == 0)
        self().disconnect(*reached);
    }
  });
  EXPECT_GT(answers, 100u) << failures;
  auto echo = lookup(connect(*server), "echo");
  EXPECT_EQ(ask<std::string>(system(), echo, "hello"), "hello");
}

TEST_P(Threads, AllSendWhileThePeerIsKilled) {
  for (int round = 0; round < rounds(3, 50); ++round) {
    auto server = start("server");
    auto there = connect(*server);
    auto echo = lookup(there, "echo");
    std::atomic<bool> dead{false};
    std::atomic<int> asked{0};
    std::thread killer{[&] {
      EXPECT_TRUE(eventually([&] { return asked > 100; }));
      server->signal(SIGKILL);
    }};
    on_all_threads([&](int) {
      caf::scoped_actor me{system()};
      while (!dead) {
        ++asked;
        me->request(echo, patience, "hello").receive([](const std::string&) {}, [&](const caf::error& why) {
          EXPECT_NE(why, caf::sec::request_timeout) << "unanswered";
          dead = true;
        });
      }
    });
    killer.join();
  }
}

} // namespace
