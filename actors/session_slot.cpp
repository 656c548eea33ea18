// How a session comes up and how it ends.
#include <troupe/actors/session_slot.hpp>

#include <algorithm>
#include <cstring>

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/make_message.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/remote_ref.hpp>

namespace troupe {

namespace {

/// Credit is returned at once when this part of a window was consumed.
constexpr std::uint64_t urgent_fraction = 8;
/// A goodbye waits for this many looks at the lanes without anything new.
constexpr unsigned quiet_looks = 3;

std::uint64_t urgent_messages(const session_limits& x) {
  return std::max<std::uint64_t>(1, std::min({x.window_messages, x.target_window_messages, x.bulk_window_messages})
                                      / urgent_fraction);
}

std::uint64_t urgent_bytes(const session_limits& x) {
  return std::max<std::uint64_t>(1, std::min({x.window_bytes, x.target_window_bytes, x.bulk_window_bytes})
                                      / urgent_fraction);
}

/// Everything that credit and the reserves admit, and one message above its window.
transport::journal_limits journal_limits_of(const session_limits& x) {
  transport::journal_limits limits;
  limits.max_bytes = x.window_bytes + x.bulk_window_bytes + 2 * (x.reserve_bytes + x.max_message_bytes)
                     + transport::default_window * sizeof(proto::message_header);
  return limits;
}

/// The address without its port: lanes are offered where the link is.
std::string host_of(const std::string& address) {
  auto host = address.substr(0, address.rfind(':'));
  return host.size() > 1 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

} // namespace

session_slot::session_slot(progress_loop& loop, session_environment& environment,
                           std::shared_ptr<transport::link> link, std::shared_ptr<outbox> box,
                           session_observer& observer)
  : loop_(loop),
    environment_(environment),
    link_(std::move(link)),
    box_(std::move(box)),
    observer_(&observer),
    counters_(box_->counters()),
    limits_(box_->limits()),
    journal_(journal_limits_of(box_->limits())),
    progress_{loop, *this},
    chunks_(progress_),
    bulk_sends_(progress_),
    acks_({transport::default_ack_deliveries, limits_.ack_delay}),
    returns_(std::make_shared<credit_returns>(box_, urgent_messages(limits_), urgent_bytes(limits_))) {
  who_ = {link_->peer().name, link_->peer().incarnation, link_->session().low, link_->transport()};
  box_->attach(this);
}

session_slot::~session_slot() {
  *alive_ = false;
}

void session_slot::log(int level, const std::string& text) const {
  if (environment_.log)
    environment_.log(level, text);
}

session_state session_slot::state() const {
  session_state x;
  x.who = who_;
  x.up = up_ && !over_;
  x.accepted = counters_.accepted.load();
  x.ok = counters_.ok.load();
  x.failed = counters_.failed.load();
  x.canceled = counters_.canceled.load();
  x.indeterminate = counters_.indeterminate.load();
  x.refused = counters_.refused.load();
  x.bounced = counters_.bounced.load();
  x.dropped = counters_.dropped.load();
  x.encode_failed = counters_.encode_failed.load();
  x.decode_failed = counters_.decode_failed.load();
  x.unknown_target = counters_.unknown_target.load();
  x.foreign_frames = counters_.foreign_frames.load();
  x.malformed_frames = counters_.malformed_frames.load();
  x.delivered = counters_.delivered.load();
  x.batches_sent = counters_.batches_sent.load();
  x.bulk_sent = counters_.bulk_sent.load();
  x.bytes_sent = counters_.bytes_sent.load();
  x.bytes_received = counters_.bytes_received.load();
  x.journal_entries = journal_.size();
  x.journal_bytes = journal_.bytes();
  x.held_back = window_.held_count();
  x.exports = exports_.size();
  x.references = references_.size();
  x.pending_requests = pending_.size();
  return x;
}

// -- bring-up ----------------------------------------------------------------------------

void session_slot::start() {
  v1::LinkFrame frame;
  auto* table = frame.mutable_type_table();
  for (auto& name : box_->encoder().types().names())
    table->add_names(name);
  link_->send(frame);
  loop_.after(limits_.lanes_deadline, [this, alive = alive_] {
    if (*alive && !up_)
      end(make_error(errc::timed_out, "the lanes to " + who_.name + " did not come up in time"), false);
  });
}

void session_slot::open(lanes& epoch) {
  if (over_)
    return;
  lanes_ = &epoch;
  say_lane_offer();
  if (offer_pending_)
    take_lane_offer(offer_);
}

void session_slot::open_failed(errc why, const std::string& text) {
  v1::LinkFrame frame;
  auto* failed = frame.mutable_lane_failed();
  failed->set_epoch(1);
  failed->set_code(static_cast<std::uint32_t>(why));
  failed->set_text(text);
  link_->send(frame);
  end(make_error(why, text), false);
}

void session_slot::say_lane_offer() {
  v1::LinkFrame frame;
  auto* offer = frame.mutable_lane_offer();
  auto& ours = lanes_->ours();
  offer->set_epoch(lanes_->epoch());
  offer->set_transport(who_.transport);
  offer->set_epoch_key(ours.key);
  offer->set_message_ticket(ours.message_ticket.data(), ours.message_ticket.size());
  offer->set_bulk_ticket(ours.bulk_ticket.data(), ours.bulk_ticket.size());
  if (lanes_->transport() == transport::lane_transport::shm) {
    auto address = lanes_->worker().worker().address();
    offer->set_worker_address(address.data(), address.size());
  } else if (!link_->dialled_by_us()) { // the link's dialler dials the lanes, too
    auto address = lanes_->worker().expect(*lanes_, host_of(link_->local_address()));
    if (!address)
      return open_failed(address.error().code, address.error().text);
    offer->set_host(address->ip());
    offer->set_port(address->port());
  }
  link_->send(frame);
}

void session_slot::take_lane_offer(const v1::LaneOffer& offer) {
  if (lanes_ == nullptr) { // ours are still being made
    offer_ = offer;
    offer_pending_ = true;
    return;
  }
  offer_pending_ = false;
  lane_credentials theirs;
  if (offer.epoch() != lanes_->epoch() || offer.transport() != who_.transport
      || offer.message_ticket().size() != proto::ticket_size || offer.bulk_ticket().size() != proto::ticket_size)
    return violation("a lane offer that does not fit");
  theirs.key = offer.epoch_key();
  std::memcpy(theirs.message_ticket.data(), offer.message_ticket().data(), proto::ticket_size);
  std::memcpy(theirs.bulk_ticket.data(), offer.bulk_ticket().data(), proto::ticket_size);
  if (lanes_->transport() == transport::lane_transport::shm) {
    auto opened = lanes_->connect(std::as_bytes(std::span{offer.worker_address()}), theirs);
    if (!opened)
      open_failed(opened.error().code, opened.error().text);
  } else if (link_->dialled_by_us()) {
    auto address = transport::socket_address::from(offer.host(), static_cast<std::uint16_t>(offer.port()));
    if (!address)
      return open_failed(address.error().code, address.error().text);
    auto opened = lanes_->connect(*address, theirs);
    if (!opened)
      open_failed(opened.error().code, opened.error().text);
  } else {
    lanes_->expect(theirs);
  }
}

void session_slot::on_lanes_reached() {
  reached_ = true;
  v1::LinkFrame frame;
  frame.mutable_lanes_up()->set_epoch(lanes_->epoch());
  link_->send(frame);
  come_up_if_ready();
}

void session_slot::come_up_if_ready() {
  if (up_ || over_ || !reached_ || !peer_reached_ || !have_types_ || lanes_ == nullptr)
    return;
  up_ = true;
  loop_.call_at_turn_end(*this);
  if (observer_ != nullptr)
    observer_->on_session_up();
}

void session_slot::on_link_frame(const v1::LinkFrame& frame) {
  if (over_)
    return;
  switch (frame.kind_case()) {
    case v1::LinkFrame::kTypeTable: {
      auto& names = frame.type_table().names();
      auto types = peer_types::match(box_->encoder().types(), {names.begin(), names.end()});
      if (!types)
        return end(std::move(types.error()), false);
      types_ = std::move(*types);
      have_types_ = true;
      come_up_if_ready();
      break;
    }
    case v1::LinkFrame::kLaneOffer:
      take_lane_offer(frame.lane_offer());
      break;
    case v1::LinkFrame::kLanesUp:
      peer_reached_ = true;
      come_up_if_ready();
      break;
    case v1::LinkFrame::kLaneFailed:
      end(make_error(errc::unreachable, who_.name + " could not open its lanes: " + frame.lane_failed().text()), false);
      break;
    case v1::LinkFrame::kGoodbye:
      take_goodbye(frame.goodbye());
      break;
    case v1::LinkFrame::kGoodbyeAck:
      if (goodbye_said_)
        end(make_error(errc::peer_closing, closing_reason_), false);
      break;
    default:
      violation("a control frame that does not belong here");
  }
}

void session_slot::on_link_progress(bool stalled) {
  if (observer_ != nullptr)
    observer_->on_session_stalled(stalled);
}

// -- the end --------------------------------------------------------------------------------

void session_slot::close_gracefully(std::string reason) {
  if (over_ || closing_)
    return;
  closing_reason_ = std::move(reason);
  if (!up_)
    return end(make_error(errc::peer_closing, closing_reason_), false);
  take_outbox();
  closing_ = true;
  loop_.after(limits_.goodbye_deadline, [this, alive = alive_] {
    if (*alive)
      end(make_error(errc::peer_closing, closing_reason_ + " (" + who_.name + " did not acknowledge)"), false);
  });
  loop_.call_at_turn_end(*this);
  say_goodbye_if_ready();
}

void session_slot::say_goodbye_if_ready() {
  if (goodbye_said_ || !closing_ || over_ || journal_.size() != 0)
    return;
  goodbye_said_ = true;
  link_->goodbye(journal_.next_seq() - 1, errc::peer_closing, closing_reason_);
}

void session_slot::take_goodbye(const v1::Goodbye& goodbye) {
  goodbye_last_ = goodbye.last_sequence();
  goodbye_reason_ = goodbye.reason();
  auto known = goodbye.code() <= 0xff && is_errc(static_cast<std::uint8_t>(goodbye.code()));
  goodbye_code_ = known ? static_cast<errc>(goodbye.code()) : errc::peer_closing;
  goodbye_heard_ = true;
  if (goodbye_code_ != errc::peer_closing) // it gave up on us: nothing more will come, and nobody waits for an answer
    return end(make_error(goodbye_code_, who_.name + " ended the session: " + goodbye_reason_), true);
  loop_.after(limits_.goodbye_deadline, [this, alive = alive_] {
    if (*alive)
      end(make_error(errc::peer_closing, goodbye_reason_), true);
  });
  answer_goodbye_if_ready();
}

void session_slot::answer_goodbye_if_ready() {
  if (!goodbye_heard_ || over_ || ending_ || window_.cumulative() < goodbye_last_)
    return;
  v1::LinkFrame frame;
  frame.mutable_goodbye_ack()->set_last_received(window_.cumulative());
  link_->send(frame);
  loop_.post([this, alive = alive_] { // may be called while UCX's messages are being walked through
    if (*alive)
      end(make_error(errc::peer_closing, goodbye_reason_), false);
  });
  goodbye_heard_ = false;
}

void session_slot::on_link_down(const transport::link_down& why) {
  end(make_error(why.cause, who_.name + ": " + why.text), why.peer_dead);
}

void session_slot::on_lanes_drained() {
  if (goodbye_heard_)
    answer_goodbye_if_ready();
}

void session_slot::on_lanes_failed_later(errc why) {
  if (lanes_ != nullptr)
    lanes_->fail(why, "sending on a lane failed");
}

void session_slot::on_lanes_failed(errc why, const std::string& text) {
  // A killed process shows on its lanes and its link at about the same time: let the link say whether it is dead.
  if (over_ || ending_ || lane_failure_seen_)
    return;
  lane_failure_seen_ = true;
  loop_.after(std::chrono::milliseconds{5}, [this, alive = alive_, why, text] {
    if (*alive)
      end(make_error(why == errc::canceled ? errc::peer_reset : why, "the lanes to " + who_.name + ": " + text), true);
  });
}

void session_slot::on_lanes_closed() {
  lanes_ = nullptr;
  if (!over_ && !ending_)
    loop_.post([this, alive = alive_] {
      if (*alive)
        end(make_error(errc::peer_reset, "the lanes to " + who_.name + " were closed"), false);
    });
}

void session_slot::drain_last_frames() {
  if (lanes_ == nullptr)
    return;
  auto deadline = std::chrono::steady_clock::now() + limits_.last_frames;
  for (unsigned quiet = 0; quiet < quiet_looks && std::chrono::steady_clock::now() < deadline;) {
    quiet = lanes_->worker().pump() == 0 ? quiet + 1 : 0;
    finish_bulk_receives();
  }
}

void session_slot::end(caf::error why, bool peer_is_gone) {
  if (ending_)
    return;
  ending_ = true;
  if (up_)
    drain_last_frames();
  over_ = true;
  log(peer_is_gone ? 2 : 1, "the session with " + who_.name + " is over: " + explain(why));
  box_->close(why);
  box_->attach(nullptr);
  returns_->close();
  // The downs of the peer's actors, behind their last messages ...
  auto unreachable = caf::make_error(caf::exit_reason::remote_link_unreachable);
  last_sender_ = nullptr;
  auto references = std::move(references_);
  references_.clear();
  for (auto& [id, ref] : references)
    if (ref)
      static_cast<remote_ref*>(ref->get())->kill_proxy(&loop_, unreachable);
  environment_.proxies->erase(box_->peer());
  // ... then the node's own.
  if (observer_ != nullptr)
    observer_->on_session_over(why);
  settle_send_side(why);
  window_.drop_held([this](std::uint64_t, incoming&&) { counters_.dropped.add(); });
  exports_.clear();
  if (auto code = code_of(why); code == errc::timed_out || code == errc::protocol_error)
    link_->goodbye(0, code_of(why), "the session was given up");
  link_->close(code_of(why), text_of(why));
}

void session_slot::settle_send_side(const caf::error& why) {
  auto pending = std::move(pending_);
  pending_.clear();
  for (auto& [key, sender] : pending)
    sender->enqueue(nullptr, caf::message_id{key.message_id}, caf::make_message(why), &loop_);
  journal_.fail_all([this](std::uint64_t, outgoing&& x) { finish(x, errc::indeterminate); });
  pairs_.clear();
  for (auto& x : batches_) { // never reached UCX
    --x.where->in_flight;
    chunks_.release_if_done(*x.where);
  }
  batches_.clear();
  for (auto* x : bulk_queue_)
    bulk_sends_.release(*x);
  bulk_queue_.clear();
}

void session_slot::begin_close() {
  // The lanes have settled, and the session actor is gone, perhaps by force.
  observer_ = nullptr;
  end(make_error(errc::peer_closing, "the session's actor ended"), false);
}

} // namespace troupe
