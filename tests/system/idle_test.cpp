// An idle node leaves the machine alone.

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Idle : public NodesOver {};

TROUPE_OVER_BOTH_TRANSPORTS(Idle);

TEST_P(Idle, ANodeWithThreePeersUsesLessThanAHundredthOfACore) {
  auto server = start("server");
  std::vector<std::unique_ptr<peer_node>> clients;
  for (auto name : {"a", "b", "c"}) {
    clients.push_back(start(name));
    ASSERT_TRUE(clients.back()->done("connect " + server->address()));
    ASSERT_TRUE(server->line("up "));
  }
  // Once whatever it took to come up has settled.
  auto used = cpu_of(server->id());
  EXPECT_TRUE(eventually([&] {
    auto before = std::exchange(used, cpu_of(server->id()));
    poll(nullptr, 0, 50);
    return cpu_of(server->id()) - before < 1ms;
  }));
  const auto begin = clock_type::now();
  const auto before = cpu_of(server->id());
  std::this_thread::sleep_for(3s); // the time of the measurement
  const auto share = static_cast<double>((cpu_of(server->id()) - before).count())
                     / static_cast<double>(std::chrono::nanoseconds{clock_type::now() - begin}.count());
  RecordProperty("core_percent", std::to_string(share * 100));
  EXPECT_LT(share, 0.01);
}

TEST_P(Idle, ANodeThatWasBusyComesToRest) {
  auto server = start("server");
  auto echo = lookup(connect(*server), "echo");
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(ask<std::string>(system(), echo, "hello"), "hello");
  EXPECT_TRUE(eventually([&] {
    const auto before = cpu_of(server->id());
    poll(nullptr, 0, 300);
    return cpu_of(server->id()) - before < 3ms;
  }));
  EXPECT_EQ(ask<std::string>(system(), echo, "awake"), "awake");
}

} // namespace
