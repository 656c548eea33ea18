#include <troupe/transport/listener.hpp>

#include <deque>

#include "ucx_pair.hpp"

namespace troupe::transport {
namespace {

using namespace test;

class Listener : public testing::Test {
protected:
  socket_address loopback(std::uint16_t port = 0) { return socket_address::from("127.0.0.1", port).value(); }

  template <class F>
  bool until(F&& done, std::chrono::milliseconds limit = 10s) {
    auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline)
        return false;
      server.turn();
      client.turn();
    }
    return true;
  }

  side server{shared_context(lane_transport::tcp)};
  side client{shared_context(lane_transport::tcp)};
};

TEST_F(Listener, GetsAPortFromTheSystem) {
  auto l = server.w->listen(loopback()).value();
  EXPECT_NE(l->port(), 0);
  EXPECT_EQ(l->address().ip(), "127.0.0.1");
}

TEST_F(Listener, SaysWhenThePortIsInUse) {
  auto l = server.w->listen(loopback()).value();
  auto second = client.w->listen(loopback(l->port()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::address_in_use);
  EXPECT_NE(second.error().text.find(std::to_string(l->port())), std::string::npos) << second.error().text;
}

TEST_F(Listener, CanTakeItsPortAgainAtOnce) {
  for (int round = 0; round < 5; ++round) {
    auto l = server.w->listen(loopback()).value();
    auto port = l->port();
    client.ep = client.w->connect(l->address()).value();
    ASSERT_TRUE(until([&] {
      if (auto r = l->next())
        server.ep = server.w->accept(std::move(*r)).value();
      return server.ep != nullptr;
    }));
    server.ep.reset();
    client.ep.reset();
    l.reset();
    auto again = server.w->listen(loopback(port));
    ASSERT_TRUE(bool(again)) << again.error().text;
  }
}

TEST_F(Listener, ClosesItsPortAfterTheGrace) {
  auto address = server.w->listen(loopback()).value()->address();
  client.ep = client.w->connect(address).value(); // still bound, but everybody is refused
  ASSERT_TRUE(until([&] { return !client.failures.empty(); }));
  EXPECT_EQ(client.failures, std::vector{errc::rejected});
  side other{shared_context(lane_transport::tcp)};
  auto next_try = std::chrono::steady_clock::now();
  ASSERT_TRUE(until([&] { // a failed attempt makes UCX write a line, so not in every turn
    if (std::chrono::steady_clock::now() < next_try)
      return false;
    next_try += 200ms;
    return bool(other.w->listen(address));
  }));
}

TEST_F(Listener, RefusesAnAddressOfAnotherHost) {
  auto l = server.w->listen(socket_address::from("192.0.2.1", 0).value());
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().code, errc::invalid_address) << l.error().text;
}

TEST_F(Listener, TellsWhoConnects) {
  auto l = server.w->listen(loopback()).value();
  client.ep = client.w->connect(l->address()).value();
  ASSERT_TRUE(until([&] {
    auto r = l->next();
    if (!r)
      return false;
    EXPECT_TRUE(r->pending());
    EXPECT_EQ(r->peer().ip(), "127.0.0.1");
    return true;
  }));
}

TEST_F(Listener, RejectsOnRequest) {
  auto l = server.w->listen(loopback()).value();
  client.ep = client.w->connect(l->address()).value();
  std::optional<connection_request> request;
  ASSERT_TRUE(until([&] { return (request = l->next()).has_value(); }));
  request->reject();
  request->reject();
  EXPECT_FALSE(request->pending());
  ASSERT_TRUE(until([&] { return !client.failures.empty(); }));
  EXPECT_EQ(client.failures, std::vector{errc::rejected});
  EXPECT_EQ(server.w->accept(std::move(*request)).error().code, errc::not_found);
}

TEST_F(Listener, RejectsARequestThatIsDroppedUndecided) {
  auto l = server.w->listen(loopback()).value();
  client.ep = client.w->connect(l->address()).value();
  ASSERT_TRUE(until([&] { return l->next().has_value(); }));
  ASSERT_TRUE(until([&] { return !client.failures.empty(); }));
  EXPECT_EQ(client.failures.front(), errc::rejected);
}

TEST_F(Listener, RejectsWhatIsUndecidedWhenItEnds) {
  auto l = server.w->listen(loopback()).value();
  std::vector<std::unique_ptr<endpoint>> endpoints;
  for (int i = 0; i < 3; ++i)
    endpoints.push_back(client.w->connect(l->address()).value());
  std::optional<connection_request> taken;
  std::optional<connection_request> other;
  ASSERT_TRUE(until([&] { return (taken = l->next()).has_value(); }));
  ASSERT_TRUE(until([&] { return (other = l->next()).has_value(); }));
  l.reset();
  EXPECT_FALSE(taken->pending());
  auto late = server.w->accept(std::move(*taken));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, errc::not_found);
  ASSERT_TRUE(until([&] { return client.failures.size() == 3; }));
}

TEST_F(Listener, BoundsTheRequestsThatWait) {
  auto l = server.w->listen(loopback()).value();
  std::vector<std::unique_ptr<endpoint>> endpoints;
  constexpr std::size_t excess = 10;
  for (std::size_t i = 0; i < max_pending_connections + excess; ++i)
    endpoints.push_back(client.w->connect(l->address()).value());
  ASSERT_TRUE(until([&] { return l->rejected_in_excess() == excess && client.failures.size() == excess; }, 30s));
  std::size_t waiting = 0;
  while (l->next())
    ++waiting;
  EXPECT_EQ(waiting, max_pending_connections);
}

TEST_F(Listener, IsNotThereForAConnectionToAClosedPort) {
  std::uint16_t port = 0;
  {
    side gone{shared_context(lane_transport::tcp)};
    port = gone.w->listen(loopback()).value()->port();
  }
  client.ep = client.w->connect(loopback(port)).value();
  ASSERT_TRUE(until([&] { return !client.failures.empty(); }));
  EXPECT_EQ(client.failures, std::vector{errc::peer_reset});
  EXPECT_TRUE(client.ep->failed());
  EXPECT_EQ(client.ep->outstanding(), 0u);
  recorder op;
  errc why{};
  EXPECT_EQ(client.ep->am_send(am_id::message, nullptr, 0, "x", 1, send_flags::none, op, why), post_status::failed);
  EXPECT_EQ(why, errc::peer_reset);
}

TEST_F(Listener, MayOutliveItsWorker) {
  auto l = server.w->listen(loopback()).value();
  client.ep = client.w->connect(l->address()).value();
  std::optional<connection_request> request;
  ASSERT_TRUE(until([&] { return (request = l->next()).has_value(); }));
  server.w->abandon();
  EXPECT_FALSE(request->pending());
  EXPECT_FALSE(l->next().has_value());
}

TEST(SharedMemoryWorker, HasNoListener) {
  worker w{shared_context(lane_transport::shm)};
  auto l = w.listen(socket_address::from("127.0.0.1", 0).value());
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().code, errc::unsupported);
  EXPECT_EQ(w.connect(socket_address::from("127.0.0.1", 1).value()).error().code, errc::unsupported);
}

} // namespace
} // namespace troupe::transport
