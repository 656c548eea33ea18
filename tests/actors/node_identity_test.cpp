#include <troupe/actors/node_identity.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace troupe {
namespace {

TEST(NodeIdentity, IsTheSameForTheSameNameAndIncarnationEverywhere) {
  // Golden: both sides of a connection compute it on their own, maybe with different builds.
  EXPECT_EQ(to_string(node_id_of("alpha", 0x0123456789abcdef)), "148767AC7262CBF491D9695FC870BE14417BFEAF#812479718");
}

TEST(NodeIdentity, DiffersForAnotherNameOrIncarnation) {
  std::set<std::string> ids;
  for (auto name : {"a", "b", "ab", ""})
    for (std::uint64_t incarnation : {0ull, 1ull, 256ull, 1ull << 63})
      ids.insert(to_string(node_id_of(name, incarnation)));
  EXPECT_EQ(ids.size(), 16u);
}

TEST(NodeIdentity, IsValidForCaf) {
  EXPECT_TRUE(static_cast<bool>(node_id_of("", 0)));
}

} // namespace
} // namespace troupe
