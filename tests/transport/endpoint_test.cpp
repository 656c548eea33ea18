#include <troupe/transport/endpoint.hpp>

#include <set>

#include <troupe/proto/frame.hpp>

#include "ucx_pair.hpp"

namespace troupe::transport {
namespace {

using namespace test;

class Endpoint : public testing::TestWithParam<lane_transport> {
protected:
  connected_pair p{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Lanes, Endpoint, testing::Values(lane_transport::shm, lane_transport::tcp), transport_name);

TEST_P(Endpoint, DeliversEverySizeInBothDirections) {
  std::size_t n = 0;
  for (std::size_t size : {0ul, 1ul, 64ul, 127ul, 4096ul, 8191ul, 8193ul, 20'000ul, 70'000ul, 1ul << 20, 16ul << 20}) {
    auto data = pattern(size, n);
    ASSERT_EQ(send_and_wait(p, p.a, "there", data), errc::ok) << size;
    ASSERT_EQ(send_and_wait(p, p.b, "back", data, send_flags::none, am_id::bulk), errc::ok) << size;
    ++n;
    ASSERT_TRUE(p.until([&] { return p.a.got.size() == n && p.b.got.size() == n && p.a.all_fetched(); }));
    EXPECT_TRUE(p.b.got.back().data == data) << size;
    EXPECT_EQ(p.b.got.back().header, "there");
    EXPECT_EQ(p.b.got.back().id, am_id::message);
    EXPECT_TRUE(p.a.got.back().data == data) << size;
    EXPECT_EQ(p.a.got.back().header, "back");
    EXPECT_EQ(p.a.got.back().id, am_id::bulk);
  }
}

TEST_P(Endpoint, DeliversHeadersUpToTheLimitAndRefusesLargerOnes) {
  for (std::size_t size : {1ul, 24ul, 500ul, proto::max_bulk_header}) {
    auto header = pattern(size);
    for (std::size_t data : {0ul, 10ul, 6000ul, 200'000ul}) {
      p.b.got.clear();
      ASSERT_EQ(send_and_wait(p, p.a, header, pattern(data, 3)), errc::ok) << size << ' ' << data;
      ASSERT_TRUE(p.until([&] { return p.b.got.size() == 1 && p.b.all_fetched(); }));
      EXPECT_TRUE(p.b.got[0].header == header);
      EXPECT_TRUE(p.b.got[0].data == pattern(data, 3));
    }
  }
  EXPECT_EQ(send_and_wait(p, p.a, std::string(proto::max_bulk_header + 1, 'h'), "x"), errc::exceeds_limit);
}

TEST_P(Endpoint, GathersUpToTheLimitOfSlices) {
  std::vector<std::string> parts;
  std::string whole;
  for (std::size_t i = 0; i < max_io_slices + 1; ++i)
    parts.push_back(pattern(i * 97 % 3000, i));
  for (std::size_t count : {0ul, 1ul, 2ul, 17ul, max_io_slices})
    for (auto flags : {send_flags::none, send_flags::rndv, send_flags::eager}) {
      std::vector<io_slice> slices;
      whole.clear();
      for (std::size_t i = 0; i < count; ++i) {
        slices.push_back({parts[i].data(), parts[i].size()});
        whole += parts[i];
      }
      recorder op;
      errc why{};
      p.b.got.clear();
      auto posted = p.a.ep->am_send(am_id::bulk, "iov", 3, slices, flags, op, why);
      ASSERT_NE(posted, post_status::failed) << count << ' ' << to_string(why);
      ASSERT_TRUE(p.until([&] {
        return p.b.got.size() == 1 && p.b.all_fetched() && (posted == post_status::completed || op.calls == 1);
      })) << count;
      EXPECT_TRUE(p.b.got[0].data == whole) << count;
    }
  std::vector<io_slice> too_many(max_io_slices + 1, io_slice{parts[0].data(), 0});
  recorder op;
  errc why{};
  EXPECT_EQ(p.a.ep->am_send(am_id::bulk, nullptr, 0, too_many, send_flags::none, op, why), post_status::failed);
  EXPECT_EQ(why, errc::exceeds_limit);
  EXPECT_EQ(op.calls, 0);
}

TEST_P(Endpoint, ForcesRendezvousAndEagerWhenAsked) {
  ASSERT_EQ(send_and_wait(p, p.a, "h", "tiny", send_flags::rndv), errc::ok);
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == 1 && p.b.all_fetched(); }));
  EXPECT_EQ(p.b.rendezvous, 1u);
  EXPECT_EQ(p.b.got[0].data, "tiny");
  auto big = pattern(1 << 20);
  ASSERT_EQ(send_and_wait(p, p.a, "h", big, send_flags::eager), errc::ok);
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == 2; }));
  EXPECT_EQ(p.b.rendezvous, 1u);
  EXPECT_TRUE(p.b.got[1].data == big);
}

