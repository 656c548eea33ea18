// What is not a node, or not one of ours: each is turned away with a reason while a healthy link beside it lives on.
// ctest: timeout=180
#include <troupe/transport/link_service.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <thread>

#include <tests/support/link_node.hpp>
#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/handshake.hpp>

using namespace troupe;
using namespace troupe::test;
using event = transport::link_event::kind;
using transport::handshake;

namespace {

transport::link_offer offer_of(const std::string& name, std::uint64_t incarnation) {
  transport::link_offer out;
  out.identity = {name, incarnation};
  out.host = transport::this_host();
  out.transports = {"shm", "tcp"};
  return out;
}

std::string prefixed(std::uint32_t size, const std::string& body) {
  std::string out;
  for (int i = 0; i < 4; ++i)
    out.push_back(static_cast<char>(size >> (8 * i)));
  return out + body;
}

std::string prefixed(const std::string& body) { return prefixed(static_cast<std::uint32_t>(body.size()), body); }

/// A server with a healthy client whose link must outlive whatever the test does, and a short handshake deadline.
class link_hostile : public ::testing::Test {
protected:
  static transport::link_config server_config() {
    auto out = config_of("server", 1);
    out.handshake_deadline = 300ms;
    out.down_after = 2s;
    out.max_pending_handshakes = 64;
    return out;
  }

  void SetUp() override {
    port_ = server_.listen();
    ASSERT_TRUE(client_.dial(port_));
    ASSERT_TRUE(server_.wait_links(1) && client_.wait_links(1));
    baseline_ = open_fds();
  }

  void TearDown() override {
    EXPECT_EQ(client_.records(0)->downs(), 0u) << client_.events();
    EXPECT_EQ(server_.records(0)->downs(), 0u) << server_.events();
    v1::LinkFrame frame;
    frame.mutable_lanes_up()->set_epoch(7);
    EXPECT_TRUE(client_.at(0)->send(frame));
    EXPECT_TRUE(server_.records(0)->wait_frames(1));
    EXPECT_TRUE(becomes([&] { return open_fds() == baseline_; })) << open_fds() << " descriptors, not " << baseline_;
  }

  /// Sends bytes; the server closes within its deadline and reports `reason`. Returns what it answered.
  std::string expect_refusal(const std::string& bytes, errc reason, bool half_close = false) {
    auto before = server_.service().counters().refused[reason];
    raw_client peer{port_};
    EXPECT_TRUE(peer.connected());
    peer.send(bytes);
    if (half_close)
      peer.end_of_sending();
    bool closed = false;
    auto start = std::chrono::steady_clock::now();
    auto answer = peer.receive_all(closed);
    EXPECT_TRUE(closed);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 300ms + 3s);
    EXPECT_TRUE(becomes([&] { return server_.service().counters().refused[reason] > before; }))
        << "expected " << to_string(reason) << "\n"
        << server_.events();
    return answer;
  }

  link_node server_{server_config()};
  link_node client_{"client", 2};
  std::uint16_t port_ = 0;
  std::size_t baseline_ = 0;
};

} // namespace

TEST_F(link_hostile, http_is_refused_without_an_answer) {
  EXPECT_EQ(expect_refusal("GET / HTTP/1.1\r\nHost: x\r\n\r\n", errc::exceeds_limit), "");
  EXPECT_NE(server_.events().find("GET / HTTP"), std::string::npos) << server_.events();
}

TEST_F(link_hostile, a_huge_length_is_refused_before_anything_is_kept_for_it) {
  expect_refusal(prefixed(0xffffffffu, ""), errc::exceeds_limit);
  expect_refusal(prefixed(proto::max_unproved_frame_bytes + 1, "x"), errc::exceeds_limit);
}

TEST_F(link_hostile, a_frame_of_no_bytes_is_refused) { expect_refusal(prefixed(""), errc::protocol_error); }

TEST_F(link_hostile, silence_is_refused_at_the_deadline) { expect_refusal("", errc::timed_out); }

TEST_F(link_hostile, half_a_frame_is_refused_at_the_deadline) { expect_refusal(prefixed(100, "abc"), errc::timed_out); }

TEST_F(link_hostile, a_connection_that_ends_early_is_refused) {
  expect_refusal("", errc::peer_reset, true);
  expect_refusal(prefixed(100, "abc"), errc::peer_reset, true);
}

TEST_F(link_hostile, half_a_handshake_is_refused_at_the_deadline) {
  auto offer = offer_of("half", 5);
  auto peer = handshake::dialler(offer, "whatever");
  auto answer = expect_refusal(peer.opening(), errc::timed_out);
  EXPECT_GT(answer.size(), 40u); // its Hello, and a refusal
}

