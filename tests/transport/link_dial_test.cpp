// Dials that lead nowhere end in time, with the right reason, and hold nobody else up.
#include <troupe/transport/link_service.hpp>

#include <gtest/gtest.h>

#include <tests/support/link_node.hpp>
#include <troupe/proto/link_codec.hpp>

using namespace troupe;
using namespace troupe::test;

namespace {

transport::tcp_listener silent_listener() {
  auto made = transport::listen_tcp({transport::socket_address::from("127.0.0.1", 0).value()});
  return std::move(made).value();
}

} // namespace

TEST(link_dial, to_a_closed_port_is_unreachable_at_once) {
  std::uint16_t port;
  {
    auto gone = silent_listener();
    port = gone.address.port();
  }
  link_node node{"node", 1};
  auto start = std::chrono::steady_clock::now();
  auto dialled = node.dial(port);
  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::unreachable);
  EXPECT_NE(dialled.error().text.find("refused"), std::string::npos) << dialled.error().text;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(link_dial, to_an_unresolvable_host_is_an_invalid_address) {
  link_node node{"node", 1};
  for (const std::string host : {"no-such-host.invalid", "", "a b", "256.256.256.256"}) {
    auto dialled = node.dial(1, host, 60s);
    ASSERT_FALSE(dialled);
    EXPECT_EQ(dialled.error().code, errc::invalid_address) << host << ": " << dialled.error().text;
  }
}

TEST(link_dial, by_name_reaches_a_listener_on_loopback) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto dialled = client.dial(server.listen(), "localhost");
  EXPECT_TRUE(dialled) << dialled.error().text;
}

TEST(link_dial, to_a_full_backlog_ends_at_its_deadline_and_delays_no_other_dial) {
  auto hole = silent_listener();
  // Linux takes backlog + 1 connections that nobody accepts.
  ASSERT_EQ(::listen(hole.socket.get(), 0), 0);
  raw_client first{hole.address.port()};
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto port = server.listen();
  std::vector<std::shared_ptr<pending_dial>> lost;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i)
    lost.push_back(client.start_dial(hole.address.port(), "127.0.0.1", 1000ms));
  auto healthy = client.dial(port);
  EXPECT_TRUE(healthy) << healthy.error().text;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  for (auto& dial : lost) {
    auto outcome = dial->wait();
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().code, errc::timed_out) << outcome->error().text;
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, 1s);
}

TEST(link_dial, to_a_server_that_says_nothing_ends_at_the_handshake_deadline) {
  auto silent = silent_listener();
  auto config = config_of("node", 1);
  config.handshake_deadline = 200ms;
  link_node node{config};
  auto dialled = node.dial(silent.address.port(), "127.0.0.1", 60s);
  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::timed_out);
  EXPECT_NE(dialled.error().text.find("shaking hands"), std::string::npos) << dialled.error().text;
}

TEST(link_dial, to_a_server_that_closes_or_talks_nonsense_says_so) {
  struct {
    std::string answer;
    errc code;
  } cases[] = {{"", errc::peer_reset},
               {"HTTP/1.1 400 Bad Request\r\n\r\n", errc::exceeds_limit},
               {std::string("\x03\0\0\0abc", 7), errc::decode_failed}};
  for (const auto& each : cases) {
    auto server = silent_listener();
    link_node node{"node", 1};
    auto pending = node.start_dial(server.address.port());
    transport::accepted_socket taken;
    ASSERT_TRUE(becomes([&] {
      taken = transport::accept_tcp(server.socket.get());
      return static_cast<bool>(taken.socket);
    }));
    ASSERT_EQ(::send(taken.socket.get(), each.answer.data(), each.answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(each.answer.size()));
    ::shutdown(taken.socket.get(), SHUT_WR);
    auto outcome = pending->wait();
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(*outcome);
    EXPECT_EQ(outcome->error().code, each.code) << outcome->error().text;
    EXPECT_EQ(pending->calls(), 1);
  }
}

TEST(link_dial, beyond_the_limit_of_pending_ones_is_refused) {
  auto silent = silent_listener();
  auto config = config_of("node", 1);
  config.max_pending_dials = 3;
  link_node node{config};
  std::vector<std::shared_ptr<pending_dial>> dials;
  for (int i = 0; i < 3; ++i)
    dials.push_back(node.start_dial(silent.address.port()));
  auto refused = node.dial(silent.address.port());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::busy);
}

TEST(link_listen, on_a_port_in_use_says_so) {
  link_node one{"one", 1};
  link_node two{"two", 2};
  auto port = one.listen();
  auto taken = two.service().listen("127.0.0.1", port);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, errc::address_in_use);
  EXPECT_NE(taken.error().text.find(std::to_string(port)), std::string::npos) << taken.error().text;
}

TEST(link_listen, on_an_address_of_another_host_or_an_unknown_name_says_so) {
  link_node node{"node", 1};
  EXPECT_EQ(node.service().listen("192.0.2.1", 0).error().code, errc::invalid_address);
  EXPECT_EQ(node.service().listen("no-such-host.invalid", 0).error().code, errc::invalid_address);
}

TEST(link_listen, again_on_the_same_port_at_once_while_clients_are_connected) {
  std::uint16_t port = 0;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    link_node server{"server", round};
    auto given = server.service().listen("127.0.0.1", port);
    ASSERT_TRUE(given) << "round " << round << ": " << given.error().text;
    port = *given;
    link_node client{"client", 100 + round};
    ASSERT_TRUE(client.dial(port));
    server.service().stop_listening();
    auto again = server.service().listen("127.0.0.1", port);
    ASSERT_TRUE(again) << "round " << round << ": " << again.error().text;
    link_node late{"late", 200 + round};
    ASSERT_TRUE(late.dial(port));
    EXPECT_EQ(client.records(0)->downs(), 0u);
  }
}

TEST(link_listen, on_two_addresses_serves_both) {
  link_node server{"server", 1};
  auto first = server.listen();
  auto second = server.listen();
  link_node one{"one", 2};
  link_node two{"two", 3};
  EXPECT_TRUE(one.dial(first));
  EXPECT_TRUE(two.dial(second));
}
