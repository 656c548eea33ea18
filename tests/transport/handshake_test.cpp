#include <troupe/transport/handshake.hpp>

#include <gtest/gtest.h>

#include <functional>

#include <troupe/proto/link_codec.hpp>

using namespace troupe;
using namespace troupe::transport;
using step = handshake::step;
using outcome = link_terms::outcome;

namespace {

link_offer offer_of(const std::string& name, std::uint64_t incarnation) {
  link_offer out;
  out.identity = {name, incarnation};
  out.host = this_host();
  out.transports = {"shm", "tcp"};
  return out;
}

std::span<const std::byte> body_of(const std::string& frame) {
  return std::as_bytes(std::span{frame}).subspan(proto::link_prefix_bytes);
}

using change = std::function<void(v1::LinkFrame&)>;

std::string changed(const std::string& frame, const change& how) {
  if (!how)
    return frame;
  v1::LinkFrame decoded;
  EXPECT_TRUE(decoded.ParseFromString(frame.substr(proto::link_prefix_bytes)));
  how(decoded);
  return std::string(proto::link_prefix_bytes, '\0') + decoded.SerializeAsString();
}

/// A handshake whose frames may be altered on their way.
struct meeting {
  link_offer dialler_offer = offer_of("dialler", 1);
  link_offer acceptor_offer = offer_of("acceptor", 2);
  std::string dialler_secret = "secret";
  std::string acceptor_secret = "secret";
  bool verify_only = false;
  outcome wanted = outcome::established;
  change on_hello, on_answer, on_proof, on_welcome;

  // How it ended.
  step dialler_step = step::more;
  step acceptor_step = step::more;
  failure dialler_why, acceptor_why;
  link_peer dialler_peer, acceptor_peer; ///< as the dialler and as the acceptor sees the other
  link_terms dialler_terms, acceptor_terms;
  std::string reply; ///< of the acceptor, last
  bool asked_to_verify = false;
  std::uint64_t dialler_serial = 0, acceptor_serial = 0;

  void run() {
    auto dialler = handshake::dialler(dialler_offer, dialler_secret);
    auto acceptor = handshake::acceptor(acceptor_offer, acceptor_secret);
    converse(dialler, acceptor);
    dialler_why = dialler.why();
    acceptor_why = acceptor.why();
    dialler_peer = dialler.peer();
    acceptor_peer = acceptor.peer();
    dialler_terms = dialler.terms();
    acceptor_terms = acceptor.terms();
    dialler_serial = acceptor.peer_serial();
    acceptor_serial = dialler.peer_serial();
  }

private:
  void converse(handshake& dialler, handshake& acceptor) {
    acceptor_step = acceptor.take(body_of(changed(dialler.opening(), on_hello)), reply);
    if (acceptor_step != step::more)
      return;
    std::string proof;
    dialler_step = dialler.take(body_of(changed(reply, on_answer)), proof);
    reply.clear();
    if (dialler_step != step::peer_known)
      return;
    dialler.prove(verify_only, 11, proof);
    acceptor_step = acceptor.take(body_of(changed(proof, on_proof)), reply);
    if (acceptor_step != step::peer_proved)
      return;
    asked_to_verify = acceptor.verify_only();
    acceptor_step = acceptor.welcome(wanted, 22, reply);
    std::string none;
    dialler_step = dialler.take(body_of(changed(reply, on_welcome)), none);
  }
};

errc rejected_code(const std::string& reply) {
  v1::LinkFrame frame;
  if (reply.empty() || !frame.ParseFromString(reply.substr(proto::link_prefix_bytes)) || !frame.has_reject())
    return errc::ok;
  return static_cast<errc>(frame.reject().code());
}

} // namespace

