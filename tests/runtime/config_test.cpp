#include <troupe/runtime/config.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <troupe/runtime/config_options.hpp>

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

namespace troupe {
namespace {

static_assert(!std::is_copy_constructible_v<node_config> && std::is_nothrow_move_constructible_v<node_config>);

/// Each test has a directory and an environment without settings.
class Config : public testing::Test {
protected:
  Config() {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe-config-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    std::vector<std::string> inherited;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      if (text.starts_with("TROUPE_"))
        inherited.emplace_back(text.substr(0, text.find('=')));
    }
    for (const auto& name : inherited)
      ::unsetenv(name.c_str());
  }

  ~Config() override {
    for (const auto& name : variables_)
      ::unsetenv(name.c_str());
    std::filesystem::remove_all(directory_);
  }

  void set(const std::string& name, const std::string& value) {
    variables_.push_back(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }

  std::string write(const std::string& name, const std::string& content, int mode = 0600) {
    const auto path = (directory_ / name).string();
    std::ofstream{path} << content;
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    return path;
  }

  static node_config from(const std::vector<std::string>& arguments,
                          const std::function<void(CLI::App&)>& extend = {}) {
    std::vector<const char*> argv{"/some/where/program"};
    for (const auto& argument : arguments)
      argv.push_back(argument.c_str());
    argv.push_back(nullptr);
    return node_config::from(static_cast<int>(argv.size()) - 1, argv.data(), extend);
  }

  /// The text of the usage_error; fails if there is none or it is not one line.
  static std::string refusal(const std::vector<std::string>& arguments,
                             const std::function<void(CLI::App&)>& extend = {}) {
    try {
      from(arguments, extend);
    } catch (const usage_error& why) {
      EXPECT_EQ(why.exit_code(), 2);
      EXPECT_THAT(why.what(), Not(HasSubstr("\n")));
      return why.what();
    }
    ADD_FAILURE() << "accepted: " << testing::PrintToString(arguments);
    return "";
  }

  std::filesystem::path directory_;
  std::vector<std::string> variables_;
};

// -- precedence -------------------------------------------------------------------

TEST_F(Config, WithoutAnythingSetAllValuesAreDefaults) {
  const auto config = from({});
  EXPECT_EQ(config.down_after, 4s);
  EXPECT_EQ(config.heartbeat_interval(), 1s);
  EXPECT_EQ(config.transport, transport_choice::automatic);
  EXPECT_EQ(config.loops, 1u);
  EXPECT_EQ(config.listen, std::nullopt);
  EXPECT_EQ(config.origin("down-after"), value_origin::default_value);
  EXPECT_EQ(config.describe_origin("down-after"), "default");
}

TEST_F(Config, AFileBeatsTheDefault) {
  const auto path = write("node.toml", "down-after = 8s\n");
  const auto config = from({"--config", path});
  EXPECT_EQ(config.down_after, 8s);
  EXPECT_EQ(config.origin("down-after"), value_origin::file);
  EXPECT_EQ(config.describe_origin("down-after"), "file " + path);
}

TEST_F(Config, TheEnvironmentBeatsAFile) {
  set("TROUPE_DOWN_AFTER", "6s");
  const auto config = from({"--config", write("node.toml", "down-after = 8s\nloops = 3\n")});
  EXPECT_EQ(config.down_after, 6s);
  EXPECT_EQ(config.describe_origin("down-after"), "environment TROUPE_DOWN_AFTER");
  EXPECT_EQ(config.loops, 3u);
}

TEST_F(Config, AFlagBeatsTheEnvironmentAndAFile) {
  set("TROUPE_DOWN_AFTER", "6s");
  const auto config = from({"--config", write("node.toml", "down-after = 8s\n"), "--down-after=5s"});
  EXPECT_EQ(config.down_after, 5s);
  EXPECT_EQ(config.describe_origin("down-after"), "flag --down-after");
}

TEST_F(Config, AFlagBeatsAFileThatTheEnvironmentNames) {
  set("TROUPE_CONFIG", write("node.toml", "down-after = 8s\nloops = 3\n"));
  const auto config = from({"--down-after", "5s"});
  EXPECT_EQ(config.down_after, 5s);
  EXPECT_EQ(config.loops, 3u);
}

TEST_F(Config, OfARepeatedFlagTheLastCounts) { EXPECT_EQ(from({"--loops=2", "--loops=3"}).loops, 3u); }

TEST_F(Config, AnEmptyVariableCountsAsUnset) {
  set("TROUPE_DOWN_AFTER", "");
  EXPECT_EQ(from({}).down_after, 4s);
  EXPECT_EQ(from({"--config", write("node.toml", "down-after = 8s\n")}).down_after, 8s);
}

TEST_F(Config, EveryOptionCanBeSetByEachSource) {
  // A value for each option that is not its default.
  const auto value_for = [](const config_option& option) -> std::string {
    if (option.name == "name")
      return "ada";
    if (option.name == "listen" || option.name == "connect")
      return "127.0.0.1:7000";
    if (option.name == "transport")
      return "tcp";
    if (option.name.starts_with("log.") || option.name == "log-level")
      return "error";
    if (option.name == "net-device")
      return "eth7";
    if (option.name == "log-file")
      return "/tmp/somewhere";
    if (option.name.starts_with("heartbeat"))
      return "300ms";
    if (option.name == "ack-delay")
      return "1ms";
    if (option.name == "spin")
      return "3us";
    if (option.name.ends_with("-bytes"))
      return "128KiB";
    if (option.name == "down-after" || option.name.ends_with("-timeout"))
      return "3s";
    return "7";
  };
  for (const auto& option : config_options()) {
    if (option.name.starts_with("secret"))
      continue;
    const auto value = value_for(option);
    ASSERT_NE(option.get(node_config{}), value) << option.name;

    const auto by_flag = from({option.flag(), value});
    EXPECT_EQ(option.get(by_flag), value) << option.name;
    EXPECT_EQ(by_flag.origin(option.name), value_origin::flag) << option.name;

    ::setenv(option.environment().c_str(), value.c_str(), 1);
    const auto by_environment = from({});
    ::unsetenv(option.environment().c_str());
    EXPECT_EQ(option.get(by_environment), value) << option.name;
    EXPECT_EQ(by_environment.origin(option.name), value_origin::environment) << option.name;

    const auto by_file = from({"--config", write("node.toml", option.name + " = \"" + value + "\"\n")});
    EXPECT_EQ(option.get(by_file), value) << option.name;
    EXPECT_EQ(by_file.origin(option.name), value_origin::file) << option.name;
  }
}

// -- values -----------------------------------------------------------------------

TEST_F(Config, AddressesWithoutAHostMeanLoopback) {
  const auto config = from({"--listen", ":0", "--connect", "7000"});
  EXPECT_EQ(config.listen, "127.0.0.1:0");
  EXPECT_EQ(config.connect, "127.0.0.1:7000");
}

TEST_F(Config, EachComponentCanHaveALogLevel) {
  set("TROUPE_LOG_SESSION", "trace");
  const auto config =
      from({"--log-level=error", "--log.link=debug", "--config", write("node.ini", "[log]\nlane = \"info\"\n")});
  EXPECT_EQ(config.log.level_of(log_component::node), log_level::error);
  EXPECT_EQ(config.log.level_of(log_component::link), log_level::debug);
  EXPECT_EQ(config.log.level_of(log_component::lane), log_level::info);
  EXPECT_EQ(config.log.level_of(log_component::session), log_level::trace);
}

TEST_F(Config, FilesMayQuoteCommentAndUseSections) {
  const auto config = from({"--config", write("node.toml", "# a node\n"
                                                           "name = \"ada, the first\"\n"
                                                           "window-bytes = \"1MiB\" # small\n"
                                                           "loops = 2\n"
                                                           "log.names = 'debug'\n"
                                                           "\n"
                                                           "[log]\n"
                                                           "link = \"trace\"\n")});
  EXPECT_EQ(config.name, "ada, the first");
  EXPECT_EQ(config.window_bytes, 1u << 20);
  EXPECT_EQ(config.loops, 2u);
  EXPECT_EQ(config.log.level_of(log_component::names), log_level::debug);
  EXPECT_EQ(config.log.level_of(log_component::link), log_level::trace);
}

TEST_F(Config, NodesWithoutANameGetDifferentOnes) {
  node_config first;
  node_config second;
  first.prepare();
  second.prepare();
  EXPECT_NE(first.name, second.name);
  EXPECT_THAT(first.name, HasSubstr("-" + std::to_string(::getpid())));
}

TEST_F(Config, TheHeartbeatFollowsDownAfterUnlessItIsSet) {
  EXPECT_EQ(from({"--down-after=200ms"}).heartbeat_interval(), 50ms);
  EXPECT_EQ(from({"--down-after=1s", "--heartbeat=500ms"}).heartbeat_interval(), 500ms);
}

// Beating more often than this declares live peers dead on a busy machine.
TEST_F(Config, AHeartbeatThatLeavesNoSlackIsRefused) {
  EXPECT_THAT(refusal({"--heartbeat=49ms"}), HasSubstr("50ms to 2s"));
  EXPECT_THAT(refusal({"--heartbeat=2001ms"}), HasSubstr("50ms to 2s"));
  EXPECT_THAT(refusal({"--down-after=199ms"}), HasSubstr("200ms"));
  EXPECT_THAT(refusal({"--down-after=1s", "--heartbeat=501ms"}), HasSubstr("500ms"));
}

TEST_F(Config, LimitsOfASessionFollowTheOptions) {
  const auto config = from({"--window-messages=10", "--target-window-bytes=2KiB", "--shutdown-timeout=7s"});
  EXPECT_EQ(config.limits().window_messages, 10u);
  EXPECT_EQ(config.limits().target_window_bytes, 2048u);
  EXPECT_EQ(config.limits().goodbye_deadline, 7s);
}

TEST_F(Config, FieldsSetInAProgramAreCheckedToo) {
  node_config config;
  config.loops = 65;
  EXPECT_THROW(config.prepare(), usage_error);
  config.loops = 2;
  config.listen = ":7000";
  config.prepare();
  EXPECT_EQ(config.listen, "127.0.0.1:7000");
  config.name = std::string(256, 'x');
  EXPECT_THROW(config.prepare(), usage_error);
  config.name = "line\nbreak";
  EXPECT_THROW(config.prepare(), usage_error);
  config.name = "\xff";
  EXPECT_THROW(config.prepare(), usage_error);
}

// -- refusals ---------------------------------------------------------------------

TEST_F(Config, ABadValueNamesItsSourceTheValueAndAWayOut) {
  set("TROUPE_SPIN", "soon");
  EXPECT_THAT(refusal({}), testing::AllOf(HasSubstr("TROUPE_SPIN: \"soon\""), HasSubstr("such as 4s")));
  ::unsetenv("TROUPE_SPIN");
  EXPECT_THAT(refusal({"--window-bytes", "many"}),
              testing::AllOf(HasSubstr("--window-bytes: \"many\""), HasSubstr("64MiB")));
  const auto path = write("node.toml", "transport = pigeon\n");
  EXPECT_THAT(refusal({"--config", path}),
              testing::AllOf(HasSubstr(path + ": transport: \"pigeon\""), HasSubstr("auto, shm or tcp")));
  EXPECT_THAT(refusal({"--loops=0"}), HasSubstr("--loops: 0 is out of range: choose a value from 1 to 64"));
}

TEST_F(Config, EveryKindOfBadValueIsRefused) {
  for (const auto* argument : {"--loops=65",
                               "--loops=-1",
                               "--loops=two",
                               "--spin=11ms",
                               "--spin=5",
                               "--ack-delay=101ms",
                               "--window-messages=0",
                               "--window-bytes=1KiB",
                               "--max-message-bytes=1MB",
                               "--max-peers=65537",
                               "--listen=nowhere",
                               "--listen=host:70000",
                               "--connect=host:0",
                               "--connect=",
                               "--transport=SHM",
                               "--net-device=eth0,eth1",
                               "--log-level=loud",
                               "--log.link=5",
                               "--log-rate-limit=-1",
                               "--handshake-timeout=0",
                               "--connect-timeout=2h",
                               "--name=",
                               "--secret-file=/does/not/exist"})
    refusal({argument});
}

TEST_F(Config, AnUnknownFlagIsRefusedWithTheNearestName) {
  EXPECT_THAT(refusal({"--dwn-after=4s"}), testing::AllOf(HasSubstr("--dwn-after"), HasSubstr("--down-after?")));
  EXPECT_THAT(refusal({"--log.lnik=debug"}), HasSubstr("--log.link?"));
  EXPECT_THAT(refusal({"--frobnicate"}),
              testing::AllOf(HasSubstr("--frobnicate: no such option"), Not(HasSubstr("mean"))));
  EXPECT_THAT(refusal({"-x"}), HasSubstr("-x"));
  EXPECT_THAT(refusal({"surplus"}), HasSubstr("\"surplus\""));
}

TEST_F(Config, AFlagWithoutItsValueIsRefused) { EXPECT_THAT(refusal({"--loops"}), HasSubstr("--loops")); }

TEST_F(Config, AMisspeltVariableIsRefusedWithTheNearestName) {
  set("TROUPE_DOWN_AFTR", "4s");
  EXPECT_THAT(refusal({}), testing::AllOf(HasSubstr("TROUPE_DOWN_AFTR"), HasSubstr("TROUPE_DOWN_AFTER?")));
}

TEST_F(Config, VariablesOfTestsAndToolsAreLeftAlone) {
  set("TROUPE_TEST_SCALE", "nightly");
  set("TROUPE_BIN_DIR", "/somewhere");
  set("TROUPER", "no prefix of ours");
  from({});
}

TEST_F(Config, AMisspeltKeyInAFileIsRefusedWithTheNearestName) {
  EXPECT_THAT(refusal({"--config", write("node.toml", "dwn-after = 4s\n")}),
              testing::AllOf(HasSubstr("node.toml: dwn-after"), HasSubstr("down-after?")));
  EXPECT_THAT(refusal({"--config", write("node.toml", "[log]\nlnik = \"debug\"\n")}), HasSubstr("log.link?"));
  EXPECT_THAT(refusal({"--config", write("node.toml", "[lgo]\nlink = \"debug\"\n")}), HasSubstr("lgo.link"));
}

TEST_F(Config, AFileThatSaysTwoThingsIsRefused) {
  EXPECT_THAT(refusal({"--config", write("node.toml", "loops = 2\nspin = 0\nloops = 3\n")}),
              HasSubstr("loops: set twice"));
  EXPECT_THAT(refusal({"--config", write("node.toml", "loops = 2\nloops = 3\n")}), HasSubstr("loops"));
  EXPECT_THAT(refusal({"--config", write("node.toml", "loops = [2, 3]\n")}), HasSubstr("exactly one value"));
}

TEST_F(Config, AHashBetweenQuotesDoesNotCutAValueInSilence) {
  EXPECT_THAT(refusal({"--config", write("node.toml", "secret = \"abc#def\"\n")}), HasSubstr("quotes do not close"));
}

TEST_F(Config, AMissingOrUnreadableFileIsRefused) {
  EXPECT_THAT(refusal({"--config", "/does/not/exist"}), HasSubstr("/does/not/exist"));
  EXPECT_THAT(refusal({"--config", directory_.string()}), HasSubstr("directory"));
  set("TROUPE_CONFIG", "/does/not/exist/either");
  EXPECT_THAT(refusal({}), HasSubstr("/does/not/exist/either"));
}

TEST_F(Config, ABinaryFileIsRefused) {
  refusal({"--config", write("node.toml", std::string("\x7f"
                                                      "ELF\0\0\1\2garbage\nmore = \0garbage\n",
                                                      32))});
}

// -- secrets ----------------------------------------------------------------------

TEST_F(Config, ASecretFileLosesOneLineBreakOnly) {
  EXPECT_EQ(from({"--secret-file", write("secret", "hush\n")}).secret, "hush");
  EXPECT_EQ(from({"--secret-file", write("secret", " hush\n\n")}).secret, " hush\n");
}

TEST_F(Config, ASecretFileThatOthersCanReadIsRefused) {
  const auto path = write("secret", "hush\n", 0644);
  EXPECT_THAT(refusal({"--secret-file", path}), testing::AllOf(HasSubstr("chmod 600"), Not(HasSubstr("hush"))));
  EXPECT_THAT(refusal({"--config", write("node.toml", "secret = hush\n", 0644)}),
              testing::AllOf(HasSubstr("chmod 600"), Not(HasSubstr("hush"))));
  EXPECT_EQ(from({"--config", write("node.toml", "secret = hush\n", 0640)}).secret, "hush");
}

TEST_F(Config, AnEmptyOrHugeSecretFileIsRefused) {
  EXPECT_THAT(refusal({"--secret-file", write("secret", "\n")}), HasSubstr("empty"));
  EXPECT_THAT(refusal({"--secret-file", write("secret", std::string(1025, 'x'))}), HasSubstr("1024"));
  EXPECT_EQ(from({"--secret-file", write("secret", std::string(1024, 'x') + "\n")}).secret.size(), 1024u);
  EXPECT_THAT(refusal({"--secret-file", directory_.string()}), HasSubstr("not a file"));
}

TEST_F(Config, OfSecretAndSecretFileTheStrongerSourceCounts) {
  const auto path = write("secret", "from a file\n");
  set("TROUPE_SECRET_FILE", path);
  EXPECT_EQ(from({"--secret", "from a flag"}).secret, "from a flag");
  set("TROUPE_SECRET", "from the environment");
  EXPECT_THAT(refusal({}), HasSubstr("both are set"));
  EXPECT_EQ(from({"--secret-file", path}).secret, "from a file");
}

TEST_F(Config, ASecretThatIsTooLongIsNotRepeated) {
  const std::string secret(1025, 's');
  EXPECT_THAT(refusal({"--secret", secret}), Not(HasSubstr("sss")));
}

// -- applications -------------------------------------------------------------------

TEST_F(Config, AnApplicationAddsOptionsOfItsOwn) {
  std::string room;
  std::string topic;
  const auto extend = [&](CLI::App& app) {
    app.add_option("room", room);
    app.add_option("--topic", topic)->envname("TROUPE_CHAT_TOPIC");
  };
  set("TROUPE_CHAT_TOPIC", "from the environment");
  const auto config = from({"--config", write("node.toml", "topic = \"from a file\"\nloops = 2\n"), "lobby"}, extend);
  EXPECT_EQ(room, "lobby");
  EXPECT_EQ(topic, "from the environment");
  EXPECT_EQ(config.loops, 2u);
  EXPECT_THAT(refusal({"--topc=x"}, extend), HasSubstr("--topic?"));
}

TEST_F(Config, RunMainTurnsEveryFailureIntoALineAndAStatus) {
  const auto run = [](std::vector<const char*> arguments, const std::function<int(node_config)>& body) {
    arguments.insert(arguments.begin(), "/some/where/program");
    testing::internal::CaptureStderr();
    const int status = run_main(static_cast<int>(arguments.size()), arguments.data(), body);
    return std::pair{status, testing::internal::GetCapturedStderr()};
  };
  const auto unreachable = [](node_config) -> int { throw std::runtime_error("no route\nto host"); };
  EXPECT_EQ(run({}, [](node_config) { return 7; }), (std::pair{7, std::string{}}));
  EXPECT_EQ(run({}, unreachable), (std::pair{1, std::string{"program: no route\n"}}));
  const auto [status, text] = run({"--loops=0"}, unreachable);
  EXPECT_EQ(status, 2);
  EXPECT_THAT(text, testing::AllOf(HasSubstr("program: --loops: 0"), testing::EndsWith("\n")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(Config, HelpListsEveryOptionAndExitsWithZero) {
  const auto help = [] {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    from({"--help"});
  };
  EXPECT_EXIT(help(), testing::ExitedWithCode(0), "--down-after");
  std::string text;
  from({}, [&](CLI::App& app) { text = app.help(); });
  for (const auto& option : config_options()) {
    EXPECT_THAT(text, HasSubstr(option.flag() + " "));
    EXPECT_THAT(text, HasSubstr(option.environment()));
  }
}

TEST_F(Config, AMoveTakesEverythingAlong) {
  auto config = from({"--name=ada"});
  auto* system = &config.system_config();
  node_config moved = std::move(config);
  EXPECT_EQ(moved.name, "ada");
  EXPECT_EQ(&moved.system_config(), system);
  moved.prepare();
}

} // namespace
} // namespace troupe
