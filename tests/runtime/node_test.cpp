// Two nodes in one process, over each transport: what a user of the node sees.
#include <troupe/runtime/node.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using troupe::errc;

constexpr auto patience = 10s;

caf::behavior echo(caf::event_based_actor* self) {
  return {
    [](const std::string& text) { return text; },
    [](const troupe::payload& bytes) { return bytes; },
    [](int x) -> caf::result<int> {
      if (x < 0)
        return troupe::make_error(errc::out_of_range, "negative");
      return x + 1;
    },
    [self](caf::get_atom) { return caf::actor_cast<caf::actor>(self); },
    [self](caf::close_atom) { self->quit(caf::exit_reason::user_shutdown); },
  };
}

class Node : public ::testing::TestWithParam<const char*> {
protected:
  troupe::node_config config(const std::string& name) const {
    troupe::node_config x;
    x.name = name;
    x.transport = std::string{GetParam()} == "shm" ? troupe::transport_choice::shm : troupe::transport_choice::tcp;
    return x;
  }

  /// A server that publishes `echo`, and a client connected to it.
  void SetUp() override {
    server = std::make_unique<troupe::node>(config("server"));
    client = std::make_unique<troupe::node>(config("client"));
    echo_actor = server->spawn(echo);
    ASSERT_FALSE(server->publish("echo", echo_actor));
    auto opened = server->listen();
    ASSERT_TRUE(opened) << troupe::explain(opened.error());
    address = "127.0.0.1:" + std::to_string(*opened);
    auto connected = client->connect(address);
    ASSERT_TRUE(connected) << troupe::explain(connected.error());
    peer = *connected;
    auto found = client->lookup(peer, "echo");
    ASSERT_TRUE(found) << troupe::explain(found.error());
    remote = *found;
  }

  void TearDown() override {
    remote = nullptr;
    echo_actor = nullptr;
    client.reset();
    server.reset();
  }

  /// Sends a request and returns the answer as text, or "error: " and its code.
  template <class... Ts>
  std::string ask(const caf::actor& who, Ts&&... xs) {
    caf::scoped_actor self{client->system()};
    std::string answer = "nothing";
    self->request(who, patience, std::forward<Ts>(xs)...)
      .receive([&](const std::string& x) { answer = x; },
               [&](caf::error& why) { answer = "error: " + std::string{to_string(troupe::code_of(why))}; });
    return answer;
  }

  std::unique_ptr<troupe::node> server, client;
  caf::actor echo_actor, remote;
  troupe::peer peer;
  std::string address;
};

TEST_P(Node, ReportsTheTransportThatItWasToldToUse) {
  EXPECT_EQ(peer.transport, GetParam());
  EXPECT_EQ(peer.name, "server");
}

TEST_P(Node, AnswersARequest) {
  EXPECT_EQ(ask(remote, std::string{"hello"}), "hello");
}

TEST_P(Node, CarriesAPayloadOfEachSizeUnchanged) {
  caf::scoped_actor self{client->system()};
  for (std::size_t size : {0, 1, 4096, 4097, 6000, 70000, 1 << 20, 5 << 20}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 31 + size);
    auto sent = troupe::payload::copy_of(bytes.data(), bytes.size());
    self->request(remote, patience, sent)
      .receive([&](const troupe::payload& back) { EXPECT_EQ(back, sent) << size; },
               [&](caf::error& why) { ADD_FAILURE() << size << ": " << troupe::explain(why); });
    self->request(remote, patience, bytes)
      .receive([&](const std::string& back) { EXPECT_EQ(back, bytes) << size; },
               [&](caf::error& why) { ADD_FAILURE() << size << ": " << troupe::explain(why); });
  }
}

TEST_P(Node, PassesOnTheErrorOfAHandler) {
  caf::scoped_actor self{client->system()};
  self->request(remote, patience, -1)
    .receive([](int) { ADD_FAILURE() << "an answer to a request that failed"; },
             [](caf::error& why) { EXPECT_EQ(troupe::code_of(why), errc::out_of_range); });
}

TEST_P(Node, HandlesInMessagesComeHome) {
  caf::scoped_actor self{client->system()};
  self->request(remote, patience, caf::get_atom::value)
    .receive([&](const caf::actor& x) { EXPECT_EQ(x, remote); },
             [](caf::error& why) { ADD_FAILURE() << troupe::explain(why); });
}

