// Random histories of one direction of a session: journal and pair_order on one side, receive_window on the other, two
// lanes and lossy acknowledgements between them, against a reference that only remembers what was posted.
//
// TROUPE_TEST_SCALE=nightly runs 20 million steps instead of 1.5 million; TROUPE_TEST_SEED repeats a run.
//
// ctest: timeout=600

#include <troupe/transport/journal.hpp>
#include <troupe/transport/pair_order.hpp>
#include <troupe/transport/receive_window.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace troupe::transport {
namespace {

/// What the journal keeps of a message. `body` makes an entry that is lost, or ended twice, visible to sanitizers.
struct operation {
  std::uint64_t sender = 0;
  std::uint64_t target = 0;
  std::vector<std::uint64_t> predecessors; ///< the first is `after`; only a down has more
  bool barrier = false;
  bool bulk = false;
  bool posted = false;
  std::unique_ptr<std::uint64_t> body;
};

struct frame {
  std::uint64_t seq = 0;
  std::vector<std::uint64_t> predecessors;
  bool barrier = false;
  bool skip = false;
};

struct acknowledgement {
  std::uint64_t cumulative = 0;
  std::vector<proto::sack_range> ranges;
};

enum class end : std::uint8_t { open, ok, failed, canceled, indeterminate };

struct counts {
  std::uint64_t accepted = 0, ok = 0, failed = 0, canceled = 0, indeterminate = 0, delivered = 0;
  std::uint64_t sessions = 0, epochs = 0, held = 0, duplicates = 0, refused = 0, downs = 0, barriers = 0;
};

/// The reference: knows every message by number, and what may and must have happened to it.
class reference {
public:
  struct message {
    std::uint64_t sender, target;
    bool down;
    end outcome = end::open;
    bool delivered = false;
  };

  void posted(std::uint64_t sender, std::uint64_t target, bool down) {
    messages_.push_back({sender, target, down});
    waiting_[{sender, target}].push_back(messages_.size());
  }

  message& of(std::uint64_t seq) { return messages_.at(seq - 1); }
  std::uint64_t size() const { return messages_.size(); }

  void delivered(std::uint64_t seq) {
    auto& x = of(seq);
    ASSERT_FALSE(x.delivered) << "delivered twice: " << seq;
    x.delivered = true;
    // Whatever was posted before it in its pair was delivered, or is canceled.
    auto& queue = waiting_[{x.sender, x.target}];
    pass(queue, seq);
    ASSERT_FALSE(queue.empty());
    ASSERT_EQ(queue.front(), seq) << "out of order in its pair";
    queue.pop_front();
    if (x.down)
      for (auto at = waiting_.lower_bound({x.sender, 0}); at != waiting_.end() && at->first.first == x.sender; ++at)
        pass(at->second, seq);
  }

  void ended(std::uint64_t seq, end how) {
    auto& x = of(seq);
    ASSERT_EQ(x.outcome, end::open) << "ended twice: " << seq;
    if (how == end::ok) {
      ASSERT_TRUE(x.delivered) << "acknowledged but not delivered: " << seq;
    } else if (how == end::failed) {
      ASSERT_FALSE(x.delivered) << "never posted but delivered: " << seq;
    }
    x.outcome = how;
  }

private:
  /// Passes what is in front of `seq`, and only canceled messages may be.
  void pass(std::deque<std::uint64_t>& queue, std::uint64_t seq) {
    for (; !queue.empty() && queue.front() < seq; queue.pop_front())
      ASSERT_EQ(of(queue.front()).outcome, end::canceled) << seq << " was delivered before " << queue.front();
  }

  std::vector<message> messages_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::deque<std::uint64_t>> waiting_;
};

class model {
public:
  model(std::uint64_t seed, counts& total)
      : random_(seed), window_limit_(std::size_t{1} << pick(3, 12)), actors_(pick(1, 40)), total_(total),
        book_({window_limit_, 100'000}), window_(window_limit_) {
    for (auto& w : weights_)
      w = pick(0, 20);
    weights_[0] = pick(5, 40);
    weights_[3] = pick(5, 40);
    bulk_percent_ = pick(0, 60);
    ack_loss_percent_ = pick(0, 90);
  }

  /// One random history; every step checks what it can.
  void run(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i)
      step();
    if (::testing::Test::HasFatalFailure())
      return;
    if (pick(0, 3) == 0) {
      if (percent(50)) {
        // What is accepted after the loss was never posted.
        lose_epoch();
        for (auto n = pick(0, 50); n > 0; --n)
          post();
      }
      die();
    } else {
      drain();
    }
    check_end();
    ++total_.sessions;
  }

private:
  std::uint64_t pick(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>{least, most}(random_);
  }
  bool percent(std::uint64_t p) { return pick(1, 100) <= p; }

