// Credit: how much a sender may have at a receiver that the receiver has not consumed yet.
#pragma once

#include <atomic>
#include <cstdint>

#include <troupe/transport/delivery_limits.hpp>

namespace troupe::transport {

struct credit_limits {
  std::uint64_t messages = 16'384;
  std::uint64_t bytes = std::uint64_t{64} << 20;
  /// Above the limits, for down, exit, link and reply messages.
  std::uint64_t reserve_messages = default_reserve_messages;
  std::uint64_t reserve_bytes = default_reserve_bytes;

  /// @throws std::invalid_argument when a limit is 0, or limit and reserve exceed max_credit_messages/_bytes.
  void check() const;
};

struct credit_amount {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const credit_amount&, const credit_amount&) = default;
};

/// Counts what was taken and not given back, in messages and bytes, and refuses above the limits. Never negative.
///
/// Every function is @threadsafe, lock-free and never blocks. Both counts change in one step, so an account is never
/// seen half charged. All steps are sequentially consistent: whoever was refused, registers for credit_available, and
/// then tries once more, misses no return.
class credit_account {
public:
  /// @throws std::invalid_argument for impossible limits.
  explicit credit_account(credit_limits limits = {});

  credit_account(const credit_account&) = delete;
  credit_account& operator=(const credit_account&) = delete;

  /// Takes credit for one message of `bytes`. Admitted while fewer than the limit of messages are out, and its bytes
  /// fit, or no bytes are out (so that a message above the whole window can pass alone). False: nothing was taken.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept;

  /// The same, up to limit + reserve: for down, exit, link and reply messages only.
  [[nodiscard]] bool take_reserved(std::uint64_t bytes) noexcept;

  /// Returns credit. False: more than was out, or bytes left out without a message: the peer (or the caller) counts
  /// wrongly; the account is then set to the nearest amount that can be true.
  [[nodiscard]] bool give_back(std::uint64_t messages, std::uint64_t bytes) noexcept;

  /// Less than half of both limits is out: time to tell those who were refused that there is credit again.
  [[nodiscard]] bool low() const noexcept;

  /// What is out.
  [[nodiscard]] credit_amount used() const noexcept;
  [[nodiscard]] const credit_limits& limits() const noexcept { return limits_; }

private:
  bool take(std::uint64_t bytes, std::uint64_t max_messages, std::uint64_t max_bytes) noexcept;

  credit_limits limits_;
  /// Messages in the upper 24 bits, bytes in the lower 40. On its own cache line: senders on many threads write it.
  alignas(64) std::atomic<std::uint64_t> used_{0};
};

} // namespace troupe::transport
