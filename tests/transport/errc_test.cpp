#include <troupe/transport/errc.hpp>

#include <cctype>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace troupe {
namespace {

// The values travel between nodes: each name stands for one number for ever.
TEST(Errc, KeepsTheNumbersThatTravel) {
  EXPECT_EQ(static_cast<int>(errc::ok), 0);
  EXPECT_EQ(static_cast<int>(errc::would_deadlock), 11);
  EXPECT_EQ(static_cast<int>(errc::busy), 20);
  EXPECT_EQ(static_cast<int>(errc::unreachable), 40);
  EXPECT_EQ(static_cast<int>(errc::peer_dead), 44);
  EXPECT_EQ(static_cast<int>(errc::canceled), 60);
  EXPECT_EQ(static_cast<int>(errc::indeterminate), 65);
  EXPECT_EQ(static_cast<int>(errc::not_found), 80);
  EXPECT_EQ(static_cast<int>(errc::bad_signature), 100);
  EXPECT_EQ(static_cast<int>(errc::internal), 120);
}

TEST(Errc, NamesEveryCodeOnceAndSaysWhatToDo) {
  std::set<std::string_view> names;
  int codes = 0;
  for (int value = 0; value < 256; ++value) {
    auto code = static_cast<errc>(value);
    if (!is_errc(static_cast<std::uint8_t>(value))) {
      EXPECT_EQ(to_string(code), "unknown_errc") << value;
      EXPECT_FALSE(next_step(code).empty());
      continue;
    }
    ++codes;
    EXPECT_NE(to_string(code), "unknown_errc") << value;
    EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
    auto next = std::string{next_step(code)};
    ASSERT_GT(next.size(), 5u) << to_string(code);
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(next.front()))) << next;
    EXPECT_EQ(next.back(), '.') << next;
  }
  EXPECT_EQ(codes, 49);
}

TEST(Errc, SpellsNamesLikeTheEnum) {
  EXPECT_EQ(to_string(errc::peer_reset), "peer_reset");
  EXPECT_EQ(to_string(errc::address_in_use), "address_in_use");
  EXPECT_EQ(to_string(errc::decode_failed), "decode_failed");
}

TEST(Errc, RecognisesForeignNumbers) {
  EXPECT_TRUE(is_errc(0));
  EXPECT_TRUE(is_errc(120));
  EXPECT_FALSE(is_errc(12));
  EXPECT_FALSE(is_errc(121));
  EXPECT_FALSE(is_errc(255));
}

} // namespace
} // namespace troupe