TEST_P(Node, TellsAMonitorTheReasonOfARemoteActor) {
  caf::scoped_actor self{client->system()};
  self->monitor(remote);
  self->send(remote, caf::close_atom::value);
  self->receive([&](const caf::down_msg& down) { EXPECT_EQ(down.reason, caf::exit_reason::user_shutdown); },
                caf::after(patience) >> [] { ADD_FAILURE() << "no down"; });
}

TEST_P(Node, AnswersAMonitorOfADeadRemoteActorAtOnce) {
  caf::scoped_actor self{client->system()};
  self->monitor(remote);
  self->send(remote, caf::close_atom::value);
  self->receive([](const caf::down_msg&) {}, caf::after(patience) >> [] { ADD_FAILURE() << "no down"; });
  self->monitor(remote);
  self->receive([](const caf::down_msg&) {}, caf::after(patience) >> [] { ADD_FAILURE() << "no second down"; });
}

TEST_P(Node, LookupOfAnUnknownNameIsNotFound) {
  auto found = client->lookup(peer, "nobody");
  ASSERT_FALSE(found);
  EXPECT_EQ(troupe::code_of(found.error()), errc::not_found);
}

TEST_P(Node, UnpublishedNamesAreNotFoundAndOldHandlesWork) {
  ASSERT_FALSE(server->unpublish("echo"));
  auto found = client->lookup(peer, "echo");
  ASSERT_FALSE(found);
  EXPECT_EQ(troupe::code_of(found.error()), errc::not_found);
  EXPECT_EQ(ask(remote, std::string{"still"}), "still");
}

TEST_P(Node, ConnectingAgainGivesTheSamePeer) {
  auto again = client->connect(address);
  ASSERT_TRUE(again) << troupe::explain(again.error());
  EXPECT_EQ(*again, peer);
}

TEST_P(Node, RefusesToConnectToItself) {
  auto self = server->connect(address);
  ASSERT_FALSE(self);
  EXPECT_EQ(troupe::code_of(self.error()), errc::self_connect);
}

TEST_P(Node, ABlockingCallOnALoopWouldDeadlock) {
  std::promise<errc> answer;
  client->loop().post([&] { answer.set_value(troupe::code_of(client->lookup(peer, "echo").error())); });
  EXPECT_EQ(answer.get_future().get(), errc::would_deadlock);
}

TEST_P(Node, TellsSubscribersOnceThatAPeerIsUpAndDown) {
  caf::scoped_actor self{client->system()};
  client->subscribe(caf::actor_cast<caf::actor>(self));
  self->receive([&](const troupe::node_up& up) { EXPECT_EQ(up.who, peer); },
                caf::after(patience) >> [] { ADD_FAILURE() << "no node_up"; });
  self->monitor(remote);
  echo_actor = nullptr;
  server.reset();
  auto downs = 0;
  self->receive([&](const caf::down_msg&) { ++downs; },
                caf::after(patience) >> [] { ADD_FAILURE() << "no down of the actor"; });
  self->receive([&](const troupe::node_down& down) { EXPECT_EQ(down.who, peer); },
                caf::after(patience) >> [] { ADD_FAILURE() << "no node_down"; });
  self->receive([](const troupe::node_down&) { ADD_FAILURE() << "a second node_down"; }, caf::after(50ms) >> [] {});
  EXPECT_EQ(downs, 1);
  EXPECT_NE(ask(remote, std::string{"hello"}), "hello");
}

TEST_P(Node, CountsEveryAcceptedOperationOnce) {
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(ask(remote, std::to_string(i)), std::to_string(i));
  auto session = client->session_of(peer);
  ASSERT_TRUE(session);
  caf::scoped_actor self{client->system()};
  auto deadline = std::chrono::steady_clock::now() + patience;
  for (auto settled = false; !settled;) {
    self->request(*session, patience, troupe::get_session_state{})
      .receive(
        [&](const troupe::session_state& x) {
          EXPECT_EQ(x.failed + x.canceled + x.indeterminate, 0u);
          EXPECT_EQ(x.pending_requests, 0u);
          settled = x.accepted == x.ok && x.accepted >= 100;
        },
        [](caf::error& why) { ADD_FAILURE() << troupe::explain(why); });
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "not every operation was acknowledged";
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, Node, ::testing::Values("shm", "tcp"),
                         [](const auto& x) { return std::string{x.param}; });

} // namespace
