#include <troupe/runtime/info.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <troupe/runtime/config_options.hpp>
#include <troupe/runtime/nearest_name.hpp>

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace troupe {
namespace {

system_info some_system() {
  return {"1.99.0", "1.13", {{"posix", "memory"}, {"tcp", "lo"}}, {{"mlx5_0", "0002c90300a1b2c3"}}, ""};
}

node_config some_config() {
  node_config config;
  config.name = "ada";
  config.listen = "127.0.0.1:7000";
  config.secret = "hush";
  config.down_after = std::chrono::milliseconds(1500);
  config.prepare();
  return config;
}

TEST(Info, TheTextHasEveryOptionWithItsDocumentation) {
  const auto text = info_text(some_config(), some_system());
  for (const auto& option : config_options()) {
    EXPECT_THAT(text, HasSubstr(option.name + " = "));
    EXPECT_THAT(text, HasSubstr(option.documentation));
    EXPECT_THAT(text, HasSubstr(option.environment()));
  }
  EXPECT_THAT(text, HasSubstr("down-after = 1500ms"));
}

TEST(Info, NoFormShowsTheSecret) {
  const auto config = some_config();
  EXPECT_THAT(info_text(config, some_system()),
              AllOf(Not(HasSubstr("hush")), HasSubstr("secret = \"(set, not shown)\"")));
  EXPECT_THAT(info_json(config, some_system()), AllOf(Not(HasSubstr("hush")), HasSubstr("(set, not shown)")));
}

TEST(Info, TheTextNamesUcxAndRdma) {
  const auto text = info_text(some_config(), some_system());
  EXPECT_THAT(
      text, AllOf(HasSubstr("UCX 1.99.0"), HasSubstr("posix on memory"), HasSubstr("tcp on lo"), HasSubstr("mlx5_0")));
}

TEST(Info, ThatThereIsNoRdmaDeviceIsSaid) {
  auto system = some_system();
  system.rdma_devices.clear();
  EXPECT_THAT(info_text(some_config(), system), HasSubstr("#   none; shared memory and TCP need none"));
  system.rdma_note = "the kernel has no RDMA support";
  EXPECT_THAT(info_text(some_config(), system), HasSubstr("none: the kernel has no RDMA support"));
}

// What is printed can be saved and used.
TEST(Info, TheTextIsAConfigurationFile) {
  std::string path = (std::filesystem::temp_directory_path() / "troupe-info-XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ::close(fd);
  const char* first_arguments[] = {
      "program",          "--name=ada lovelace", "--listen=127.0.0.1:7000", "--loops=3",          "--spin=0",
      "--log.link=debug", "--heartbeat=700ms",   "--log-file=/tmp/x",       "--window-bytes=1MiB"};
  const auto first = node_config::from(static_cast<int>(std::size(first_arguments)), first_arguments);
  std::ofstream{path} << info_text(first, some_system());
  const char* second_arguments[] = {"program", "--config", path.c_str()};
  const auto second = node_config::from(static_cast<int>(std::size(second_arguments)), second_arguments);
  for (const auto& option : config_options())
    EXPECT_EQ(option.get(first), option.get(second)) << option.name;
  std::filesystem::remove(path);
}

TEST(Info, TheJsonIsOneObjectWithEverything) {
  const auto document = nlohmann::json::parse(info_json(some_config(), some_system()));
  EXPECT_EQ(document["troupe"], version());
  ASSERT_EQ(document["configuration"].size(), config_options().size());
  for (std::size_t i = 0; i < config_options().size(); ++i)
    EXPECT_EQ(document["configuration"][i]["name"], config_options()[i].name);
  EXPECT_EQ(document["ucx"]["transports"][0]["name"], "posix");
  EXPECT_EQ(document["rdma"]["devices"][0]["name"], "mlx5_0");
}

TEST(Info, TheMarkdownTableHasARowForEveryOption) {
  const auto table = options_markdown();
  const auto rows = static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
  EXPECT_EQ(rows, config_options().size() + 2);
  for (const auto& option : config_options())
    EXPECT_THAT(table, HasSubstr("\n| `" + option.name + "` | `" + option.default_value + "` | "));
}

TEST(Info, TheMarkdownTableIsTheSameEverywhere) {
  node_config taken; // names of later nodes are counted
  taken.prepare();
  EXPECT_EQ(options_markdown(), options_markdown());
  EXPECT_THAT(options_markdown(), Not(HasSubstr(std::to_string(::getpid()))));
}

TEST(Info, ThisMachineHasUcxWithSharedMemoryAndTcp) {
  const auto system = read_system_info();
  EXPECT_FALSE(system.ucx_version.empty());
  const auto has = [&](const char* name) {
    return std::any_of(system.transports.begin(), system.transports.end(),
                       [&](const auto& t) { return t.name == name; });
  };
  EXPECT_TRUE(has("posix"));
  EXPECT_TRUE(has("tcp"));
}

TEST(OptionTable, EveryRowIsComplete) {
  for (const auto& option : config_options()) {
    EXPECT_FALSE(option.default_value.empty()) << option.name;
    EXPECT_FALSE(option.range.empty()) << option.name;
    EXPECT_TRUE(option.documentation.ends_with('.')) << option.name;
    EXPECT_EQ(find_option(option.name), &option);
  }
  EXPECT_EQ(find_option("no-such-option"), nullptr);
}

TEST(OptionTable, ANameIsSuggestedOnlyWhenItIsNear) {
  const std::vector<std::string> names{"down-after", "listen", "log.link", "log.lane"};
  EXPECT_EQ(nearest_name("dwn-aftr", names), "down-after");
  EXPECT_EQ(nearest_name("log.lnik", names), "log.link");
  EXPECT_EQ(nearest_name("utterly-different", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

} // namespace
} // namespace troupe
