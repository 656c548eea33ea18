// The `troupe` command, run as a person would.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

namespace {

struct outcome {
  int status = -1;
  std::string out;
  std::string err;
};

/// Runs `troupe ARGUMENTS` through the shell; `before` may set variables.
outcome troupe(const std::string& arguments, const std::string& before = "") {
  std::string err_path = (std::filesystem::temp_directory_path() / "troupe-command-XXXXXX").string();
  const int fd = ::mkstemp(err_path.data());
  if (fd >= 0)
    ::close(fd);
  const auto command = "timeout 60 env " + before + " " TROUPE_BIN_DIR "/troupe " + arguments + " 2>" + err_path;
  outcome result;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr)
    return result;
  std::array<char, 4096> buffer;
  while (const auto count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    result.out.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ostringstream err;
  err << std::ifstream{err_path}.rdbuf();
  result.err = err.str();
  std::filesystem::remove(err_path);
  return result;
}

void expect_usage_error(const outcome& result, const std::string& hint) {
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, AllOf(StartsWith("troupe: "), HasSubstr(hint)));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(Command, InfoPrintsConfigurationUcxAndRdma) {
  const auto result = troupe("info");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\ndown-after = 4s\n"), HasSubstr("\n# UCX 1."), HasSubstr("tcp on lo"),
                                HasSubstr("posix on memory"), HasSubstr("# RDMA devices that libibverbs sees\n#   ")));
}

TEST(Command, InfoShowsTheEffectiveValueAndItsSource) {
  const auto result = troupe("info --down-after=2s --json", "TROUPE_LOOPS=3");
  ASSERT_EQ(result.status, 0) << result.err;
  const auto document = nlohmann::json::parse(result.out);
  std::size_t seen = 0;
  for (const auto& option : document["configuration"]) {
    if (option["name"] == "down-after") {
      EXPECT_EQ(option["value"], "2s");
      EXPECT_EQ(option["origin"], "flag");
      ++seen;
    } else if (option["name"] == "loops") {
      EXPECT_EQ(option["value"], "3");
      EXPECT_EQ(option["origin"], "environment");
      ++seen;
    }
  }
  EXPECT_EQ(seen, 2u);
}

TEST(Command, InfoPrintsTheMarkdownTable) {
  const auto result = troupe("info --markdown");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(StartsWith("| option | default | range | meaning |\n"), HasSubstr("\n| `down-after` |")));
}

TEST(Command, HelpAndVersionGoToStandardOutput) {
  for (const auto* flag : {"--help", "info --help", "--version"}) {
    const auto result = troupe(flag);
    EXPECT_EQ(result.status, 0) << flag;
    EXPECT_THAT(result.out, HasSubstr(flag == std::string{"--version"} ? "Troupe" : "Usage"));
    EXPECT_THAT(result.err, IsEmpty());
  }
}

TEST(Command, AMisuseIsOneLineAndStatusTwo) {
  expect_usage_error(troupe(""), "subcommand");
  expect_usage_error(troupe("inof"), "did you mean info?");
  expect_usage_error(troupe("info --dwn-after=4s"), "did you mean --down-after?");
  expect_usage_error(troupe("info --jsn"), "did you mean --json?");
  expect_usage_error(troupe("info --json --markdown"), "--markdown");
  expect_usage_error(troupe("info --down-after=soon"), "--down-after: \"soon\" is not a duration");
  expect_usage_error(troupe("info --config=/does/not/exist"), "/does/not/exist");
  expect_usage_error(troupe("info", "TROUPE_DOWN_AFTR=4s"), "did you mean TROUPE_DOWN_AFTER?");
  expect_usage_error(troupe("info", "TROUPE_TRANSPORT=pigeon"), "TROUPE_TRANSPORT: \"pigeon\"");
}

TEST(Command, AFullDiskIsNoSuccess) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "this system has no /dev/full";
  const auto result = troupe("info --markdown >/dev/full");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output"));
}

} // namespace