  template <class T>
  T take_random(std::deque<T>& from) {
    const auto i = pick(0, from.size() - 1);
    auto x = std::move(from[i]);
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    return x;
  }

  void step() {
    std::uint64_t sum = 0;
    for (auto w : weights_)
      sum += w;
    auto at = pick(0, sum - 1);
    std::size_t which = 0;
    for (; at >= weights_[which]; ++which)
      at -= weights_[which];
    switch (which) {
      case 0: return post();
      case 1: return percent(10) ? post_down() : post();
      case 2: return percent(30) ? cancel() : post();
      case 3: return take_frame(messages_);
      case 4: return take_frame(bulks_);
      case 5: return complete_bulk();
      case 6: return percent(20) ? fail_bulk() : complete_bulk();
      case 7: return duplicate();
      case 8: return send_acknowledgement();
      case 9: return take_acknowledgement();
      case 10: return percent(10) ? tell_lies() : take_acknowledgement();
      default: return percent(2) ? lose_epoch() : resume();
    }
  }

  // -- the sending side -------------------------------------------------------

  void post() { accept(pick(1, actors_), pick(1, actors_), percent(bulk_percent_), false); }

  void post_down() { accept(pick(1, actors_), 0, false, true); }

  void accept(std::uint64_t sender, std::uint64_t target, bool bulk, bool down) {
    const auto bytes = pick(0, bulk ? 20'000 : 200);
    if (book_.admits(bytes) != errc::ok) {
      ++total_.refused;
      return;
    }
    operation op{sender, target, {}, false, bulk, false, std::make_unique<std::uint64_t>(book_.next_seq())};
    if (down) {
      op.predecessors.resize(4);
      const auto n = pairs_.predecessors_of(sender, op.predecessors);
      op.barrier = n > op.predecessors.size();
      op.predecessors.resize(op.barrier ? 0 : n);
      pairs_.link(sender, target, book_.next_seq());
      ++total_.downs;
      total_.barriers += op.barrier;
    } else {
      op.predecessors.push_back(pairs_.link(sender, target, book_.next_seq()));
    }
    expected_.posted(sender, target, down);
    const auto done = book_.append(std::move(op), bytes);
    ASSERT_TRUE(done);
    ASSERT_EQ(done.seq, expected_.size());
    ++total_.accepted;
    if (up_)
      put_on_lane(done.seq, *book_.at(done.seq), false);
  }

  void put_on_lane(std::uint64_t seq, operation& op, bool canceled) {
    op.posted = true;
    (op.bulk && !canceled ? bulks_ : messages_).push_back({seq, op.predecessors, op.barrier, canceled});
  }

  void cancel() {
    if (book_.span() == 0)
      return;
    const auto seq = book_.first_unacked() + pick(0, book_.span() - 1);
    const auto why = book_.cancel(seq, [&](operation& op) {
      ASSERT_EQ(*op.body, seq);
      op.body.reset();
      expected_.ended(seq, end::canceled);
      ++total_.canceled;
      if (up_)
        put_on_lane(seq, op, true);
    });
    ASSERT_EQ(why == errc::ok, expected_.of(seq).outcome == end::canceled && why != errc::too_late);
  }

  auto on_terminal(end how) {
    return [this, how, last = std::uint64_t{0}](std::uint64_t seq, operation&& op) mutable {
      ASSERT_GT(seq, last) << "terminals out of posting order";
      last = seq;
      const auto mine = std::move(op);
      ASSERT_EQ(*mine.body, seq);
      const auto actual = how == end::indeterminate && !mine.posted ? end::failed : how;
      expected_.ended(seq, actual);
      ++(actual == end::ok ? total_.ok : actual == end::failed ? total_.failed : total_.indeterminate);
      pairs_.acknowledged(mine.sender, mine.target, seq);
    };
  }

  auto on_tombstone() {
    return [this](std::uint64_t seq, operation&& op) {
      const auto mine = std::move(op);
      ASSERT_FALSE(mine.body);
      ASSERT_EQ(expected_.of(seq).outcome, end::canceled);
      pairs_.acknowledged(mine.sender, mine.target, seq);
    };
  }

  void apply(const acknowledgement& ack) {
    ASSERT_EQ(book_.acknowledge(ack.cumulative, ack.ranges, on_terminal(end::ok), on_tombstone()), errc::ok);
    ASSERT_GT(book_.first_unacked(), ack.cumulative);
    check_bounds();
  }

  void take_acknowledgement() {
    if (!acks_.empty())
      apply(take_random(acks_));
  }

  /// A faulty peer: the journal refuses and does not change.
  void tell_lies() {
    const auto next = book_.next_seq();
    acknowledgement lie{pick(0, next - 1), {}};
    switch (pick(0, 2)) {
      case 0: lie.cumulative = next + pick(0, 5); break;
      case 1: lie.ranges = {{lie.cumulative + 3, lie.cumulative + 2}}; break;
      default: lie.ranges = {{lie.cumulative + 1, next + pick(0, 5)}}; break;
    }
    const auto size = book_.size();
    const auto first = book_.first_unacked();
    const auto never = [](std::uint64_t, operation&&) { FAIL(); };
    ASSERT_EQ(book_.acknowledge(lie.cumulative, lie.ranges, never, never), errc::protocol_error);
    ASSERT_EQ(book_.size(), size);
    ASSERT_EQ(book_.first_unacked(), first);
  }

  void check_bounds() {
    ASSERT_LE(book_.span(), window_limit_);
    ASSERT_LE(book_.bytes(), book_.limits().max_bytes);
    ASSERT_LE(pairs_.size(), book_.span());
  }

  // -- the receiving side -----------------------------------------------------

  auto deliver() {
    return [this](std::uint64_t&& seq) {
      expected_.delivered(seq);
      ++total_.delivered;
    };
  }

  void judge(verdict what) {
    ASSERT_TRUE(what != verdict::malformed && what != verdict::beyond_window);
    total_.held += what == verdict::held;
    total_.duplicates += what == verdict::duplicate;
    ASSERT_LT(window_.held_count(), window_limit_);
  }

  void take_frame(std::deque<frame>& lane) {
    if (lane.empty())
      return;
    auto x = std::move(lane.front());
    lane.pop_front();
    const auto after = x.predecessors.empty() ? 0 : x.predecessors.front();
    if (x.skip && x.predecessors.size() > 1) {
      // A skip names one predecessor: what had more is skipped as a barrier.
      judge(window_.skip(x.seq, 0, true, deliver()));
    } else if (x.skip) {
      judge(window_.skip(x.seq, after, x.barrier, deliver()));
    } else if (&lane == &bulks_) {
      const auto what = window_.expect(x.seq);
      judge(what);
      if (what == verdict::expected)
        in_flight_.push_back(std::move(x));
    } else if (x.predecessors.size() > 1) {
      judge(window_.arrive(x.seq, x.predecessors, x.barrier, std::uint64_t{x.seq}, deliver()));
    } else {
      judge(window_.arrive(x.seq, after, x.barrier, std::uint64_t{x.seq}, deliver()));
    }
  }

  void complete_bulk() {
    if (in_flight_.empty())
      return;
    const auto x = take_random(in_flight_);
    const auto what = window_.complete(x.seq, x.predecessors.front(), false, std::uint64_t{x.seq}, deliver());
    // Only a skip may have overtaken it.
    ASSERT_TRUE(what != verdict::duplicate || expected_.of(x.seq).outcome == end::canceled);
    judge(what);
  }

  void fail_bulk() {
    if (in_flight_.empty())
      return;
    auto x = take_random(in_flight_);
    const auto known = window_.forget(x.seq);
    ASSERT_TRUE(known || expected_.of(x.seq).outcome == end::canceled);
    bulks_.push_back(std::move(x));
  }

  /// Any message that was ever posted may surface again.
  void duplicate() {
    if (expected_.size() == 0)
      return;
    const auto first = book_.first_unacked();
    const auto seq = percent(50) && first > 1 ? pick(1, first - 1) : pick(first, std::max(first, book_.next_seq() - 1));
    if (auto* op = book_.at(seq)) {
      if (op->posted)
        put_on_lane(seq, *op, false);
    } else if (seq < first) {
      judge(window_.arrive(seq, 0, false, std::uint64_t{seq}, [](std::uint64_t&&) { FAIL() << "delivered twice"; }));
    }
  }

  acknowledgement position(std::size_t max_ranges) const {
    acknowledgement ack{window_.cumulative(), std::vector<proto::sack_range>(max_ranges)};
    ack.ranges.resize(window_.ranges(ack.ranges));
    return ack;
  }

  void send_acknowledgement() {
    if (up_ && !percent(ack_loss_percent_))
      acks_.push_back(position(proto::max_sack_ranges));
  }

  // -- losing and ending ------------------------------------------------------

  /// A prefix of each lane got through; the rest is gone, and so are the acknowledgements.
  void lose_epoch() {
    if (!up_)
      return;
    for (auto n = pick(0, messages_.size()); n > 0; --n)
      take_frame(messages_);
    for (auto n = pick(0, bulks_.size()); n > 0; --n)
      take_frame(bulks_);
    messages_.clear();
    bulks_.clear();
    acks_.clear();
    for (const auto& x : in_flight_)
      window_.forget(x.seq);
    in_flight_.clear();
    up_ = false;
    ++total_.epochs;
  }

  void resume() {
    if (up_)
      return;
    apply(position(window_.range_count()));
    up_ = true;
    book_.for_each_unacked([this](std::uint64_t seq, operation& op, bool canceled) { put_on_lane(seq, op, canceled); });
  }

  void drain() {
    resume();
    while ((!messages_.empty() || !bulks_.empty() || !in_flight_.empty()) && !::testing::Test::HasFatalFailure()) {
      take_frame(messages_);
      take_frame(bulks_);
      complete_bulk();
    }
    ASSERT_EQ(window_.cumulative(), book_.next_seq() - 1);
    ASSERT_EQ(window_.held_count(), 0u);
    ASSERT_EQ(window_.range_count(), 0u);
    apply(position(proto::max_sack_ranges));
  }

  /// The peer died: what is not acknowledged ends now; late acknowledgements change nothing.
  void die() {
    book_.fail_all(on_terminal(end::indeterminate), on_tombstone());
    while (!acks_.empty() && !::testing::Test::HasFatalFailure())
      take_acknowledgement();
    auto last = std::uint64_t{0};
    const auto held = window_.held_count();
    std::size_t dropped = 0;
    window_.drop_held([&](std::uint64_t seq, std::uint64_t&& x) {
      ASSERT_EQ(seq, x);
      ASSERT_GT(seq, last);
      ASSERT_FALSE(expected_.of(seq).delivered);
      last = seq;
      ++dropped;
    });
    ASSERT_LE(dropped, held);
  }

  void check_end() {
    ASSERT_TRUE(book_.empty());
    ASSERT_EQ(book_.span(), 0u);
    ASSERT_EQ(book_.bytes(), 0u);
    ASSERT_EQ(pairs_.size(), 0u);
    ASSERT_EQ(window_.held_count(), 0u);
    for (std::uint64_t seq = 1; seq <= expected_.size(); ++seq)
      ASSERT_NE(expected_.of(seq).outcome, end::open) << "never ended: " << seq;
  }

  std::mt19937_64 random_;
  std::size_t window_limit_;
  std::uint64_t actors_;
  std::array<std::uint64_t, 12> weights_{};
  std::uint64_t bulk_percent_ = 0;
  std::uint64_t ack_loss_percent_ = 0;
  counts& total_;

  journal<operation> book_;
  pair_order pairs_;
  receive_window<std::uint64_t> window_;
  reference expected_;

  bool up_ = true;
  std::deque<frame> messages_;
  std::deque<frame> bulks_;
  std::deque<frame> in_flight_;
  std::deque<acknowledgement> acks_;
};

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const auto* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 0);
}

