#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

#include <caf/atom.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>

// The work both contestants do: the same messages, the same sizes, the same counting.

CAF_BEGIN_TYPE_ID_BLOCK(troupe_bench, first_custom_type_id)
CAF_ADD_ATOM(troupe_bench, troupe::bench, begin_atom, "begin")     // (begin, warm-up s, measured s): start counting
CAF_ADD_ATOM(troupe_bench, troupe::bench, ack_atom, "ack")         // (ack, messages taken so far)
CAF_ADD_ATOM(troupe_bench, troupe::bench, more_atom, "more")       // a sender's reminder to itself
CAF_ADD_ATOM(troupe_bench, troupe::bench, process_atom, "process") // (process) -> pid of the peer
CAF_END_TYPE_ID_BLOCK(troupe_bench)

namespace troupe::bench {

using clock = std::chrono::steady_clock;

/// The 64-byte message of rtt and rate.
struct sample {
  std::uint64_t sequence = 0;
  std::array<std::uint64_t, 7> filling{};
};
static_assert(sizeof(sample) == 64);

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, sample& x) {
  return f(caf::meta::type_name("troupe::bench::sample"), x.sequence, x.filling);
}

/// The name under which every server publishes its actor.
inline constexpr const char* actor_name = "bench";

/// Bytes of a payload of the bulk case.
inline constexpr std::size_t bulk_size = std::size_t{1} << 20;

/// Of the payloads that arrive, one in this many is summed up and compared; all have their size checked.
inline constexpr std::uint64_t checked_every = 64;

/// The content of every bulk payload: 64-bit words that differ from each other.
inline std::string bulk_content() {
  std::string result(bulk_size, '\0');
  for (std::size_t word = 0; word < bulk_size / sizeof(std::uint64_t); ++word) {
    const std::uint64_t value = word * 0x9e3779b97f4a7c15u;
    std::memcpy(result.data() + word * sizeof value, &value, sizeof value);
  }
  return result;
}

/// The sum of the 64-bit words at `data`; `size` is a multiple of 8.
inline std::uint64_t sum_of_words(const void* data, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(data) + at, sizeof value);
    sum += value;
  }
  return sum;
}

/// What a receiver found out between two moments: how much arrived, in how long, and whether all of it was right.
struct tally {
  std::uint64_t messages = 0;
  double seconds = 0;
  std::uint64_t wrong = 0; ///< out of sequence (rate), of another size or content (bulk)
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, tally& x) {
  return f(caf::meta::type_name("troupe::bench::tally"), x.messages, x.seconds, x.wrong);
}

/// Counts arrivals between the end of the warm-up and the end of the measured time. Time starts at the first arrival.
class stopwatch {
public:
  void begin(double warm_up_seconds, double measured_seconds) {
    *this = stopwatch{};
    warm_up_ = warm_up_seconds;
    measured_ = measured_seconds;
    running_ = true;
  }

  /// Notes one arrival; `stride` arrivals share one look at the clock. True once, when the measured time is over.
  bool arrived(std::uint64_t stride) {
    if (!running_)
      return false;
    if (arrivals_++ == 0)
      start_ = clock::now();
    if (arrivals_ % stride != 0)
      return false;
    const auto now = clock::now();
    const double since = std::chrono::duration<double>(now - start_).count();
    if (!warm_) {
      if (since >= warm_up_) {
        warm_ = true;
        start_ = now;
        counted_from_ = arrivals_;
      }
      return false;
    }
    if (since < measured_)
      return false;
    running_ = false;
    result_ = {arrivals_ - counted_from_, since, wrong_};
    return true;
  }

  void wrong() { ++wrong_; }
  std::uint64_t arrivals() const { return arrivals_; }
  const tally& result() const { return result_; }

private:
  double warm_up_ = 0;
  double measured_ = 0;
  bool running_ = false;
  bool warm_ = false;
  clock::time_point start_{};
  std::uint64_t arrivals_ = 0;
  std::uint64_t counted_from_ = 0;
  std::uint64_t wrong_ = 0;
  tally result_{};
};

} // namespace troupe::bench
