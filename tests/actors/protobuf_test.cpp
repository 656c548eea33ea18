#include <troupe/actors/protobuf.hpp>

#include <gtest/gtest.h>

#include <caf/event_based_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/scoped_actor.hpp>
#include <google/protobuf/util/message_differencer.h>

#include <codec_test.pb.h>
#include <tests/support/codec_pair.hpp>

namespace troupe {
namespace {

using test::codec_node;
using test::Nest;
using test::Position;
using test::Trip;
using google::protobuf::util::MessageDifferencer;

/// A protobuf message as a member of a struct.
struct journal_entry {
  std::int32_t page = 0;
  Trip trip;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, journal_entry& x) {
  return f(x.page, x.trip);
}

void add_types(caf::actor_system_config& config) {
  add_protobuf_types<Trip, Position, Nest>(config);
  config.add_message_type<journal_entry>("journal_entry");
}

Trip make_trip(std::size_t photo_bytes = 5) {
  Trip trip;
  trip.set_name(std::string{"a\0b", 3});
  for (auto i = 0; i < 3; ++i) {
    auto* stop = trip.add_stops();
    stop->set_latitude(-0.0);
    stop->set_longitude(i * 1.5);
  }
  (*trip.mutable_distances())["home"] = -7;
  trip.set_photo(std::string(photo_bytes, '\xff'));
  trip.set_bus(42);
  return trip;
}

TEST(Protobuf, MessagesComeBackAsTheyWere) {
  codec_node alpha{"alpha", add_types};
  codec_node beta{"beta", add_types};
  for (auto photo : {std::size_t{0}, std::size_t{5}, std::size_t{900}, std::size_t{100'000}}) {
    auto trip = make_trip(photo);
    auto wire = encode(alpha, caf::make_message(trip, Position{}));
    ASSERT_FALSE(wire.failure) << explain(wire.failure);
    auto back = decode(beta, alpha, wire.body);
    ASSERT_TRUE(back) << explain(back.error());
    ASSERT_TRUE((back->match_elements<Trip, Position>()));
    EXPECT_TRUE(MessageDifferencer::Equals(back->get_as<Trip>(0), trip));
    EXPECT_TRUE(MessageDifferencer::Equals(back->get_as<Position>(1), Position{}));
  }
}

TEST(Protobuf, TheFullNameIsTheTypesName) {
  codec_node node{"alpha", add_types};
  EXPECT_NE(node.types->id_of("troupe.test.Trip"), type_table::no_type);
}

TEST(Protobuf, CorruptBytesAreAnError) {
  codec_node alpha{"alpha", add_types};
  auto wire = encode(alpha, caf::make_message(make_trip()));
  ASSERT_FALSE(wire.failure);
  auto bytes = wire.body;
  bytes[7] = std::byte{0xff}; // the first tag, behind the head and the size
  auto back = decode(alpha, alpha, bytes);
  ASSERT_FALSE(back);
  EXPECT_EQ(code_of(back.error()), errc::decode_failed);
  EXPECT_NE(text_of(back.error()).find("troupe.test.Trip"), std::string::npos) << text_of(back.error());
}

TEST(Protobuf, EveryTruncationIsAnError) {
  codec_node alpha{"alpha", add_types};
  auto wire = encode(alpha, caf::make_message(make_trip()));
  for (std::size_t size = 0; size < wire.body.size(); ++size)
    EXPECT_FALSE(decode(alpha, alpha, std::span{wire.body}.first(size))) << size;
}

TEST(Protobuf, NestingBeyondProtobufsLimitIsAnError) {
  codec_node alpha{"alpha", add_types};
  Nest deep;
  auto* inner = &deep;
  for (auto i = 0; i < 1000; ++i)
    inner = inner->mutable_inner();
  auto wire = encode(alpha, caf::make_message(deep));
  ASSERT_FALSE(wire.failure);
  auto back = decode(alpha, alpha, wire.body);
  ASSERT_FALSE(back);
  EXPECT_EQ(code_of(back.error()), errc::decode_failed);
}

TEST(Protobuf, MayBeAMemberOfAStruct) {
  codec_node alpha{"alpha", add_types};
  auto wire = encode(alpha, caf::make_message(journal_entry{3, make_trip()}));
  ASSERT_FALSE(wire.failure) << explain(wire.failure);
  auto back = decode(alpha, alpha, wire.body);
  ASSERT_TRUE(back) << explain(back.error());
  EXPECT_TRUE(MessageDifferencer::Equals(back->get_as<journal_entry>(0).trip, make_trip()));
}

TEST(Protobuf, IsAMessageElementBetweenLocalActors) {
  codec_node node{"alpha", add_types};
  auto echo = node.system->spawn([](caf::event_based_actor*) -> caf::behavior {
    return {[](const Trip& trip) { return trip.name() + "!"; }, [](const Position& x) { return x; }};
  });
  {
    caf::scoped_actor self{*node.system};
    self->request(echo, std::chrono::seconds{10}, make_trip())
      .receive([](const std::string& name) { EXPECT_EQ(name, (std::string{"a\0b!", 4})); },
               [](const caf::error& why) { ADD_FAILURE() << explain(why); });
    self->send_exit(echo, caf::exit_reason::user_shutdown);
  }
  EXPECT_NE(to_string(caf::make_message(make_trip())).find("bus"), std::string::npos);
}

} // namespace
} // namespace troupe
