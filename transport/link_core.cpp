#include <troupe/transport/link_core.hpp>

#include <algorithm>
#include <stdexcept>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/link_acceptor.hpp>
#include <troupe/transport/link_dial.hpp>
#include <troupe/transport/link_inbound.hpp>
#include <troupe/transport/link_state.hpp>

namespace troupe::transport {

namespace {

link_offer make_offer(const link_config& config) {
  link_offer out;
  out.identity = config.identity;
  out.host = this_host();
  out.limits = config.limits;
  out.features = config.features;
  out.library_version = config.library_version;
  out.down_after = config.down_after;
  out.heartbeat = config.heartbeat.count() > 0 ? config.heartbeat : std::max(min_heartbeat, config.down_after / 4);
  for (const auto& transport : config.transports)
    if (config.transport == transport_policy::automatic ||
        transport == (config.transport == transport_policy::shm ? "shm" : "tcp"))
      out.transports.push_back(transport);
  return out;
}

void check(const link_config& config, const link_offer& offer) {
  auto refuse = [](const std::string& text) { throw std::invalid_argument("link configuration: " + text); };
  if (auto field = field_out_of_limits(offer); !field.empty())
    refuse(std::string{field} + " is out of its limits; see proto/link_codec.hpp");
  if (offer.transports.empty())
    refuse("no transport is left; offer shm, tcp or both");
  for (const auto& transport : offer.transports)
    if (transport != "shm" && transport != "tcp")
      refuse("transport '" + transport + "' is unknown; use shm or tcp");
  if (config.secret.size() > max_secret_bytes)
    refuse("the secret has more than " + std::to_string(max_secret_bytes) + " bytes; use a shorter one");
  if (config.handshake_deadline.count() <= 0)
    refuse("the handshake deadline is not positive; 5000 ms is usual");
}

failure closed() { return {errc::canceled, "the link service was shut down"}; }

} // namespace

link_core::link_core(link_config config)
    : config_(std::move(config)), offer_(make_offer(config_)), work_(asio::make_work_guard(io_)),
      table_(config_.identity, config_.max_links) {
  check(config_, offer_);
}

void link_core::start() {
  thread_ = std::thread{[this] { io_.run(); }};
  thread_id_ = thread_.get_id();
}

bool link_core::post(std::function<void()> f) {
  std::lock_guard guard{mutex_};
  if (!open_)
    return false;
  asio::post(io_, std::move(f));
  return true;
}

void link_core::shutdown() {
  {
    std::lock_guard guard{mutex_};
    if (!std::exchange(stopping_, true)) {
      asio::post(io_, [this] { stop(); });
      // What is in the queue by now still runs; a handler queued later would keep this object alive for ever.
      open_ = false;
      work_.reset();
    }
  }
  if (on_thread())
    return;
  std::lock_guard guard{joining_};
  if (thread_.joinable())
    thread_.join();
}

void link_core::stop() {
  stopped_ = true;
  stop_listening();
  for (auto& dial : std::vector(dials_.begin(), dials_.end()))
    dial->fail(closed());
  for (auto& link : table_.all())
    state_of(link).down({closed().code, closed().text, false});
  unclaimed_.clear();
  accept_handler_ = nullptr;
}

// -- links ----------------------------------------------------------------------------

std::shared_ptr<link> link_core::bring_up(std::shared_ptr<link_socket> socket, const handshake& settled,
                                          bool dialled_by_us) {
  auto state = std::make_shared<link_state>(shared_from_this(), socket, settled.peer(), settled.terms(), dialled_by_us);
  std::shared_ptr<link> made{new link{state}};
  auto who = settled.peer().identity();
  table_.add(who, settled.peer_serial(), made);
  note(link_event::kind::link_up, state->remote_address(), errc::ok,
       "node '" + who.name + "' linked, lanes over " + state->terms().transport);
  count([](auto& c) { ++c.links_up; });
  socket->hand_over(state, proto::max_link_frame_bytes);
  state->start(made);
  if (accept_handler_)
    accept_handler_(made);
  else
    unclaimed_.push_back(made);
  for (auto& dial : std::vector(dials_.begin(), dials_.end()))
    if (dial->waits_for() == who)
      dial->succeed(made);
  return made;
}

void link_core::gone(const link_state& state, const link_down& why) {
  count([&](auto& c) {
    ++c.links_down;
    ++c.down[why.cause];
  });
  note(link_event::kind::link_down, state.remote_address(), why.cause, why.text);
}

void link_core::set_accept_handler(link_service::accept_handler handler) {
  accept_handler_ = std::move(handler);
  if (!accept_handler_)
    return;
  for (auto waiting = std::move(unclaimed_); auto& link : waiting)
    accept_handler_(link);
}

// -- connections that are no links yet ------------------------------------------------

void link_core::add_listener(unique_fd socket) {
  if (stopped_)
    return;
  auto acceptor = std::make_shared<link_acceptor>(*this, std::move(socket));
  acceptors_.push_back(acceptor);
  acceptor->start();
}

void link_core::stop_listening() {
  for (auto& acceptor : acceptors_)
    acceptor->close();
  acceptors_.clear();
  for (auto& inbound : std::vector(inbound_.begin(), inbound_.end()))
    inbound->refuse(errc::peer_closing, "the node is shutting down");
}

void link_core::accepted(unique_fd fd, const std::string& remote) {
  count([](auto& c) { ++c.accepted; });
  auto socket = std::make_shared<link_socket>(io_, std::move(fd), proto::max_unproved_frame_bytes);
  if (inbound_.size() >= config_.max_pending_handshakes) {
    auto text = "more than " + std::to_string(config_.max_pending_handshakes) + " handshakes are pending";
    socket->send(encode_reject(errc::busy, text + "; try again later"));
    // Not finish(): those who flood us get no further descriptor's time.
    socket->close();
    refused(remote, {errc::busy, text});
    return;
  }
  auto inbound = std::make_shared<link_inbound>(shared_from_this(), std::move(socket));
  inbound_.insert(inbound);
  inbound->start();
}

void link_core::forget(const std::shared_ptr<link_inbound>& inbound) { inbound_.erase(inbound); }

void link_core::refused(const std::string& remote, const failure& why) {
  count([&](auto& c) { ++c.refused[why.code]; });
  note(link_event::kind::refused, remote, why.code, why.text);
}

void link_core::accept_failed(const failure& why) {
  count([](auto& c) { ++c.accept_failures; });
  note(link_event::kind::accept_failed, {}, why.code, why.text);
}

void link_core::dial(const std::string& host, std::uint16_t port, std::chrono::milliseconds deadline,
                     link_service::dial_callback done) {
  count([](auto& c) { ++c.dialled; });
  if (stopped_) {
    done(closed());
    return;
  }
  auto dial = std::make_shared<link_dial>(shared_from_this(), host, port, deadline, std::move(done));
  auto full = dials_.size() >= config_.max_pending_dials;
  dials_.insert(dial);
  if (full)
    dial->fail({errc::busy,
                "more than " + std::to_string(config_.max_pending_dials) + " dials are pending; wait for some to end"});
  else
    dial->start();
}

void link_core::forget(const std::shared_ptr<link_dial>& dial) { dials_.erase(dial); }

void link_core::dial_failed(const std::string& what, const failure& why) {
  count([&](auto& c) { ++c.dial_failed[why.code]; });
  note(link_event::kind::dial_failed, what, why.code, why.text);
}

void link_core::claim_failed(const link_identity& peer, const failure& why) {
  for (auto& dial : std::vector(dials_.begin(), dials_.end()))
    if (dial->waits_for() == peer)
      dial->fail(why);
}

// -- the books ------------------------------------------------------------------------

void link_core::note(link_event::kind what, const std::string& remote, errc code, const std::string& text) {
  if (config_.observer)
    config_.observer({what, remote, code, text});
}

template <class F>
void link_core::count(F&& f) {
  std::lock_guard guard{mutex_};
  f(counters_);
}

link_counters link_core::counters() const {
  std::lock_guard guard{mutex_};
  return counters_;
}

} // namespace troupe::transport
