// When the receiving side says on its own what usually rides on other traffic: acknowledgements and credit returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <troupe/transport/credit.hpp>
#include <troupe/transport/delivery_limits.hpp>

namespace troupe::transport {

using time_point = std::chrono::steady_clock::time_point;

struct ack_limits {
  std::uint64_t deliveries = default_ack_deliveries;
  std::chrono::nanoseconds delay = default_ack_delay;
};

/// Decides when a standalone acknowledgement is due. Reads no clock: the caller hands in its turn's time. Belongs to
/// one thread.
class ack_policy {
public:
  explicit ack_policy(ack_limits limits = {}) noexcept : limits_(limits) {}

  /// `n` numbers were filled at `now`.
  void on_delivered(time_point now, std::uint64_t n = 1) noexcept {
    if (pending_ == 0)
      since_ = now;
    pending_ += n;
  }

  /// Acknowledge at once: a duplicate came, so the peer may have missed the last one.
  void request() noexcept { requested_ = true; }

  /// An acknowledgement went out, standalone or with other traffic.
  void on_sent() noexcept {
    pending_ = 0;
    requested_ = false;
  }

  /// Whether one has to go out now.
  [[nodiscard]] bool due(time_point now) const noexcept {
    return requested_ || pending_ >= limits_.deliveries || (pending_ != 0 && now - since_ >= limits_.delay);
  }

  /// When one becomes due if nothing else happens; none while all is acknowledged. time_point::min(): now.
  [[nodiscard]] std::optional<time_point> deadline() const noexcept;

  /// Numbers filled since the last acknowledgement.
  [[nodiscard]] std::uint64_t pending() const noexcept { return pending_; }

private:
  ack_limits limits_;
  std::uint64_t pending_ = 0;
  time_point since_{};
  bool requested_ = false;
};

struct credit_return_limits {
  credit_amount window = {16'384, std::uint64_t{64} << 20}; ///< what the sender may have out: its credit_limits
  std::uint64_t fraction = default_credit_fraction;         ///< due when 1/fraction of the window was consumed
  std::chrono::nanoseconds delay = default_credit_delay;
};

/// Decides when a credit return is due that found nothing to ride on. One for the session, or one for each target.
/// Reads no clock. Belongs to one thread.
class credit_return_policy {
public:
  explicit credit_return_policy(credit_return_limits limits = {}) noexcept;

  /// Messages left a mailbox at `now`.
  void on_consumed(time_point now, std::uint64_t messages, std::uint64_t bytes) noexcept {
    if (pending_.messages == 0 && pending_.bytes == 0)
      since_ = now;
    pending_.messages += messages;
    pending_.bytes += bytes;
  }

  /// All that is pending was returned.
  void on_sent() noexcept { pending_ = {}; }

  [[nodiscard]] bool due(time_point now) const noexcept;

  /// When one becomes due if nothing else happens; none while nothing is pending. time_point::min(): now.
  [[nodiscard]] std::optional<time_point> deadline() const noexcept;

  [[nodiscard]] const credit_amount& pending() const noexcept { return pending_; }

private:
  [[nodiscard]] bool enough() const noexcept {
    return pending_.messages >= threshold_.messages || pending_.bytes >= threshold_.bytes;
  }

  credit_amount threshold_;
  std::chrono::nanoseconds delay_;
  credit_amount pending_;
  time_point since_{};
};

} // namespace troupe::transport
