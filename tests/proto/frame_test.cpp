#include <troupe/proto/frame.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::proto {
namespace {

using bytes = std::vector<std::byte>;

bytes of(std::initializer_list<int> values) {
  bytes out;
  for (auto x : values)
    out.push_back(static_cast<std::byte>(x));
  return out;
}

template <class T>
bytes image(const T& x) {
  bytes out(sizeof(T));
  byte_writer to{out};
  to.write(x);
  EXPECT_FALSE(to.overflown());
  EXPECT_EQ(to.needed(), sizeof(T));
  return out;
}

template <class T>
T parse(const bytes& from) {
  T x{};
  frame_reader in{from};
  EXPECT_TRUE(in.read(x));
  EXPECT_TRUE(in.rest().empty());
  return x;
}

// -- golden bytes: what another build of another version reads and writes -------

TEST(frame, a_lane_header_is_these_24_bytes) {
  lane_header x{};
  x.epoch_key = 0x1122334455667788;
  x.ack = 0x0102030405060708;
  x.epoch = 0xa1b2c3d4;
  x.kind = lane_frame::bulk;
  x.count = 0x0e0f;
  const auto golden = of({0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // epoch_key
                          0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, // ack
                          0xd4, 0xc3, 0xb2, 0xa1,                         // epoch
                          0x02, 0x00,                                     // kind
                          0x0f, 0x0e});                                   // count
  EXPECT_EQ(image(x), golden);
  const auto y = parse<lane_header>(golden);
  EXPECT_EQ(y.epoch_key, x.epoch_key);
  EXPECT_EQ(y.ack, x.ack);
  EXPECT_EQ(y.epoch, x.epoch);
  EXPECT_EQ(y.kind, x.kind);
  EXPECT_EQ(y.count, x.count);
}

TEST(frame, a_message_header_is_these_48_bytes) {
  message_header x{};
  x.seq = 0x0102030405060708;
  x.after = 0x1112131415161718;
  x.sender = 0x2122232425262728;
  x.target = 0x3132333435363738;
  x.message_id = 0x4142434445464748;
  x.size = 0x51525354;
  x.aux = 0x6162;
  x.kind = message_kind::down;
  x.flags = message_flag::barrier | message_flag::replay;
  const auto golden = of({0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, // seq
                          0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, // after
                          0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, // sender
                          0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, // target
                          0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, // message_id
                          0x54, 0x53, 0x52, 0x51,                         // size
                          0x62, 0x61,                                     // aux
                          0x03,                                           // kind
                          0x03});                                         // flags
  EXPECT_EQ(image(x), golden);
  const auto y = parse<message_header>(golden);
  EXPECT_EQ(y.seq, x.seq);
  EXPECT_EQ(y.after, x.after);
  EXPECT_EQ(y.sender, x.sender);
  EXPECT_EQ(y.target, x.target);
  EXPECT_EQ(y.message_id, x.message_id);
  EXPECT_EQ(y.size, x.size);
  EXPECT_EQ(y.aux, x.aux);
  EXPECT_EQ(y.kind, x.kind);
  EXPECT_EQ(y.flags, x.flags);
}

TEST(frame, a_sack_range_is_these_16_bytes) {
  const sack_range x{0x0102030405060708, 0x1112131415161718};
  const auto golden = of({0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, // first
                          0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11}); // last
  EXPECT_EQ(image(x), golden);
  EXPECT_EQ(parse<sack_range>(golden).first, x.first);
  EXPECT_EQ(parse<sack_range>(golden).last, x.last);
}

TEST(frame, a_credit_return_is_these_32_bytes) {
  const credit_return x{0x0102030405060708, 0x11121314, 0x21222324, 0x3132333435363738, 0x4142434445464748};
  const auto golden = of({0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,   // target
                          0x14, 0x13, 0x12, 0x11,                           // messages
                          0x24, 0x23, 0x22, 0x21,                           // bulk_messages
                          0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,   // bytes
                          0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41}); // bulk_bytes
  EXPECT_EQ(image(x), golden);
  const auto y = parse<credit_return>(golden);
  EXPECT_EQ(y.target, x.target);
  EXPECT_EQ(y.messages, x.messages);
  EXPECT_EQ(y.bulk_messages, x.bulk_messages);
  EXPECT_EQ(y.bytes, x.bytes);
  EXPECT_EQ(y.bulk_bytes, x.bulk_bytes);
}

TEST(frame, enumerators_keep_their_numbers) {
  EXPECT_EQ(static_cast<int>(lane_frame::batch), 1);
  EXPECT_EQ(static_cast<int>(lane_frame::bulk), 2);
  EXPECT_EQ(static_cast<int>(lane_frame::ticket), 3);
  EXPECT_EQ(static_cast<int>(message_kind::message), 1);
  EXPECT_EQ(static_cast<int>(message_kind::monitor), 2);
  EXPECT_EQ(static_cast<int>(message_kind::down), 3);
  EXPECT_EQ(static_cast<int>(message_kind::link), 4);
  EXPECT_EQ(static_cast<int>(message_kind::unlink), 5);
  EXPECT_EQ(static_cast<int>(message_kind::nack), 6);
  EXPECT_EQ(static_cast<int>(message_kind::ack), 16);
  EXPECT_EQ(static_cast<int>(message_flag::barrier), 1);
  EXPECT_EQ(static_cast<int>(message_flag::replay), 2);
  EXPECT_EQ(static_cast<int>(message_flag::body_in_data), 4);
}

// A batch of one message with a body and one acknowledgement, byte for byte as it travels.
TEST(frame, a_batch_is_these_bytes) {
  bytes memory(256);
  byte_writer to{memory};
  to.write(lane_header{0x0807060504030201, 9, 2, lane_frame::batch, 2});
  to.write(message_header{7, 5, 0x20, 0x30, 1, 3, 0, message_kind::message, 0});
  to.write("abc", 3);
  to.write(message_header{0, 0, 0, 0, 0, 48, 1, message_kind::ack, 0});
  to.write(sack_range{11, 12});
  to.write(credit_return{0x30, 4, 0, 256, 0});
  ASSERT_FALSE(to.overflown());
  memory.resize(to.needed());

  const auto golden = of({
      1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, // lane_header
      7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,                         // seq, after
      0x20, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0,                   // sender, target
      1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 1, 0,                         // message_id, size, aux, kind, flags
      'a', 'b', 'c',                                                          // body
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                         // seq, after
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,                         // sender, target
      0, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 1, 0, 16, 0,                       // message_id, size, aux, kind, flags
      11, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0,                       // sack_range
      0x30, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,                      // credit_return
      0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  });
  EXPECT_EQ(memory, golden);
}

TEST(frame, the_largest_body_and_the_largest_acknowledgement_fit_into_a_batch) {
  EXPECT_LE(sizeof(lane_header) + sizeof(message_header) + max_inline_body, max_batch_bytes);
  EXPECT_LE(sizeof(lane_header) + sizeof(message_header) + max_sack_ranges * sizeof(sack_range)
                + max_credit_returns * sizeof(credit_return),
            max_batch_bytes);
  EXPECT_LT(sizeof(lane_header) + sizeof(message_header) + max_attachments * sizeof(std::uint64_t), max_bulk_header);
}

// -- reading --------------------------------------------------------------------

TEST(frame_reader, reads_structs_that_are_not_aligned) {
  bytes memory(1 + sizeof(sack_range));
  const sack_range x{3, 4};
  std::memcpy(memory.data() + 1, &x, sizeof(x));
  frame_reader in{memory};
  EXPECT_EQ(in.take(1).size(), 1u);
  sack_range y{};
  ASSERT_TRUE(in.read(y));
  EXPECT_EQ(y.first, 3u);
  EXPECT_EQ(y.last, 4u);
  EXPECT_TRUE(in.rest().empty());
}

TEST(frame_reader, refuses_every_truncation_of_every_struct) {
  const auto refuses = [](auto x) {
    const auto whole = image(x);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      decltype(x) y{};
      const auto before = image(y);
      frame_reader in{part};
      EXPECT_FALSE(in.read(y)) << n;
      EXPECT_FALSE(in.ok());
      EXPECT_EQ(image(y), before) << "a failed read changed its target";
    }
  };
  refuses(lane_header{});
  refuses(message_header{});
  refuses(sack_range{1, 2});
  refuses(credit_return{});
}

