#include <troupe/transport/worker.hpp>

#include <csignal>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ucx_pair.hpp"

namespace troupe::transport {
namespace {

using namespace test;

// -- a peer in a process of its own --------------------------------------------

constexpr int peer_fd = 3;

void write_all(int fd, const void* bytes, std::size_t n) {
  if (::write(fd, bytes, n) != static_cast<ssize_t>(n))
    throw std::runtime_error{"the peer process is gone"};
}

void read_all(int fd, void* bytes, std::size_t n) {
  for (auto* p = static_cast<char*>(bytes); n != 0;) {
    auto got = ::read(fd, p, n);
    if (got <= 0)
      throw std::runtime_error{"the peer process is gone"};
    p += got;
    n -= static_cast<std::size_t>(got);
  }
}

void write_blob(int fd, std::span<const std::byte> blob) {
  auto n = static_cast<std::uint32_t>(blob.size());
  write_all(fd, &n, sizeof(n));
  write_all(fd, blob.data(), n);
}

std::vector<std::byte> read_blob(int fd) {
  std::uint32_t n = 0;
  read_all(fd, &n, sizeof(n));
  std::vector<std::byte> blob(n);
  read_all(fd, blob.data(), n);
  return blob;
}

// What the child runs: connects, then receives and discards; a message with the header "stop" makes it stop progressing.
int run_peer(lane_transport transport) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  worker w{std::make_shared<context>(transport)};
  std::unique_ptr<listener> l;
  std::unique_ptr<endpoint> ep;
  if (transport == lane_transport::shm) {
    write_blob(peer_fd, w.address());
    ep = w.connect(std::span<const std::byte>{read_blob(peer_fd)}).value();
  } else {
    l = w.listen(socket_address::from("127.0.0.1", 0).value()).value();
    auto port = l->port();
    write_all(peer_fd, &port, sizeof(port));
  }
  std::deque<recorder> ops;
  std::deque<std::vector<std::byte>> buffers;
  for (bool stop = false; !stop;) {
    w.progress();
    if (l)
      if (auto request = l->next())
        ep = w.accept(std::move(*request)).value();
    w.drain([&](inbound& m) {
      if (text_of(m.header_bytes()) == "stop")
        stop = true;
      if (!m.rendezvous)
        return;
      errc why{};
      buffers.emplace_back(m.size);
      (void)w.receive(m, buffers.back().data(), m.size, ops.emplace_back(), why);
    });
  }
  write_all(peer_fd, "S", 1);
  for (;;)
    ::pause();
}

class peer_process {
public:
  explicit peer_process(lane_transport transport) {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
      throw std::runtime_error{"socketpair"};
    pid_ = ::fork();
    if (pid_ == 0) {
      if (fds[1] == peer_fd)
        ::fcntl(peer_fd, F_SETFD, 0);
      else
        ::dup2(fds[1], peer_fd);
      auto name = std::string{to_string(transport)};
      ::setenv("TROUPE_TEST_PEER", name.c_str(), 1);
      ::execl("/proc/self/exe", "peer", nullptr);
      ::_exit(127);
    }
    ::close(fds[1]);
    fd = fds[0];
  }
  ~peer_process() {
    kill();
    ::close(fd);
  }
  void signal(int number) { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0)
      return;
    signal(SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0); // a zombie would look alive to shared memory
  }
  int fd = -1;

private:
  pid_t pid_ = 0;
};

/// This side, connected to a peer process that has received one message.
class with_peer {
public:
  explicit with_peer(lane_transport transport)
    : peer{transport}, here{shared_context(transport)} {
    if (transport == lane_transport::shm) {
      auto address = read_blob(peer.fd);
      write_blob(peer.fd, here.w->address());
      here.ep = here.w->connect(std::span<const std::byte>{address}).value();
    } else {
      std::uint16_t port = 0;
      read_all(peer.fd, &port, sizeof(port));
      here.ep = here.w->connect(socket_address::from("127.0.0.1", port).value()).value();
    }
    recorder op; // a rendezvous ends only once the peer has fetched it
    std::string data(1000, 'x');
    errc why{};
    auto posted = here.ep->am_send(am_id::message, "hi", 2, data.data(), data.size(), send_flags::rndv, op, why);
    if (posted == post_status::failed || !until([&] { return op.calls == 1; }) || op.status != errc::ok)
      throw std::runtime_error{"no connection with the peer process"};
  }

