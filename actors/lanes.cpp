#include <troupe/actors/lanes.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <troupe/actors/progress_loop.hpp>
#include <troupe/transport/hmac.hpp>

namespace troupe {

lane_credentials lane_credentials::make() {
  lane_credentials x;
  transport::fill_random(std::as_writable_bytes(std::span{&x.key, 1}));
  transport::fill_random(x.message_ticket);
  transport::fill_random(x.bulk_ticket);
  return x;
}

lanes::lanes(progress_loop& loop, lease<worker_slot> worker, lanes_owner& owner, lease_base keep, std::uint32_t epoch,
             lane_credentials ours)
  : loop_(loop), worker_(std::move(worker)), keep_(std::move(keep)), epoch_(epoch), ours_(ours), owner_(&owner) {
  worker_->add(*this, ours_.key);
}

lanes::~lanes() {
  *alive_ = false;
  message_.reset();
  bulk_.reset();
  if (auto* worker = worker_.get()) {
    worker->remove(*this);
    if (message_opening_.pending || bulk_opening_.pending)
      worker->worker().abandon();
  }
}

result<std::uint32_t> lanes::connect(std::span<const std::byte> address, const lane_credentials& theirs) {
  theirs_ = theirs;
  auto message = worker_->worker().connect(address);
  if (!message)
    return message.error();
  auto bulk = worker_->worker().connect(address);
  if (!bulk)
    return bulk.error();
  message_ = std::move(*message);
  bulk_ = std::move(*bulk);
  show_tickets(transport::send_flags::none);
  return epoch_;
}

result<std::uint32_t> lanes::connect(const transport::socket_address& address, const lane_credentials& theirs) {
  theirs_ = theirs;
  auto message = worker_->worker().connect(address);
  if (!message)
    return message.error();
  auto bulk = worker_->worker().connect(address);
  if (!bulk)
    return bulk.error();
  message_ = std::move(*message);
  bulk_ = std::move(*bulk);
  show_tickets(transport::send_flags::reply);
  return epoch_;
}

void lanes::expect(const lane_credentials& theirs) {
  theirs_ = theirs;
  expecting_ = true;
  if (message_ && bulk_)
    show_tickets(transport::send_flags::none);
}

void lanes::show_tickets(transport::send_flags flags) {
  show(message_opening_, *message_, transport::am_id::message, theirs_.message_ticket, flags);
  show(bulk_opening_, *bulk_, transport::am_id::bulk, theirs_.bulk_ticket, flags);
}

void lanes::show(opening_frame& frame, transport::endpoint& lane, transport::am_id id, const lane_ticket& ticket,
                 transport::send_flags flags) {
  proto::lane_header header{theirs_.key, 0, epoch_, proto::lane_frame::ticket, 0};
  std::memcpy(frame.bytes.data(), &header, sizeof(header));
  std::memcpy(frame.bytes.data() + sizeof(header), ticket.data(), ticket.size());
  errc why{};
  auto status = lane.am_send(id, nullptr, 0, frame.bytes.data(), frame.bytes.size(),
                             flags | transport::send_flags::eager, frame, why);
  frame.pending = status == transport::post_status::pending;
  if (status == transport::post_status::failed)
    fail(why, "could not open a lane");
}

bool lanes::claim(transport::am_id lane, std::span<const std::byte> ticket,
                  std::unique_ptr<transport::endpoint> connection) {
  auto bulk = lane == transport::am_id::bulk;
  auto& claimed = bulk ? bulk_claimed_ : message_claimed_;
  auto& wanted = bulk ? ours_.bulk_ticket : ours_.message_ticket;
  // One guess: a ticket that does not fit ends the connection that showed it.
  if (closing_ || claimed || !std::equal(ticket.begin(), ticket.end(), wanted.begin(), wanted.end()))
    return false;
  if (connection) {
    auto& mine = bulk ? bulk_ : message_;
    if (mine)
      return false;
    mine = std::move(connection);
  }
  claimed = true;
  if (expecting_ && message_ && bulk_)
    show_tickets(transport::send_flags::none);
  if (reached() && owner_ != nullptr)
    owner_->on_lanes_reached();
  return true;
}

void lanes::on_frame(transport::inbound& message, const proto::lane_header& header) {
  if (owner_ != nullptr && !closing_)
    owner_->on_lane_frame(message, header);
}

void lanes::on_drained() {
  if (owner_ != nullptr)
    owner_->on_lanes_drained();
}

void lanes::on_endpoint_failed(errc why) {
  fail(why, "a lane's connection failed");
}

void lanes::fail(errc why, const std::string& text) {
  if (failed_ || closing_)
    return;
  failed_ = true;
  if (owner_ == nullptr)
    return;
  // Never from the middle of a send or a drain: the owner ends its session in answer.
  loop_.post([this, alive = alive_, why, text] {
    if (*alive && owner_ != nullptr)
      owner_->on_lanes_failed(why, text);
  });
}

void lanes::begin_close() {
  if (closing_)
    return;
  closing_ = true;
  closing_since_ = std::chrono::steady_clock::now();
  if (auto* owner = std::exchange(owner_, nullptr))
    owner->on_lanes_closed();
  worker_->stop_expecting(*this);
  if (message_)
    message_->close(transport::close_mode::force);
  if (bulk_)
    bulk_->close(transport::close_mode::force);
}

bool lanes::settled() {
  auto done = [](auto& x) { return !x || x->settled(); };
  if (done(message_) && done(bulk_) && !message_opening_.pending && !bulk_opening_.pending)
    return true;
  if (transport() != transport::lane_transport::shm
      || std::chrono::steady_clock::now() - closing_since_ < settle_deadline)
    return false;
  worker_->worker().abandon(); // gives every remaining operation its terminal call
  return true;
}

void lanes::give_up() {
  // A connection that never finishes closing. The worker is shared with other peers and stays; it owns what is left of
  // the endpoints, and gives their operations the terminal call when it ends at the latest.
}

} // namespace troupe