TEST(frame_reader, reads_nothing_after_a_read_that_did_not_fit) {
  const auto memory = of({1, 2, 3});
  frame_reader in{memory};
  std::uint32_t four = 0;
  EXPECT_FALSE(in.read(four));
  std::uint8_t one = 0;
  EXPECT_FALSE(in.read(one));
  EXPECT_EQ(one, 0);
  EXPECT_TRUE(in.take(0).empty());
  EXPECT_TRUE(in.take(1).empty());
  EXPECT_FALSE(in.ok());
}

TEST(frame_reader, takes_exactly_what_is_there_and_no_byte_more) {
  const auto memory = of({1, 2, 3});
  frame_reader all{memory};
  EXPECT_EQ(all.take(3).data(), memory.data());
  EXPECT_TRUE(all.ok());
  EXPECT_EQ(all.take(0).size(), 0u);
  EXPECT_TRUE(all.ok());
  EXPECT_TRUE(all.take(1).empty());
  EXPECT_FALSE(all.ok());

  frame_reader huge{memory};
  EXPECT_TRUE(huge.take(~std::size_t{0}).empty());
  EXPECT_FALSE(huge.ok());

  frame_reader nothing{{}};
  EXPECT_TRUE(nothing.ok());
  std::uint8_t one = 0;
  EXPECT_FALSE(nothing.read(one));
}

// -- writing --------------------------------------------------------------------

TEST(byte_writer, fills_its_memory_to_the_last_byte) {
  auto memory = of({0, 0, 0, 0xee});
  byte_writer to{{memory.data(), 3}};
  to.write(std::uint16_t{0x0201});
  to.write(std::uint8_t{3});
  EXPECT_FALSE(to.overflown());
  EXPECT_EQ(to.needed(), 3u);
  EXPECT_EQ(memory, of({1, 2, 3, 0xee}));
}

TEST(byte_writer, counts_on_past_its_end_without_writing_there) {
  auto memory = of({0, 0, 0, 0xee});
  byte_writer to{{memory.data(), 3}};
  to.write(std::uint16_t{0x0201});
  to.write(std::uint32_t{0xffffffff});
  EXPECT_TRUE(to.overflown());
  EXPECT_EQ(to.needed(), 6u);
  to.write(std::uint8_t{9});
  EXPECT_EQ(to.needed(), 7u);
  EXPECT_EQ(memory, of({1, 2, 0, 0xee}));
}

TEST(byte_writer, measures_without_any_memory) {
  byte_writer to{{}};
  to.write(nullptr, 0);
  EXPECT_FALSE(to.overflown());
  to.write(message_header{});
  EXPECT_TRUE(to.overflown());
  EXPECT_EQ(to.needed(), sizeof(message_header));
}

} // namespace
} // namespace troupe::proto
