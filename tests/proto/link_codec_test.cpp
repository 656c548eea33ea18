#include <troupe/proto/link_codec.hpp>

#include <gtest/gtest.h>

#include <random>

using namespace troupe;
using proto::link_frame_cutter;
using status = link_frame_cutter::status;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

v1::LinkFrame hello() {
  v1::LinkFrame out;
  auto& x = *out.mutable_hello();
  x.set_magic(proto::link_magic);
  x.set_min_version(1);
  x.set_max_version(1);
  x.set_nonce(std::string(proto::link_nonce_bytes, 'n'));
  x.set_name("node");
  x.set_incarnation(1);
  x.set_heartbeat_ms(1000);
  x.set_down_after_ms(4000);
  return out;
}

std::string_view offence(const v1::LinkFrame& frame) { return proto::field_out_of_limits(frame); }

} // namespace

TEST(link_codec, writes_a_little_endian_length_and_the_frame) {
  v1::LinkFrame frame;
  frame.mutable_lanes_up()->set_epoch(5);
  std::string out = "kept";
  ASSERT_TRUE(proto::encode_link_frame(frame, out));
  // LinkFrame field 12, length 2; LanesUp field 1, varint 5.
  EXPECT_EQ(out, std::string("kept\x04\0\0\0\x62\x02\x08\x05", 12));
}

TEST(link_codec, reads_what_it_wrote) {
  auto frame = hello();
  std::string out;
  ASSERT_TRUE(proto::encode_link_frame(frame, out));
  v1::LinkFrame read;
  std::string_view why;
  ASSERT_TRUE(proto::decode_link_frame(bytes_of(out).subspan(4), read, why));
  EXPECT_EQ(read.SerializeAsString(), frame.SerializeAsString());
}

TEST(link_codec, writes_nothing_beyond_the_bound_or_a_limit) {
  auto frame = hello();
  std::string out = "kept";
  EXPECT_FALSE(proto::encode_link_frame(frame, out, 20));
  frame.mutable_hello()->set_name(std::string(256, 'n'));
  EXPECT_FALSE(proto::encode_link_frame(frame, out));
  EXPECT_FALSE(proto::encode_link_frame({}, out));
  EXPECT_EQ(out, "kept");
}

TEST(link_codec, names_the_field_that_breaks_its_limit) {
  EXPECT_EQ(offence(hello()), "");
  EXPECT_EQ(offence({}), "kind");
  v1::LinkFrame frame;
  frame.mutable_lane_offer()->set_transport("shm");
  EXPECT_EQ(offence(frame), "");
  frame.mutable_lane_offer()->set_port(65536);
  EXPECT_EQ(offence(frame), "lane_offer.port");
  frame.mutable_lane_offer()->set_port(65535);
  frame.mutable_lane_offer()->set_bulk_ticket("short");
  EXPECT_EQ(offence(frame), "lane_offer.bulk_ticket");
  frame.mutable_lane_offer()->set_bulk_ticket(std::string(16, 't'));
  frame.mutable_lane_offer()->set_worker_address(std::string(proto::max_worker_address_bytes + 1, 'a'));
  EXPECT_EQ(offence(frame), "lane_offer.worker_address");
  frame.mutable_proof()->set_hmac("short");
  EXPECT_EQ(offence(frame), "proof.hmac");
  frame.mutable_welcome()->set_hmac(std::string(32, 'h'));
  frame.mutable_welcome()->set_terms(std::string(proto::max_terms_bytes + 1, 't'));
  EXPECT_EQ(offence(frame), "welcome.terms");
  frame.mutable_reject()->set_code(256);
  EXPECT_EQ(offence(frame), "reject.code");
  frame.mutable_goodbye()->set_reason(std::string(proto::max_link_text_bytes + 1, 'r'));
  EXPECT_EQ(offence(frame), "goodbye.reason");
  frame.mutable_lane_failed()->set_text("two\nlines");
  EXPECT_EQ(offence(frame), "lane_failed.text");
  frame.mutable_type_table()->add_names("");
  EXPECT_EQ(offence(frame), "type_table.names");
  frame = hello();
  frame.mutable_hello()->set_name("\xc3\x28");
  EXPECT_EQ(offence(frame), "hello.name");
}