  template <class F>
  bool until(F&& done, std::chrono::milliseconds limit = 10s) {
    auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline)
        return false;
      here.turn();
    }
    return true;
  }

  /// Makes the peer stop progressing, without ending it.
  void silence() {
    recorder op;
    errc why{};
    auto posted = here.ep->am_send(am_id::message, "stop", 4, nullptr, 0, send_flags::none, op, why);
    ASSERT_NE(posted, post_status::failed);
    ASSERT_TRUE(until([&] {
      pollfd p{peer.fd, POLLIN, 0};
      return ::poll(&p, 1, 0) == 1 && (posted == post_status::completed || op.calls == 1);
    }));
  }

  /// Posts sends of both forms until `count` are pending.
  void post(std::size_t count) {
    for (int i = 0; ops.size() < count; ++i) {
      auto rndv = i % 2 == 0;
      auto& op = ops.emplace_back();
      errc why{};
      switch (here.ep->am_send(rndv ? am_id::bulk : am_id::message, "h", 1, data.data(), rndv ? data.size() : 4000,
                               rndv ? send_flags::rndv : send_flags::eager, op, why)) {
        case post_status::pending:
          break;
        case post_status::completed:
          ops.pop_back();
          break;
        case post_status::failed:
          FAIL() << to_string(why);
      }
    }
  }

  void expect_each_ended_once() {
    for (auto& op : ops) {
      EXPECT_EQ(op.calls, 1);
      EXPECT_NE(op.status, errc::in_progress);
    }
  }

  peer_process peer;
  side here;
  std::deque<recorder> ops;
  std::string data = pattern(200'000);
};

class WorkerAndPeer : public testing::TestWithParam<lane_transport> {};

INSTANTIATE_TEST_SUITE_P(Lanes, WorkerAndPeer, testing::Values(lane_transport::shm, lane_transport::tcp),
                         transport_name);

int rounds() {
  const char* scale = std::getenv("TROUPE_TEST_SCALE");
  return scale && std::string{scale} == "nightly" ? 100 : 10;
}

TEST(TcpWorker, ReportsAKilledPeerOnce) {
  for (int round = 0; round < rounds(); ++round) {
    with_peer x{lane_transport::tcp};
    x.peer.kill();
    ASSERT_TRUE(x.until([&] { return !x.here.failures.empty(); }));
    EXPECT_TRUE(x.here.ep->failed());
    recorder op;
    errc why{};
    EXPECT_EQ(x.here.ep->am_send(am_id::message, nullptr, 0, "x", 1, send_flags::none, op, why), post_status::failed);
    EXPECT_EQ(why, errc::peer_reset);
    EXPECT_EQ(op.calls, 0);
    x.here.ep->close(close_mode::flush); // after a failure as good as force
    ASSERT_TRUE(x.until([&] { return x.here.ep->settled(); }));
    EXPECT_EQ(x.here.failures, std::vector{errc::peer_reset});
  }
}

TEST(TcpWorker, EndsEveryOperationOnceWhenThePeerIsKilled) {
  for (int round = 0; round < rounds(); ++round) {
    with_peer x{lane_transport::tcp};
    x.silence();
    x.post(40);
    ASSERT_EQ(x.here.ep->outstanding(), 40u);
    x.peer.kill();
    ASSERT_TRUE(x.until([&] { return !x.here.failures.empty() && x.here.ep->outstanding() == 0; }));
    x.expect_each_ended_once();
    for (auto& op : x.ops)
      EXPECT_NE(op.status, errc::ok);
    x.here.ep->close(close_mode::force);
    ASSERT_TRUE(x.until([&] { return x.here.ep->settled(); }));
    EXPECT_EQ(x.here.failures.size(), 1u);
    EXPECT_TRUE(x.here.w->settled());
  }
}