TEST(delivery_model, each_message_ends_once_and_is_delivered_at_most_once_in_order) {
  const auto* scale = std::getenv("TROUPE_TEST_SCALE");
  const std::uint64_t steps = scale != nullptr && std::string(scale) == "nightly" ? 20'000'000 : 1'500'000;
  const auto seed = number_from_environment("TROUPE_TEST_SEED", std::random_device{}());
  std::cout << "TROUPE_TEST_SEED=" << seed << std::endl;

  std::mt19937_64 random(seed);
  counts total;
  for (std::uint64_t done = 0, round = 0; done < steps; ++round) {
    // Short histories find the ends, long ones the rings' wraps.
    const auto length = round % 10 == 0 ? 30'000 : 1 + random() % 4000;
    SCOPED_TRACE("round " + std::to_string(round) + " of TROUPE_TEST_SEED=" + std::to_string(seed));
    model(random(), total).run(length);
    if (HasFatalFailure())
      return;
    done += length;
  }

  EXPECT_EQ(total.accepted, total.ok + total.failed + total.canceled + total.indeterminate);
  std::cout << "accepted " << total.accepted << " = ok " << total.ok << " + failed " << total.failed << " + canceled "
            << total.canceled << " + indeterminate " << total.indeterminate << "; delivered " << total.delivered
            << ", held " << total.held << ", duplicates " << total.duplicates << ", refused " << total.refused
            << ", downs " << total.downs << ", barriers " << total.barriers << ", epochs lost " << total.epochs
            << ", sessions " << total.sessions << std::endl;
  // The histories reached every kind of end.
  for (const auto n : {total.ok, total.failed, total.canceled, total.indeterminate, total.held, total.duplicates,
                       total.refused, total.downs, total.barriers, total.epochs})
    EXPECT_GT(n, 100u);
}

} // namespace
} // namespace troupe::transport
