// Links between well-behaved nodes: coming up, what travels on them, going down in order.
#include <troupe/transport/link.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <tests/support/link_node.hpp>
#include <troupe/proto/link_codec.hpp>

using namespace troupe;
using namespace troupe::test;

namespace {

v1::LinkFrame lanes_up(std::uint32_t epoch) {
  v1::LinkFrame out;
  out.mutable_lanes_up()->set_epoch(epoch);
  return out;
}

transport::link_config fast(const std::string& name, std::uint64_t incarnation) {
  auto out = config_of(name, incarnation);
  out.down_after = 400ms;
  return out;
}

} // namespace

TEST(link, comes_up_on_both_sides_with_the_same_session_and_each_others_identity) {
  auto offer = config_of("server", 7);
  offer.limits = {1, 2, 3, 4, 5, 6, 7};
  offer.features = {"x", "shared"};
  link_node server{offer};
  auto wish = config_of("client", 9);
  wish.features = {"shared", "y"};
  link_node client{wish};
  auto dialled = client.dial(server.listen());
  ASSERT_TRUE(dialled) << dialled.error().text;
  auto there = *dialled;
  ASSERT_TRUE(server.wait_links(1));
  ASSERT_TRUE(client.wait_links(1));
  auto here = server.at(0);
  EXPECT_EQ(client.at(0), there);
  EXPECT_EQ(here->session(), there->session());
  EXPECT_NE(here->session(), transport::link_session_id{});
  EXPECT_EQ(there->peer().name, "server");
  EXPECT_EQ(there->peer().incarnation, 7u);
  EXPECT_EQ(there->peer().limits, offer.limits);
  EXPECT_EQ(there->peer().features, std::vector<std::string>{"shared"});
  EXPECT_EQ(here->peer().features, std::vector<std::string>{"shared"});
  EXPECT_EQ(here->peer().name, "client");
  EXPECT_EQ(here->peer().pid(), static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(here->peer().library_version, "0.0.0");
  EXPECT_EQ(here->peer().version, 1u);
  EXPECT_TRUE(here->peer().same_host);
  EXPECT_TRUE(there->dialled_by_us());
  EXPECT_FALSE(here->dialled_by_us());
  EXPECT_EQ(here->remote_address(), there->local_address());
  EXPECT_EQ(here->local_address(), there->remote_address());
}

TEST(link, agrees_on_shared_memory_on_one_host_unless_a_policy_says_otherwise) {
  using policy = transport::transport_policy;
  struct {
    policy dialler, acceptor;
    const char* agreed;
  } cases[] = {{policy::automatic, policy::automatic, "shm"},
               {policy::tcp, policy::automatic, "tcp"},
               {policy::automatic, policy::tcp, "tcp"},
               {policy::shm, policy::automatic, "shm"},
               {policy::shm, policy::tcp, ""}};
  for (const auto& each : cases) {
    auto server_config = config_of("server", 1);
    server_config.transport = each.acceptor;
    auto client_config = config_of("client", 2);
    client_config.transport = each.dialler;
    link_node server{server_config};
    link_node client{client_config};
    auto dialled = client.dial(server.listen());
    if (*each.agreed != '\0') {
      ASSERT_TRUE(dialled) << dialled.error().text;
      EXPECT_EQ((*dialled)->transport(), each.agreed);
      ASSERT_TRUE(server.wait_links(1));
      EXPECT_EQ(server.at(0)->transport(), each.agreed);
    } else {
      ASSERT_FALSE(dialled);
      EXPECT_EQ(dialled.error().code, errc::incompatible);
      EXPECT_NE(dialled.error().text.find("node 'server' allows tcp, node 'client' allows shm"), std::string::npos)
          << dialled.error().text;
      EXPECT_TRUE(server.wait_event(transport::link_event::kind::refused, errc::incompatible));
    }
  }
}

TEST(link, carries_control_frames_in_order_both_ways) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto there = client.dial(server.listen());
  ASSERT_TRUE(there);
  ASSERT_TRUE(server.wait_links(1));
  static constexpr std::uint32_t count = 2000;
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_TRUE((*there)->send(lanes_up(i)));
    ASSERT_TRUE(server.at(0)->send(lanes_up(i)));
  }
  for (auto* node : {&server, &client}) {
    ASSERT_TRUE(node->records(0)->wait_frames(count));
    auto frames = node->records(0)->frames();
    for (std::uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(frames[i].lanes_up().epoch(), i);
  }
}

TEST(link, carries_a_frame_of_nearly_the_bound_and_refuses_one_beyond_a_limit) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto there = client.dial(server.listen());
  ASSERT_TRUE(there);
  v1::LinkFrame table;
  for (std::size_t i = 0; i < proto::max_type_names; ++i)
    table.mutable_type_table()->add_names(std::string(250, 'n'));
  ASSERT_TRUE((*there)->send(table));
  ASSERT_TRUE(server.wait_links(1));
  ASSERT_TRUE(server.records(0)->wait_frames(1));
  EXPECT_EQ(server.records(0)->frames()[0].type_table().names_size(), static_cast<int>(proto::max_type_names));
  table.mutable_type_table()->add_names("one more");
  EXPECT_FALSE((*there)->send(table));
}

