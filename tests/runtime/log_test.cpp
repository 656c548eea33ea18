#include <troupe/runtime/log.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/runtime/rate_limiter.hpp>

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

/// Counts how often it is formatted.
struct costly {
  int* formatted;
};

} // namespace

template <>
struct fmt::formatter<costly> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const costly& value, format_context& context) const {
    ++*value.formatted;
    return context.out();
  }
};

namespace troupe {
namespace {

/// Each test logs into a file of its own.
class Log : public testing::Test {
protected:
  Log() {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe-log-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    settings_.file = (directory_ / "log").string();
    settings_.level = log_level::trace;
    configure_log(settings_);
    flush_log();
    skip_ = all_lines().size();
  }

  ~Log() override {
    configure_log({});
    name_log_process("");
    name_log_thread("");
    std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] std::vector<std::string> all_lines() const {
    std::ifstream file{settings_.file};
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);)
      result.push_back(line);
    return result;
  }

  /// Those that the test itself wrote.
  [[nodiscard]] std::vector<std::string> lines() const {
    auto result = all_lines();
    result.erase(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(skip_));
    return result;
  }

  std::filesystem::path directory_;
  log_settings settings_;
  std::size_t skip_ = 0;
};

TEST_F(Log, ALineHasTimeLevelComponentNodeAndText) {
  name_log_thread("ada");
  log_warn(log_component::link, "closed {}: {}", "127.0.0.1:7000", 42);
  ASSERT_THAT(lines(), SizeIs(1));
  const std::regex shape{R"(\d\d:\d\d:\d\d\.\d{6} warning link    ada: closed 127\.0\.0\.1:7000: 42)"};
  EXPECT_TRUE(std::regex_match(lines()[0], shape)) << lines()[0];
}

TEST_F(Log, LinesAreInTheFileBeforeTheProcessEnds) {
  log_info(log_component::node, "at once");
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("at once")));
}

TEST_F(Log, ThreadsWithoutANameSpeakForTheProcess) {
  name_log_process("process");
  name_log_thread("thread");
  log_info(log_component::node, "one");
  std::thread{[] { log_info(log_component::node, "two"); }}.join();
  EXPECT_THAT(lines(), ElementsAre(HasSubstr(" thread: one"), HasSubstr(" process: two")));
}

TEST_F(Log, EachComponentHasItsOwnLevel) {
  settings_.level = log_level::error;
  settings_.component_level[static_cast<std::size_t>(log_component::session)] = log_level::debug;
  settings_.component_level[static_cast<std::size_t>(log_component::lane)] = log_level::off;
  configure_log(settings_);
  log_warn(log_component::link, "too low");
  log_error(log_component::link, "link error");
  log_trace(log_component::session, "too low");
  log_debug(log_component::session, "session debug");
  log_error(log_component::lane, "off");
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("link error"), HasSubstr("session debug")));
  EXPECT_FALSE(log_enabled(log_component::lane, log_level::error));
  EXPECT_TRUE(log_enabled(log_component::session, log_level::debug));
}

TEST_F(Log, NothingIsFormattedWhenDisabled) {
  int formatted = 0;
  log_info(log_component::link, "{}", costly{&formatted});
  ASSERT_EQ(formatted, 1);
  settings_.level = log_level::off;
  configure_log(settings_);
  log_error(log_component::link, "{}", costly{&formatted});
  log_limited(log_component::link, log_level::error, "{}", costly{&formatted});
  EXPECT_EQ(formatted, 1);
  EXPECT_THAT(lines(), SizeIs(1));
}

TEST_F(Log, WhatAPeerSaysCannotForgeALine) {
  log_info(log_component::names, "name {}", "a\n00:00:00.000000 error node b: forged\x1b[31m");
  ASSERT_THAT(lines(), SizeIs(1));
  EXPECT_THAT(lines()[0], HasSubstr("a\\x0a00:00"));
  EXPECT_THAT(lines()[0], HasSubstr("\\x1b[31m"));
}

TEST_F(Log, ALongTextIsCutAndSaysSo) {
  log_text(log_component::names, log_level::info, std::string(max_log_text + 7, 'x'));
  ASSERT_THAT(lines(), SizeIs(1));
  EXPECT_THAT(lines()[0], HasSubstr("(7 bytes more)"));
  EXPECT_LT(lines()[0].size(), max_log_text + 100);
}

