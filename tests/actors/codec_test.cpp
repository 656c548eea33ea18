// CAF reads into a std::byte that it declared without a value; the warning takes its setting from where CAF's headers
// are included.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <troupe/actors/codec.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

#include <gtest/gtest.h>

#include <caf/actor_registry.hpp>
#include <caf/config_value.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>

#include <tests/support/codec_pair.hpp>

// -- what a decode allocates ----------------------------------------------------

namespace {

thread_local std::size_t bytes_allocated = 0;

void* counted(std::size_t size) {
  bytes_allocated += size;
  if (auto* block = std::malloc(size == 0 ? 1 : size))
    return block;
  throw std::bad_alloc{};
}

} // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }

namespace troupe {
namespace {

using namespace test;
using caf::make_message;

class Codec : public testing::Test {
protected:
  /// From alpha to beta and what arrives there.
  caf::message travel(const caf::type_erased_tuple& content) {
    auto wire = encode(alpha, content);
    EXPECT_FALSE(wire.failure) << explain(wire.failure);
    if (wire.failure)
      return {};
    auto back = decode(beta, alpha, wire.body, wire.extras.attachments);
    EXPECT_TRUE(back) << explain(back.error());
    return back ? std::move(*back) : caf::message{};
  }

  template <class T>
  T travel_value(T x) {
    auto back = travel(make_message(std::move(x)));
    auto same_type = back.template match_elements<T>();
    EXPECT_TRUE(same_type);
    return same_type ? back.template get_as<T>(0) : T{};
  }

  errc encode_failure(const caf::message& content) {
    auto failure = encode(alpha, content).failure;
    text = text_of(failure);
    return code_of(failure);
  }

  errc decode_failure(std::span<const std::byte> body, std::span<const payload> attachments = {}) {
    auto back = decode(beta, alpha, body, attachments);
    if (back)
      return errc::ok;
    text = text_of(back.error());
    return code_of(back.error());
  }

  /// An actor that lives as long as the test.
  caf::actor spawn(codec_node& node) {
    spawned.push_back(node.system->spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; }));
    return spawned.back();
  }

  void TearDown() override {
    for (auto& x : spawned)
      caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
    spawned.clear();
  }

  static void add_types(caf::actor_system_config& config) {
    config.add_message_type<std::vector<std::byte>>("bytes");
    config.add_message_type<std::vector<caf::unit_t>>("units");
    config.add_message_type<std::vector<bool>>("bits");
  }

  codec_node alpha{"alpha", add_types};
  codec_node beta{"beta", add_types};
  std::vector<caf::actor> spawned;
  std::string text; ///< of the last failure
};

/// The bits of a number, since a NaN is not equal to itself.
template <class T>
auto bits(T x) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(x);
  else
    return std::bit_cast<std::uint64_t>(x);
}

const std::vector<double> hard_doubles{0.0,
                                       -0.0,
                                       std::numeric_limits<double>::infinity(),
                                       -std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::denorm_min(),
                                       std::numeric_limits<double>::max(),
                                       std::bit_cast<double>(0x7ff8000000000001u), // quiet NaN with a payload
                                       std::bit_cast<double>(0xfff4000000001234u)}; // signalling NaN with a sign

const std::vector<float> hard_floats{0.0f,
                                     -0.0f,
                                     std::numeric_limits<float>::infinity(),
                                     -std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::denorm_min(),
                                     std::bit_cast<float>(0x7fc00001u),
                                     std::bit_cast<float>(0xffa01234u)};

// -- values come back as they were ------------------------------------------------

TEST_F(Codec, IntegersComeBackAtTheirLimits) {
  auto check = [&]<class T>(T) {
    for (auto x : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}})
      EXPECT_EQ(travel_value<T>(x), x);
  };
  check(std::int8_t{});
  check(std::uint8_t{});
  check(std::int16_t{});
  check(std::uint16_t{});
  check(std::int32_t{});
  check(std::uint32_t{});
  check(std::int64_t{});
  check(std::uint64_t{});
  EXPECT_TRUE(travel_value(true));
  EXPECT_FALSE(travel_value(false));
}

TEST_F(Codec, FloatingPointValuesKeepEveryBit) {
  for (auto x : hard_doubles)
    EXPECT_EQ(bits(travel_value(x)), bits(x));
  for (auto x : hard_floats)
    EXPECT_EQ(bits(travel_value(x)), bits(x));
  for (auto x : {1.0L / 3, -0.0L, std::numeric_limits<long double>::max()}) {
    auto back = travel_value(x);
    EXPECT_EQ(back, x);
    EXPECT_EQ(std::signbit(back), std::signbit(x));
  }
  EXPECT_TRUE(std::isnan(travel_value(std::numeric_limits<long double>::quiet_NaN())));
}

TEST_F(Codec, FloatingPointValuesInsideStructsKeepEveryBit) {
  for (std::size_t i = 0; i < hard_doubles.size(); ++i) {
    reading x;
    x.ratio = hard_doubles[i];
    x.part = hard_floats[i % hard_floats.size()];
    auto back = travel_value(x);
    EXPECT_EQ(bits(back.ratio), bits(x.ratio));
    EXPECT_EQ(bits(back.part), bits(x.part));
  }
}