TEST(handshake, with_one_secret_settles_on_both_sides) {
  meeting x;
  x.dialler_offer.features = {"a", "b"};
  x.acceptor_offer.features = {"b", "c"};
  x.dialler_offer.limits.window_messages = 77;
  x.run();
  ASSERT_EQ(x.dialler_step, step::settled) << x.dialler_why.text;
  ASSERT_EQ(x.acceptor_step, step::settled) << x.acceptor_why.text;
  EXPECT_EQ(x.dialler_terms.session, x.acceptor_terms.session);
  EXPECT_EQ(x.dialler_terms.transport, "shm");
  EXPECT_EQ(x.acceptor_terms.transport, "shm");
  EXPECT_EQ(x.dialler_peer.features, std::vector<std::string>{"b"});
  EXPECT_EQ(x.acceptor_peer.features, std::vector<std::string>{"b"});
  EXPECT_EQ(x.acceptor_peer.limits.window_messages, 77u);
  EXPECT_EQ(x.acceptor_peer.host.process, this_process());
  EXPECT_EQ(x.acceptor_peer.identity(), x.dialler_offer.identity);
  EXPECT_EQ(x.dialler_peer.identity(), x.acceptor_offer.identity);
  EXPECT_EQ(x.dialler_serial, 11u);
  EXPECT_EQ(x.acceptor_serial, 22u);
}

TEST(handshake, settles_without_a_secret_on_both_sides) {
  meeting x;
  x.dialler_secret = x.acceptor_secret = "";
  x.run();
  EXPECT_EQ(x.dialler_step, step::settled);
}

TEST(handshake, with_two_secrets_fails_and_says_so) {
  for (const auto& [mine, theirs] : {std::pair{"a", "b"}, {"", "b"}, {"a", ""}}) {
    meeting x;
    x.dialler_secret = mine;
    x.acceptor_secret = theirs;
    x.run();
    EXPECT_EQ(x.acceptor_step, step::failed);
    EXPECT_EQ(x.acceptor_why.code, errc::authentication_failed);
    EXPECT_EQ(rejected_code(x.reply), errc::authentication_failed);
  }
}

TEST(handshake, notices_any_change_of_either_hello) {
  const change changes[] = {
      [](auto& x) { x.mutable_hello()->set_name("mallory"); },
      [](auto& x) { x.mutable_hello()->set_incarnation(99); },
      [](auto& x) { x.mutable_hello()->mutable_limits()->set_window_bytes(1); },
      [](auto& x) { x.mutable_hello()->mutable_host()->set_pid(1); },
      [](auto& x) { x.mutable_hello()->clear_transports(), x.mutable_hello()->add_transports("tcp"); },
      [](auto& x) { x.mutable_hello()->add_features("extra"); },
      [](auto& x) { x.mutable_hello()->set_nonce(std::string(32, 'x')); },
      [](auto& x) { x.mutable_hello()->set_min_version(0); },
      [](auto& x) { x.mutable_hello()->set_max_version(5); },
      [](auto& x) { x.mutable_hello()->set_down_after_ms(60000); },
  };
  for (const auto& each : changes) {
    meeting x;
    x.on_hello = each;
    x.run();
    EXPECT_EQ(x.acceptor_why.code, errc::authentication_failed);
    meeting y;
    y.on_answer = each;
    y.run();
    EXPECT_EQ(y.acceptor_why.code, errc::authentication_failed);
  }
}

TEST(handshake, notices_any_change_of_the_proof_and_the_terms) {
  meeting x;
  x.on_proof = [](auto& frame) { frame.mutable_proof()->set_verify_only(true); };
  x.run();
  EXPECT_EQ(x.acceptor_why.code, errc::authentication_failed);
  meeting y;
  y.on_proof = [](auto& frame) { frame.mutable_proof()->set_serial(12); };
  y.run();
  EXPECT_EQ(y.acceptor_why.code, errc::authentication_failed);
  meeting z;
  z.on_welcome = [](auto& frame) {
    v1::Terms terms;
    terms.ParseFromString(frame.welcome().terms());
    terms.set_transport("tcp");
    frame.mutable_welcome()->set_terms(terms.SerializeAsString());
  };
  z.run();
  EXPECT_EQ(z.dialler_step, step::failed);
  EXPECT_EQ(z.dialler_why.code, errc::authentication_failed);
}