TEST(link_codec, survives_random_and_flipped_bytes) {
  std::mt19937 random{11};
  std::string good;
  ASSERT_TRUE(proto::encode_link_frame(hello(), good));
  good.erase(0, 4);
  v1::LinkFrame frame;
  std::string_view why;
  for (int i = 0; i < 20000; ++i) {
    auto bytes = good;
    if (i % 2 == 0)
      for (auto& byte : bytes)
        byte = static_cast<char>(random());
    else
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    bytes.resize(random() % (bytes.size() + 1));
    if (proto::decode_link_frame(bytes_of(bytes), frame, why))
      EXPECT_EQ(offence(frame), "");
    else
      EXPECT_FALSE(why.empty());
  }
}

TEST(link_codec, keeps_text_short_printable_and_utf8) {
  EXPECT_EQ(proto::clean_link_text("gr\xc3\xbc\xc3\x9f dich"), "gr\xc3\xbc\xc3\x9f dich");
  EXPECT_EQ(proto::clean_link_text("a\nb\x1b[31m\x7f"), "a?b?[31m?");
  EXPECT_EQ(proto::clean_link_text("\xff\xc3(\xed\xa0\x80\xf5"), std::string("??") + "(" + "????");
  EXPECT_EQ(proto::clean_link_text(std::string(600, 'x')).size(), proto::max_link_text_bytes);
  // Not in the middle of a character.
  auto cut = proto::clean_link_text(std::string(proto::max_link_text_bytes - 1, 'x') + "\xc3\xbc");
  EXPECT_EQ(cut.size(), proto::max_link_text_bytes - 1);
  EXPECT_TRUE(proto::is_link_text(""));
  EXPECT_TRUE(proto::is_link_text("\xf0\x9f\x8e\xad"));
  EXPECT_FALSE(proto::is_link_text("\xf0\x9f\x8e"));
  EXPECT_FALSE(proto::is_link_text("\xc0\xaf"));
  EXPECT_FALSE(proto::is_link_text("tab\t"));
}

TEST(link_frame_cutter, finds_frames_however_the_stream_is_cut) {
  std::string stream;
  std::vector<std::string> bodies{"a", std::string(300, 'b'), "ccc"};
  for (const auto& body : bodies) {
    stream.push_back(static_cast<char>(body.size() & 0xff));
    stream.push_back(static_cast<char>(body.size() >> 8));
    stream += std::string(2, '\0') + body;
  }
  for (std::size_t step : {1u, 2u, 7u, 1000u}) {
    link_frame_cutter cutter{1000};
    std::vector<std::string> found;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      cutter.feed(bytes_of(std::string_view{stream}.substr(at, step)));
      std::span<const std::byte> body;
      while (cutter.next(body) == status::frame)
        found.push_back(text_of(body));
    }
    EXPECT_EQ(found, bodies) << "in steps of " << step;
    EXPECT_FALSE(cutter.in_frame());
  }
}

TEST(link_frame_cutter, refuses_a_length_beyond_the_bound_before_the_bytes_are_there) {
  link_frame_cutter cutter{100};
  std::span<const std::byte> body;
  cutter.feed(bytes_of(std::string_view{"\x65\0\0\0", 4}));
  EXPECT_EQ(cutter.next(body), status::too_large);
  EXPECT_EQ(cutter.claimed(), 101u);
  link_frame_cutter wide{100};
  wide.bound(101);
  wide.feed(bytes_of(std::string_view{"\x65\0\0\0", 4}));
  EXPECT_EQ(wide.next(body), status::need_more);
  EXPECT_TRUE(wide.in_frame());
  link_frame_cutter none{100};
  none.feed(bytes_of(std::string_view{"\0\0\0\0", 4}));
  EXPECT_EQ(none.next(body), status::empty);
}

TEST(link_frame_cutter, shows_what_a_stream_that_is_no_link_begins_with) {
  link_frame_cutter cutter{100};
  cutter.feed(bytes_of("GET / HTTP/1.1\r\nHost"));
  std::span<const std::byte> body;
  EXPECT_EQ(cutter.next(body), status::too_large);
  EXPECT_EQ(cutter.excerpt(), "GET / HTTP/1.1..");
}
