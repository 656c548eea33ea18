#include <troupe/transport/link_state.hpp>

#include <algorithm>

#include <asio/post.hpp>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/link_core.hpp>
#include <troupe/transport/process_watch.hpp>

namespace troupe::transport {

namespace {

std::string in_ms(std::chrono::steady_clock::duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

bool for_the_user(const v1::LinkFrame& frame) {
  switch (frame.kind_case()) {
  case v1::LinkFrame::kGoodbye:
  case v1::LinkFrame::kGoodbyeAck:
  case v1::LinkFrame::kTypeTable:
  case v1::LinkFrame::kLaneOffer:
  case v1::LinkFrame::kLanesUp:
  case v1::LinkFrame::kLaneFailed:
    return true;
  default:
    return false;
  }
}

v1::LinkFrame make_goodbye(std::uint64_t last_sequence, errc code, const std::string& reason) {
  v1::LinkFrame out;
  out.mutable_goodbye()->set_last_sequence(last_sequence);
  out.mutable_goodbye()->set_code(static_cast<std::uint32_t>(code));
  out.mutable_goodbye()->set_reason(proto::clean_link_text(reason));
  return out;
}

} // namespace

link_state::link_state(std::shared_ptr<link_core> core, std::shared_ptr<link_socket> socket, link_peer peer,
                       link_terms terms, bool dialled_by_us)
    : core_(std::move(core)), socket_(std::move(socket)), peer_(std::move(peer)), terms_(std::move(terms)),
      dialled_by_us_(dialled_by_us), local_(socket_->local()), remote_(socket_->remote()), beat_timer_(core_->io()),
      silence_timer_(core_->io()), exit_timer_(core_->io()), process_(core_->io()),
      interval_(std::max(min_heartbeat, std::min(core_->offer().heartbeat, peer_.down_after / 4))),
      last_heard_(clock::now()) {}

void link_state::start(const std::shared_ptr<link>& self) {
  self_ = self;
  watch_process();
  watch_silence(core_->offer().down_after);
  beat();
}

// -- the user's side ------------------------------------------------------------

void link_state::set_handler(std::shared_ptr<link_handler> handler) {
  // Within the accept handler it counts from now on: more may be read before a posted function gets its turn.
  if (core_->on_thread())
    take_handler(handler);
  core_->post([self = shared_from_this(), handler = std::move(handler)] {
    self->take_handler(handler);
    self->serve_handler();
  });
}

// One that comes after the down was told would be kept for ever, and may keep its link.
void link_state::take_handler(const std::shared_ptr<link_handler>& handler) {
  if (!told_)
    handler_ = handler;
}

bool link_state::send(const v1::LinkFrame& frame) {
  if (down_ || !for_the_user(frame))
    return false;
  std::string bytes;
  if (!proto::encode_link_frame(frame, bytes))
    return false;
  {
    std::lock_guard guard{mutex_};
    if (outgoing_.size() + socket_->queued() + bytes.size() <= max_link_outgoing_bytes) {
      outgoing_ += bytes;
      if (std::exchange(flushing_, true))
        return true;
      return core_->post([self = shared_from_this()] { self->flush(); });
    }
  }
  close(errc::exceeds_limit, "more than " + std::to_string(max_link_outgoing_bytes) + " bytes wait for node '" +
                                 peer_.name + "', which does not read them");
  return false;
}

void link_state::close(errc code, const std::string& text) {
  core_->post([self = shared_from_this(), why = link_down{code, text, false}] {
    self->flush();
    self->down(why);
  });
}

void link_state::flush() {
  std::string bytes;
  {
    std::lock_guard guard{mutex_};
    bytes.swap(outgoing_);
    flushing_ = false;
  }
  if (!down_ && !bytes.empty() && !socket_->send(bytes))
    broke(errc::exceeds_limit, "more than " + std::to_string(max_link_outgoing_bytes) + " bytes wait for the peer");
}

void link_state::hand_to_user(v1::LinkFrame&& frame) {
  if (handler_ && unhandled_.empty()) {
    auto handler = handler_;
    handler->on_frame(frame);
    return;
  }
  unhandled_bytes_ += frame.ByteSizeLong();
  unhandled_.push_back(std::move(frame));
  if (unhandled_.size() > max_link_unhandled_frames || unhandled_bytes_ > max_link_unhandled_bytes)
    broke(errc::exceeds_limit,
          "more than " + std::to_string(max_link_unhandled_frames) + " frames came before anyone took them");
}

void link_state::serve_handler() {
  auto handler = handler_;
  if (!handler)
    return;
  while (!unhandled_.empty()) {
    auto frame = std::move(unhandled_.front());
    unhandled_.pop_front();
    handler->on_frame(frame);
  }
  unhandled_bytes_ = 0;
  if (stalled_)
    handler->on_progress(peer_progress_, true);
  if (!unhandled_down_)
    return;
  auto why = std::move(*unhandled_down_);
  unhandled_down_.reset();
  tell_down(why);
}

void link_state::tell_down(const link_down& why) {
  told_ = true;
  auto handler = std::exchange(handler_, nullptr);
  handler->on_down(why);
}

// -- frames ---------------------------------------------------------------------

void link_state::on_frame(std::span<const std::byte> body) {
  heard();
  v1::LinkFrame frame;
  std::string_view reason;
  if (!proto::decode_link_frame(body, frame, reason)) {
    broke(errc::decode_failed, "a frame cannot be read: " + std::string{reason});
    return;
  }
  switch (frame.kind_case()) {
  case v1::LinkFrame::kHeartbeat:
    take_heartbeat(frame.heartbeat());
    return;
  case v1::LinkFrame::kPing: {
    v1::LinkFrame pong;
    pong.mutable_pong()->set_id(frame.ping().id());
    transmit(pong);
    return;
  }
  case v1::LinkFrame::kPong:
    answered(frame.pong().id(), true);
    return;
  case v1::LinkFrame::kGoodbye:
    goodbye_ = frame.goodbye();
    break;
  default:
    break;
  }
  if (for_the_user(frame))
    hand_to_user(std::move(frame));
  else
    broke(errc::protocol_error, "a frame of the handshake came after it");
}

bool link_state::transmit(const v1::LinkFrame& frame) {
  std::string bytes;
  if (proto::encode_link_frame(frame, bytes) && socket_->send(bytes))
    return true;
  broke(errc::exceeds_limit, "more than " + std::to_string(max_link_outgoing_bytes) + " bytes wait for the peer");
  return false;
}

void link_state::broke(errc code, const std::string& text) {
  auto parting = make_goodbye(0, code, text);
  down({code, "link to node '" + peer_.name + "' closed: " + text, false}, &parting);
}

// -- is the peer alive? -----------------------------------------------------------

void link_state::heard() {
  last_heard_ = clock::now();
  grace_used_ = false;
}

void link_state::beat() {
  if (down_ || lost_)
    return;
  v1::LinkFrame frame;
  frame.mutable_heartbeat()->set_sequence(++beats_);
  if (core_->config().progress)
    frame.mutable_heartbeat()->set_progress(core_->config().progress());
  if (!transmit(frame))
    return;
  beat_timer_.expires_after(interval_);
  beat_timer_.async_wait([self = shared_from_this()](const asio::error_code& why) {
    if (!why)
      self->beat();
  });
}

void link_state::take_heartbeat(const v1::Heartbeat& beat) {
  // 0: the peer does not tell.
  unmoved_ = beat.progress() != 0 && beat.progress() == peer_progress_ ? unmoved_ + 1 : 0;
  peer_progress_ = beat.progress();
  auto stalled = unmoved_ >= 2;
  if (stalled == stalled_)
    return;
  stalled_ = stalled;
  if (handler_ && unhandled_.empty()) {
    auto handler = handler_;
    handler->on_progress(peer_progress_, stalled);
  }
}

void link_state::watch_silence(clock::duration wait) {
  silence_timer_.expires_after(wait);
  silence_timer_.async_wait([self = shared_from_this()](const asio::error_code& why) {
    if (!why)
      self->check_silence();
  });
}

void link_state::check_silence() {
  if (down_ || lost_)
    return;
  auto now = clock::now();
  auto limit = core_->offer().down_after;
  auto due = last_heard_ + limit;
  if (now < due) {
    watch_silence(due - now);
    return;
  }
  // If it was this process that did not run, the peer's heartbeats wait in the socket, or are about to come.
  auto late = now - silence_timer_.expiry() > limit / 4;
  if ((late || socket_->readable()) && !grace_used_) {
    grace_used_ = true;
    watch_silence(limit / 4);
    return;
  }
  auto text = "nothing heard for " + in_ms(now - last_heard_);
  auto parting = make_goodbye(0, errc::timed_out, "declared dead: " + text);
  down({errc::timed_out, "node '" + peer_.name + "' is dead: " + text + ", the limit is " + in_ms(limit), true},
       &parting);
}

void link_state::watch_process() {
  if (!peer_.same_host || peer_.host.process == core_->offer().host.process)
    return;
  auto watch = process_watch::open(peer_.host.process);
  if (!watch)
    return;
  auto fd = std::move(*watch).release();
  asio::error_code why;
  process_.assign(fd.get(), why);
  if (why)
    return;
  static_cast<void>(fd.release());
  process_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const asio::error_code& error) {
                        if (!error)
                          self->process_ended();
                      });
}