TEST_P(Endpoint, GivesAReplyEndpointOnlyWhenAsked) {
  p.b.take = false;
  for (auto flags : {send_flags::none, send_flags::reply}) {
    ASSERT_EQ(send_and_wait(p, p.a, "h", "data", flags), errc::ok);
    ucp_ep_h reply = nullptr;
    ASSERT_TRUE(p.until([&] { return p.b.w->drain([&](inbound& m) { reply = m.reply_ep; }) != 0; }));
    EXPECT_EQ(reply != nullptr, flags == send_flags::reply);
  }
}

// Handler calls come in the order of the sends, whatever form each message takes.
TEST_P(Endpoint, KeepsTheOrderOfAThousandMixedMessages) {
  constexpr std::size_t count = 1000;
  const std::size_t sizes[] = {8, 300, 9000, 40'000, 0, 120'000};
  std::deque<recorder> ops(count);
  std::vector<std::string> headers, data;
  std::size_t immediate = 0;
  for (std::size_t i = 0; i < count; ++i) {
    headers.push_back(std::to_string(i));
    data.push_back(pattern(sizes[i % 6], i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    errc why{};
    auto posted = p.a.ep->am_send(i % 2 ? am_id::bulk : am_id::message, headers[i].data(), headers[i].size(),
                                  data[i].data(), data[i].size(), send_flags::none, ops[i], why);
    ASSERT_NE(posted, post_status::failed);
    if (posted == post_status::completed) {
      ops[i].on_complete(errc::ok);
      ++immediate;
    }
  }
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == count && p.b.all_fetched() && p.a.ep->outstanding() == 0; }, 60s));
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(p.b.got[i].header, headers[i]);
    ASSERT_TRUE(p.b.got[i].data == data[i]) << i;
    ASSERT_EQ(ops[i].calls, 1) << i;
    ASSERT_EQ(ops[i].status, errc::ok) << i;
  }
  EXPECT_GT(p.b.rendezvous, 0u);
  EXPECT_EQ(p.a.w->outstanding(), 0u);
}

TEST_P(Endpoint, FailsSendsAfterClose) {
  p.a.ep->close(close_mode::force);
  EXPECT_EQ(send_and_wait(p, p.a, "h", "late"), errc::canceled);
  EXPECT_EQ(p.a.ep->handle(), nullptr);
}

TEST_P(Endpoint, MayBeClosedAgainAndAgain) {
  for (auto mode : {close_mode::flush, close_mode::flush, close_mode::force, close_mode::force, close_mode::flush})
    p.a.ep->close(mode);
  EXPECT_TRUE(p.until([&] { return p.a.ep->settled(); }));
  p.a.ep->close(close_mode::force);
  EXPECT_TRUE(p.a.ep->settled());
}

// The peer takes nothing, so rendezvous stay outstanding until the close ends them, each once.
TEST_P(Endpoint, EndsEveryOutstandingSendOnceWhenForcedClosed) {
  ASSERT_EQ(send_and_wait(p, p.a, "h", "up"), errc::ok);
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == 1; }));
  p.b.take = false;
  auto data = pattern(300'000);
  std::deque<recorder> ops(20);
  for (auto& op : ops) {
    errc why{};
    ASSERT_EQ(p.a.ep->am_send(am_id::bulk, "h", 1, data.data(), data.size(), send_flags::rndv, op, why),
              post_status::pending);
  }
  EXPECT_EQ(p.a.ep->outstanding(), 20u);
  p.a.ep->close(close_mode::force);
  ASSERT_TRUE(p.until([&] { return p.a.ep->settled(); }));
  for (auto& op : ops) {
    EXPECT_EQ(op.calls, 1);
    EXPECT_NE(op.status, errc::ok);
  }
}