TEST_F(link_hostile, a_frame_that_does_not_belong_first_is_refused) {
  for (int kind = 0; kind < 4; ++kind) {
    v1::LinkFrame frame;
    if (kind == 0)
      frame.mutable_proof()->set_hmac(std::string(32, 'x'));
    else if (kind == 1)
      frame.mutable_heartbeat()->set_sequence(1);
    else if (kind == 2)
      frame.mutable_lane_offer()->set_transport("shm");
    else
      frame.mutable_reject()->set_text("no");
    expect_refusal(prefixed(frame.SerializeAsString()), errc::protocol_error);
  }
}

TEST_F(link_hostile, a_hello_with_a_field_out_of_limits_is_refused) {
  auto offer = offer_of("peer", 5);
  auto peer = handshake::dialler(offer, "secret of the tests");
  auto changed = [&](auto&& change) {
    v1::LinkFrame frame;
    ASSERT_TRUE(frame.ParseFromString(peer.opening().substr(4)));
    change(*frame.mutable_hello());
    expect_refusal(prefixed(frame.SerializeAsString()), errc::decode_failed);
  };
  changed([](auto& x) { x.set_name(""); });
  changed([](auto& x) { x.set_name(std::string(256, 'n')); });
  changed([](auto& x) { x.set_nonce("short"); });
  changed([](auto& x) { x.set_incarnation(0); });
  changed([](auto& x) { x.add_features(std::string(33, 'f')); });
  changed([](auto& x) {
    for (int i = 0; i < 20; ++i)
      x.add_transports("t");
  });
  changed([](auto& x) { x.mutable_host()->set_host_id(std::string(200, 'h')); });
  changed([](auto& x) { x.set_down_after_ms(1); });
  changed([](auto& x) { x.set_heartbeat_ms(0); });
}

TEST_F(link_hostile, another_protocol_and_another_version_are_told_apart) {
  auto offer = offer_of("peer", 5);
  auto peer = handshake::dialler(offer, "secret of the tests");
  v1::LinkFrame frame;
  ASSERT_TRUE(frame.ParseFromString(peer.opening().substr(4)));
  frame.mutable_hello()->set_magic(1);
  expect_refusal(prefixed(frame.SerializeAsString()), errc::protocol_error);
  frame.mutable_hello()->set_magic(proto::link_magic);
  frame.mutable_hello()->set_min_version(7);
  frame.mutable_hello()->set_max_version(9);
  auto answer = expect_refusal(prefixed(frame.SerializeAsString()), errc::bad_version);
  EXPECT_NE(answer.find("speaks 7 to 9"), std::string::npos) << answer;
}

TEST_F(link_hostile, a_wrong_secret_is_told_so_on_both_sides) {
  auto config = config_of("stranger", 9);
  config.secret = "another one";
  link_node stranger{config};
  auto dialled = stranger.dial(port_);
  ASSERT_FALSE(dialled);
  EXPECT_EQ(dialled.error().code, errc::authentication_failed);
  EXPECT_NE(dialled.error().text.find("another secret"), std::string::npos) << dialled.error().text;
  EXPECT_TRUE(server_.wait_event(event::refused, errc::authentication_failed));
  stranger.service().shutdown();
}

TEST_F(link_hostile, every_cut_and_random_bit_flips_of_a_good_handshake_are_refused) {
  auto offer = offer_of("peer", 5);
  std::mt19937 random{7};
  for (int round = 0; round < 200; ++round) {
    auto peer = handshake::dialler(offer, "secret of the tests");
    raw_client raw{port_};
    auto hello = peer.opening();
    auto flip_hello = round % 2 == 0;
    if (flip_hello)
      hello[4 + random() % (hello.size() - 4)] ^= static_cast<char>(1 << random() % 8);
    raw.send(hello);
    auto answer = raw.receive_frame();
    std::string proof;
    if (!answer.empty() && peer.take(std::as_bytes(std::span{answer}), proof) == handshake::step::peer_known) {
      peer.prove(false, 1, proof);
      if (!flip_hello)
        proof[4 + random() % (proof.size() - 4)] ^= static_cast<char>(1 << random() % 8);
      raw.send(proof);
    }
    raw.end_of_sending();
    bool closed = false;
    raw.receive_all(closed);
    ASSERT_TRUE(closed);
  }
  for (std::size_t n = 1; n < 60; n += 7) {
    auto peer = handshake::dialler(offer, "secret of the tests");
    expect_refusal(prefixed(peer.opening().substr(4, n)), errc::decode_failed);
  }
  // Whatever was flipped: nobody got in.
  EXPECT_EQ(server_.links(), 1u) << server_.events();
}

TEST_F(link_hostile, random_bytes_are_refused) {
  std::mt19937 random{1};
  for (int round = 0; round < 200; ++round) {
    std::string bytes(1 + random() % 3000, '\0');
    for (auto& byte : bytes)
      byte = static_cast<char>(random());
    // Half of them with a length that passes.
    if (round % 2 == 0)
      bytes = prefixed(bytes);
    raw_client raw{port_};
    raw.send(bytes);
    raw.end_of_sending();
    bool closed = false;
    raw.receive_all(closed);
    ASSERT_TRUE(closed);
  }
  EXPECT_EQ(server_.links(), 1u);
}