TEST(link, sends_no_frames_that_are_its_own_business) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto there = client.dial(server.listen());
  ASSERT_TRUE(there);
  v1::LinkFrame frame;
  EXPECT_FALSE((*there)->send(frame));
  frame.mutable_heartbeat();
  EXPECT_FALSE((*there)->send(frame));
  frame.mutable_hello();
  EXPECT_FALSE((*there)->send(frame));
  EXPECT_EQ(client.records(0)->downs(), 0u);
}

TEST(link, keeps_frames_and_the_end_for_a_handler_that_comes_late) {
  link_node server{"server", 1};
  // A service without an accept handler, and links without one.
  transport::link_service client{config_of("client", 2)};
  pending_dial pending;
  client.dial("127.0.0.1", server.listen(), patience, [&](dial_result outcome) { pending.done(std::move(outcome)); });
  auto outcome = pending.wait();
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(*outcome);
  ASSERT_TRUE(server.wait_links(1));
  server.at(0)->send(lanes_up(1));
  server.at(0)->send(lanes_up(2));
  server.at(0)->close(errc::peer_closing, "over");
  ASSERT_TRUE(becomes([&] { return client.counters().links_down == 1; }));
  auto records = std::make_shared<recorder>();
  (**outcome)->set_handler(records);
  auto down = records->wait_down();
  ASSERT_TRUE(down);
  EXPECT_EQ(down->cause, errc::peer_reset);
  ASSERT_EQ(records->frames().size(), 2u);
  EXPECT_EQ(records->frames()[1].lanes_up().epoch(), 2u);
  EXPECT_FALSE((**outcome)->send(lanes_up(3)));
}

TEST(link, is_closed_when_frames_pile_up_that_nobody_takes) {
  link_node server{"server", 1};
  transport::link_service client{config_of("client", 2)};
  pending_dial pending;
  client.dial("127.0.0.1", server.listen(), patience, [&](dial_result outcome) { pending.done(std::move(outcome)); });
  ASSERT_TRUE(pending.wait());
  ASSERT_TRUE(server.wait_links(1));
  for (std::uint32_t i = 0; i <= transport::max_link_unhandled_frames; ++i)
    server.at(0)->send(lanes_up(i));
  auto down = server.records(0)->wait_down();
  ASSERT_TRUE(down);
  EXPECT_FALSE(server.records(0)->frames().empty());
  EXPECT_EQ(server.records(0)->frames()[0].goodbye().code(), static_cast<std::uint32_t>(errc::exceeds_limit));
  EXPECT_TRUE(becomes([&] { return client.counters().down[errc::exceeds_limit] == 1; }));
}

TEST(link, goodbye_reaches_the_peer_and_the_end_after_it_is_no_loss) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto there = client.dial(server.listen());
  ASSERT_TRUE(there);
  ASSERT_TRUE((*there)->goodbye(41, errc::peer_closing, "done for today"));
  ASSERT_TRUE(server.wait_links(1));
  ASSERT_TRUE(server.records(0)->wait_frames(1));
  auto goodbye = server.records(0)->frames()[0].goodbye();
  EXPECT_EQ(goodbye.last_sequence(), 41u);
  EXPECT_EQ(goodbye.reason(), "done for today");
  v1::LinkFrame ack;
  ack.mutable_goodbye_ack()->set_last_received(41);
  ASSERT_TRUE(server.at(0)->send(ack));
  ASSERT_TRUE(client.records(0)->wait_frames(1));
  (*there)->close(errc::ok, "said goodbye");
  auto down = server.records(0)->wait_down();
  ASSERT_TRUE(down);
  EXPECT_EQ(down->cause, errc::peer_closing);
  EXPECT_TRUE(down->peer_dead);
  auto own = client.records(0)->wait_down();
  ASSERT_TRUE(own);
  EXPECT_EQ(own->cause, errc::ok);
  EXPECT_FALSE(own->peer_dead);
}

TEST(link, delivers_what_was_sent_before_it_was_closed) {
  link_node server{"server", 1};
  auto port = server.listen();
  for (std::size_t round = 0; round < 20; ++round) {
    link_node client{"client", 2 + round};
    auto there = client.dial(port);
    ASSERT_TRUE(there) << there.error().text;
    for (std::uint32_t i = 0; i < 100; ++i)
      ASSERT_TRUE((*there)->send(lanes_up(i)));
    (*there)->close(errc::ok, "");
    ASSERT_TRUE(server.wait_links(round + 1));
    ASSERT_TRUE(server.records(round)->wait_down());
    EXPECT_EQ(server.records(round)->frames().size(), 100u);
  }
}

