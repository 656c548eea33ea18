// ctest: timeout=180
// troupe-chat as its users meet it: real processes, each a node, on loopback.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr auto patience = 20s;

/// A troupe-chat process. What it prints is gathered, standard error as well; it is killed at the end of the test.
class chat_process {
public:
  explicit chat_process(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{std::string{TROUPE_BIN_DIR} + "/troupe-chat"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> command;
    for (auto& word : words)
      command.push_back(word.data());
    command.push_back(nullptr);
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    id_ = fork();
    if (id_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(input[0], STDIN_FILENO);
      dup2(output[1], STDOUT_FILENO);
      dup2(output[1], STDERR_FILENO);
      execv(command[0], command.data());
      _exit(127);
    }
    close(input[0]);
    close(output[1]);
    input_ = input[1];
    output_ = output[0];
    if (id_ < 0)
      throw std::runtime_error("no process");
  }

  ~chat_process() {
    if (!ended_) {
      kill(id_, SIGKILL);
      waitpid(id_, nullptr, 0);
    }
    close(input_);
    close(output_);
  }

  chat_process(const chat_process&) = delete;
  chat_process& operator=(const chat_process&) = delete;

  /// Waits for a line that contains `text`.
  [[nodiscard]] testing::AssertionResult shows(const std::string& text, clock_type::duration limit = patience) {
    const auto until = clock_type::now() + limit;
    while (seen_.find(text) == std::string::npos)
      if (!read_more(until))
        return testing::AssertionFailure() << "not shown: " << text << "\nbut:\n" << seen_;
    return testing::AssertionSuccess();
  }

  /// Waits for its end. The exit status; 128 + the signal that ended it; -1: it goes on.
  [[nodiscard]] int exit_status(clock_type::duration limit = patience) {
    const auto until = clock_type::now() + limit;
    while (read_more(until)) {
    }
    int status = 0;
    while (waitpid(id_, &status, WNOHANG) == 0) {
      if (clock_type::now() > until)
        return -1;
      poll(nullptr, 0, 1);
    }
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void type(const std::string& text) const {
    ASSERT_EQ(write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  void signal(int number) const { kill(id_, number); }

  const std::string& seen() const { return seen_; }

  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    std::istringstream in{seen_};
    for (std::string line; std::getline(in, line);)
      result.push_back(line);
    return result;
  }

  /// The numbers of the lines shown, with --numbers.
  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> result;
    for (const auto& line : lines())
      if (line.starts_with("["))
        result.push_back(std::stoull(line.substr(1)));
    return result;
  }

private:
  bool read_more(clock_type::time_point until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_type::now());
    pollfd ready{output_, POLLIN, 0};
    if (left <= 0ms || poll(&ready, 1, static_cast<int>(left.count())) <= 0)
      return false;
    char bytes[65536];
    const auto size = read(output_, bytes, sizeof bytes);
    if (size <= 0)
      return false;
    seen_.append(bytes, static_cast<std::size_t>(size));
    return true;
  }

  pid_t id_ = -1;
  bool ended_ = false;
  int input_ = -1;
  int output_ = -1;
  std::string seen_;
};

class Chat : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    char name[] = "/tmp/troupe-chat-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    setenv("TROUPE_SECRET", "of the chat test", 1);
  }

  void TearDown() override {
    for (const auto& file : files_)
      unlink(file.c_str());
    rmdir(directory_.c_str());
  }

  std::string script(const std::string& content) {
    files_.push_back(directory_ + "/" + std::to_string(files_.size()) + ".script");
    std::ofstream{files_.back()} << content;
    return files_.back();
  }

  std::vector<std::string> over(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--transport", GetParam()});
    return arguments;
  }

  /// Opens a room and waits until it is open. `address` is where.
  std::unique_ptr<chat_process> open(std::string& address, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"serve", "--listen", "127.0.0.1:0", "--name", "server"});
    auto server = std::make_unique<chat_process>(over(std::move(arguments)));
    const std::string announced = "* the room is open at ";
    EXPECT_TRUE(server->shows(announced));
    for (const auto& line : server->lines())
      if (line.starts_with(announced))
        address = line.substr(announced.size());
    return server;
  }

  std::string expected_transport() const {
    return std::string{GetParam()} == "shm" ? "* connected to server over shared memory (shm)"
                                            : "* connected to server over tcp";
  }

private:
  std::string directory_;
  std::vector<std::string> files_;
};

INSTANTIATE_TEST_SUITE_P(Over, Chat, testing::Values("shm", "tcp"), [](const auto& info) { return info.param; });

void expect_contiguous(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t at = 1; at < numbers.size(); ++at)
    ASSERT_EQ(numbers[at], numbers[at - 1] + 1) << "after " << at << " lines";
}

std::string says(int count, const std::string& last) {
  std::ostringstream text;
  for (int number = 0; number < count; ++number)
    text << "say number " << number << '\n';
  text << "say " << last << '\n';
  return text.str();
}

// -- conversations ------------------------------------------------------------

