#include <troupe/transport/link_dial.hpp>

#include <algorithm>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/link_core.hpp>
#include <troupe/transport/link_state.hpp>
#include <troupe/transport/tcp_socket.hpp>

namespace troupe::transport {

namespace {

std::string in_ms(std::chrono::milliseconds time) { return std::to_string(time.count()) + " ms"; }

std::string host_and_port(const std::string& host, std::uint16_t port) {
  auto bracketed = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return proto::clean_link_text(bracketed) + ":" + std::to_string(port);
}

} // namespace

link_dial::link_dial(std::shared_ptr<link_core> core, const std::string& host, std::uint16_t port,
                     std::chrono::milliseconds deadline, link_service::dial_callback done)
    : core_(std::move(core)), host_(host), port_(port), what_(host_and_port(host, port)), allowed_(deadline),
      done_(std::move(done)), deadline_(core_->io()), step_timer_(core_->io()), connecting_(core_->io()) {}

void link_dial::start() {
  deadline_.expires_after(allowed_);
  deadline_.async_wait([self = shared_from_this()](const asio::error_code& why) {
    if (!why)
      self->fail({errc::timed_out, "cannot reach node at " + self->what_ + ": no answer within " +
                                       in_ms(self->allowed_) + " while " + self->stage_ +
                                       "; check the address, and that the node runs"});
  });
  // The helper thread may be done long after this dial and its service are.
  core_->lookups().start(host_, port_,
                         [weak = weak_from_this(), core = std::weak_ptr{core_}](result<address_list> addresses) {
                           if (auto alive = core.lock())
                             alive->post([weak, addresses = std::move(addresses)]() mutable {
                               if (auto self = weak.lock())
                                 self->resolved(std::move(addresses));
                             });
                         });
}

// -- connecting -------------------------------------------------------------------

void link_dial::resolved(result<address_list> addresses) {
  if (!done_)
    return;
  if (!addresses) {
    fail(addresses.error());
    return;
  }
  addresses_ = std::move(*addresses);
  connect_next();
}

void link_dial::connect_next() {
  if (next_address_ == addresses_.size()) {
    fail(last_failure_);
    return;
  }
  stage_ = "connecting";
  const auto& address = addresses_[next_address_++];
  auto socket = connect_tcp(address);
  if (!socket) {
    connection_failed(socket.error());
    return;
  }
  asio::error_code why;
  connecting_.assign(socket->get(), why);
  if (why) {
    connection_failed({errc::no_resource, "cannot connect to " + address.to_string() + ": " + why.message()});
    return;
  }
  static_cast<void>(socket->release());
  await_connection();
}

void link_dial::await_connection() {
  // An address that does not answer leaves time for those behind it.
  if (next_address_ < addresses_.size())
    limit_step(allowed_ / static_cast<int>(addresses_.size()));
  connecting_.async_wait(
      asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](const asio::error_code& why) {
        if (why || !self->done_ || !self->connecting_.is_open())
          return;
        self->step_timer_.cancel();
        auto outcome = connect_outcome(self->connecting_.native_handle(), self->addresses_[self->next_address_ - 1]);
        if (outcome.code == errc::ok)
          self->shake_hands();
        else
          self->connection_failed(std::move(outcome));
      });
}

void link_dial::connection_failed(failure why) {
  asio::error_code ignored;
  connecting_.close(ignored);
  last_failure_ = std::move(why);
  connect_next();
}

void link_dial::limit_step(std::chrono::milliseconds most) {
  step_timer_.expires_after(most);
  step_timer_.async_wait([self = shared_from_this(), most](const asio::error_code& why) {
    if (why || !self->done_)
      return;
    failure late{errc::timed_out, "cannot reach node at " + self->what_ + ": no answer within " + in_ms(most) +
                                      " while " + self->stage_ + "; check what listens there"};
    if (self->socket_)
      self->fail(std::move(late));
    else
      self->connection_failed(std::move(late));
  });
}

// -- shaking hands ------------------------------------------------------------------

void link_dial::shake_hands() {
  stage_ = "shaking hands";
  unique_fd fd{connecting_.release()};
  socket_ = std::make_shared<link_socket>(core_->io(), std::move(fd), proto::max_unproved_frame_bytes);
  handshake_.emplace(handshake::dialler(core_->offer(), core_->config().secret));
  limit_step(core_->config().handshake_deadline);
  socket_->start(shared_from_this());
  socket_->send(handshake_->opening());
}

void link_dial::on_frame(std::span<const std::byte> body) {
  std::string out;
  switch (handshake_->take(body, out)) {
  case handshake::step::peer_known:
    peer_known();
    break;
  case handshake::step::settled:
    settled();
    break;
  default:
    socket_->send(out);
    fail({handshake_->why().code, "no link to node at " + what_ + ": " + handshake_->why().text});
    break;
  }
}