void link_state::process_ended() {
  if (down_)
    return;
  // What it sent before it died comes first; that may include its goodbye.
  socket_->drain();
  if (down_)
    return;
  auto pid = std::to_string(peer_.pid());
  down({errc::peer_dead, "node '" + peer_.name + "' is dead: its process " + pid + " ended without a goodbye", true});
}

void link_state::on_end(failure why) {
  if (down_)
    return;
  if (why.code != errc::peer_reset) {
    broke(why.code, why.text);
    return;
  }
  auto told = goodbye_ ? proto::clean_link_text(goodbye_->reason()) : std::string{};
  if (goodbye_ && goodbye_->code() == static_cast<std::uint32_t>(errc::timed_out)) {
    down({errc::peer_reset, "node '" + peer_.name + "' closed the link: " + told, false});
    return;
  }
  if (goodbye_) {
    down({errc::peer_closing, "node '" + peer_.name + "' said goodbye" + (told.empty() ? "" : ": " + told), true});
    return;
  }
  if (!process_.is_open()) {
    auto dead = peer_.same_host && runs(peer_.host.process) == false;
    down({dead ? errc::peer_dead : errc::peer_reset,
          "link to node '" + peer_.name + "' lost: " + why.text + (dead ? ", and its process is gone" : ""), dead});
    return;
  }
  // The pidfd tells within moments if the process is what ended.
  lost_ = std::move(why);
  await_exit(exiting(peer_.host.process) ? process_exit_wait : process_exit_grace);
}

