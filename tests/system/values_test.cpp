// A value is the same after a round trip to another process as after one to an actor next door.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <tests/system/nodes.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

class Values : public NodesOver {
protected:
  void SetUp() override {
    server = start("server");
    there = connect(*server);
    remote = lookup(there, "echo");
    local = self().spawn([](caf::event_based_actor* me) -> caf::behavior {
      me->set_default_handler(caf::reflect);
      return {[](die_atom) {}};
    });
  }

  /// The same bits from near and from far.
  template <class T>
  void expect_same(const T& x) {
    auto near = ask<T>(system(), local, x);
    auto far = ask<T>(system(), remote, x);
    ASSERT_TRUE(near) << explain(near.error());
    ASSERT_TRUE(far) << explain(far.error());
    if constexpr (std::is_floating_point_v<T>) {
      EXPECT_EQ(std::memcmp(&*near, &x, sizeof(T) == 16 ? 10 : sizeof(T)), 0) << x; // 6 bytes of padding
      EXPECT_EQ(std::memcmp(&*far, &x, sizeof(T) == 16 ? 10 : sizeof(T)), 0) << x;
    } else {
      EXPECT_EQ(*near, x);
      EXPECT_EQ(*far, x);
    }
  }

  template <class T>
  void expect_limits_same() {
    using limits = std::numeric_limits<T>;
    for (auto x : {limits::min(), limits::max(), limits::lowest(), T{0}, T{1}, static_cast<T>(-1)})
      expect_same(x);
  }

  template <class T>
  void expect_floats_same() {
    using limits = std::numeric_limits<T>;
    for (auto x : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::quiet_NaN(), T{-0.0}, T{0},
                   limits::denorm_min(), limits::min(), limits::max(), limits::lowest(), limits::epsilon()})
      expect_same(x);
  }

  std::unique_ptr<peer_node> server;
  peer there;
  caf::actor remote, local;
};

TROUPE_OVER_BOTH_TRANSPORTS(Values);

TEST_P(Values, NumbersAtTheirLimits) {
  expect_limits_same<std::int8_t>();
  expect_limits_same<std::uint8_t>();
  expect_limits_same<std::int16_t>();
  expect_limits_same<std::uint16_t>();
  expect_limits_same<std::int32_t>();
  expect_limits_same<std::uint32_t>();
  expect_limits_same<std::int64_t>();
  expect_limits_same<std::uint64_t>();
  expect_same(true);
  expect_same(false);
}

TEST_P(Values, FloatsThatAreNoOrdinaryNumbers) {
  expect_floats_same<float>();
  expect_floats_same<double>();
  // A NaN's payload is kept, too.
  std::uint64_t bits = 0x7ff0dead12345678;
  double odd = 0;
  std::memcpy(&odd, &bits, sizeof(odd));
  expect_same(odd);
}

TEST_P(Values, StringsWithAnyBytes) {
  expect_same(std::string{});
  expect_same(std::string(1, '\0'));
  expect_same(std::string{"with\0in", 7});
  expect_same(std::string{"\xff\xfe\x80 no UTF-8 \xc0\xaf"});
  expect_same(std::u16string{u"\xd800 half a pair"});
  expect_same(std::u32string{U"\U0010ffff"});
  expect_same(std::string(5u << 20, 'x'));
}

TEST_P(Values, EmptyAndLargeBlobs) {
  expect_same(payload{});
  expect_same(numbered_payload(1, 2, 1));
  expect_same(numbered_payload(1, 2, 70000));
  expect_same(numbered_payload(1, 2, 9u << 20));
  expect_same(std::vector<char>{});
  expect_same(std::vector<char>(100000, 'y'));
}

TEST_P(Values, StructsAtomsErrorsAndHandles) {
  expect_same(note_v1{std::numeric_limits<std::uint64_t>::max(), std::string{"a\0b", 3}});
  expect_same(note_v1{});
  expect_same(caf::atom("atom"));
  expect_same(remote);
  expect_same(local);
  expect_same(caf::actor{});
  expect_same(std::vector<caf::actor>{local, remote});
  expect_same(std::map<std::string, std::string>{{"", ""}, {"a", std::string(1, '\0')}});
}

TEST_P(Values, RandomTuples) {
  std::mt19937_64 random{4711};
  caf::scoped_actor me{system()};
  for (int round = 0; round < rounds(300, 20000); ++round) {
    auto number = random();
    double real = 0;
    auto bits = random();
    std::memcpy(&real, &bits, sizeof(real));
    auto text = numbered_text(random(), random(), random() % 300);
    auto blob = numbered_payload(random(), random(), random() % 20000);
    auto same = false;
    me->request(remote, patience, number, real, text, blob)
      .receive(
        [&](std::uint64_t a, double b, const std::string& c, const payload& d) {
          same = a == number && std::memcmp(&b, &real, sizeof(b)) == 0 && c == text && d == blob;
        },
        [](const caf::error& why) { ADD_FAILURE() << explain(why); });
    ASSERT_TRUE(same) << "round " << round;
  }
}

// -- what cannot be read -----------------------------------------------------------------

TEST_P(Values, AMessageOfAnotherVersionOfItsTypeIsAnsweredWithAnError) {
  auto newer = start("newer", {"--types", "2"});
  auto where = connect(*newer);
  auto echo = lookup(where, "echo");
  caf::scoped_actor me{system()};
  auto answered = false;
  me->request(echo, caf::infinite, note_v1{7, "seven"})
    .receive([](const note_v1&) { ADD_FAILURE() << "understood"; },
             [&](const caf::error& why) {
               answered = true;
               EXPECT_EQ(code_of(why), errc::decode_failed) << explain(why);
             });
  EXPECT_TRUE(answered);
  // The session lives on, with everything else.
  EXPECT_EQ(ask<std::string>(system(), echo, "still here"), "still here");
  EXPECT_TRUE(state(where).up);
}

TEST_P(Values, APlainMessageThatCannotBeReadIsCountedAndLogged) {
  auto newer = start("newer", {"--types", "2"});
  auto where = connect(*newer);
  auto echo = lookup(where, "echo");
  caf::anon_send(echo, note_v1{7, "seven"});
  EXPECT_EQ(ask<std::string>(system(), echo, "still here"), "still here");
  EXPECT_TRUE(eventually([&] {
    auto rest = newer->rest();
    return rest.find("decode_failed") != std::string::npos;
  })) << newer->rest();
}

} // namespace
