// Two connected workers in one process, for the tests of this layer.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/transport/worker.hpp>

namespace troupe::transport::test {

using namespace std::chrono_literals;

/// Counts terminal calls.
struct recorder : operation {
  int calls = 0;
  errc status = errc::in_progress;
  void on_complete(errc x) noexcept override {
    ++calls;
    status = x;
  }
};

/// A message that was copied out of drain().
struct received {
  am_id id{};
  std::string header;
  std::string data;
};

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string pattern(std::size_t size, std::size_t seed = 0) {
  std::string result(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    result[i] = static_cast<char>((i * 31 + i / 251 + seed) & 0xff);
  return result;
}

/// One side: a worker, its endpoint, and everything it received. Rendezvous are fetched into guarded buffers.
class side {
public:
  explicit side(std::shared_ptr<context> ctx) : w{std::make_unique<worker>(std::move(ctx))} {}
  ~side() { w->abandon(); } // before the operations that it may still call

  std::unique_ptr<worker> w;
  std::unique_ptr<listener> l;
  std::unique_ptr<endpoint> ep;
  std::vector<received> got;
  std::vector<errc> failures;
  std::size_t rendezvous = 0;
  bool take = true; ///< false: leave messages to the test

  bool all_fetched() const {
    for (const auto& f : fetches_)
      if (f.op.calls == 0)
        return false;
    return true;
  }

  /// One turn. Returns what progress() returned.
  unsigned turn() {
    auto n = w->progress();
    if (take)
      w->drain([this](inbound& m) { store(m); });
    w->drain_failures([this](endpoint&, errc why) { failures.push_back(why); });
    finish_fetches();
    return n;
  }

private:
  static constexpr std::size_t guard = 64;

  struct fetch {
    recorder op;
    std::size_t index;
    std::vector<std::byte> buffer;
    bool stored = false;
  };

  void store(inbound& m) {
    got.push_back({m.id, text_of(m.header_bytes()), text_of(m.data_bytes())});
    if (!m.rendezvous)
      return;
    ++rendezvous;
    auto& f = fetches_.emplace_back();
    f.index = got.size() - 1;
    f.buffer.assign(m.size + 2 * guard, std::byte{0xa5});
    errc why{};
    auto posted = w->receive(m, f.buffer.data() + guard, m.size, f.op, why);
    ASSERT_NE(posted, post_status::failed) << to_string(why);
    if (posted == post_status::completed)
      f.op.on_complete(errc::ok);
  }

  void finish_fetches() {
    for (auto& f : fetches_) {
      if (f.op.calls == 0 || f.stored)
        continue;
      f.stored = true;
      ASSERT_EQ(f.op.calls, 1);
      for (std::size_t i = 0; i < guard; ++i) {
        ASSERT_EQ(f.buffer[i], std::byte{0xa5}) << "written before the buffer";
        ASSERT_EQ(f.buffer[f.buffer.size() - 1 - i], std::byte{0xa5}) << "written behind the buffer";
      }
      if (f.op.status == errc::ok)
        got[f.index].data = text_of(std::span{f.buffer}.subspan(guard, f.buffer.size() - 2 * guard));
      f.buffer = {};
    }
  }

  std::deque<fetch> fetches_;
};

inline std::shared_ptr<context> shared_context(lane_transport transport) {
  static std::shared_ptr<context> contexts[2];
  auto& x = contexts[static_cast<int>(transport)];
  if (!x)
    x = std::make_shared<context>(transport);
  return x;
}

/// Two sides, connected both ways.
class connected_pair {
public:
  explicit connected_pair(lane_transport transport)
    : a{shared_context(transport)}, b{shared_context(transport)}, transport_{transport} {
    if (transport == lane_transport::shm) {
      a.ep = a.w->connect(std::span<const std::byte>{b.w->address()}).value();
      b.ep = b.w->connect(std::span<const std::byte>{a.w->address()}).value();
      return;
    }
    b.l = b.w->listen(socket_address::from("127.0.0.1", 0).value()).value();
    a.ep = a.w->connect(b.l->address()).value();
    if (!until([this] {
          if (auto request = b.l->next())
            b.ep = b.w->accept(std::move(*request)).value();
          return b.ep != nullptr;
        }))
      throw std::runtime_error{"no connection request within the deadline"};
  }

  ~connected_pair() { settle(); }

  void turn() {
    a.turn();
    b.turn();
  }

  /// Turns both sides until `done` or the deadline.
  template <class F>
  bool until(F&& done, std::chrono::milliseconds limit = 20s) {
    auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline)
        return false;
      turn();
    }
    return true;
  }

  void settle() {
    for (auto* s : {&a, &b})
      if (s->ep)
        s->ep->close(close_mode::force);
    until([this] { return a.w->settled() && b.w->settled(); }, 2s);
  }

  side a, b;

private:
  lane_transport transport_;
};

/// Sends and waits for the terminal state; returns it.
inline errc send_and_wait(connected_pair& p, side& from, const std::string& header, const std::string& data,
                          send_flags flags = send_flags::none, am_id id = am_id::message) {
  recorder op;
  errc why{};
  switch (from.ep->am_send(id, header.data(), header.size(), data.data(), data.size(), flags, op, why)) {
    case post_status::completed:
      return errc::ok;
    case post_status::failed:
      return why;
    case post_status::pending:
      break;
  }
  if (!p.until([&] { return op.calls != 0; }))
    throw std::runtime_error{"a send did not end within the deadline"};
  return op.status;
}

inline std::string transport_name(const testing::TestParamInfo<lane_transport>& info) {
  return std::string{to_string(info.param)};
}

} // namespace troupe::transport::test