// The recipe for shared memory: close by force, settle for a bounded time, then replace the worker.
TEST_P(WorkerAndPeer, IsReplacedAfterAKillAndEndsEveryOperationOnce) {
  for (int round = 0; round < rounds(); ++round) {
    with_peer x{GetParam()};
    if (round % 2 == 0)
      x.silence();
    x.post(40);
    x.peer.kill();
    x.here.ep->close(close_mode::force);
    (void)x.until([&] { return x.here.w->settled(); }, 50ms);
    x.here.w->abandon();
    EXPECT_TRUE(x.here.w->settled());
    EXPECT_TRUE(x.here.ep->settled());
    x.expect_each_ended_once();
  }
}

TEST_P(WorkerAndPeer, IsReplacedWhileThePeerIsFrozenAndEndsEveryOperationOnce) {
  for (int round = 0; round < rounds(); ++round) {
    with_peer x{GetParam()};
    x.peer.signal(SIGSTOP);
    x.post(40);
    if (round % 2 == 0) {
      x.here.ep->close(close_mode::force);
      (void)x.until([&] { return x.here.w->settled(); }, 50ms);
    }
    x.here.w->abandon();
    x.expect_each_ended_once();
    x.peer.signal(SIGCONT);
  }
}

// -- two workers in one process -------------------------------------------------

class Worker : public testing::TestWithParam<lane_transport> {
protected:
  /// A rendezvous that `b` has received and not taken yet; calls f with it inside drain().
  template <class F>
  void with_rendezvous(F&& f) {
    p.b.take = false;
    errc why{};
    ASSERT_EQ(p.a.ep->am_send(am_id::bulk, "head", 4, data.data(), data.size(), send_flags::rndv, op, why),
              post_status::pending);
    ASSERT_TRUE(p.until([&] {
      return p.b.w->drain([&](inbound& m) {
        ASSERT_TRUE(m.rendezvous);
        ASSERT_EQ(m.size, data.size());
        f(m);
      }) != 0;
    }));
  }

  connected_pair p{GetParam()};
  std::string data = pattern(150'000);
  recorder op;
};

INSTANTIATE_TEST_SUITE_P(Lanes, Worker, testing::Values(lane_transport::shm, lane_transport::tcp), transport_name);

TEST_P(Worker, RefusesABufferThatIsTooSmallAndThenTakesALargeEnoughOne) {
  std::vector<std::byte> buffer(data.size());
  recorder fetch;
  with_rendezvous([&](inbound& m) {
    errc why{};
    EXPECT_EQ(p.b.w->receive(m, buffer.data(), buffer.size() - 1, fetch, why), post_status::failed);
    EXPECT_EQ(why, errc::exceeds_limit);
    EXPECT_EQ(p.b.w->receive(m, buffer.data(), buffer.size(), fetch, why), post_status::pending);
    EXPECT_EQ(p.b.w->receive(m, buffer.data(), buffer.size(), fetch, why), post_status::failed);
    EXPECT_EQ(why, errc::invalid_param);
    p.b.w->release(m); // taken: nothing to release
  });
  ASSERT_TRUE(p.until([&] { return fetch.calls == 1 && op.calls == 1; }));
  EXPECT_EQ(text_of(buffer), data);
  EXPECT_EQ(p.b.w->counters().dropped_rendezvous, 0u);
}

TEST_P(Worker, CountsARendezvousThatNobodyTook) {
  with_rendezvous([](inbound&) {});
  ASSERT_TRUE(p.until([&] { return op.calls == 1; }));
  EXPECT_EQ(op.status, errc::ok); // UCX has no other answer
  EXPECT_EQ(p.b.w->counters().dropped_rendezvous, 1u);
}

TEST_P(Worker, RefusesByAdmissionSoThatTheSenderSeesIt) {
  std::size_t limit = 1000;
  p.b.w->set_admission(
    [](void* limit, const inbound& m) noexcept {
      return m.size > *static_cast<std::size_t*>(limit) ? errc::rejected : errc::ok;
    },
    &limit);
  EXPECT_EQ(send_and_wait(p, p.a, "h", std::string(1001, 'x'), send_flags::rndv), errc::rejected);
  EXPECT_EQ(send_and_wait(p, p.a, "h", std::string(1001, 'x'), send_flags::eager), errc::ok);
  EXPECT_EQ(send_and_wait(p, p.a, "h", std::string(1000, 'y'), send_flags::rndv), errc::ok);
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == 1 && p.b.all_fetched(); }));
  EXPECT_EQ(p.b.got[0].data, std::string(1000, 'y'));
  EXPECT_EQ(p.b.w->counters().refused_rendezvous, 1u);
  EXPECT_EQ(p.b.w->counters().refused_eager, 1u);
  EXPECT_EQ(p.b.w->counters().received, 1u);
  p.b.w->set_admission(nullptr, nullptr);
}

