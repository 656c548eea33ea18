#include <troupe/transport/listener.hpp>

#include <algorithm>
#include <utility>

#include <troupe/transport/listener_state.hpp>
#include <troupe/transport/worker.hpp>

namespace troupe::transport {

// -- the shared state ---------------------------------------------------------

void listener_state::on_request(ucp_conn_request_h request, void* arg) noexcept {
  auto& self = *static_cast<listener_state*>(arg);
  if (!self.retired && self.waiting.size() + self.taken.size() < max_pending_connections) {
    self.waiting.push_back(request);
    return;
  }
  self.rejected_in_excess += !self.retired;
  self.excess.push_back(request);
  self.owner->after_progress_ = true;
}

bool listener_state::forget(ucp_conn_request_h request) noexcept {
  return std::erase(taken, request) != 0;
}

void listener_state::reject(ucp_conn_request_h request) noexcept {
  if (handle == nullptr)
    return;
  ucp_listener_reject(handle, request);
  // Leaves an event behind for a socket that is closed already. Let UCX discard it before another connection gets the
  // same descriptor: it would take the event for its own and abort the process.
  owner->progress_now();
}

void listener_state::reject_excess() noexcept {
  for (auto* request : std::exchange(excess, {}))
    reject(request);
}

void listener_state::reject_all() noexcept {
  retired = true;
  for (auto* request : std::exchange(waiting, {}))
    reject(request);
  for (auto* request : std::exchange(taken, {}))
    reject(request);
  reject_excess();
}

void listener_state::close() noexcept {
  if (handle == nullptr)
    return;
  reject_all();
  ucp_listener_destroy(std::exchange(handle, nullptr));
  owner = nullptr;
}

// -- connection requests ------------------------------------------------------

connection_request::connection_request(std::shared_ptr<listener_state> state, ucp_conn_request_h handle) noexcept
  : state_(std::move(state)), handle_(handle) {}

connection_request::connection_request(connection_request&& other) noexcept
  : state_(std::move(other.state_)), handle_(std::exchange(other.handle_, nullptr)) {}

connection_request& connection_request::operator=(connection_request&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(handle_, other.handle_);
  return *this;
}

connection_request::~connection_request() {
  reject();
}

socket_address connection_request::peer() const {
  if (!pending())
    return {};
  ucp_conn_request_attr_t attr{};
  attr.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
  if (ucp_conn_request_query(handle_, &attr) != UCS_OK)
    return {};
  return {reinterpret_cast<const sockaddr*>(&attr.client_address), sizeof(attr.client_address)};
}

void connection_request::reject() noexcept {
  auto state = state_; // keeps it alive: take() lets go of it
  if (auto* request = take())
    state->reject(request);
}

bool connection_request::pending() const noexcept {
  return handle_ != nullptr && state_ && std::count(state_->taken.begin(), state_->taken.end(), handle_) != 0;
}

ucp_conn_request_h connection_request::take() noexcept {
  auto state = std::exchange(state_, nullptr);
  auto* request = std::exchange(handle_, nullptr);
  return request && state && state->forget(request) ? request : nullptr;
}

// -- the listener -------------------------------------------------------------

listener::listener(std::shared_ptr<listener_state> state) noexcept : state_(std::move(state)) {}

listener::~listener() {
  if (state_->owner)
    state_->owner->retire(*state_);
}

std::optional<connection_request> listener::next() {
  if (state_->waiting.empty())
    return std::nullopt;
  auto* request = state_->waiting.front();
  state_->taken.push_back(request);
  state_->waiting.pop_front();
  return connection_request{state_, request};
}

const socket_address& listener::address() const noexcept {
  return state_->address;
}

std::uint64_t listener::rejected_in_excess() const noexcept {
  return state_->rejected_in_excess;
}

} // namespace troupe::transport
