// At most one link between two nodes, whoever dials, and however often.
// ctest: timeout=180
#include <troupe/transport/link_service.hpp>

#include <gtest/gtest.h>

#include <tests/support/link_node.hpp>

using namespace troupe;
using namespace troupe::test;
using event = transport::link_event::kind;

TEST(link_identity, a_node_that_dials_itself_is_told_so_on_both_ends) {
  link_node node{"narcissus", 1};
  auto dialled = node.dial(node.listen());
  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::self_connect);
  EXPECT_TRUE(node.wait_event(event::refused, errc::self_connect));
  EXPECT_TRUE(node.wait_event(event::dial_failed, errc::self_connect));
  EXPECT_EQ(node.links(), 0u);
}

TEST(link_identity, a_second_dial_gives_the_link_there_is_and_leaves_it_alone) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto port = server.listen();
  auto first = client.dial(port);
  ASSERT_TRUE(first);
  for (int i = 0; i < 5; ++i) {
    auto again = client.dial(port);
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, *first);
  }
  // And from the other side.
  ASSERT_TRUE(server.wait_links(1));
  auto back = server.dial(client.listen());
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(*back, server.at(0));
  EXPECT_EQ(client.links(), 1u);
  EXPECT_EQ(server.links(), 1u);
  EXPECT_EQ(client.records(0)->downs() + server.records(0)->downs(), 0u);
  EXPECT_EQ(server.service().counters().refused.size(), 0u) << server.events();
}

TEST(link_identity, many_dials_at_once_to_one_node_share_one_link) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto port = server.listen();
  std::vector<std::shared_ptr<pending_dial>> dials;
  for (int i = 0; i < 20; ++i)
    dials.push_back(client.start_dial(port));
  std::shared_ptr<transport::link> made;
  for (auto& dial : dials) {
    auto outcome = dial->wait();
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(*outcome) << outcome->error().text;
    made = made ? made : **outcome;
    EXPECT_EQ(**outcome, made);
    EXPECT_EQ(dial->calls(), 1);
  }
  ASSERT_TRUE(server.wait_links(1));
  EXPECT_EQ(client.links(), 1u);
  EXPECT_EQ(server.links(), 1u);
}

TEST(link_identity, two_nodes_that_dial_each_other_at_once_get_one_link) {
  int by_higher = 0;
  for (int round = 0; round < 50; ++round) {
    link_node low{"low", 10};
    link_node high{"high", 20};
    auto low_port = low.listen();
    auto high_port = high.listen();
    auto up = low.start_dial(high_port);
    auto down = high.start_dial(low_port);
    auto from_low = up->wait();
    auto from_high = down->wait();
    ASSERT_TRUE(from_low && from_high) << "round " << round;
    ASSERT_TRUE(*from_low) << from_low->error().text;
    ASSERT_TRUE(*from_high) << from_high->error().text;
    auto a = **from_low;
    auto b = **from_high;
    EXPECT_EQ(a->session(), b->session()) << "round " << round;
    EXPECT_NE(a->dialled_by_us(), b->dialled_by_us());
    by_higher += b->dialled_by_us();
    ASSERT_TRUE(low.wait_links(1) && high.wait_links(1));
    EXPECT_EQ(low.links(), 1u);
    EXPECT_EQ(high.links(), 1u);
    EXPECT_EQ(low.records(0)->downs() + high.records(0)->downs(), 0u) << low.events() << high.events();
    EXPECT_EQ(up->calls() + down->calls(), 2);
  }
  RecordProperty("links_dialled_by_the_higher", by_higher);
}

TEST(link_identity, a_second_process_with_a_live_peers_name_is_refused) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto port = server.listen();
  ASSERT_TRUE(client.dial(port));
  link_node impostor{"client", 3};
  auto refused = impostor.dial(port);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::name_in_use);
  EXPECT_EQ(server.links(), 1u);
  EXPECT_EQ(client.records(0)->downs(), 0u);
  // And when it is the server that dials it.
  auto dialled = server.dial(impostor.listen());
  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::name_in_use);
  EXPECT_EQ(client.records(0)->downs(), 0u);
}

TEST(link_identity, closing_and_dialling_again_without_waiting_always_gives_a_new_link) {
  link_node server{"server", 1};
  link_node client{"client", 2};
  auto port = server.listen();
  auto now = client.dial(port);
  ASSERT_TRUE(now);
  for (std::size_t round = 1; round <= 50; ++round) {
    auto before = (*now)->session();
    (*now)->close(errc::ok, "again");
    now = client.dial(port);
    ASSERT_TRUE(now) << now.error().text;
    ASSERT_NE((*now)->session(), before) << "round " << round;
    ASSERT_TRUE(server.wait_links(round + 1));
    // The new link works.
    v1::LinkFrame frame;
    frame.mutable_lanes_up()->set_epoch(static_cast<std::uint32_t>(round));
    ASSERT_TRUE((*now)->send(frame));
    ASSERT_TRUE(server.records(round)->wait_frames(1));
    ASSERT_EQ(server.records(round)->frames()[0].lanes_up().epoch(), round);
    ASSERT_TRUE(server.records(round - 1)->wait_down());
    ASSERT_EQ(server.records(round - 1)->downs(), 1u);
  }
}

TEST(link_identity, a_node_with_its_maximum_of_links_refuses_more_and_takes_them_again_later) {
  auto config = config_of("server", 1);
  config.max_links = 2;
  link_node server{config};
  auto port = server.listen();
  link_node one{"one", 2};
  link_node two{"two", 3};
  link_node three{"three", 4};
  auto first = one.dial(port);
  ASSERT_TRUE(first);
  ASSERT_TRUE(two.dial(port));
  auto refused = three.dial(port);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::no_resource);
  (*first)->close(errc::ok, "");
  ASSERT_TRUE(server.records(0)->wait_down());
  EXPECT_TRUE(three.dial(port));
}

TEST(link_identity, nodes_without_a_secret_link_and_one_with_a_secret_refuses_one_without) {
  auto open = [](const std::string& name, std::uint64_t incarnation) {
    auto config = config_of(name, incarnation);
    config.secret.clear();
    return config;
  };
  link_node server{open("server", 1)};
  link_node client{open("client", 2)};
  auto port = server.listen();
  EXPECT_TRUE(client.dial(port));
  link_node stranger{"stranger", 3};
  auto refused = stranger.dial(port);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::authentication_failed);
}