TEST_P(Worker, KeepsARendezvousBeyondDrain) {
  kept_message kept;
  with_rendezvous([&](inbound& m) { kept = p.b.w->keep(m); });
  for (int i = 0; i < 100; ++i)
    p.turn();
  EXPECT_EQ(op.calls, 0);
  EXPECT_EQ(text_of(kept.header()), "head");
  EXPECT_TRUE(kept.rendezvous());
  std::vector<std::byte> buffer(data.size());
  recorder fetch;
  errc why{};
  ASSERT_EQ(kept.receive(buffer.data(), buffer.size(), fetch, why), post_status::pending);
  EXPECT_EQ(kept.receive(buffer.data(), buffer.size(), fetch, why), post_status::failed);
  EXPECT_EQ(why, errc::invalid_param);
  ASSERT_TRUE(p.until([&] { return fetch.calls == 1 && op.calls == 1; }));
  EXPECT_EQ(text_of(buffer), data);
}

TEST_P(Worker, KeepsEagerMessagesOfAllSizes) {
  p.b.take = false;
  for (std::size_t size : {0ul, 5ul, 5000ul, 60'000ul, 1'000'000ul}) {
    auto text = pattern(size, 7);
    ASSERT_EQ(send_and_wait(p, p.a, "head", text, send_flags::eager), errc::ok);
    kept_message kept;
    ASSERT_TRUE(p.until([&] { return p.b.w->drain([&](inbound& m) { kept = p.b.w->keep(m); }) != 0; }));
    ASSERT_EQ(send_and_wait(p, p.a, "next", pattern(size, 8), send_flags::eager), errc::ok);
    ASSERT_TRUE(p.until([&] { return p.b.w->drain([](inbound&) {}) != 0; }));
    EXPECT_FALSE(kept.rendezvous());
    EXPECT_EQ(text_of(kept.header()), "head");
    EXPECT_TRUE(text_of(kept.data().bytes()) == text) << size;
  }
}

TEST_P(Worker, LosesKeptRendezvousWhenAbandoned) {
  kept_message kept;
  with_rendezvous([&](inbound& m) { kept = p.b.w->keep(m); });
  p.b.w->abandon();
  std::vector<std::byte> buffer(data.size());
  recorder fetch;
  errc why{};
  EXPECT_EQ(kept.receive(buffer.data(), buffer.size(), fetch, why), post_status::failed);
  EXPECT_EQ(why, errc::canceled);
  p.a.ep->close(close_mode::force);
  p.a.w->abandon();
  EXPECT_EQ(op.calls, 1);
}

TEST_P(Worker, EndsAReceiveThatTheOtherSideCutsShort) {
  std::vector<std::byte> buffer(data.size());
  recorder fetch;
  kept_message kept;
  with_rendezvous([&](inbound& m) { kept = p.b.w->keep(m); });
  p.a.ep->close(close_mode::force);
  ASSERT_TRUE(p.until([&] { return p.a.ep->settled(); }));
  EXPECT_EQ(op.calls, 1);
  errc why{};
  auto posted = kept.receive(buffer.data(), buffer.size(), fetch, why);
  (void)p.until([&] { return fetch.calls != 0; }, 50ms);
  p.b.ep->close(close_mode::force);
  (void)p.until([&] { return fetch.calls != 0; }, 50ms);
  p.b.w->abandon();
  EXPECT_EQ(fetch.calls, posted == post_status::pending ? 1 : 0);
}

TEST_P(Worker, StopsReceivingUntilItIsDrained) {
  p.b.take = false;
  constexpr std::size_t count = 6 * worker_limits::max_undrained;
  std::deque<recorder> ops(count);
  std::vector<std::size_t> numbers(count); // headers, which live until their sends have ended
  std::size_t sent = 0, got = 0;
  auto send_next = [&] {
    numbers[sent] = sent;
    errc why{};
    auto posted = p.a.ep->am_send(am_id::message, &numbers[sent], sizeof(numbers[sent]), nullptr, 0, send_flags::none,
                                  ops[sent], why);
    ++sent;
    return posted != post_status::failed;
  };
  auto deadline = std::chrono::steady_clock::now() + 20s;
  while (sent < count && p.b.w->counters().received < worker_limits::max_undrained) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ASSERT_TRUE(send_next());
    p.a.w->progress();
    p.b.w->progress();
  }
  while (sent < count)
    ASSERT_TRUE(send_next());
  while (p.b.w->counters().received < worker_limits::max_undrained) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    p.turn();
  }
  auto held = p.b.w->counters().received;
  EXPECT_LT(held, count);
  for (int i = 0; i < 1000; ++i)
    p.turn();
  EXPECT_EQ(p.b.w->counters().received, held);
  EXPECT_TRUE(p.b.w->has_inbound());
  EXPECT_FALSE(p.b.w->arm());
  ASSERT_TRUE(p.until([&] {
    p.b.w->drain([&](inbound& m) {
      std::size_t number = 0;
      ASSERT_EQ(m.header_size, sizeof(number));
      std::memcpy(&number, m.header, sizeof(number));
      ASSERT_EQ(number, got);
      ++got;
    });
    return got == count;
  }));
}

