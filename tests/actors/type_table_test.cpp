#include <troupe/actors/type_table.hpp>

#include <algorithm>

#include <gtest/gtest.h>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <tests/support/codec_pair.hpp>

namespace troupe {
namespace {

using test::codec_node;

TEST(TypeTable, KnowsCafsTypesAndTheAddedOnes) {
  codec_node node{"alpha"};
  for (auto name : {"@str", "@i32", "@actor", "bool", "reading", "std::vector<reading>", "troupe::payload"})
    EXPECT_NE(node.types->id_of(name), type_table::no_type) << name;
  EXPECT_EQ(node.types->id_of("stranger"), type_table::no_type);
  EXPECT_EQ(node.types->id_of(""), type_table::no_type);
}

TEST(TypeTable, FindsTheIdOfAType) {
  codec_node node{"alpha"};
  auto& names = node.types->names();
  EXPECT_EQ(names[node.types->id_of(caf::make_rtti_pair<std::string>())], "@str");
  EXPECT_EQ(names[node.types->id_of(caf::make_rtti_pair<test::reading>())], "reading");
  EXPECT_EQ(names[node.types->id_of(caf::make_rtti_pair<std::vector<test::tree>>())], "std::vector<tree>");
  EXPECT_EQ(node.types->id_of(caf::make_rtti_pair<test::stranger>()), type_table::no_type);
}

TEST(TypeTable, HasTheSameOrderWhateverTheOrderOfRegistration) {
  caf::actor_system_config ab;
  ab.add_message_type<test::reading>("a").add_message_type<test::tree>("b");
  caf::actor_system_config ba;
  ba.add_message_type<test::tree>("b").add_message_type<test::reading>("a");
  caf::actor_system first{ab};
  caf::actor_system second{ba};
  EXPECT_EQ(type_table{first}.names(), type_table{second}.names());
}

TEST(TypeTable, SaysInTheNameHowATrivialTypeTravels) {
  codec_node node{"alpha"};
  EXPECT_NE(node.types->id_of("sample#raw" + std::to_string(sizeof(test::sample))), type_table::no_type);
  EXPECT_EQ(node.types->id_of("sample"), type_table::no_type);
}

TEST(TypeTable, RefusesANameThatIsTooLong) {
  caf::actor_system_config config;
  config.add_message_type<test::reading>(std::string(max_type_name, 'x')); // vector<...> makes it longer still
  caf::actor_system system{config};
  EXPECT_THROW(type_table{system}, std::runtime_error);
}

TEST(PeerTypes, TranslateThePeersIdsByName) {
  codec_node node{"alpha"};
  auto theirs = peer_types::match(*node.types, {"reading", "unheard-of", "@str"});
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->ours(0), node.types->id_of("reading"));
  EXPECT_EQ(theirs->ours(1), type_table::no_type);
  EXPECT_EQ(theirs->name(1), "unheard-of");
  EXPECT_EQ(theirs->ours(2), node.types->id_of("@str"));
  EXPECT_EQ(theirs->ours(3), type_table::no_type);
  EXPECT_EQ(theirs->name(3), "");
  EXPECT_EQ(theirs->ours(0xffff), type_table::no_type);
}

TEST(PeerTypes, RefuseMoreNamesThanTheLimit) {
  codec_node node{"alpha"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < max_type_names; ++i)
    names.push_back("type" + std::to_string(i));
  EXPECT_TRUE(peer_types::match(*node.types, names));
  names.push_back("one more");
  EXPECT_EQ(code_of(peer_types::match(*node.types, names).error()), errc::exceeds_limit);
}

TEST(PeerTypes, RefuseLongEmptyAndRepeatedNames) {
  codec_node node{"alpha"};
  EXPECT_TRUE(peer_types::match(*node.types, {std::string(max_type_name, 'x')}));
  EXPECT_EQ(code_of(peer_types::match(*node.types, {std::string(max_type_name + 1, 'x')}).error()),
            errc::exceeds_limit);
  EXPECT_EQ(code_of(peer_types::match(*node.types, {""}).error()), errc::protocol_error);
  EXPECT_EQ(code_of(peer_types::match(*node.types, {"a", "b", "a"}).error()), errc::protocol_error);
}

} // namespace
} // namespace troupe