TEST(link, tells_once_when_the_peers_loop_stands_still_and_once_when_it_moves_again) {
  std::atomic<bool> moves{true};
  std::atomic<std::uint64_t> turns{1};
  auto config = fast("server", 1);
  config.progress = [&] { return moves ? ++turns : turns.load(); };
  link_node server{config};
  link_node client{fast("client", 2)};
  ASSERT_TRUE(client.dial(server.listen()));
  ASSERT_TRUE(client.wait_links(1));
  auto records = client.records(0);
  moves = false;
  ASSERT_TRUE(records->wait_stalls(1));
  moves = true;
  ASSERT_TRUE(records->wait_stalls(2));
  EXPECT_EQ(records->stalls(), (std::vector<bool>{true, false}));
  EXPECT_EQ(records->downs(), 0u);
}

TEST(link, stays_up_while_idle_and_sends_as_often_as_the_more_impatient_side_needs) {
  auto patient = config_of("server", 1);
  patient.down_after = 60s;
  link_node server{patient};
  link_node client{fast("client", 2)};
  ASSERT_TRUE(client.dial(server.listen()));
  ASSERT_TRUE(client.wait_links(1));
  EXPECT_FALSE(client.records(0)->wait_down(1500ms));
}

TEST(link, is_closed_when_more_is_sent_than_the_peer_takes) {
  // A peer that never reads, by hand.
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto there = client.dial(server.listen());
  ASSERT_TRUE(there);
  ASSERT_TRUE(server.wait_links(1));
  // Its link thread is held in a callback.
  std::atomic<bool> release{false};
  struct blocker : recorder {
    std::atomic<bool>& release;
    explicit blocker(std::atomic<bool>& flag) : release(flag) {}
    void on_frame(const v1::LinkFrame&) override {
      while (!release)
        ::usleep(1000);
    }
  };
  server.at(0)->set_handler(std::make_shared<blocker>(release));
  v1::LinkFrame table;
  for (int i = 0; i < 4000; ++i)
    table.mutable_type_table()->add_names(std::string(250, 'n'));
  bool sent = true;
  for (int i = 0; i < 100 && sent; ++i)
    sent = (*there)->send(table);
  EXPECT_FALSE(sent);
  auto down = client.records(0)->wait_down();
  release = true;
  ASSERT_TRUE(down);
  EXPECT_EQ(down->cause, errc::exceeds_limit);
}

TEST(link_service, gives_every_link_a_down_and_every_dial_an_answer_when_it_is_shut_down) {
  link_node server{"server", 1};
  auto client = std::make_unique<transport::link_service>(config_of("client", 2));
  auto records = std::make_shared<recorder>();
  pending_dial up;
  pending_dial hanging;
  client->set_accept_handler([&](std::shared_ptr<transport::link> made) { made->set_handler(records); });
  client->dial("127.0.0.1", server.listen(), patience, [&](dial_result outcome) { up.done(std::move(outcome)); });
  ASSERT_TRUE(up.wait());
  auto silent = transport::listen_tcp({transport::socket_address::from("127.0.0.1", 0).value()});
  client->dial("127.0.0.1", silent->address.port(), patience,
               [&](dial_result outcome) { hanging.done(std::move(outcome)); });
  client->shutdown();
  ASSERT_EQ(records->downs(), 1u);
  EXPECT_EQ(records->wait_down()->cause, errc::canceled);
  ASSERT_EQ(hanging.calls(), 1);
  EXPECT_EQ(hanging.wait()->error().code, errc::canceled);
  pending_dial late;
  client->dial("127.0.0.1", 1, patience, [&](dial_result outcome) { late.done(std::move(outcome)); });
  EXPECT_EQ(late.wait()->error().code, errc::canceled);
  EXPECT_EQ(client->listen("127.0.0.1", 0).error().code, errc::canceled);
  auto kept = up.wait()->value();
  client.reset();
  EXPECT_FALSE(kept->send(lanes_up(1)));
  EXPECT_EQ(kept->peer().name, "server");
}

TEST(link_service, refuses_a_configuration_no_peer_would_accept) {
  auto broken = [](auto&& change) {
    auto config = config_of("node", 1);
    change(config);
    EXPECT_THROW(transport::link_service{config}, std::invalid_argument);
  };
  broken([](auto& x) { x.identity.name = ""; });
  broken([](auto& x) { x.identity.name = std::string(256, 'n'); });
  broken([](auto& x) { x.identity.name = "\xff"; });
  broken([](auto& x) { x.identity.incarnation = 0; });
  broken([](auto& x) { x.down_after = 1ms; });
  broken([](auto& x) { x.heartbeat = 5s; });
  broken([](auto& x) { x.secret = std::string(2000, 's'); });
  broken([](auto& x) { x.transports = {"carrier pigeon"}; });
  broken([](auto& x) { x.transport = transport::transport_policy::shm, x.transports = {"tcp"}; });
  broken([](auto& x) { x.handshake_deadline = 0ms; });
}