TEST_P(Worker, WakesItsEventFdWhenAMessageComes) {
  ASSERT_EQ(send_and_wait(p, p.a, "h", "up"), errc::ok);
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == 1; }));
  for (int round = 0; round < 50; ++round) {
    auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!p.b.w->arm()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      p.b.turn();
    }
    recorder op2;
    errc why{};
    ASSERT_NE(p.a.ep->am_send(am_id::message, "h", 1, "data", 4, send_flags::none, op2, why), post_status::failed);
    while (p.a.w->progress() != 0) {
    }
    pollfd fd{p.b.w->event_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&fd, 1, 5000), 1) << "round " << round;
    ASSERT_TRUE(p.until([&] { return p.b.got.size() == static_cast<std::size_t>(round) + 2; }));
  }
}

TEST_P(Worker, MayBeMadeOnOneThreadAndUsedOnAnother) {
  std::unique_ptr<worker> made;
  std::thread{[&] { made = std::make_unique<worker>(shared_context(GetParam())); }}.join();
  (void)made->progress();
  EXPECT_GE(made->event_fd(), 0);
  made->abandon();
  EXPECT_TRUE(made->abandoned());
  EXPECT_EQ(made->event_fd(), -1);
  EXPECT_EQ(made->progress(), 0u);
  EXPECT_TRUE(made->address().empty());
}

TEST(ShmWorker, RefusesDamagedAddresses) {
  worker a{shared_context(lane_transport::shm)};
  worker b{shared_context(lane_transport::shm)};
  auto good = b.address();
  ASSERT_GT(good.size(), 24u);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    auto r = a.connect(std::span<const std::byte>{bad});
    ASSERT_FALSE(r) << i;
    EXPECT_EQ(r.error().code, errc::invalid_address);
    auto cut = std::span<const std::byte>{good}.first(i);
    EXPECT_EQ(a.connect(cut).error().code, errc::invalid_address) << i;
  }
  EXPECT_EQ(a.connect(std::vector<std::byte>(1 << 20)).error().code, errc::invalid_address);
  EXPECT_TRUE(bool(a.connect(std::span<const std::byte>{good})));
}

TEST(TcpWorker, RefusesWorkerAddresses) {
  worker a{shared_context(lane_transport::tcp)};
  worker b{shared_context(lane_transport::tcp)};
  EXPECT_EQ(a.connect(std::span<const std::byte>{b.address()}).error().code, errc::unsupported);
}

} // namespace
} // namespace troupe::transport

int main(int argc, char** argv) {
  if (const char* peer = std::getenv("TROUPE_TEST_PEER")) {
    using troupe::transport::lane_transport;
    return troupe::transport::run_peer(std::string{peer} == "shm" ? lane_transport::shm : lane_transport::tcp);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
