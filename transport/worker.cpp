#include <troupe/transport/worker.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>
#include <stdexcept>
#include <utility>

#include <troupe/proto/frame.hpp>
#include <troupe/transport/endpoint_state.hpp>
#include <troupe/transport/kept_record.hpp>
#include <troupe/transport/listener_state.hpp>
#include <troupe/transport/shm_space.hpp>
#include <troupe/transport/ticket.hpp>
#include <troupe/transport/ucx_errc.hpp>

namespace troupe::transport {

namespace {

constexpr std::size_t tickets_per_chunk = 64;

class scoped_flag {
public:
  explicit scoped_flag(bool& flag) noexcept : flag_(flag), before_(std::exchange(flag, true)) {}
  ~scoped_flag() { flag_ = before_; }
  scoped_flag(const scoped_flag&) = delete;
  scoped_flag& operator=(const scoped_flag&) = delete;

private:
  bool& flag_;
  bool before_;
};

} // namespace

// -- the making and the end ---------------------------------------------------

worker::worker(std::shared_ptr<context> context) : context_(std::move(context)) {
  auto what = "cannot create a UCX worker for " + std::string{to_string(context_->transport())} + ": ";
  if (context_->transport() == lane_transport::shm)
    require_shm_space(shm_bytes_per_worker());
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED; // made on a helper thread, then handed over
  if (auto status = ucp_worker_create(context_->handle(), &params, &handle_); status != UCS_OK)
    throw std::runtime_error{what + describe(status)
                             + "; check the room in /dev/shm, the limit of open files (ulimit -n), and memory"};
  auto fail = [&](const std::string& why) {
    ucp_worker_destroy(std::exchange(handle_, nullptr));
    throw std::runtime_error{what + why};
  };
  if (auto status = ucp_worker_get_efd(handle_, &event_fd_); status != UCS_OK)
    fail("it has no event fd: " + describe(status));
  ucp_worker_attr_t attr{};
  attr.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (auto status = ucp_worker_query(handle_, &attr); status != UCS_OK)
    fail("it cannot be queried: " + describe(status));
  if (attr.max_am_header < proto::max_bulk_header)
    fail("its active message headers hold " + std::to_string(attr.max_am_header) + " bytes and "
         + std::to_string(proto::max_bulk_header) + " are needed; unset UCX_*_SEG_SIZE or set it to 8k or more");
  // All ids before anybody can know the address: a message to an unregistered id crashes older releases.
  for (std::uint16_t id = 1; id <= last_am_id; ++id) {
    handler_arguments_[id] = {this, static_cast<am_id>(id)};
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS
                         | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = &worker::on_message;
    handler.arg = &handler_arguments_[id];
    if (auto status = ucp_worker_set_am_recv_handler(handle_, &handler); status != UCS_OK)
      fail("an active message handler is refused: " + describe(status));
  }
}

worker::~worker() {
  abandon();
}

bool worker::settled() const noexcept {
  return outstanding_ == 0 && std::none_of(endpoints_.begin(), endpoints_.end(), [](const auto& x) {
           return x->now != endpoint_state::phase::open && !x->settled();
         });
}

void worker::abandon() noexcept {
  if (handle_ == nullptr)
    return;
  assert(!inside_ucp_ && "abandon() from inside a UCP callback");
  for (auto& state : listeners_)
    state->close();
  listeners_.clear();
  for (auto& state : endpoints_) {
    state->sendable = false;
    force_close(*state);
  }
  for (auto& message : inbound_)
    release(message);
  reset_inbound();
  while (kept_ != nullptr) { // their owners see `canceled` from here on
    auto& record = *kept_;
    release(record.message);
    record.message.held = true;
    record.unlink();
  }
  {
    // Some releases run callbacks in here; they end their operations as usual.
    scoped_flag inside{inside_ucp_};
    ucp_worker_destroy(std::exchange(handle_, nullptr));
  }
  event_fd_ = -1;
  // Only now is every buffer out of UCX's reach. Tickets stay where they are: nothing reuses one.
  for (auto& chunk : ticket_chunks_)
    for (std::size_t i = 0; i < tickets_per_chunk; ++i)
      if (auto* op = std::exchange(chunk[i].op, nullptr)) {
        if (chunk[i].ep)
          --chunk[i].ep->outstanding;
        --outstanding_;
        op->on_complete(errc::canceled);
      }
  for (auto& state : endpoints_) {
    state->now = endpoint_state::phase::closed;
    state->owner = nullptr;
  }
  endpoints_.clear();
  failures_.clear();
}

// -- progress -----------------------------------------------------------------

bool worker::arm() noexcept {
  if (handle_ == nullptr)
    return true;
  if (!inbound_.empty() || !failures_.empty())
    return false;
  return ucp_worker_arm(handle_) == UCS_OK;
}

void worker::progress_now() noexcept {
  if (handle_ == nullptr || inside_ucp_)
    return;
  scoped_flag inside{inside_ucp_};
  ucp_worker_progress(handle_);
}

unsigned worker::finish_progress() noexcept {
  unsigned done = 0;
  bool more = false;
  after_progress_ = false;
  std::erase_if(listeners_, [&](const auto& state) {
    state->reject_excess();
    if (state->retired && std::chrono::steady_clock::now() >= state->destroy_at) {
      state->close();
      return true;
    }
    more = more || state->retired;
    return false;
  });
  for (std::size_t i = 0; i < endpoints_.size();) {
    auto& state = *endpoints_[i];
    if (state.close_requested && state.now < endpoint_state::phase::closing) {
      auto before = state.now;
      advance_close(state);
      done += before != state.now;
    }
    if (state.settled()) {
      endpoints_[i] = std::move(endpoints_.back());
      endpoints_.pop_back();
      continue;
    }
    more = more || state.close_requested;
    ++i;
  }
  after_progress_ = after_progress_ || more;
  return done;
}

endpoint* worker::next_failure(errc& why) noexcept {
  while (!failures_.empty()) {
    auto state = std::move(failures_.front());
    failures_.erase(failures_.begin());
    if (state->handle && !state->close_requested) {
      why = state->failure;
      return state->handle;
    }
  }
  return nullptr;
}

// -- operations ---------------------------------------------------------------

bool worker::grow_tickets() noexcept {
  try {
    auto chunk = std::make_unique<ticket[]>(tickets_per_chunk);
    for (std::size_t i = 0; i < tickets_per_chunk; ++i) {
      chunk[i].owner = this;
      chunk[i].next_free = i + 1 < tickets_per_chunk ? &chunk[i + 1] : free_tickets_;
    }
    free_tickets_ = &chunk[0];
    ticket_chunks_.push_back(std::move(chunk));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

worker::ticket* worker::take_ticket() noexcept {
  if (free_tickets_ == nullptr && !grow_tickets()) [[unlikely]]
    return nullptr;
  auto* t = free_tickets_;
  free_tickets_ = t->next_free;
  return t;
}

void worker::return_ticket(ticket* t) noexcept {
  t->next_free = free_tickets_;
  free_tickets_ = t;
}

post_status worker::posted(ucs_status_ptr_t request, ticket* t, operation& op, endpoint_state* ep,
                           errc& why) noexcept {
  if (request == nullptr) {
    return_ticket(t);
    return post_status::completed;
  }
  if (UCS_PTR_IS_ERR(request)) [[unlikely]] {
    return_ticket(t);
    why = to_errc(UCS_PTR_STATUS(request));
    return post_status::failed;
  }
  if (t->early != errc::in_progress) [[unlikely]] {
    why = std::exchange(t->early, errc::in_progress);
    return_ticket(t);
    ucp_request_free(request);
    return why == errc::ok ? post_status::completed : post_status::failed;
  }
  t->op = &op;
  t->ep = ep;
  ++outstanding_;
  if (ep)
    ++ep->outstanding;
  return post_status::pending;
}

void worker::complete(void* request, ucs_status_t status, ticket* t) noexcept {
  auto* op = std::exchange(t->op, nullptr);
  if (op == nullptr) [[unlikely]] { // receiving from a peer that failed; posted() tells the caller
    t->early = to_errc(status);
    return;
  }
  auto& self = *t->owner;
  if (t->ep)
    --t->ep->outstanding;
  --self.outstanding_;
  self.return_ticket(t);
  ucp_request_free(request);
  op->on_complete(to_errc(status));
}

void worker::on_sent(void* request, ucs_status_t status, void* user_data) {
  complete(request, status, static_cast<ticket*>(user_data));
}

void worker::on_received(void* request, ucs_status_t status, size_t, void* user_data) {
  complete(request, status, static_cast<ticket*>(user_data));
}

post_status worker::send(endpoint_state& state, am_id id, const void* header, std::size_t header_size,
                         const void* data, std::size_t n, bool gather, send_flags flags, operation& op,
                         errc& why) noexcept {
  if (header_size > proto::max_bulk_header) [[unlikely]] {
    why = errc::exceeds_limit;
    return post_status::failed;
  }
  if (inside_ucp_) [[unlikely]] {
    why = errc::not_allowed;
    return post_status::failed;
  }
  auto* t = take_ticket();
  if (t == nullptr) [[unlikely]] {
    why = errc::no_memory;
    return post_status::failed;
  }
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = (has(flags, send_flags::reply) ? UCP_AM_SEND_FLAG_REPLY : 0)
                | (has(flags, send_flags::rndv) ? UCP_AM_SEND_FLAG_RNDV : 0)
                | (has(flags, send_flags::eager) ? UCP_AM_SEND_FLAG_EAGER : 0);
  param.cb.send = &worker::on_sent;
  param.user_data = t;
  if (gather) { // a datatype of one's own leaves UCX's short path, so it is given only here
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_iov();
  }
  inside_ucp_ = true; // over `self`, a send can run other callbacks
  auto* request = ucp_am_send_nbx(state.ep, static_cast<unsigned>(id), header, header_size, data, n, &param);
  inside_ucp_ = false;
  return posted(request, t, op, &state, why);
}

post_status worker::receive(inbound& message, std::byte* buffer, std::size_t size, operation& op,
                            errc& why) noexcept {
  if (!message.rendezvous || !message.held) {
    why = errc::invalid_param;
    return post_status::failed;
  }
  if (size < message.size) { // UCX would abort the process
    why = errc::exceeds_limit;
    return post_status::failed;
  }
  if (handle_ == nullptr || inside_ucp_) {
    why = handle_ ? errc::not_allowed : errc::canceled;
    return post_status::failed;
  }
  if (message.size == 0) { // nothing to fetch, and some releases lose the descriptor when asked to
    message.held = false;
    --open_rendezvous_;
    scoped_flag inside{inside_ucp_};
    ucp_am_data_release(handle_, message.desc);
    return post_status::completed;
  }
  auto* t = take_ticket();
  if (t == nullptr) {
    why = errc::no_memory;
    return post_status::failed;
  }
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = &worker::on_received;
  param.user_data = t;
  message.held = false;
  --open_rendezvous_;
  inside_ucp_ = true;
  auto* request = ucp_am_recv_data_nbx(handle_, message.desc, buffer, message.size, &param);
  inside_ucp_ = false;
  return posted(request, t, op, nullptr, why);
}

// -- inbound messages ---------------------------------------------------------

void worker::release(inbound& message) noexcept {
  if (!std::exchange(message.held, false) || handle_ == nullptr)
    return;
  if (message.rendezvous) {
    ++counters_.dropped_rendezvous;
    --open_rendezvous_;
  }
  scoped_flag inside{inside_ucp_};
  ucp_am_data_release(handle_, message.desc);
}

// -- closing ------------------------------------------------------------------

void worker::close(endpoint_state& state, close_mode mode) noexcept {
  state.sendable = false;
  if (state.now >= endpoint_state::phase::closing)
    return;
  state.force_requested = state.force_requested || mode == close_mode::force;
  state.close_requested = true;
  after_progress_ = true;
  if (!inside_ucp_)
    advance_close(state);
}

void worker::advance_close(endpoint_state& state) noexcept {
  using phase = endpoint_state::phase;
  // A flush after a failure may never end.
  if (state.force_requested || state.failed || state.now == phase::flushed) {
    force_close(state);
    return;
  }
  if (state.now == phase::flushing)
    return;
  state.now = phase::draining;
  if (state.outstanding != 0)
    return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &worker::on_flushed;
  param.user_data = &state;
  scoped_flag inside{inside_ucp_};
  auto* request = ucp_ep_flush_nbx(state.ep, &param);
  state.now = UCS_PTR_IS_PTR(request) ? phase::flushing : phase::flushed;
  if (state.now == phase::flushed)
    force_close(state);
}

void worker::force_close(endpoint_state& state) noexcept {
  if (state.ep == nullptr)
    return;
  state.now = endpoint_state::phase::closing;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  param.cb.send = &worker::on_closed;
  param.user_data = &state;
  scoped_flag inside{inside_ucp_};
  auto* request = ucp_ep_close_nbx(std::exchange(state.ep, nullptr), &param);
  if (!UCS_PTR_IS_PTR(request))
    state.now = endpoint_state::phase::closed;
}

void worker::on_flushed(void* request, ucs_status_t, void* user_data) {
  auto& state = *static_cast<endpoint_state*>(user_data);
  if (state.now == endpoint_state::phase::flushing)
    state.now = endpoint_state::phase::flushed;
  ucp_request_free(request);
}

void worker::on_closed(void* request, ucs_status_t, void* user_data) {
  static_cast<endpoint_state*>(user_data)->now = endpoint_state::phase::closed;
  ucp_request_free(request);
}

void worker::on_endpoint_error(void* arg, ucp_ep_h, ucs_status_t status) {
  auto& state = *static_cast<endpoint_state*>(arg);
  state.sendable = false;
  if (std::exchange(state.failed, true))
    return;
  state.failure = to_errc(status);
  auto& self = *state.owner;
  for (auto& x : self.endpoints_)
    if (x.get() == &state && !state.close_requested)
      self.failures_.push_back(x);
}

} // namespace troupe::transport