TEST(handshake, an_acceptor_without_the_secret_cannot_pass_for_one) {
  auto mine = offer_of("dialler", 1);
  auto theirs = offer_of("acceptor", 2);
  auto dialler = handshake::dialler(mine, "secret");
  auto rogue = handshake::acceptor(theirs, "guess");
  std::string out;
  ASSERT_EQ(rogue.take(body_of(dialler.opening()), out), step::more);
  std::string proof;
  ASSERT_EQ(dialler.take(body_of(out), proof), step::peer_known);
  dialler.prove(false, 1, proof);
  // It cannot check the proof, but it can try to send it back as its own.
  v1::LinkFrame reflected;
  ASSERT_TRUE(reflected.ParseFromString(proof.substr(4)));
  v1::LinkFrame welcome;
  welcome.mutable_welcome()->set_hmac(reflected.proof().hmac());
  welcome.mutable_welcome()->set_terms("link 1");
  auto bytes = welcome.SerializeAsString();
  std::string none;
  EXPECT_EQ(dialler.take(std::as_bytes(std::span{bytes}), none), step::failed);
  EXPECT_EQ(dialler.why().code, errc::authentication_failed);
}

TEST(handshake, a_recorded_dialler_is_of_no_use_again) {
  auto mine = offer_of("dialler", 1);
  auto theirs = offer_of("acceptor", 2);
  auto dialler = handshake::dialler(mine, "secret");
  auto first = handshake::acceptor(theirs, "secret");
  std::string out;
  ASSERT_EQ(first.take(body_of(dialler.opening()), out), step::more);
  std::string proof;
  ASSERT_EQ(dialler.take(body_of(out), proof), step::peer_known);
  dialler.prove(false, 1, proof);
  ASSERT_EQ(first.take(body_of(proof), out), step::peer_proved);
  auto second = handshake::acceptor(theirs, "secret");
  ASSERT_EQ(second.take(body_of(dialler.opening()), out), step::more);
  EXPECT_EQ(second.take(body_of(proof), out), step::failed);
  EXPECT_EQ(second.why().code, errc::authentication_failed);
}

TEST(handshake, a_dialler_may_only_ask_who_is_there) {
  meeting x;
  x.verify_only = true;
  x.wanted = outcome::verified;
  x.run();
  EXPECT_TRUE(x.asked_to_verify);
  ASSERT_EQ(x.dialler_step, step::settled);
  EXPECT_EQ(x.dialler_terms.result, outcome::verified);
  meeting y;
  y.wanted = outcome::deferred;
  y.run();
  ASSERT_EQ(y.dialler_step, step::settled);
  EXPECT_EQ(y.dialler_terms.result, outcome::deferred);
  meeting z;
  z.wanted = outcome::verified; // not what was asked
  z.run();
  EXPECT_EQ(z.dialler_step, step::failed);
  EXPECT_EQ(z.dialler_why.code, errc::protocol_error);
}

TEST(handshake, protocol_versions_that_do_not_meet_are_named) {
  meeting x;
  x.dialler_offer.min_version = 3;
  x.dialler_offer.max_version = 4;
  x.run();
  EXPECT_EQ(x.acceptor_why.code, errc::bad_version);
  EXPECT_EQ(rejected_code(x.reply), errc::bad_version);
  EXPECT_NE(x.acceptor_why.text.find("'acceptor' speaks 1, node 'dialler' speaks 3 to 4"), std::string::npos)
      << x.acceptor_why.text;
}

TEST(handshake, the_highest_common_version_is_used) {
  meeting x;
  x.dialler_offer.max_version = 4;
  x.acceptor_offer.max_version = 3;
  x.run();
  ASSERT_EQ(x.dialler_step, step::settled);
  EXPECT_EQ(x.dialler_peer.version, 3u);
  EXPECT_EQ(x.acceptor_peer.version, 3u);
}