void link_dial::on_end(failure why) {
  fail({why.code, "no link to node at " + what_ + ": " + why.text + " during the handshake; check what listens there"});
}

void link_dial::peer_known() {
  using outbound = link_table<link>::outbound;
  auto who = handshake_->peer().identity();
  auto& table = core_->table();
  // A link that has just lost its connection is none to be content with.
  if (auto old = table.find(who); old && link_core::state_of(old).lost())
    link_core::state_of(old).down({errc::peer_reset, "link to node '" + who.name + "' lost, and dialled again", false});
  auto advice = table.on_hello(who);
  // A namesake that was probed and stayed silent is dead as soon as this peer has proved who it is, not before.
  if (advice == outbound::probe && silent_namesake_ && silent_namesake_ == table.namesake(who))
    advice = outbound::prove;
  std::string out;
  switch (advice) {
  case outbound::prove:
    table.claim(who);
    claimed_ = true;
    handshake_->prove(false, core_->next_serial(), out);
    break;
  case outbound::exists:
  case outbound::join:
    handshake_->prove(true, core_->next_serial(), out);
    break;
  case outbound::probe: {
    auto old = table.namesake(who);
    link_core::state_of(old).probe([self = shared_from_this(), old, who](bool alive) {
      if (!self->done_)
        return;
      if (alive) {
        self->fail({errc::name_in_use, "no link to node at " + self->what_ + ": it is called '" + who.name +
                                           "', and so is another node this one is linked to; rename one of them"});
        return;
      }
      self->silent_namesake_ = old;
      self->peer_known();
    });
    return;
  }
  case outbound::full:
    fail({errc::no_resource, "no link to node at " + what_ + ": this node has its maximum of " +
                                 std::to_string(core_->config().max_links) + " links; raise the limit, or close some"});
    return;
  }
  socket_->send(out);
}

void link_dial::settled() {
  auto who = handshake_->peer().identity();
  switch (handshake_->terms().result) {
  case link_terms::outcome::established:
    established();
    break;
  case link_terms::outcome::verified:
    socket_->finish();
    // What this dial counted on, a link or another dial, may have come to its end meanwhile.
    if (!core_->table().find(who) && !core_->table().claimed(who)) {
      start_over();
      break;
    }
    wait_for(who);
    break;
  case link_terms::outcome::deferred:
    socket_->finish();
    release_claim();
    wait_for(who);
    break;
  }
}

void link_dial::start_over() {
  step_timer_.cancel();
  socket_ = nullptr;
  --next_address_;
  connect_next();
}

void link_dial::established() {
  auto who = handshake_->peer().identity();
  auto& table = core_->table();
  if (auto old = table.namesake(who); old && old == silent_namesake_)
    link_core::state_of(old).down(
        {errc::stale_incarnation,
         "node '" + who.name + "' is dead: another process has its name, and it did not answer", true});
  if (table.namesake(who)) {
    fail({errc::name_in_use, "no link to node at " + what_ + ": it is called '" + who.name +
                                 "', and so is another node this one is linked to; rename one of them"});
    return;
  }
  release_claim();
  if (table.find(who)) {
    // Not between nodes that keep to the rules of link_table.
    socket_->close();
    wait_for(who);
    return;
  }
  auto keep = shared_from_this();
  auto made = core_->bring_up(std::exchange(socket_, nullptr), *handshake_, true);
  succeed(made);
}

void link_dial::wait_for(const link_identity& peer) {
  step_timer_.cancel();
  if (auto existing = core_->table().find(peer)) {
    succeed(existing);
    return;
  }
  stage_ = "waiting for a link that another dial makes";
  waits_for_ = peer;
}

void link_dial::release_claim() {
  if (std::exchange(claimed_, false))
    core_->table().release(handshake_->peer().identity());
}

// -- the answer -------------------------------------------------------------------------

void link_dial::succeed(const std::shared_ptr<link>& which) {
  if (!done_)
    return;
  auto keep = shared_from_this();
  auto done = std::exchange(done_, nullptr);
  let_go();
  done(which);
}

void link_dial::fail(failure why) {
  if (!done_)
    return;
  auto keep = shared_from_this();
  auto done = std::exchange(done_, nullptr);
  auto held = claimed_;
  release_claim();
  let_go();
  core_->dial_failed(what_, why);
  if (held)
    core_->claim_failed(handshake_->peer().identity(), why);
  done(std::move(why));
}

void link_dial::let_go() {
  release_claim();
  deadline_.cancel();
  step_timer_.cancel();
  asio::error_code ignored;
  connecting_.close(ignored);
  if (socket_)
    socket_->finish();
  waits_for_.reset();
  silent_namesake_ = nullptr;
  core_->forget(shared_from_this());
}

} // namespace troupe::transport
