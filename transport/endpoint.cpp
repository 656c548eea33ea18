#include <troupe/transport/endpoint.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include <troupe/transport/endpoint_state.hpp>
#include <troupe/transport/worker.hpp>

namespace troupe::transport {

endpoint::endpoint(std::shared_ptr<endpoint_state> state) noexcept : state_(std::move(state)) {
  state_->handle = this;
}

endpoint::~endpoint() {
  close(close_mode::force);
  state_->handle = nullptr;
}

post_status endpoint::am_send(am_id id, const void* header, std::size_t header_size, const void* data,
                              std::size_t data_size, send_flags flags, operation& op, errc& why) noexcept {
  auto& state = *state_;
  if (!state.sendable) [[unlikely]] {
    why = state.failed ? errc::peer_reset : errc::canceled;
    return post_status::failed;
  }
  return state.owner->send(state, id, header, header_size, data, data_size, false, flags, op, why);
}

post_status endpoint::am_send(am_id id, const void* header, std::size_t header_size, std::span<const io_slice> slices,
                              send_flags flags, operation& op, errc& why) noexcept {
  auto& state = *state_;
  if (!state.sendable) [[unlikely]] {
    why = state.failed ? errc::peer_reset : errc::canceled;
    return post_status::failed;
  }
  if (slices.size() > max_io_slices) [[unlikely]] {
    why = errc::exceeds_limit;
    return post_status::failed;
  }
  if (slices.size() <= 1) { // the contiguous path is the faster one
    const void* data = slices.empty() ? nullptr : slices.front().buffer;
    auto size = slices.empty() ? 0 : slices.front().length;
    return state.owner->send(state, id, header, header_size, data, size, false, flags, op, why);
  }
  return state.owner->send(state, id, header, header_size, slices.data(), slices.size(), true, flags, op, why);
}

void endpoint::close(close_mode mode) noexcept {
  auto keep_alive = state_;
  if (keep_alive->owner)
    keep_alive->owner->close(*keep_alive, mode);
}

bool endpoint::closed() const noexcept {
  return state_->now == endpoint_state::phase::closed;
}

bool endpoint::settled() const noexcept {
  return state_->settled();
}

bool endpoint::failed() const noexcept {
  return state_->failed;
}

std::size_t endpoint::outstanding() const noexcept {
  return state_->outstanding;
}

ucp_ep_h endpoint::handle() const noexcept {
  return state_->ep;
}

std::string endpoint::transports() const {
  if (state_->ep == nullptr)
    return {};
  std::set<std::string> names;
#if UCP_API_VERSION >= UCP_VERSION(1, 18)
  std::array<ucp_transport_entry_t, 64> entries{};
  ucp_ep_attr_t attr{};
  attr.field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS;
  attr.transports.entries = entries.data();
  attr.transports.num_entries = static_cast<unsigned>(entries.size());
  attr.transports.entry_size = sizeof(entries[0]);
  if (ucp_ep_query(state_->ep, &attr) != UCS_OK)
    return {};
  for (unsigned i = 0; i < attr.transports.num_entries; ++i)
    names.insert(entries[i].transport_name);
#else
  // Only as text for people: "#   lane[0]: 1:posix/memory.0 md[1] -> ...".
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  if (stream == nullptr)
    return {};
  ucp_ep_print_info(state_->ep, stream);
  std::fclose(stream);
  std::unique_ptr<char, decltype(&std::free)> owner{text, &std::free};
  std::istringstream lines{std::string{text, size}};
  for (std::string line; std::getline(lines, line);) {
    auto lane = line.find("lane[");
    auto slash = line.find('/', lane == std::string::npos ? 0 : lane);
    if (lane == std::string::npos || slash == std::string::npos)
      continue;
    auto colon = line.rfind(':', slash);
    names.insert(line.substr(colon + 1, slash - colon - 1));
  }
#endif
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : ",") + name;
  return result;
}

} // namespace troupe::transport