TEST_P(Chat, MembersOnThreeNodesHearEachOther) {
  std::string address;
  auto ada = open(
      address, {"--as", "ada", "--script", script("wait-for ben: hello\nsay welcome\nwait-for ben has left\nleave\n")});
  chat_process cleo{over({"join", address, "--as", "cleo", "--script", script("wait-for ada: welcome\nstay\n")})};
  ASSERT_TRUE(cleo.shows(expected_transport()));
  ASSERT_TRUE(cleo.shows("* you are cleo"));
  chat_process ben{
      over({"join", address, "--as", "ben", "--script", script("say hello\nwait-for ada: welcome\nleave\n")})};
  EXPECT_TRUE(cleo.shows("* ben has joined"));
  EXPECT_TRUE(cleo.shows("ben: hello"));
  EXPECT_TRUE(cleo.shows("ada: welcome"));
  EXPECT_EQ(ben.exit_status(), 0) << ben.seen();
  EXPECT_TRUE(cleo.shows("* ben has left"));
  // The room goes with its node: who stays is told, and that is no failure.
  EXPECT_EQ(ada->exit_status(), 0) << ada->seen();
  EXPECT_EQ(cleo.exit_status(), 0) << cleo.seen();
  EXPECT_TRUE(cleo.shows("* the room is closed"));
}

TEST_P(Chat, AMemberWhoseProcessIsKilledIsAnnouncedAtOnce) {
  std::string address;
  auto ada = open(address, {"--as", "ada"});
  chat_process ben{over({"join", address, "--as", "ben"})};
  ASSERT_TRUE(ben.shows("* you are ben"));
  chat_process cleo{over({"join", address, "--as", "cleo"})};
  ASSERT_TRUE(cleo.shows("* you are cleo"));
  ASSERT_TRUE(ben.shows("* cleo has joined"));
  cleo.signal(SIGKILL);
  // Far below down_after, which is 4 s: it was noticed, not waited for.
  EXPECT_TRUE(ada->shows("* cleo's connection was lost", 1s));
  EXPECT_TRUE(ben.shows("* cleo's connection was lost", 1s));
  // Its name is free again.
  chat_process again{over({"join", address, "--as", "cleo"})};
  EXPECT_TRUE(again.shows("* you are cleo"));
}

TEST_P(Chat, AMemberThatIsToldToEndLeaves) {
  std::string address;
  auto room = open(address, {"--as", "ada"});
  chat_process ben{over({"join", address, "--as", "ben"})};
  ASSERT_TRUE(ben.shows("* you are ben"));
  ben.signal(SIGTERM);
  EXPECT_EQ(ben.exit_status(), 0) << ben.seen();
  EXPECT_TRUE(room->shows("* ben has left"));
}

TEST_P(Chat, MembersLearnThatTheRoomsProcessWasKilled) {
  std::string address;
  auto room = open(address, {});
  chat_process ben{over({"join", address, "--as", "ben"})};
  ASSERT_TRUE(ben.shows("* you are ben"));
  room->signal(SIGKILL);
  EXPECT_TRUE(ben.shows("* the room is lost: ", 1s));
  EXPECT_EQ(ben.exit_status(), 1) << ben.seen();
}

TEST_P(Chat, APersonTypes) {
  std::string address;
  auto room = open(address, {"--as", "ada"});
  chat_process ben{over({"join", address, "--as", "ben"})};
  ASSERT_TRUE(ben.shows("* you are ben"));
  ben.type("hello\n//not a command\n/nonsense\n/members\n");
  EXPECT_TRUE(room->shows("ben: hello\nben: /not a command"));
  EXPECT_TRUE(ben.shows("* there is no command /nonsense"));
  EXPECT_TRUE(ben.shows("* here are: "));
  ben.type(std::string(5000, 'x') + "\nstill here\n");
  EXPECT_TRUE(ben.shows("* not said: a line has at most 4096 bytes"));
  EXPECT_TRUE(room->shows("ben: still here"));
  ben.type("/quit\n");
  EXPECT_EQ(ben.exit_status(), 0) << ben.seen();
  EXPECT_TRUE(room->shows("* ben has left"));
}

TEST_P(Chat, ControlCharactersReachNobodysTerminal) {
  std::string address;
  auto room = open(address, {"--as", "ada"});
  chat_process ben{over({"join", address, "--as", "ben"})};
  ASSERT_TRUE(ben.shows("* you are ben"));
  ben.type("red \x1b[31m, beep \x07, no UTF-8 \xff\xfe\n");
  EXPECT_TRUE(room->shows("ben: red ?[31m, beep ?, no UTF-8"));
  EXPECT_EQ(room->seen().find('\x1b'), std::string::npos);
}

// -- history and flow ---------------------------------------------------------

