// Messages of all sizes arrive whole, once, and in the order of each pair, from the very first one.

#include <atomic>

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Order : public NodesOver {};

TROUPE_OVER_BOTH_TRANSPORTS(Order);

struct total {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Sends `many` messages as a blocking actor, which waits for credit.
total stream_to(caf::actor_system& system, const caf::actor& sink, std::uint64_t stream, std::uint64_t many,
                std::size_t most) {
  caf::scoped_actor self{system};
  sizes next{static_cast<std::uint32_t>(stream) + 1, most};
  total sum;
  for (std::uint64_t n = 0; n < many; ++n) {
    auto size = next();
    put(*self, sink, stream, n, size);
    ++sum.messages;
    sum.bytes += size;
  }
  return sum;
}

void expect_all(const caf::expected<sink_report>& seen, const total& sent) {
  ASSERT_TRUE(seen) << explain(seen.error());
  EXPECT_EQ(seen->messages, sent.messages);
  EXPECT_EQ(seen->bytes, sent.bytes);
  EXPECT_EQ(seen->out_of_order, 0u);
  EXPECT_EQ(seen->damaged, 0u);
}

/// The report once everything has arrived.
caf::expected<sink_report> settled(caf::actor_system& system, const caf::actor& sink, std::uint64_t messages) {
  caf::expected<sink_report> seen = make_error(errc::internal);
  eventually(
    [&] {
      seen = ask<sink_report>(system, sink, get_atom::value);
      return !seen || seen->messages >= messages;
    },
    30000ms);
  return seen;
}

TEST_P(Order, MixedSizesArriveInOrderFromTheVeryFirstMessage) {
  const std::map<std::string, std::string> none;
  const std::map<std::string, std::string> always{{"UCX_RNDV_THRESH", "0"}};
  const std::map<std::string, std::string> never{{"UCX_RNDV_THRESH", "inf"}};
  for (auto& environment : {none, always, never}) {
    auto server = start("server", {}, environment);
    auto client = start("client", {}, environment);
    ASSERT_TRUE(client->done("connect " + server->address())) << client->rest();
    const auto many = std::to_string(rounds(600, 100000));
    client->tell("mix server " + many + " " + std::to_string(rounds(1u << 20, 16u << 20)));
    auto seen = client->line("blasted ", 30000ms);
    ASSERT_TRUE(seen) << client->rest() << server->rest();
    EXPECT_TRUE(seen->starts_with(many + " ") && seen->ends_with(" 0")) << *seen;
  }
}

TEST_P(Order, ManySendersKeepTheirOrderEachBySelf) {
  auto server = start("server");
  auto sink = lookup(connect(*server), "sink");
  std::vector<std::thread> senders;
  std::mutex mutex;
  total sent;
  for (std::uint64_t stream = 0; stream < 4; ++stream) {
    senders.emplace_back([&, stream] {
      auto mine = stream_to(system(), sink, stream, rounds<std::uint64_t>(150, 10000), 1u << 20);
      std::lock_guard guard{mutex};
      sent.messages += mine.messages;
      sent.bytes += mine.bytes;
    });
  }
  for (auto& x : senders)
    x.join();
  expect_all(settled(system(), sink, sent.messages), sent);
}

TEST_P(Order, ASmallMessageOfAnotherPairDoesNotWaitForALargeOne) {
  auto server = start("server");
  auto there = connect(*server);
  auto sink = lookup(there, "sink");
  auto echo = lookup(there, "echo");
  auto large = numbered_payload(0, 0, 128u << 20);
  auto slowest = clock_type::duration::zero();
  std::atomic<bool> sent{false};
  std::thread sender{[&] {
    caf::scoped_actor large_one{system()};
    for (std::uint64_t n = 0; n < 3; ++n)
      large_one->send(sink, put_atom::value, std::uint64_t{0}, n, large);
    sent = true;
  }};
  for (int i = 0; i < 30 || !sent; ++i) {
    const auto begin = clock_type::now();
    EXPECT_EQ(ask<std::string>(system(), echo, "small"), "small");
    slowest = std::max(slowest, clock_type::now() - begin);
  }
  sender.join();
  EXPECT_LT(slowest, 1s); // a busy machine; the large one takes its time all the same
  EXPECT_EQ(settled(system(), sink, 3)->messages, 3u);
}

TEST_P(Order, OneSenderKeepsItsOrderWhateverTheSizes) {
  auto server = start("server");
  auto sink = lookup(connect(*server), "sink");
  auto sent = stream_to(system(), sink, 1, rounds<std::uint64_t>(300, 100000), rounds(1u << 20, 16u << 20));
  expect_all(settled(system(), sink, sent.messages), sent);
}

// -- the first message --------------------------------------------------------------------

TEST_P(Order, TheFirstMessageIsNeverLost) {
  for (int round = 0; round < rounds(8, 1000); ++round) {
    auto server = start("server");
    const auto kind = round % 2 == 0 ? "counter" : "sink";
    auto there = connect(*server);
    auto target = lookup(there, kind);
    if (round % 2 == 0) {
      caf::anon_send(target, add_atom::value, std::uint64_t{1});
      EXPECT_EQ(ask<std::uint64_t>(system(), target, get_atom::value), 1u);
    } else {
      caf::scoped_actor me{system()};
      put(*me, target, 1, 0, 1u << 20);
      auto seen = settled(system(), target, 1);
      ASSERT_TRUE(seen) << explain(seen.error());
      EXPECT_EQ(seen->messages, 1u);
      EXPECT_EQ(seen->damaged, 0u);
    }
    end_self();
  }
}

TEST_P(Order, TheFirstMessageOfTheOneThatWasReachedIsNotLostEither) {
  for (int round = 0; round < rounds(8, 200); ++round) {
    auto server = start("server");
    auto log = std::make_shared<journal_of_events>();
    // Published before anybody connects, and asked by the server in the moment in which it hears of us.
    ASSERT_FALSE(self().publish("mine", notes(log)));
    auto port = self().listen();
    ASSERT_TRUE(port);
    ASSERT_TRUE(server->done("connect 127.0.0.1:" + std::to_string(*port)));
    server->tell("tell tester mine hello");
    EXPECT_TRUE(log->wait("text hello")) << server->rest();
    end_self();
  }
}

TEST_P(Order, NamesPublishedLateAreFoundOnceTheyAreThere) {
  auto server = start("server");
  auto there = connect(*server);
  const std::vector<std::string> names{"c", "a", "d", "b"};
  for (auto& name : names) {
    auto early = self().lookup(there, name);
    ASSERT_FALSE(early);
    EXPECT_EQ(code_of(early.error()), errc::not_found);
    server->tell("publish " + name + " echo");
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(self().lookup(there, name)); }));
    EXPECT_EQ(ask<std::string>(system(), lookup(there, name), name), name);
  }
}

TEST_P(Order, AMessageToAnActorThatIsGoneIsAnsweredOrCounted) {
  auto server = start("server");
  auto there = connect(*server);
  auto mortal = ask<caf::actor>(system(), lookup(there, "spawner"), spawn_atom::value, "mortal");
  ASSERT_TRUE(mortal);
  // In one go: the second and third are on their way before anybody knows that the first one ends it.
  caf::scoped_actor me{system()};
  me->send(*mortal, die_atom::value, static_cast<std::int32_t>(ending::normally));
  auto asked = me->request(*mortal, patience, "too late");
  asked.receive([](const std::string&) { ADD_FAILURE() << "answered"; },
                [](const caf::error& why) { EXPECT_NE(why, caf::sec::request_timeout) << explain(why); });
}

} // namespace
