// How a peer's death is noticed, and what is no death. The peers are processes of their own: this program, started
// again with the arguments --peer or --server, NAME, INCARNATION, PORT.
// ctest: timeout=180
#include <troupe/transport/link.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include <tests/support/link_node.hpp>

extern char** environ;

using namespace troupe;
using namespace troupe::test;

namespace {

transport::link_config fast(const std::string& name, std::uint64_t incarnation) {
  auto out = config_of(name, incarnation);
  out.down_after = 600ms;
  return out;
}

/// A node in a process of its own that is linked to `port`. It writes a line for each thing that happens to its link.
class peer_process {
public:
  peer_process(const std::string& name, std::uint64_t incarnation, std::uint16_t port, const char* role = "--peer") {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    out_.reset(ends[0]);
    transport::unique_fd write_end{ends[1]};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    auto number = std::to_string(incarnation);
    auto where = std::to_string(port);
    const char* arguments[] = {"peer", role, name.c_str(), number.c_str(), where.c_str(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, const_cast<char**>(arguments), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~peer_process() { kill(SIGKILL); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const {
    if (pid_ > 0) // anything else would mean more than one process
      ::kill(pid_, number);
  }
  /// Sends the signal and waits for the end.
  void kill(int number) {
    if (pid_ <= 0)
      return;
    signal(number);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  /// Waits for a line that begins so; returns it, or what came instead.
  std::string wait_line(const std::string& begin) {
    auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
      for (auto at = text_.find('\n'); at != std::string::npos; at = text_.find('\n')) {
        auto line = text_.substr(0, at);
        text_.erase(0, at + 1);
        if (line.starts_with(begin))
          return line;
      }
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd poll{out_.get(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&poll, 1, static_cast<int>(left.count())) <= 0)
        return "nothing within the deadline";
      char chunk[512];
      auto n = ::read(out_.get(), chunk, sizeof(chunk));
      if (n <= 0)
        return "end of output";
      text_.append(chunk, static_cast<std::size_t>(n));
    }
  }

private:
  pid_t pid_ = -1;
  transport::unique_fd out_;
  std::string text_;
};

struct narrator : transport::link_handler {
  void on_frame(const v1::LinkFrame& frame) override {
    if (frame.has_goodbye())
      std::cout << "goodbye " << to_string(static_cast<errc>(frame.goodbye().code())) << " " << frame.goodbye().reason()
                << std::endl;
  }
  void on_progress(std::uint64_t, bool) override {}
  void on_down(const transport::link_down& why) override {
    std::cout << "down " << to_string(why.cause) << " " << why.peer_dead << " " << why.text << std::endl;
  }
};

/// Links to `port`, again whenever it is told to by a line on which its link went down.
int run_peer(const std::string& name, std::uint64_t incarnation, std::uint16_t port) {
  ::alarm(100); // whatever happens to the test
  transport::link_service service{fast(name, incarnation)};
  gate gate;
  bool again = true;
  service.set_accept_handler([&](std::shared_ptr<transport::link> made) {
    struct redialler : narrator {
      std::function<void()> then;
      void on_down(const transport::link_down& why) override {
        narrator::on_down(why);
        then();
      }
    };
    auto handler = std::make_shared<redialler>();
    handler->then = [&] { gate.change([&] { again = true; }); };
    made->set_handler(handler);
    std::cout << "up" << std::endl;
  });
  for (;;) {
    gate.wait([&] { return again; }, 100s);
    gate.change([&] { again = false; });
    service.dial("127.0.0.1", port, 2s, [&](dial_result outcome) {
      if (!outcome)
        std::cout << "failed " << to_string(outcome.error().code) << " " << outcome.error().text << std::endl;
    });
  }
}

/// Listens on `port`, or any, until it is killed.
int run_server(const std::string& name, std::uint64_t incarnation, std::uint16_t port) {
  ::alarm(100);
  transport::link_service service{fast(name, incarnation)};
  auto given = service.listen("127.0.0.1", port);
  if (given)
    std::cout << "listening " << *given << std::endl;
  else
    std::cout << given.error().text << std::endl;
  for (;;)
    ::pause();
}

} // namespace

TEST(link_death, a_killed_process_is_known_dead_within_milliseconds) {
  link_node server{"server", 1}; // with 4 s of patience
  auto port = server.listen();
  std::chrono::nanoseconds best = patience;
  for (std::size_t round = 0; round < 10; ++round) {
    peer_process peer{"peer", 10 + round, port};
    ASSERT_EQ(peer.wait_line("up"), "up");
    ASSERT_TRUE(server.wait_links(round + 1));
    auto start = std::chrono::steady_clock::now();
    peer.signal(SIGKILL); // it stays a zombie
    auto down = server.records(round)->wait_down();
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - start);
    ASSERT_TRUE(down);
    EXPECT_EQ(down->cause, errc::peer_dead) << down->text;
    EXPECT_TRUE(down->peer_dead);
    EXPECT_EQ(server.records(round)->downs(), 1u);
  }
  EXPECT_LT(best, 20ms);
  RecordProperty("best_microseconds", static_cast<int>(best.count() / 1000));
}

TEST(link_death, a_frozen_process_is_dead_after_down_after_and_is_told_and_comes_back) {
  link_node server{fast("server", 1)};
  auto port = server.listen();
  peer_process peer{"peer", 10, port};
  ASSERT_EQ(peer.wait_line("up"), "up");
  ASSERT_TRUE(server.wait_links(1));
  peer.signal(SIGSTOP);
  auto start = std::chrono::steady_clock::now();
  auto down = server.records(0)->wait_down();
  auto took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(down);
  EXPECT_EQ(down->cause, errc::timed_out) << down->text;
  EXPECT_TRUE(down->peer_dead);
  EXPECT_GE(took, 400ms); // silent since its last heartbeat, up to 150 ms before the stop
  EXPECT_LT(took, 3s);
  peer.signal(SIGCONT);
  auto told = peer.wait_line("goodbye");
  EXPECT_TRUE(told.starts_with("goodbye timed_out declared dead")) << told;
  auto lost = peer.wait_line("down");
  EXPECT_TRUE(lost.starts_with("down peer_reset 0")) << lost;
  EXPECT_EQ(peer.wait_line("up"), "up");
  ASSERT_TRUE(server.wait_links(2));
  EXPECT_NE(server.at(0)->session(), server.at(1)->session());
  EXPECT_EQ(server.at(1)->peer().incarnation, 10u);
}

TEST(link_death, a_short_freeze_is_survived) {
  auto patient = config_of("server", 1);
  patient.down_after = 20s;
  link_node server{patient};
  peer_process peer{"peer", 10, server.listen()};
  ASSERT_EQ(peer.wait_line("up"), "up");
  ASSERT_TRUE(server.wait_links(1));
  // The frozen process has 600 ms of patience itself: the time it did not run must not count as the server's silence.
  for (int i = 0; i < 3; ++i) {
    peer.signal(SIGSTOP);
    std::this_thread::sleep_for(900ms);
    peer.signal(SIGCONT);
    EXPECT_FALSE(server.records(0)->wait_down(200ms));
  }
}

TEST(link_death, a_restarted_process_takes_its_name_over_at_once) {
  link_node server{"server", 1};
  auto port = server.listen();
  for (std::size_t round = 0; round < 5; ++round) {
    peer_process peer{"peer", 10 + round, port};
    ASSERT_EQ(peer.wait_line("up"), "up") << server.events();
    peer.kill(SIGKILL);
  }
}

TEST(link_death, a_frozen_process_loses_its_name_to_a_new_one) {
  link_node server{"server", 1};
  auto port = server.listen();
  peer_process old{"peer", 10, port};
  ASSERT_EQ(old.wait_line("up"), "up");
  ASSERT_TRUE(server.wait_links(1));
  old.signal(SIGSTOP);
  auto start = std::chrono::steady_clock::now();
  peer_process young{"peer", 11, port};
  EXPECT_EQ(young.wait_line("up"), "up");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 400ms);
  auto down = server.records(0)->wait_down();
  ASSERT_TRUE(down);
  EXPECT_EQ(down->cause, errc::stale_incarnation);
  EXPECT_TRUE(down->peer_dead);
}

TEST(link_death, a_lost_connection_to_a_living_process_is_no_death) {
  link_node server{fast("server", 1)};
  peer_process peer{"peer", 10, server.listen()};
  ASSERT_EQ(peer.wait_line("up"), "up");
  ASSERT_TRUE(server.wait_links(1));
  // Closed without a goodbye: the peer sees its connection end, and the server's process run.
  server.at(0)->close(errc::ok, "cut");
  auto lost = peer.wait_line("down");
  EXPECT_TRUE(lost.starts_with("down peer_reset 0")) << lost;
  EXPECT_EQ(peer.wait_line("up"), "up");
}

TEST(link_death, a_server_killed_with_a_live_client_listens_on_its_port_again_at_once) {
  link_node client{"client", 1};
  std::uint16_t port = 0;
  for (std::size_t round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    peer_process server{"server", 10 + round, port, "--server"};
    auto line = server.wait_line("listening");
    ASSERT_TRUE(line.starts_with("listening ")) << "round " << round << ": " << line;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
    auto given = static_cast<std::uint16_t>(std::atoi(line.c_str() + 10));
    ASSERT_TRUE(port == 0 || port == given) << "listens on another port";
    port = given;
    auto dialled = client.dial(port);
    ASSERT_TRUE(dialled) << "round " << round << ": " << dialled.error().text;
    EXPECT_EQ((*dialled)->peer().incarnation, 10 + round);
    server.kill(SIGKILL);
    auto down = client.records(round)->wait_down();
    ASSERT_TRUE(down);
    EXPECT_EQ(down->cause, errc::peer_dead);
  }
}

TEST(link_death, a_dial_to_a_server_that_dies_during_the_handshake_ends_as_lost) {
  link_node client{"client", 1};
  peer_process server{"server", 10, 0, "--server"};
  auto line = server.wait_line("listening");
  ASSERT_TRUE(line.starts_with("listening ")) << line;
  auto port = static_cast<std::uint16_t>(std::atoi(line.c_str() + 10));
  server.signal(SIGSTOP);
  auto pending = client.start_dial(port);
  ASSERT_FALSE(pending->wait(100ms)); // connected by the kernel, nobody answers
  server.kill(SIGKILL);
  auto outcome = pending->wait();
  ASSERT_TRUE(outcome);
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().code, errc::peer_reset) << outcome->error().text;
  EXPECT_EQ(pending->calls(), 1);
}

int main(int argc, char** argv) {
  if (argc == 5 && (std::string{argv[1]} == "--peer" || std::string{argv[1]} == "--server")) {
    auto* run = std::string{argv[1]} == "--peer" ? run_peer : run_server;
    return run(argv[2], std::strtoull(argv[3], nullptr, 10), static_cast<std::uint16_t>(std::atoi(argv[4])));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
