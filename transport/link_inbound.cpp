#include <troupe/transport/link_inbound.hpp>

#include <troupe/transport/link_core.hpp>
#include <troupe/transport/link_state.hpp>

namespace troupe::transport {

link_inbound::link_inbound(std::shared_ptr<link_core> core, std::shared_ptr<link_socket> socket)
    : core_(std::move(core)), socket_(std::move(socket)),
      handshake_(handshake::acceptor(core_->offer(), core_->config().secret)), deadline_(core_->io()) {}

void link_inbound::start() {
  deadline_.expires_after(core_->config().handshake_deadline);
  deadline_.async_wait([self = shared_from_this()](const asio::error_code& why) {
    if (!why)
      self->refuse(errc::timed_out,
                   "no handshake within " + std::to_string(self->core_->config().handshake_deadline.count()) + " ms");
  });
  socket_->start(shared_from_this());
}

void link_inbound::on_frame(std::span<const std::byte> body) {
  std::string out;
  switch (handshake_.take(body, out)) {
  case handshake::step::more:
    socket_->send(out);
    break;
  case handshake::step::peer_proved:
    decide();
    break;
  default:
    finish(handshake_.why(), out);
    break;
  }
}

void link_inbound::on_end(failure why) { finish({why.code, "no handshake: " + why.text}, {}); }

void link_inbound::refuse(errc code, const std::string& text) {
  if (done_)
    return;
  std::string out;
  handshake_.refuse(code, text, out);
  finish(handshake_.why(), out);
}

void link_inbound::decide() {
  using inbound = link_table<link>::inbound;
  if (handshake_.verify_only()) {
    welcome(link_terms::outcome::verified);
    return;
  }
  auto who = handshake_.peer().identity();
  auto& table = core_->table();
  switch (table.on_proof(who, handshake_.peer_serial())) {
  case inbound::accept:
    welcome(link_terms::outcome::established);
    return;
  case inbound::defer:
    welcome(link_terms::outcome::deferred);
    return;
  case inbound::replace: {
    auto old = table.find(who);
    link_core::state_of(old).down(
        {errc::peer_reset, "link to node '" + who.name + "' lost: the peer dialled again, it has lost the old one",
         false});
    // The one whose link it was may have asked for anything meanwhile.
    decide();
    return;
  }
  case inbound::probe: {
    auto old = table.namesake(who);
    link_core::state_of(old).probe([self = shared_from_this(), old, who](bool alive) {
      if (self->done_)
        return;
      if (alive) {
        self->refuse(errc::name_in_use, "the name '" + who.name +
                                            "' belongs to another process that is alive; give "
                                            "this node another name");
        return;
      }
      link_core::state_of(old).down(
          {errc::stale_incarnation,
           "node '" + who.name + "' is dead: another process has its name, and it did not answer", true});
      self->decide();
    });
    return;
  }
  case inbound::full:
    refuse(errc::no_resource, "this node has its maximum of " + std::to_string(core_->config().max_links) +
                                  " links; raise the limit, or close some");
    return;
  }
}

void link_inbound::welcome(link_terms::outcome result) {
  std::string out;
  if (handshake_.welcome(result, core_->next_serial(), out) != handshake::step::settled) {
    finish(handshake_.why(), out);
    return;
  }
  if (result != link_terms::outcome::established) {
    finish({errc::ok, {}}, out);
    return;
  }
  done_ = true;
  deadline_.cancel();
  auto keep = shared_from_this();
  core_->forget(keep);
  socket_->send(out);
  core_->bring_up(socket_, handshake_, false);
}

void link_inbound::finish(const failure& why, const std::string& reply) {
  if (done_)
    return;
  done_ = true;
  deadline_.cancel();
  auto keep = shared_from_this();
  core_->forget(keep);
  if (why.code != errc::ok)
    core_->refused(socket_->remote(), why);
  if (reply.empty()) {
    socket_->close();
    return;
  }
  socket_->send(reply);
  socket_->finish();
}

} // namespace troupe::transport
