// Which transport carries the messages: what was chosen, what is said, and what the kernel saw.

#include <cstring>

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

/// Two processes, one of which connects to the other: what the other one says of it.
std::string outcome(const std::string& first, const std::string& second,
                    const std::map<std::string, std::string>& environment = {}) {
  peer_node server{"server", first, {}, environment};
  peer_node client{"client", second, {}, environment};
  if (auto why = client.outcome("connect " + server.address()); !why.empty())
    return why;
  auto up = server.line("up client ");
  return up ? up->substr(0, up->find(' ')) : "not up";
}

TEST(Transport, NodesOfOneHostChooseSharedMemory) {
  EXPECT_EQ(outcome("auto", "auto"), "shm");
  EXPECT_EQ(outcome("auto", "tcp"), "tcp");
  EXPECT_EQ(outcome("shm", "auto"), "shm");
  EXPECT_EQ(outcome("tcp", "auto"), "tcp");
}

TEST(Transport, NodesThatDoNotAgreeSaySo) {
  auto text = outcome("shm", "tcp");
  EXPECT_NE(text.find("incompatible"), std::string::npos) << text;
  EXPECT_NE(text.find("transport"), std::string::npos) << text;
}

TEST(Transport, WhatTheUserSetsForUcxDoesNotChangeIt) {
  for (auto value : {"posix,self", "sm", "tcp", "all", "ib", "nonsense"}) {
    EXPECT_EQ(outcome("shm", "shm", {{"UCX_TLS", value}}), "shm") << value;
    EXPECT_EQ(outcome("tcp", "tcp", {{"UCX_TLS", value}}), "tcp") << value;
  }
}

TEST(Transport, SharedMemoryThatCannotServeNamesTheSettingThatIsInTheWay) {
  auto text = outcome("shm", "shm", {{"UCX_POSIX_ERROR_HANDLING", "n"}});
  EXPECT_NE(text.find("UCX_POSIX_ERROR_HANDLING"), std::string::npos) << text;
}

// -- what the kernel saw -----------------------------------------------------------------

/// Runs `body` on a thread in a network namespace of its own, with lo up. False: not permitted.
template <class F>
bool in_own_network(F&& body) {
  auto permitted = true;
  std::thread thread{[&] {
    permitted = unshare(CLONE_NEWNET) == 0;
    if (!permitted)
      return;
    auto control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq lo{};
    std::strcpy(lo.ifr_name, "lo");
    lo.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
    permitted = ioctl(control, SIOCSIFFLAGS, &lo) == 0;
    close(control);
    if (permitted)
      body();
  }};
  thread.join();
  return permitted;
}

/// Bytes that lo carried, in the network of this thread.
std::uint64_t bytes_over_lo() {
  std::ifstream in{"/proc/thread-self/net/dev"};
  for (std::string line; std::getline(in, line);)
    if (auto at = line.find("lo:"); at != std::string::npos)
      return std::stoull(line.substr(at + 3));
  return 0;
}

class TransportBytes : public testing::TestWithParam<const char*> {};

TROUPE_OVER_BOTH_TRANSPORTS(TransportBytes);

TEST_P(TransportBytes, SharedMemoryCarriesTheDataAndTcpDoesWhenAsked) {
  constexpr std::uint64_t count = 128;
  constexpr std::uint64_t size = 1u << 20;
  auto permitted = in_own_network([&] {
    peer_node server{"server", GetParam()};
    peer_node client{"client", GetParam()};
    ASSERT_TRUE(client.done("connect " + server.address())) << client.rest();
    const auto before = bytes_over_lo();
    client.tell("blast server " + std::to_string(count) + " " + std::to_string(size));
    EXPECT_EQ(client.line("blasted ", 60000ms),
              std::to_string(count) + " " + std::to_string(count * size) + " 0") << client.rest();
    const auto carried = bytes_over_lo() - before;
    if (std::string{GetParam()} == "shm")
      EXPECT_LT(carried, count * size / 20);
    else
      EXPECT_GE(carried, count * size);
  });
  if (!permitted)
    GTEST_SKIP() << "NOT CHECKED: a network namespace needs root (CAP_SYS_ADMIN)";
}

} // namespace