TEST_P(Chat, WhoJoinsWhileOthersTalkMissesNothingAndSeesNothingTwice) {
  std::string address;
  auto ada =
      open(address, {"--as", "ada", "--history", "20", "--script",
                     script("wait-for ben has joined\n" + says(3000, "the end") + "stay\n")});
  const auto listens = [&] { return script("deadline 60\nwait-for ada: the end\nleave\n"); };
  chat_process ben{over({"join", address, "--as", "ben", "--numbers", "--script", listens()})};
  ASSERT_TRUE(ben.shows("ada: number 100\n"));
  chat_process cleo{over({"join", address, "--as", "cleo", "--numbers", "--script", listens()})};
  EXPECT_EQ(ben.exit_status(60s), 0) << ben.seen();
  EXPECT_EQ(cleo.exit_status(60s), 0) << cleo.seen();
  EXPECT_EQ(cleo.seen().find("* missed"), std::string::npos);
  expect_contiguous(ben.numbers());
  expect_contiguous(cleo.numbers());
  EXPECT_GT(ben.numbers().size(), 3000u);
  EXPECT_GE(cleo.numbers().size(), 20u);
}

TEST_P(Chat, AFrozenMemberHoldsUpNobodyAndCatchesUp) {
  // More lines than the window of one target has messages, so that the runtime refuses some of them.
  constexpr int lines = 6000;
  std::string address;
  auto ada = open(address, {"--as", "ada", "--history", "10000", "--script",
                            script("deadline 60\nwait-for cleo has joined\nwait-for ben: go\n" +
                                   says(lines, "the end") + "wait-for cleo has left\nleave\n")});
  // Frozen for seconds is not dead.
  chat_process cleo{over({"join", address, "--as", "cleo", "--numbers", "--down-after", "60s", "--script",
                          script("deadline 60\nwait-for ada: the end\nleave\n")})};
  ASSERT_TRUE(cleo.shows("* you are cleo"));
  cleo.signal(SIGSTOP);
  chat_process ben{over({"join", address, "--as", "ben", "--numbers", "--script",
                         script("deadline 60\nsay go\nwait-for ada: the end\nleave\n")})};
  EXPECT_TRUE(ada->shows("ada: the end\n")); // and reads what ada prints, which is more than a pipe holds
  EXPECT_EQ(ben.exit_status(60s), 0) << ben.seen();
  cleo.signal(SIGCONT);
  EXPECT_EQ(cleo.exit_status(60s), 0) << cleo.seen().substr(0, 2000);
  expect_contiguous(ben.numbers());
  expect_contiguous(cleo.numbers());
  EXPECT_EQ(cleo.seen().find("* missed"), std::string::npos);
  EXPECT_GT(cleo.numbers().size(), static_cast<std::size_t>(lines));
  EXPECT_EQ(ada->exit_status(), 0);
}

// -- refusals -----------------------------------------------------------------

TEST_P(Chat, ANameIsGivenOnce) {
  std::string address;
  auto room = open(address, {"--as", "ada"});
  chat_process second{over({"join", address, "--as", "ada"})};
  EXPECT_EQ(second.exit_status(), 1);
  EXPECT_TRUE(second.shows("cannot join: somebody in the room has this name"));
}

TEST_P(Chat, AScriptThatWaitsInVainFails) {
  std::string address;
  auto room = open(address, {});
  chat_process ben{over({"join", address, "--as", "ben", "--script", script("deadline 0.2\nwait-for godot\n")})};
  EXPECT_EQ(ben.exit_status(), 1);
  EXPECT_TRUE(ben.shows("script line 2: nothing with \"godot\" was shown in time"));
}

TEST_P(Chat, NobodyListens) {
  chat_process ben{over({"join", "127.0.0.1:1", "--as", "ben"})};
  EXPECT_EQ(ben.exit_status(), 1);
  EXPECT_TRUE(ben.shows("troupe-chat: cannot join: "));
  EXPECT_EQ(ben.lines().size(), 1u) << ben.seen();
}

struct mistake {
  std::vector<std::string> arguments;
  std::string complaint;
};

TEST(ChatArguments, AMistakeIsOneLineAndExitStatus2) {
  const std::vector<mistake> mistakes{
      {{}, "subcommand"},
      {{"sing"}, "sing"},
      {{"serve", "--nonsense"}, "--nonsense"},
      {{"serve", "--transport", "pigeon"}, "transport"},
      {{"serve", "--history", "-1"}, "history"},
      {{"serve", "--script", "/dev/null"}, "--as"},
      {{"join", "--as", "two words"}, "'two words' is no name"},
      {{"join", "--as", "ben", "--script", "/nonexistent"}, "cannot read the script"},
      {{"join", "--as", "ben", "--script", "/etc/passwd"}, "/etc/passwd:1: there is no command"},
  };
  for (const auto& [arguments, complaint] : mistakes) {
    chat_process program{arguments};
    EXPECT_EQ(program.exit_status(), 2) << program.seen();
    EXPECT_TRUE(program.shows(complaint));
    EXPECT_EQ(program.lines().size(), 1u) << program.seen();
  }
}

TEST(ChatArguments, HelpIsNoMistake) {
  chat_process program{{"--help"}};
  EXPECT_EQ(program.exit_status(), 0);
  EXPECT_TRUE(program.shows("serve"));
  EXPECT_TRUE(program.shows("join"));
}

} // namespace
