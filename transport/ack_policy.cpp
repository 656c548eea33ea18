#include <troupe/transport/ack_policy.hpp>

#include <algorithm>

namespace troupe::transport {

std::optional<time_point> ack_policy::deadline() const noexcept {
  if (requested_ || pending_ >= limits_.deliveries)
    return time_point::min();
  if (pending_ == 0)
    return std::nullopt;
  return since_ + limits_.delay;
}

credit_return_policy::credit_return_policy(credit_return_limits limits) noexcept : delay_(limits.delay) {
  const auto fraction = std::max<std::uint64_t>(limits.fraction, 1);
  threshold_.messages = std::max<std::uint64_t>(limits.window.messages / fraction, 1);
  threshold_.bytes = std::max<std::uint64_t>(limits.window.bytes / fraction, 1);
}

bool credit_return_policy::due(time_point now) const noexcept {
  if (pending_ == credit_amount{})
    return false;
  return enough() || now - since_ >= delay_;
}

std::optional<time_point> credit_return_policy::deadline() const noexcept {
  if (pending_ == credit_amount{})
    return std::nullopt;
  if (enough())
    return time_point::min();
  return since_ + delay_;
}

} // namespace troupe::transport
