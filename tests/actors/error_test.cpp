#include <troupe/actors/error.hpp>

#include <gtest/gtest.h>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/expected.hpp>
#include <caf/message.hpp>
#include <caf/pec.hpp>
#include <caf/sec.hpp>

namespace troupe {
namespace {

TEST(Error, KeepsItsCodeAndText) {
  auto why = make_error(errc::busy, "cannot send to alpha: its window of 4096 messages is full");
  EXPECT_EQ(code_of(why), errc::busy);
  EXPECT_EQ(text_of(why), "cannot send to alpha: its window of 4096 messages is full");
  EXPECT_EQ(text_of(make_error(errc::busy)), "");
}

TEST(Error, ComparesByCode) {
  EXPECT_EQ(make_error(errc::busy, "a"), make_error(errc::busy, "b"));
  EXPECT_NE(make_error(errc::busy), make_error(errc::no_memory));
  EXPECT_EQ(make_error(errc::busy, "a"), errc::busy);
  EXPECT_NE(make_error(errc::busy, "a"), caf::sec::request_timeout);
}

TEST(Error, ConvertsFromErrcWhereCafExpectsAnError) {
  caf::expected<int> x = make_error(errc::not_found);
  EXPECT_EQ(code_of(x.error()), errc::not_found);
  caf::error why = errc::timed_out;
  EXPECT_EQ(code_of(why), errc::timed_out);
}

TEST(Error, OkMakesNoError) {
  EXPECT_FALSE(make_error(errc::ok, "all is well"));
  EXPECT_EQ(code_of(caf::error{}), errc::ok);
  EXPECT_EQ(explain(caf::error{}), "ok");
}

TEST(Error, CarriesAFailureOfTheLayersBelow) {
  auto why = make_error(failure{errc::address_in_use, "cannot listen on 127.0.0.1:4711: the port is taken"});
  EXPECT_EQ(code_of(why), errc::address_in_use);
  EXPECT_EQ(text_of(why), "cannot listen on 127.0.0.1:4711: the port is taken");
}

TEST(Error, IsExplainedByTextCodeAndNextStepInOneLine) {
  auto line = explain(make_error(errc::address_in_use, "cannot listen on 127.0.0.1:4711: the port is taken"));
  EXPECT_EQ(line, "cannot listen on 127.0.0.1:4711: the port is taken (address_in_use). "
                    + std::string{next_step(errc::address_in_use)});
}

TEST(Error, WithoutATextItIsExplainedByCodeAndNextStep) {
  EXPECT_EQ(explain(make_error(errc::busy)), "busy. " + std::string{next_step(errc::busy)});
}

TEST(Error, ANextStepInTheTextReplacesTheGeneralOne) {
  EXPECT_EQ(explain(make_error(errc::busy, "cannot spawn: no worker is free; raise --workers")),
            "cannot spawn: no worker is free; raise --workers (busy)");
}

TEST(Error, AnExplanationHasNoControlCharactersWhateverThePeerSent) {
  auto line = explain(make_error(errc::rejected, "no\nway\x1b[2J\x7f"));
  for (auto c : line)
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << line;
}

TEST(Error, EveryCodeAnExplanationCanNameHasOne) {
  for (int value = 0; value < 256; ++value) {
    auto line = explain(caf::error{static_cast<std::uint8_t>(value), error_category});
    EXPECT_FALSE(line.empty());
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Error, MapsWhatCafReportsToTheNearestCode) {
  EXPECT_EQ(code_of(caf::sec::request_timeout), errc::timed_out);
  EXPECT_EQ(code_of(caf::sec::request_receiver_down), errc::unknown_target);
  EXPECT_EQ(code_of(caf::sec::runtime_error), errc::internal);
  EXPECT_EQ(code_of(caf::sec::unknown_type), errc::unknown_type);
  EXPECT_EQ(code_of(caf::sec::unexpected_message), errc::unsupported);
  EXPECT_EQ(code_of(caf::exit_reason::remote_link_unreachable), errc::peer_dead);
  EXPECT_EQ(code_of(caf::exit_reason::user_shutdown), errc::canceled);
  EXPECT_EQ(code_of(caf::exit_reason::kill), errc::canceled);
  EXPECT_EQ(code_of(caf::sec::malformed_basp_message), errc::internal);
  EXPECT_EQ(code_of(caf::pec::fractional_timespan), errc::internal);
  EXPECT_EQ(code_of(caf::error{200, error_category}), errc::internal);
}

TEST(Error, ExplainsWhatCafReportsWithItsContextAndANextStep) {
  auto line = explain(caf::make_error(caf::sec::runtime_error, "std::runtime_error", "disk full"));
  EXPECT_NE(line.find("threw an exception"), std::string::npos) << line;
  EXPECT_NE(line.find("disk full"), std::string::npos) << line;
  EXPECT_NE(line.find("runtime_error"), std::string::npos) << line;
  EXPECT_NE(line.find("catch"), std::string::npos) << line;
  EXPECT_NE(explain(caf::exit_reason::kill).find("was killed"), std::string::npos);
}

TEST(Error, ExplainsCategoriesNobodyKnowsByWhatCafPrints) {
  auto line = explain(caf::error{3, caf::atom("theirs")});
  EXPECT_NE(line.find("theirs"), std::string::npos) << line;
}

TEST(Error, IsRenderedReadablyByASystemThatKnowsTheCategory) {
  caf::actor_system_config config;
  register_error_category(config);
  caf::actor_system system{config};
  EXPECT_EQ(system.render(make_error(errc::busy, "no credit")), "troupe(busy: no credit)");
  EXPECT_EQ(system.render(make_error(errc::busy)), "troupe(busy)");
}

} // namespace
} // namespace troupe
