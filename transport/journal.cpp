#include <troupe/transport/journal.hpp>

#include <stdexcept>
#include <string>

namespace troupe::transport {

void journal_limits::check() const {
  if (max_entries == 0 || max_entries > max_window)
    throw std::invalid_argument("journal: max_entries is " + std::to_string(max_entries) + ", choose 1 to "
                                + std::to_string(max_window));
  if (max_bytes == 0)
    throw std::invalid_argument("journal: max_bytes is 0, choose at least the largest message");
}

errc check_acknowledgement(std::uint64_t next, std::uint64_t cumulative,
                           std::span<const proto::sack_range> ranges) noexcept {
  if (cumulative >= next)
    return errc::protocol_error;
  auto below = cumulative;
  for (const auto& range : ranges) {
    if (range.first <= below || range.last < range.first || range.last >= next)
      return errc::protocol_error;
    below = range.last;
  }
  return errc::ok;
}

} // namespace troupe::transport