TEST_F(Log, AFileThatCannotBeOpenedChangesNothing) {
  log_settings bad = settings_;
  bad.file = (directory_ / "log" / "below a file").string();
  bad.level = log_level::off;
  try {
    configure_log(bad);
    FAIL() << "accepted";
  } catch (const std::runtime_error& why) {
    EXPECT_THAT(why.what(), testing::AllOf(HasSubstr(bad.file), HasSubstr("log-file")));
  }
  log_info(log_component::node, "still here");
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("still here")));
}

void repeat(int times) {
  for (int i = 0; i < times; ++i)
    log_limited(log_component::link, log_level::warn, "garbage from {}", i);
}

TEST_F(Log, ARepeatedMessageIsLimitedAndCounted) {
  settings_.rate_limit = 5;
  configure_log(settings_);
  repeat(100);
  // A second may begin anew in between.
  const auto written = lines().size();
  EXPECT_GE(written, 5u);
  EXPECT_LT(written, 100u);
  flush_log();
  std::size_t suppressed = 0;
  std::size_t said = 0;
  const std::regex note{R"RE(.* (\d+) more like "garbage from \{\}" were suppressed.*)RE"};
  for (const auto& line : lines()) {
    std::smatch match;
    if (std::regex_match(line, match, note))
      suppressed += std::stoul(match[1]);
    else
      ++said;
  }
  EXPECT_EQ(said + suppressed, 100u);
  EXPECT_GT(suppressed, 0u);
}

TEST_F(Log, EachPlaceInTheSourceHasALimitOfItsOwn) {
  settings_.rate_limit = 1;
  configure_log(settings_);
  for (int i = 0; i < 3; ++i) {
    log_limited(log_component::link, log_level::warn, "here {}", i);
    log_limited(log_component::link, log_level::warn, "there {}", i);
  }
  EXPECT_THAT(lines(), testing::IsSupersetOf({HasSubstr("here 0"), HasSubstr("there 0")}));
}

TEST_F(Log, ALimitOfZeroWritesAll) {
  settings_.rate_limit = 0;
  configure_log(settings_);
  repeat(50);
  EXPECT_THAT(lines(), SizeIs(50));
}

TEST_F(Log, ManyThreadsWriteWholeLinesWhileTheSettingsChange) {
  constexpr int threads = 4;
  constexpr int each = 200;
  settings_.rate_limit = 0;
  configure_log(settings_);
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t)
    writers.emplace_back([t] {
      name_log_thread("node" + std::to_string(t));
      for (int i = 0; i < each; ++i)
        log_limited(log_component::session, log_level::info, "line {} of {}", i, t);
    });
  for (int i = 0; i < 20; ++i)
    configure_log(settings_);
  for (auto& writer : writers)
    writer.join();
  const auto written = lines();
  ASSERT_THAT(written, SizeIs(threads * each));
  const std::regex shape{R"(.* info    session node(\d): line \d+ of (\d))"};
  for (const auto& line : written) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, shape)) << line;
    EXPECT_EQ(match[1], match[2]);
  }
}

TEST(LogNames, LevelsAreReadBack) {
  for (const auto level :
       {log_level::trace, log_level::debug, log_level::info, log_level::warn, log_level::error, log_level::off})
    EXPECT_EQ(parse_log_level(to_string(level)), level);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
  EXPECT_EQ(parse_log_level(""), std::nullopt);
}

// -- the limiter --------------------------------------------------------------------

using std::chrono::milliseconds;

TEST(RateLimiter, AdmitsSoManyASecondAndTellsOfTheOthersLater) {
  rate_limiter limiter;
  const auto start = rate_limiter::clock::now();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(limiter.admit(start + milliseconds(i), 3).admitted);
  for (int i = 3; i < 10; ++i)
    EXPECT_FALSE(limiter.admit(start + milliseconds(i), 3).admitted);
  EXPECT_FALSE(limiter.admit(start + milliseconds(999), 3).admitted);
  const auto verdict = limiter.admit(start + milliseconds(1000), 3);
  EXPECT_TRUE(verdict.admitted);
  EXPECT_EQ(verdict.suppressed, 8u);
  EXPECT_EQ(limiter.admit(start + milliseconds(1001), 3).suppressed, 0u);
}

TEST(RateLimiter, StartsAtTheBeginningOfTheClockToo) {
  rate_limiter limiter;
  EXPECT_TRUE(limiter.admit(rate_limiter::clock::time_point{}, 1).admitted);
  EXPECT_FALSE(limiter.admit(rate_limiter::clock::time_point{}, 1).admitted);
}

} // namespace
} // namespace troupe