void link_state::await_exit(clock::duration wait) {
  exit_timer_.expires_after(wait);
  exit_timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->down_)
      self->down({errc::peer_reset,
                  "link to node '" + self->peer_.name + "' lost: " + self->lost_->text + ", though its process runs",
                  false});
  });
}

void link_state::probe(std::function<void(bool)> done) {
  if (down_) {
    done(false);
    return;
  }
  auto id = ++probe_ids_;
  auto entry = std::make_shared<probing>(probing{id, asio::steady_timer{core_->io()}, std::move(done)});
  probes_.push_back(entry);
  entry->timer.expires_after(link_probe_wait);
  entry->timer.async_wait([self = shared_from_this(), id](const asio::error_code& why) {
    if (!why)
      self->answered(id, false);
  });
  if (lost_)
    return; // on_down is near, or the timer
  v1::LinkFrame ping;
  ping.mutable_ping()->set_id(id);
  transmit(ping);
}

void link_state::answered(std::uint64_t id, bool alive) {
  auto at = std::find_if(probes_.begin(), probes_.end(), [id](const auto& entry) { return entry->id == id; });
  if (at == probes_.end())
    return;
  auto entry = *at;
  probes_.erase(at);
  entry->timer.cancel();
  entry->done(alive);
}

// -- the end ----------------------------------------------------------------------

void link_state::down(link_down why, const v1::LinkFrame* parting) {
  if (down_.exchange(true))
    return;
  auto keep = shared_from_this();
  if (std::string bytes; parting != nullptr && proto::encode_link_frame(*parting, bytes))
    socket_->send(bytes);
  socket_->finish();
  beat_timer_.cancel();
  silence_timer_.cancel();
  exit_timer_.cancel();
  asio::error_code ignored;
  process_.close(ignored);
  if (auto self = self_.lock())
    core_->table().remove(peer_.identity(), self.get());
  core_->gone(*this, why);
  for (auto probes = std::move(probes_); auto& entry : probes) {
    entry->timer.cancel();
    entry->done(false);
  }
  if (handler_ && unhandled_.empty())
    tell_down(why);
  else
    unhandled_down_ = std::move(why);
}

} // namespace troupe::transport