TEST_P(Endpoint, FlushesWhatWasSentBeforeItCloses) {
  constexpr std::size_t count = 500;
  std::deque<recorder> ops(count);
  std::vector<std::string> data;
  for (std::size_t i = 0; i < count; ++i)
    data.push_back(pattern(i % 50 == 0 ? 100'000 : 700, i));
  for (std::size_t i = 0; i < count; ++i) {
    errc why{};
    ASSERT_NE(p.a.ep->am_send(am_id::message, nullptr, 0, data[i].data(), data[i].size(), send_flags::none, ops[i], why),
              post_status::failed);
  }
  p.a.ep->close(close_mode::flush);
  ASSERT_TRUE(p.until([&] { return p.a.ep->settled() && p.b.got.size() == count && p.b.all_fetched(); }));
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_TRUE(p.b.got[i].data == data[i]) << i;
}

TEST_P(Endpoint, LetsForceOvertakeAFlushThatCannotEnd) {
  p.b.take = false; // never fetches the rendezvous
  auto data = pattern(100'000);
  recorder op;
  errc why{};
  ASSERT_EQ(p.a.ep->am_send(am_id::bulk, nullptr, 0, data.data(), data.size(), send_flags::rndv, op, why),
            post_status::pending);
  p.a.ep->close(close_mode::flush);
  for (int i = 0; i < 1000; ++i)
    p.turn();
  EXPECT_FALSE(p.a.ep->closed());
  EXPECT_EQ(op.calls, 0);
  p.a.ep->close(close_mode::force);
  ASSERT_TRUE(p.until([&] { return p.a.ep->settled(); }));
  EXPECT_EQ(op.calls, 1);
}

TEST_P(Endpoint, MayBeDestroyedWithSendsOutstanding) {
  p.b.take = false;
  auto data = pattern(100'000);
  recorder op;
  errc why{};
  ASSERT_EQ(p.a.ep->am_send(am_id::bulk, nullptr, 0, data.data(), data.size(), send_flags::rndv, op, why),
            post_status::pending);
  p.a.ep.reset();
  ASSERT_TRUE(p.until([&] { return p.a.w->outstanding() == 0; }));
  EXPECT_EQ(op.calls, 1);
}

TEST_P(Endpoint, OutlivesItsWorkerAsADeadObject) {
  auto ep = std::move(p.a.ep);
  p.a.w->abandon();
  EXPECT_TRUE(ep->settled());
  recorder op;
  errc why{};
  EXPECT_EQ(ep->am_send(am_id::message, nullptr, 0, "x", 1, send_flags::none, op, why), post_status::failed);
  EXPECT_EQ(why, errc::canceled);
  ep->close(close_mode::force);
}

TEST_P(Endpoint, UsesItsTransportAndNoOther) {
  ASSERT_EQ(send_and_wait(p, p.a, "h", "up"), errc::ok);
  ASSERT_TRUE(p.until([&] { return p.b.got.size() == 1; }));
  EXPECT_EQ(p.a.ep->transports(), GetParam() == lane_transport::shm ? "posix" : "tcp");
}

// A terminal call that posts anyway gets a refusal instead of undefined behaviour.
TEST_P(Endpoint, RefusesToSendFromInsideACallback) {
  struct reposter : operation {
    endpoint* ep = nullptr;
    recorder inner;
    post_status posted = post_status::completed;
    errc why{};
    bool done = false;
    void on_complete(errc) noexcept override {
      posted = ep->am_send(am_id::message, nullptr, 0, "x", 1, send_flags::none, inner, why);
      done = true;
    }
  } op;
  op.ep = p.a.ep.get();
  auto data = pattern(100'000);
  errc why{};
  ASSERT_EQ(p.a.ep->am_send(am_id::bulk, nullptr, 0, data.data(), data.size(), send_flags::rndv, op, why),
            post_status::pending);
  ASSERT_TRUE(p.until([&] { return op.done; }));
  EXPECT_EQ(op.posted, post_status::failed);
  EXPECT_EQ(op.why, errc::not_allowed);
}

} // namespace
} // namespace troupe::transport