TEST(handshake, shared_memory_needs_one_host_and_one_user) {
  for (int what = 0; what < 4; ++what) {
    meeting x;
    if (what == 1)
      x.dialler_offer.host.host_id = "another";
    else if (what == 2)
      x.dialler_offer.host.uid += 1;
    else if (what == 3)
      x.dialler_offer.host.host_id = x.acceptor_offer.host.host_id = "";
    x.run();
    ASSERT_EQ(x.dialler_step, step::settled) << x.dialler_why.text;
    EXPECT_EQ(x.dialler_terms.transport, what == 0 ? "shm" : "tcp");
    x.dialler_offer.transports = x.acceptor_offer.transports = {"shm"};
    x.reply.clear();
    x.run();
    EXPECT_EQ(x.acceptor_step, what == 0 ? step::settled : step::failed);
    if (what != 0) {
      EXPECT_EQ(x.acceptor_why.code, errc::incompatible);
      EXPECT_EQ(rejected_code(x.reply), errc::incompatible);
      EXPECT_NE(x.acceptor_why.text.find(what == 2 ? "different users" : "not on the same host"), std::string::npos);
    }
  }
}

TEST(handshake, the_diallers_preference_decides_between_transports) {
  meeting x;
  x.dialler_offer.transports = {"tcp", "shm"};
  x.run();
  EXPECT_EQ(x.dialler_terms.transport, "tcp");
}

TEST(handshake, meeting_oneself_fails_on_both_sides) {
  meeting x;
  x.dialler_offer = x.acceptor_offer;
  x.run();
  EXPECT_EQ(x.acceptor_why.code, errc::self_connect);
  EXPECT_EQ(rejected_code(x.reply), errc::self_connect);
}

TEST(handshake, a_refusal_reaches_the_dialler_with_its_code_in_harmless_words) {
  auto mine = offer_of("dialler", 1);
  auto dialler = handshake::dialler(mine, "secret");
  std::string out;
  EXPECT_EQ(dialler.take(body_of(encode_reject(errc::name_in_use, "taken\n\x1b[2J")), out), step::failed);
  EXPECT_EQ(dialler.why().code, errc::name_in_use);
  EXPECT_NE(dialler.why().text.find("taken??[2J"), std::string::npos) << dialler.why().text;
  auto other = handshake::dialler(mine, "secret");
  EXPECT_EQ(other.take(body_of(encode_reject(static_cast<errc>(250), "?")), out), step::failed);
  EXPECT_EQ(other.why().code, errc::rejected);
}

TEST(handshake, an_acceptor_that_waits_for_its_caller_takes_no_more) {
  auto mine = offer_of("dialler", 1);
  auto theirs = offer_of("acceptor", 2);
  auto dialler = handshake::dialler(mine, "secret");
  auto acceptor = handshake::acceptor(theirs, "secret");
  std::string out;
  ASSERT_EQ(acceptor.take(body_of(dialler.opening()), out), step::more);
  std::string proof;
  ASSERT_EQ(dialler.take(body_of(out), proof), step::peer_known);
  dialler.prove(false, 1, proof);
  ASSERT_EQ(acceptor.take(body_of(proof), out), step::peer_proved);
  EXPECT_EQ(acceptor.take(body_of(proof), out), step::failed);
  EXPECT_EQ(acceptor.why().code, errc::protocol_error);
}

TEST(handshake, an_offer_no_peer_would_take_is_named) {
  auto offer = offer_of("x", 1);
  EXPECT_EQ(field_out_of_limits(offer), "");
  offer.heartbeat = std::chrono::milliseconds{0};
  EXPECT_EQ(field_out_of_limits(offer), "hello.heartbeat_ms");
}

TEST(link_identity, ranks_by_incarnation_then_by_name) {
  EXPECT_TRUE(outranks({"a", 2}, {"b", 1}));
  EXPECT_FALSE(outranks({"b", 1}, {"a", 2}));
  EXPECT_TRUE(outranks({"b", 1}, {"a", 1}));
  EXPECT_FALSE(outranks({"a", 1}, {"a", 1}));
}