TEST_F(Codec, StringsMayHoldAnyBytes) {
  for (auto& x :
       {std::string{}, std::string{"\0a\0", 3}, std::string{"\xff\xfe\x80 not UTF-8"}, std::string(100'000, 'x')})
    EXPECT_EQ(travel_value(x), x);
  for (auto& x : {std::u16string{}, std::u16string{u"\0\xd800", 2}, std::u16string(5000, u'y')})
    EXPECT_EQ(travel_value(x), x);
  for (auto& x : {std::u32string{}, std::u32string{U"\0\xffffffff", 2}})
    EXPECT_EQ(travel_value(x), x);
}

TEST_F(Codec, BlobsMayBeEmpty) {
  EXPECT_EQ(travel_value(std::vector<char>{}), std::vector<char>{});
  EXPECT_EQ(travel_value(std::vector<char>({'\0', '\xff'})), std::vector<char>({'\0', '\xff'}));
  EXPECT_EQ(travel_value(std::vector<std::byte>{}), std::vector<std::byte>{});
  EXPECT_EQ(travel_value(std::vector<std::byte>(3000, std::byte{7})), std::vector<std::byte>(3000, std::byte{7}));
  EXPECT_EQ(travel_value(payload{}).size(), 0u);
}

TEST_F(Codec, CafsOtherTypesComeBack) {
  EXPECT_EQ(travel_value(caf::atom("hello")), caf::atom("hello"));
  EXPECT_EQ(travel_value(caf::unit), caf::unit);
  EXPECT_EQ(travel_value(caf::timespan{-5}), caf::timespan{-5});
  auto now = caf::make_timestamp();
  EXPECT_EQ(travel_value(now), now);
  using strings = std::vector<std::string>;
  EXPECT_EQ(travel_value(strings{"a", "", "c"}), (strings{"a", "", "c"}));
  using dictionary = std::map<std::string, std::string>;
  EXPECT_EQ(travel_value(dictionary{{"k", "v"}, {"", ""}}), (dictionary{{"k", "v"}, {"", ""}}));
  EXPECT_EQ(travel_value(std::set<std::string>{"x"}), std::set<std::string>{"x"});
  EXPECT_EQ(travel_value(beta.system->node()), beta.system->node());
  EXPECT_EQ(travel_value(caf::duration{caf::time_unit::seconds, 3}), (caf::duration{caf::time_unit::seconds, 3}));
  caf::config_value::dictionary settings{{"n", caf::config_value{4}}, {"list", caf::make_config_value_list(1, "two")}};
  EXPECT_EQ(travel_value(caf::config_value{settings}), caf::config_value{settings});
}

TEST_F(Codec, StructsComeBackWithAllTheirParts) {
  report x;
  x.first = {1.5, 2.5f, "first", {1, -2, 3}};
  x.others["a"] = {0.5, 0, "", {}};
  x.others[""] = {0, 0, "empty key", {7}};
  x.maybe = -0.0f;
  x.flags = std::vector<bool>(1001, true);
  x.flags[1000] = false;
  x.ids = {1, std::numeric_limits<std::uint64_t>::max()};
  x.triple = {1, 2, 65535};
  x.both = {true, '\xff'};
  x.wide = u"wide";
  x.wider = U"wider";
  x.precise = 1.0L / 7;
  x.paint = color::green;
  x.either = std::string{"other"};
  auto back = travel_value(x);
  EXPECT_EQ(back.first.name, "first");
  EXPECT_EQ(back.first.values, x.first.values);
  ASSERT_EQ(back.others.size(), 2u);
  EXPECT_EQ(back.others[""].values, std::vector<std::int32_t>{7});
  ASSERT_TRUE(back.maybe);
  EXPECT_TRUE(std::signbit(*back.maybe));
  EXPECT_EQ(back.flags, x.flags);
  EXPECT_EQ(back.ids, x.ids);
  EXPECT_EQ(back.triple, x.triple);
  EXPECT_EQ(back.both, x.both);
  EXPECT_EQ(back.wide, x.wide);
  EXPECT_EQ(back.wider, x.wider);
  EXPECT_EQ(back.precise, x.precise);
  EXPECT_EQ(back.paint, color::green);
  EXPECT_EQ(back.either, x.either);
}

TEST_F(Codec, TrivialTypesTravelAsTheirBytesWithoutThePadding) {
  alignas(sample) std::byte memory[sizeof(sample)];
  std::memset(memory, 0xAA, sizeof(memory));
  auto* x = new (memory) sample;
  x->kind = -3;
  x->value = hard_doubles[7];
  x->error = 0.25f;
  auto back = travel_value(*x);
  EXPECT_EQ(back.kind, -3);
  EXPECT_EQ(bits(back.value), bits(x->value));
  EXPECT_EQ(back.error, 0.25f);
  auto wire = encode(alpha, make_message(*x));
  ASSERT_EQ(wire.body.size(), 3 + sizeof(sample));
  for (auto i : {4, 5, 6, 7, 8, 9, 10}) // between kind and value
    EXPECT_EQ(wire.body[static_cast<std::size_t>(i)], std::byte{0}) << i;
}

TEST_F(Codec, ManyElementsKeepTheirOrder) {
  auto back = travel(make_message(caf::atom("move"), 1, std::string{"two"}, 3.0, true, reading{}, payload{}));
  EXPECT_TRUE((back.match_elements<caf::atom_value, int, std::string, double, bool, reading, payload>()));
  EXPECT_EQ(back.get_as<std::string>(2), "two");
  EXPECT_EQ(travel(caf::message{}).size(), 0u);
  EXPECT_EQ(travel(make_message(1, 2).slice(1, 1)).get_as<int>(0), 2);
}

TEST_F(Codec, TheSizeIsToldWhenTheMemoryIsTooSmall) {
  auto content = make_message(std::string(500, 'x'), reading{1, 2, "name", {1, 2, 3}}, 7);
  auto whole = encode(alpha, content).body;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::byte> memory(size);
    proto::byte_writer out{memory};
    encoded_extras extras;
    EXPECT_FALSE(alpha.encoder->encode(content, out, extras, nullptr));
    EXPECT_TRUE(out.overflown());
    EXPECT_EQ(out.needed(), whole.size());
  }
}

// -- a decoded message behaves like any other ----------------------------------------

TEST_F(Codec, DecodedMessagesMatchBehaviours) {
  auto back = travel(make_message(caf::atom("add"), 3, std::string{"x"}));
  auto handled = false;
  caf::message_handler handler{[&](caf::atom_constant<caf::atom("sub")>, int, const std::string&) { FAIL(); },
                               [&](caf::atom_constant<caf::atom("add")>, int x, const std::string& s) {
                                 handled = x == 3 && s == "x";
                               }};
  handler(back);
  EXPECT_TRUE(handled);
  EXPECT_EQ(to_string(back), to_string(make_message(caf::atom("add"), 3, std::string{"x"})));
  EXPECT_EQ(back.type_token(), make_message(caf::atom("add"), 3, std::string{"x"}).type_token());
}

TEST_F(Codec, DecodedMessagesAreCopiedOnWrite) {
  auto back = travel(make_message(std::string{"shared"}, reading{1, 2, "r", {1}}));
  auto other = back;
  other.get_mutable_as<std::string>(0) = "changed";
  other.get_mutable_as<reading>(1).values.push_back(2);
  EXPECT_EQ(back.get_as<std::string>(0), "shared");
  EXPECT_EQ(back.get_as<reading>(1).values.size(), 1u);
  EXPECT_EQ(other.get_as<std::string>(0), "changed");
  EXPECT_EQ(other.get_as<reading>(1).values.size(), 2u);
  auto part = caf::message::copy(back);
  EXPECT_EQ(part.get_as<std::string>(0), "shared");
}

TEST_F(Codec, DecodedMessagesCanBeSentOn) {
  auto back = travel(travel(make_message(std::string{"far"}, reading{1, 2, "r", {1}}, sample{1, 2, 3})));
  EXPECT_EQ(back.get_as<reading>(1).name, "r");
  EXPECT_EQ(back.get_as<sample>(2).value, 2);
}

// -- payloads ----------------------------------------------------------------------------

payload make_payload(std::size_t size, std::uint8_t seed = 1) {
  auto buffer = payload_buffer::allocate(size);
  for (std::size_t i = 0; i < size; ++i)
    buffer.data()[i] = static_cast<std::byte>(i * 7 + seed);
  return std::move(buffer).freeze();
}

TEST_F(Codec, SmallPayloadsAreInTheBodyAndLargeOnesAreShared) {
  auto small = make_payload(attach_threshold);
  auto large = make_payload(attach_threshold + 1);
  auto wire = encode(alpha, make_message(small, large, 1));
  ASSERT_EQ(wire.extras.attachments.size(), 1u);
  EXPECT_EQ(wire.extras.attachments[0].data(), large.data());
  EXPECT_LT(wire.body.size(), attach_threshold + 100);
  auto back = decode(beta, alpha, wire.body, wire.extras.attachments);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->get_as<payload>(0), small);
  EXPECT_EQ(back->get_as<payload>(1), large);
  EXPECT_EQ(back->get_as<payload>(1).data(), large.data());
}

TEST_F(Codec, PayloadsInsideStructsAreSharedToo) {
  chunk x{77, make_payload(100'000)};
  auto wire = encode(alpha, make_message(x));
  ASSERT_EQ(wire.extras.attachments.size(), 1u);
  EXPECT_LT(wire.body.size(), 64u);
  auto back = decode(beta, alpha, wire.body, wire.extras.attachments);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->get_as<chunk>(0).data.data(), x.data.data());
}

TEST_F(Codec, PayloadsBeyondTheAttachmentsOfAMessageAreInTheBody) {
  std::vector<payload> many;
  for (std::size_t i = 0; i < proto::max_attachments + 2; ++i)
    many.push_back(make_payload(attach_threshold + 1 + i, static_cast<std::uint8_t>(i)));
  auto wire = encode(alpha, make_message(many));
  EXPECT_EQ(wire.extras.attachments.size(), proto::max_attachments);
  auto back = decode(beta, alpha, wire.body, wire.extras.attachments);
  ASSERT_TRUE(back) << explain(back.error());
  EXPECT_EQ(back->get_as<std::vector<payload>>(0), many);
}

TEST_F(Codec, AttachmentsThatDoNotFitTheBodyAreAnError) {
  auto one = make_payload(5000);
  auto wire = encode(alpha, make_message(one));
  std::vector<payload> wrong_size{make_payload(5001)};
  std::vector<payload> too_many{one, one};
  EXPECT_EQ(decode_failure(wire.body), errc::decode_failed);
  EXPECT_EQ(decode_failure(wire.body, wrong_size), errc::decode_failed);
  EXPECT_EQ(decode_failure(wire.body, too_many), errc::decode_failed);
}

TEST_F(Codec, PayloadsArePrintedByTheirSize) {
  EXPECT_EQ(to_string(make_message(make_payload(10))), "(payload(10))");
}

// -- handles ------------------------------------------------------------------------------

TEST_F(Codec, HandlesLeadBackToTheActor) {
  auto here = spawn(alpha);
  auto id = here->id();
  auto wire = encode(alpha, make_message(here, caf::actor_cast<caf::strong_actor_ptr>(here), here->address(),
                                         std::vector<caf::actor>{here, here}));
  ASSERT_FALSE(wire.failure);
  ASSERT_EQ(wire.extras.handles.size(), 5u);
  for (auto& x : wire.extras.handles)
    EXPECT_EQ(x->id(), id);
  EXPECT_EQ(alpha.system->registry().get(id), nullptr) << "the codec must not put actors into the registry for ever";
  // At beta it is an actor of alpha ...
  auto there = decode(beta, alpha, wire.body);
  ASSERT_TRUE(there) << explain(there.error());
  auto& proxy = there->get_as<caf::actor>(0);
  EXPECT_EQ(proxy->id(), id);
  EXPECT_EQ(proxy.node(), alpha.system->node());
  EXPECT_TRUE(beta.asked_local.empty());
  // ... and coming home it is the actor itself.
  auto home = encode(beta, make_message(proxy));
  EXPECT_TRUE(home.extras.handles.empty()) << "it is no actor of beta";
  alpha.residents[id] = caf::actor_cast<caf::strong_actor_ptr>(here);
  auto back = decode(alpha, beta, home.body);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->get_as<caf::actor>(0), here);
  alpha.residents.clear();
}

TEST_F(Codec, NullHandlesAndHandlesOfUnknownActorsAreNull) {
  auto back = travel(make_message(caf::strong_actor_ptr{}, caf::actor_addr{}, caf::weak_actor_ptr{}));
  EXPECT_EQ(back.get_as<caf::strong_actor_ptr>(0), nullptr);
  EXPECT_FALSE(back.get_as<caf::actor_addr>(1));
  auto here = spawn(alpha);
  auto wire = encode(alpha, make_message(here));
  auto home = decode(alpha, alpha, wire.body); // alpha gave it to nobody
  ASSERT_TRUE(home);
  EXPECT_FALSE(home->get_as<caf::actor>(0));
  EXPECT_EQ(alpha.asked_local, std::vector<caf::actor_id>{here->id()});
}

TEST_F(Codec, HandlesInsideStructsAreReported) {
  auto first = spawn(alpha);
  auto second = spawn(alpha);
  auto wire = encode(alpha, make_message(contacts{999, first, {second}}));
  ASSERT_FALSE(wire.failure) << explain(wire.failure);
  std::set<caf::actor_id> ids;
  for (auto& x : wire.extras.handles)
    ids.insert(x->id());
  EXPECT_EQ(ids, (std::set<caf::actor_id>{first->id(), second->id()}));
  auto back = decode(beta, alpha, wire.body);
  ASSERT_TRUE(back) << explain(back.error());
  EXPECT_EQ(back->get_as<contacts>(0).first->id(), first->id());
  EXPECT_EQ(back->get_as<contacts>(0).first.node(), alpha.system->node());
  EXPECT_EQ(beta.proxies->count_proxies(alpha.system->node()), 2u);
}

TEST_F(Codec, ExitAndDownMessagesNameWhoEnded) {
  auto here = spawn(alpha);
  auto back = travel(make_message(caf::down_msg{here->address(), caf::exit_reason::user_shutdown}));
  EXPECT_EQ(back.get_as<caf::down_msg>(0).source.id(), here->id());
  EXPECT_EQ(back.get_as<caf::down_msg>(0).reason, caf::exit_reason::user_shutdown);
  back = travel(make_message(caf::exit_msg{here->address(), make_error(errc::peer_dead, "it was killed")}));
  EXPECT_EQ(text_of(back.get_as<caf::exit_msg>(0).reason), "it was killed");
}

TEST_F(Codec, AHandleNeedsNoContext) {
  auto here = spawn(alpha);
  std::vector<std::byte> memory(1000);
  proto::byte_writer out{memory};
  encoded_extras extras;
  EXPECT_FALSE(alpha.encoder->encode(make_message(here, contacts{1, here, {}}), out, extras, nullptr));
  EXPECT_EQ(extras.handles.size(), 2u);
}

// -- errors and messages as values ----------------------------------------------------------

TEST_F(Codec, ErrorsKeepCategoryCodeAndContext) {
  EXPECT_FALSE(travel_value(caf::error{}));
  EXPECT_EQ(travel_value(caf::error{caf::sec::request_timeout}), caf::sec::request_timeout);
  auto why = travel_value(make_error(errc::busy, "no credit"));
  EXPECT_EQ(code_of(why), errc::busy);
  EXPECT_EQ(text_of(why), "no credit");
  why = travel_value(caf::error{7, caf::atom("custom"), make_message(1, 2.5, reading{0, 0, "r", {}})});
  EXPECT_EQ(why.code(), 7);
  EXPECT_EQ(why.category(), caf::atom("custom"));
  ASSERT_TRUE((why.context().match_elements<int, double, reading>()));
  EXPECT_EQ(why.context().get_as<reading>(2).name, "r");
}

TEST_F(Codec, AnErrorWithAContextThatCannotTravelKeepsItAsText) {
  auto why = travel_value(caf::error{7, caf::atom("custom"), make_message(stranger{5})});
  EXPECT_EQ(why.code(), 7);
  ASSERT_TRUE(why.context().match_elements<std::string>());
  EXPECT_NE(why.context().get_as<std::string>(0).find("stranger"), std::string::npos);
  why = travel_value(caf::error{7, caf::atom("custom"), make_message(std::string(5000, 'x'), 1)});
  ASSERT_TRUE(why.context().match_elements<std::string>());
  EXPECT_EQ(why.context().get_as<std::string>(0).size(), max_error_context);
}

TEST_F(Codec, AnErrorAloneIsBounded) {
  std::vector<std::byte> memory(max_error_context + 16);
  for (auto& why : {make_error(errc::busy, "short"), make_error(errc::busy, std::string(100'000, 'y')), caf::error{},
                    caf::error{7, caf::atom("custom"), make_message(std::vector<std::string>(1000, "z"))}}) {
    proto::byte_writer out{memory};
    alpha.encoder->encode_error(why, out);
    ASSERT_FALSE(out.overflown());
    auto theirs = peer_types::match(*beta.types, alpha.types->names());
    caf::error back;
    auto failure = beta.encoder->decode_error(std::span{memory}.first(out.needed()), *theirs, beta, &*beta.ctx, back);
    EXPECT_FALSE(failure) << explain(failure);
    EXPECT_EQ(back, why);
    for (std::size_t size = 0; size < out.needed(); ++size)
      EXPECT_TRUE(beta.encoder->decode_error(std::span{memory}.first(size), *theirs, beta, &*beta.ctx, back)) << size;
  }
}

TEST_F(Codec, ALongTextIsNotCutInsideACharacter) {
  std::string umlauts;
  while (umlauts.size() < max_error_context + 10)
    umlauts += "x\xc3\xa4";
  for (auto& shifted : {umlauts, "1" + umlauts, "12" + umlauts}) {
    auto back = text_of(travel_value(make_error(errc::busy, shifted)));
    EXPECT_EQ(shifted.compare(0, back.size(), back), 0);
    EXPECT_NE(static_cast<unsigned char>(back.back()), 0xc3u);
  }
}

TEST_F(Codec, MessagesMayHoldMessages) {
  auto back = travel(make_message(1, make_message(std::string{"in"}, make_message(payload{}), caf::message{})));
  ASSERT_TRUE((back.match_elements<int, caf::message>()));
  using messages = std::vector<caf::message>;
  EXPECT_EQ(travel_value(messages{make_message(1), caf::message{}}).size(), 2u);
  auto& inner = back.get_as<caf::message>(1);
  EXPECT_EQ(inner.get_as<std::string>(0), "in");
  EXPECT_TRUE(inner.get_as<caf::message>(1).match_elements<payload>());
}

TEST_F(Codec, MessagesInsideStructsComeBack) {
  envelope x{5, make_message(1, std::string{"two"}), caf::sec::bad_function_call};
  auto back = travel_value(x);
  EXPECT_EQ(back.id, 5);
  EXPECT_EQ(back.content.get_as<std::string>(1), "two");
  EXPECT_EQ(back.why, caf::sec::bad_function_call);
}

// -- what cannot be encoded ------------------------------------------------------------------

TEST_F(Codec, AnUnregisteredTypeIsAnErrorThatNamesIt) {
  EXPECT_EQ(encode_failure(make_message(1, stranger{})), errc::unknown_type);
  EXPECT_NE(text.find("element 1"), std::string::npos) << text;
  EXPECT_NE(text.find("stranger"), std::string::npos) << text;
  EXPECT_EQ(encode_failure(make_message(stay_at_home{})), errc::unknown_type);
  EXPECT_NE(text.find("stay_at_home"), std::string::npos) << text;
}

TEST_F(Codec, AnUnregisteredTypeInsideAStructIsAnErrorToo) {
  EXPECT_EQ(encode_failure(make_message(envelope{1, make_message(stranger{}), {}})), errc::unknown_type);
  EXPECT_EQ(encode_failure(make_message(envelope{1, {}, caf::error{1, caf::atom("x"), make_message(stranger{})}})),
            errc::unknown_type);
  EXPECT_EQ(encode_failure(make_message(envelope{1, make_message(2, make_message(stranger{})), {}})),
            errc::unknown_type);
  EXPECT_EQ(encode_failure(make_message(1, make_message(stranger{}))), errc::unknown_type);
  EXPECT_EQ(encode_failure(make_message(std::vector<caf::message>{make_message(stranger{})})), errc::unknown_type);
}

TEST_F(Codec, TheErrorOfAnInspectFunctionIsKept) {
  EXPECT_EQ(encode(alpha, make_message(stubborn{})).failure, caf::sec::invalid_argument);
}

TEST_F(Codec, GroupsAndTimeoutsStayAtHome) {
  EXPECT_EQ(encode_failure(make_message(caf::group{})), errc::unsupported);
  EXPECT_EQ(encode_failure(make_message(caf::timeout_msg{caf::atom("x"), 1})), errc::unsupported);
  EXPECT_EQ(encode_failure(make_message(envelope{1, make_message(caf::group{}), {}})), errc::unsupported);
}

TEST_F(Codec, LimitsAreToldToTheSender) {
  caf::message many;
  for (std::size_t i = 0; i < max_message_elements; ++i)
    many += make_message(1);
  EXPECT_EQ(encode_failure(many), errc::ok);
  EXPECT_EQ(encode_failure(many + make_message(1)), errc::exceeds_limit);
  auto deep = make_message(1);
  for (std::size_t i = 1; i < max_message_depth; ++i)
    deep = make_message(1, deep);
  EXPECT_EQ(travel(deep).size(), 2u);
  EXPECT_EQ(encode_failure(make_message(1, deep)), errc::exceeds_limit);
}

TEST_F(Codec, WhatASenderMayEncodeTheReceiverAccepts) {
  for (auto size : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{33}, std::size_t{100},
                    std::size_t{100'000}}) {
    auto content = make_message(std::vector<caf::unit_t>(size));
    auto wire = encode(alpha, content);
    if (wire.failure)
      EXPECT_EQ(code_of(wire.failure), errc::exceeds_limit);
    else
      EXPECT_EQ(decode_failure(wire.body), errc::ok) << size << text;
  }
  for (auto size : {std::size_t{1}, std::size_t{1000}, max_packed_sequence})
    EXPECT_EQ(travel_value(std::vector<bool>(size, true)).size(), size);
  EXPECT_EQ(encode_failure(make_message(std::vector<bool>(max_packed_sequence * 9))), errc::exceeds_limit);
}

tree make_tree(std::size_t depth) {
  tree root;
  auto* leaf = &root;
  for (std::size_t i = 0; i < depth; ++i) {
    leaf->children.emplace_back();
    leaf = &leaf->children.back();
  }
  return root;
}

TEST_F(Codec, RecursionIsBounded) {
  EXPECT_EQ(encode_failure(make_message(make_tree(50))), errc::ok);
  EXPECT_EQ(encode_failure(make_message(make_tree(20'000))), errc::exceeds_limit);
}

// -- hostile bytes ----------------------------------------------------------------------------

std::vector<std::byte> body_of(std::uint16_t id, std::initializer_list<std::uint8_t> bytes) {
  std::vector<std::byte> body{std::byte{1}, static_cast<std::byte>(id & 0xff), static_cast<std::byte>(id >> 8)};
  for (auto x : bytes)
    body.push_back(static_cast<std::byte>(x));
  return body;
}

TEST_F(Codec, ATypeTheReceiverDoesNotKnowIsNamed) {
  codec_node newer{"newer", [](caf::actor_system_config& config) { config.add_message_type<stranger>("stranger"); }};
  auto wire = encode(newer, make_message(1, stranger{}));
  ASSERT_FALSE(wire.failure);
  auto back = decode(beta, newer, wire.body);
  ASSERT_FALSE(back);
  EXPECT_EQ(code_of(back.error()), errc::unknown_type);
  EXPECT_NE(text_of(back.error()).find("stranger"), std::string::npos);
  // Inside a struct it is known by its name alone.
  wire = encode(newer, make_message(envelope{1, make_message(2, make_message(stranger{})), {}}));
  ASSERT_FALSE(wire.failure);
  back = decode(beta, newer, wire.body);
  ASSERT_FALSE(back);
  EXPECT_EQ(code_of(back.error()), errc::unknown_type);
  EXPECT_NE(text_of(back.error()).find("stranger"), std::string::npos);
  EXPECT_EQ(decode_failure(body_of(60'000, {})), errc::decode_failed) << "an id that was never announced";
}

TEST_F(Codec, TruncatedBytesAndTrailingBytesAreErrors) {
  auto wire = encode(alpha, make_message(std::string{"hello"}, 3, reading{1, 2, "r", {1, 2}}));
  for (std::size_t size = 0; size < wire.body.size(); ++size)
    EXPECT_EQ(decode_failure(std::span{wire.body}.first(size)), errc::decode_failed) << size;
  wire.body.push_back(std::byte{0});
  EXPECT_EQ(decode_failure(wire.body), errc::decode_failed);
}

TEST_F(Codec, HugeLengthsAreErrorsAndNotAllocations) {
  auto bytes = {std::uint8_t{0xff}, std::uint8_t{0xff}, std::uint8_t{0xff}, std::uint8_t{0xff}, std::uint8_t{0}};
  for (auto name : {"@str", "@u16str", "@u32str", "@charbuf", "@strvec", "@actorvec", "@addrvec", "@strmap", "@strset",
                    "bytes", "units", "bits", "std::vector<reading>", "std::vector<troupe::payload>",
                    "std::vector<tree>"}) {
    bytes_allocated = 0;
    EXPECT_EQ(decode_failure(body_of(alpha.types->id_of(name), bytes)), errc::decode_failed) << name;
    EXPECT_LT(bytes_allocated, 200'000u) << name;
  }
}

TEST_F(Codec, SequencesOfNothingCannotKeepTheReceiverBusy) {
  codec_node node{"node", [](caf::actor_system_config& config) {
                    config.add_message_type<std::vector<std::vector<caf::unit_t>>>("nothings");
                  }};
  std::vector<std::byte> body = body_of(node.types->id_of("nothings"), {});
  auto append = [&](std::uint32_t x) {
    auto bytes = std::as_bytes(std::span{&x, 1});
    body.insert(body.end(), bytes.begin(), bytes.end());
  };
  append(10'000);
  for (auto i = 0; i < 10'000; ++i)
    append(5000); // two hundred million elements in forty thousand bytes
  EXPECT_EQ(code_of(decode(node, node, body).error()), errc::decode_failed);
}

TEST_F(Codec, HostileRecursionIsBounded) {
  auto body = body_of(alpha.types->id_of("tree"), {});
  for (auto i = 0; i < 100'000; ++i)
    for (auto byte : {0, 0, 0, 0, 1, 0, 0, 0}) // a value, one child
      body.push_back(static_cast<std::byte>(byte));
  EXPECT_EQ(decode_failure(body), errc::decode_failed);
  auto id = alpha.types->id_of("@message");
  body.clear();
  for (auto i = 0; i < 100'000; ++i) {
    auto next = body_of(id, {});
    body.insert(body.end(), next.begin(), next.end());
  }
  EXPECT_EQ(decode_failure(body), errc::decode_failed);
}

TEST_F(Codec, GroupsFromAPeerAreNeverRead) {
  EXPECT_EQ(decode_failure(body_of(alpha.types->id_of("@group"), {5, 0, 0, 0, 'l', 'o', 'c', 'a', 'l'})),
            errc::decode_failed);
  // Inside a struct CAF looks for the type by its name.
  auto wire = encode(alpha, make_message(envelope{1, make_message(std::string{"abcdef"}), {}}));
  std::string name = "@<>+@str";
  auto at = std::search(wire.body.begin(), wire.body.end(), name.begin(), name.end(),
                        [](std::byte x, char y) { return x == static_cast<std::byte>(y); });
  ASSERT_NE(at, wire.body.end());
  std::string other = "@<>+@group";
  auto size = at - 4;
  *size = static_cast<std::byte>(other.size());
  std::transform(other.begin(), other.end() - 2, at, [](char x) { return static_cast<std::byte>(x); });
  wire.body.insert(at + 8, {std::byte{'u'}, std::byte{'p'}});
  EXPECT_EQ(decode_failure(wire.body), errc::decode_failed);
  EXPECT_NE(text.find("cannot travel"), std::string::npos) << text;
}

TEST_F(Codec, ABoolIsTrueOrFalse) {
  EXPECT_EQ(decode_failure(body_of(alpha.types->id_of("bool"), {1})), errc::ok);
  EXPECT_EQ(decode_failure(body_of(alpha.types->id_of("bool"), {2})), errc::decode_failed);
}

TEST_F(Codec, AUnitOfTimeExists) {
  // CAF would crash when it prints one that does not.
  auto check = [&](const caf::message& content) {
    auto wire = encode(alpha, content);
    ASSERT_FALSE(wire.failure) << explain(wire.failure);
    EXPECT_EQ(decode_failure(wire.body), errc::ok) << text;
    wire.body[3] = std::byte{17};
    EXPECT_EQ(decode_failure(wire.body), errc::decode_failed);
  };
  check(make_message(caf::duration{caf::time_unit::seconds, 3}));
  check(make_message(pause{caf::duration{caf::time_unit::seconds, 3}}));
}

TEST_F(Codec, AVersionOfATypeWithAnotherLayoutIsAnError) {
  codec_node older{"older", [](caf::actor_system_config& config) {
                     config.add_message_type<std::pair<std::int32_t, std::string>>("versioned");
                   }};
  codec_node newer{"newer", [](caf::actor_system_config& config) {
                     config.add_message_type<std::pair<std::int32_t, std::vector<std::string>>>("versioned");
                   }};
  auto wire = encode(older, make_message(std::pair<std::int32_t, std::string>{1, "text"}));
  ASSERT_FALSE(wire.failure) << explain(wire.failure);
  EXPECT_EQ(code_of(decode(newer, older, wire.body).error()), errc::decode_failed);
}

/// Decodes `body` at beta: an error or a message, never more. What it makes can be printed and encoded again.
void expect_harmless(codec_node& beta, codec_node& alpha, std::span<const std::byte> body,
                     std::span<const payload> attachments) {
  auto theirs = peer_types::match(*beta.types, alpha.types->names());
  bytes_allocated = 0;
  // A copy of exactly the right size, so that a sanitizer sees a read past its end.
  std::vector<std::byte> exact(body.begin(), body.end());
  auto back = beta.encoder->decode(exact, attachments, *theirs, beta, &*beta.ctx);
  EXPECT_LT(bytes_allocated, 20'000 + 200 * body.size())
    << body.size() << " bytes: " << (back ? to_string(*back) : explain(back.error()));
  if (!back) {
    auto code = code_of(back.error());
    EXPECT_TRUE(code == errc::decode_failed || code == errc::unknown_type) << explain(back.error());
    return;
  }
  EXPECT_FALSE(to_string(*back).empty());
  encode(beta, *back);
}

TEST_F(Codec, NoBytesDoHarm) {
  auto here = spawn(alpha);
  report full;
  full.first = {1.5, 2.5f, "first", {1, -2, 3}};
  full.others["a"] = {0.5, 0, "x", {1}};
  full.flags = {true, false, true};
  full.ids = {1, 2};
  full.maybe = 1.0f;
  full.either = std::string{"other"};
  std::vector<caf::message> corpus{
    make_message(1, true, 2.5, 1.5f, std::uint64_t{3}, caf::atom("hello"), 1.0L / 3),
    make_message(std::string{"text"}, std::u16string{u"wide"}, std::u32string{U"wider"}, std::vector<char>(5)),
    make_message(std::vector<std::string>{"a", "bc"}, std::map<std::string, std::string>{{"k", "v"}}),
    make_message(full),
    make_message(make_tree(5)),
    make_message(envelope{1, make_message(2, std::string{"in"}), make_error(errc::busy, "why")}),
    make_message(contacts{1, here, {here}}),
    make_message(here, here->address(), std::vector<caf::actor>{here}),
    make_message(caf::down_msg{here->address(), caf::sec::request_timeout}),
    make_message(1, make_message(make_message(1), payload{}), std::vector<caf::message>{make_message(1), {}}),
    make_message(caf::error{7, caf::atom("custom"), make_message(1, reading{})}),
    make_message(sample{1, 2, 3}, make_payload(10), make_payload(5000), chunk{1, make_payload(6000)}),
    make_message(std::vector<bool>(20, true), std::vector<caf::unit_t>(3), caf::config_value{5}),
    make_message(caf::timespan{5}, caf::unit, alpha.system->node(), caf::duration{caf::time_unit::seconds, 3}),
  };
  std::mt19937 random{4711};
  for (auto& content : corpus) {
    auto wire = encode(alpha, content);
    ASSERT_FALSE(wire.failure) << explain(wire.failure);
    auto& attachments = wire.extras.attachments;
    for (std::size_t size = 0; size < wire.body.size(); ++size)
      expect_harmless(beta, alpha, std::span{wire.body}.first(size), attachments);
    for (std::size_t i = 0; i < wire.body.size(); ++i) {
      auto bytes = wire.body;
      for (auto x : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        bytes[i] = static_cast<std::byte>(x);
        expect_harmless(beta, alpha, bytes, attachments);
      }
      for (auto bit = 0; bit < 8; ++bit) {
        bytes[i] = wire.body[i] ^ static_cast<std::byte>(1 << bit);
        expect_harmless(beta, alpha, bytes, attachments);
      }
    }
    for (auto round = 0; round < 200; ++round) {
      auto bytes = wire.body;
      for (auto n = random() % 4 + 1; n > 0; --n)
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      expect_harmless(beta, alpha, bytes, attachments);
    }
  }
  // Any type, any bytes.
  for (std::uint16_t id = 0; id < alpha.types->names().size(); ++id)
    for (auto round = 0; round < 20; ++round) {
      auto body = body_of(id, {});
      for (auto n = random() % 64; n > 0; --n)
        body.push_back(static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 4));
      expect_harmless(beta, alpha, body, {});
    }
}

} // namespace
} // namespace troupe