TEST_F(link_hostile, fuzzed_frames_after_a_good_handshake_end_that_link_alone) {
  auto offer = offer_of("fuzzer", 5);
  std::mt19937 random{3};
  for (int round = 0; round < 60; ++round) {
    offer.identity.incarnation = 100 + static_cast<std::uint64_t>(round);
    auto peer = handshake::dialler(offer, "secret of the tests");
    raw_client raw{port_};
    raw.send(peer.opening());
    auto hello = raw.receive_frame();
    std::string proof;
    ASSERT_EQ(peer.take(std::as_bytes(std::span{hello}), proof), handshake::step::peer_known);
    peer.prove(false, 1, proof);
    raw.send(proof);
    auto welcome = raw.receive_frame();
    std::string none;
    ASSERT_EQ(peer.take(std::as_bytes(std::span{welcome}), none), handshake::step::settled);
    switch (round % 4) {
    case 0:
      raw.send(prefixed(2u << 20, "x"));
      break;
    case 1:
      raw.send(peer.opening());
      break;
    case 2:
      raw.send(prefixed(std::string("\x52\x03\x0a\x7f\xff", 5)));
      break;
    default: {
      std::string bytes(64, '\0');
      for (auto& byte : bytes)
        byte = static_cast<char>(random());
      raw.send(prefixed(bytes));
    }
    }
    raw.end_of_sending();
    bool closed = false;
    raw.receive_all(closed);
    ASSERT_TRUE(closed);
    ASSERT_TRUE(server_.wait_links(2 + static_cast<std::size_t>(round)));
    ASSERT_TRUE(server_.records(1 + static_cast<std::size_t>(round))->wait_down()) << "round " << round;
  }
}

TEST_F(link_hostile, a_flood_of_silent_connections_is_bounded_and_passes) {
  std::vector<std::unique_ptr<raw_client>> flood;
  for (int i = 0; i < 100; ++i)
    flood.push_back(std::make_unique<raw_client>(port_));
  // Those beyond the limit at once, the others at the deadline.
  EXPECT_TRUE(becomes([&] { return server_.service().counters().refused[errc::busy] > 0; })) << server_.events();
  EXPECT_TRUE(becomes([&] {
    auto refused = server_.service().counters().refused;
    return refused[errc::busy] + refused[errc::timed_out] == 100;
  })) << server_.events();
  flood.clear();
  link_node late{"late", 8};
  EXPECT_TRUE(late.dial(port_));
  late.service().shutdown();
  server_.records(1)->wait_down();
}

TEST_F(link_hostile, many_short_connections_leave_no_descriptor_behind) {
  for (int i = 0; i < 2000; ++i) {
    raw_client raw{port_};
    ASSERT_TRUE(raw.connected());
  }
}

TEST_F(link_hostile, a_node_out_of_descriptors_refuses_clearly_idles_and_recovers) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::unique_ptr<raw_client>> waiting;
  // Sockets of ours connect first; then the limit drops below what is open, and the accepts find nothing left.
  for (int i = 0; i < 20; ++i)
    waiting.push_back(std::make_unique<raw_client>(0));
  rlimit tight = before;
  tight.rlim_cur = open_fds();
  std::vector<transport::unique_fd> filler;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  for (;;) {
    transport::unique_fd fd{::dup(0)};
    if (!fd)
      break;
    filler.push_back(std::move(fd));
  }
  auto address = transport::socket_address::from("127.0.0.1", port_).value();
  filler.pop_back();
  auto refused_before = server_.service().counters().refused[errc::no_resource];
  // The dialler takes the last descriptor: the acceptor has its spare one only.
  auto socket = transport::connect_tcp(address);
  ASSERT_TRUE(socket);
  EXPECT_TRUE(server_.wait_event(event::accept_failed, errc::no_resource)) << server_.events();
  EXPECT_TRUE(becomes([&] { return server_.service().counters().refused[errc::no_resource] > refused_before; }));
  timespec cpu_before{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_before);
  std::this_thread::sleep_for(300ms);
  timespec cpu_after{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_after);
  auto used = std::chrono::seconds{cpu_after.tv_sec - cpu_before.tv_sec} +
              std::chrono::nanoseconds{cpu_after.tv_nsec - cpu_before.tv_nsec};
  EXPECT_LT(used, 150ms) << "the acceptor spins";
  EXPECT_LT(server_.service().counters().accept_failures, 20u);
  filler.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  waiting.clear();
  socket = failure{};
  link_node late{"late", 8};
  EXPECT_TRUE(late.dial(port_));
  late.service().shutdown();
  server_.records(1)->wait_down();
}
