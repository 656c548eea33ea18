// The way in of a session: check, acknowledge, put in order, decode, hand to the actor.
#include <troupe/actors/session_slot.hpp>

#include <algorithm>
#include <cstring>

#include <caf/make_message.hpp>
#include <caf/system_messages.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/remote_ref.hpp>
#include <troupe/actors/tracked_element.hpp>

namespace troupe {

/// A bulk message whose data is on its way into memory of ours.
struct bulk_receive final : transport::operation {
  explicit bulk_receive(session_slot& s) noexcept : session(s) {}

  void on_complete(errc why) noexcept override {
    status = why;
    session.received_.push_back(this); // reserved when it was posted
    session.loop_.call_at_turn_end(session);
  }

  session_slot& session;
  errc status = errc::ok;
  proto::message_header header{};
  std::vector<std::uint64_t> sizes;
  payload body; // when it came in the header
  payload_buffer memory;
};

// -- frames --------------------------------------------------------------------------

void session_slot::on_lane_frame(transport::inbound& message, const proto::lane_header& header) {
  if (over_)
    return;
  if (header.epoch != lanes_->epoch()) {
    counters_.foreign_frames.add();
    return;
  }
  if (header.kind == proto::lane_frame::bulk) {
    take_bulk(message, header);
    return;
  }
  if (header.kind != proto::lane_frame::batch)
    return violation("a lane frame of kind " + std::to_string(static_cast<unsigned>(header.kind)));
  if (message.rendezvous || message.size > proto::max_batch_bytes)
    return violation("a batch of " + std::to_string(message.size) + " bytes");
  proto::frame_reader in{message.data_bytes()};
  static_cast<void>(in.take(sizeof(proto::lane_header)));
  take_batch(header, in);
}

void session_slot::take_batch(const proto::lane_header& header, proto::frame_reader in) {
  counters_.bytes_received.add(in.rest().size());
  take_ack(header.ack, {});
  for (unsigned i = 0; i < header.count && !over_; ++i) {
    incoming x;
    if (!in.read(x.header))
      return violation("a batch that ends within a header");
    x.body = in.take(x.header.size);
    if (!in.ok())
      return violation("a frame that is longer than its batch");
    x.bytes = x.header.size;
    if (x.header.kind == proto::message_kind::ack)
      take_ack_frame(x.header, x.body);
    else
      take_frame(std::move(x));
  }
}

void session_slot::take_frame(incoming x) {
  auto& h = x.header;
  auto barrier = (h.flags & proto::barrier) != 0;
  // What has to wait outlives the memory that it came in.
  auto waits = barrier ? h.seq != window_.cumulative() + 1 : h.after != 0 && !window_.filled(h.after);
  std::vector<std::uint64_t> predecessors;
  if (h.kind == proto::message_kind::down && h.aux != 0) {
    proto::frame_reader in{x.body};
    predecessors.resize(h.aux);
    for (auto& seq : predecessors) {
      if (!in.read(seq))
        return violation("a down with fewer predecessors than it says");
      waits = waits || !window_.filled(seq);
    }
    predecessors.push_back(h.after);
  }
  if (waits && x.owned.empty() && !x.body.empty()) {
    x.owned = payload::copy_of(x.body.data(), x.body.size());
    x.body = {};
  }
  auto seq = h.seq;
  auto after = h.after;
  auto hand_over = [this](incoming&& y) { deliver(std::move(y)); };
  auto before = window_.delivered_count();
  auto what = !predecessors.empty()
                ? window_.arrive(seq, std::span<const std::uint64_t>{predecessors}, barrier, std::move(x), hand_over)
              : x.bulk ? window_.complete(seq, after, barrier, std::move(x), hand_over)
                       : window_.arrive(seq, after, barrier, std::move(x), hand_over);
  switch (what) {
    case transport::verdict::delivered:
      acks_.on_delivered(loop_.now(), window_.delivered_count() - before);
      loop_.call_at_turn_end(*this);
      break;
    case transport::verdict::held:
    case transport::verdict::expected:
      break;
    case transport::verdict::duplicate:
      acks_.request();
      loop_.call_at_turn_end(*this);
      break;
    case transport::verdict::beyond_window:
    case transport::verdict::malformed:
      violation("sequence number " + std::to_string(seq) + " after " + std::to_string(after));
  }
}

// -- bulk ------------------------------------------------------------------------------

void session_slot::take_bulk(transport::inbound& message, const proto::lane_header& header) {
  take_ack(header.ack, {});
  proto::frame_reader in{message.header_bytes()};
  static_cast<void>(in.take(sizeof(proto::lane_header)));
  auto x = std::make_unique<bulk_receive>(*this);
  if (!in.read(x->header) || x->header.kind != proto::message_kind::message
      || x->header.aux > proto::max_attachments)
    return violation("a bulk message with a bad header");
  x->sizes.resize(x->header.aux);
  std::uint64_t expected = 0;
  for (auto& size : x->sizes) {
    if (!in.read(size) || size > environment_.limits.max_message_bytes)
      return violation("a bulk message with a bad attachment");
    expected += size;
  }
  if ((x->header.flags & proto::body_in_data) != 0) {
    expected += x->header.size;
  } else {
    auto body = in.take(x->header.size);
    if (!in.ok())
      return violation("a bulk message with a short body");
    x->body = payload::copy_of(body.data(), body.size());
  }
  if (expected != message.size || expected > environment_.limits.max_message_bytes)
    return violation("a bulk message of " + std::to_string(message.size) + " bytes that says "
                     + std::to_string(expected));
  // The sender's credit bounds what is under way; one that does not keep to it is not served.
  if (receiving_ != 0
      && (receiving_ >= environment_.limits.bulk_window_messages + environment_.limits.reserve_messages
          || receiving_bytes_ + expected > environment_.limits.bulk_window_bytes + environment_.limits.reserve_bytes))
    return violation("more bulk data than the window allows");
  switch (window_.expect(x->header.seq)) {
    case transport::verdict::expected:
      break;
    case transport::verdict::duplicate:
      acks_.request();
      return;
    default:
      return violation("bulk sequence number " + std::to_string(x->header.seq));
  }
  auto memory = payload_buffer::try_allocate(message.size);
  if (!memory)
    return violation("no memory for a bulk message of " + std::to_string(message.size) + " bytes");
  x->memory = std::move(*memory);
  ++receiving_;
  receiving_bytes_ += expected;
  if (!message.rendezvous) {
    if (message.size != 0)
      std::memcpy(x->memory.data(), message.data, message.size);
    bulk_received(*x);
    return;
  }
  received_.reserve(received_.size() + receiving_);
  errc why{};
  switch (lanes_->worker().worker().receive(message, x->memory.data(), x->memory.size(), *x, why)) {
    case transport::post_status::completed:
      bulk_received(*x);
      break;
    case transport::post_status::pending:
      static_cast<void>(x.release()); // back in finish_bulk_receives()
      break;
    case transport::post_status::failed:
      --receiving_;
      receiving_bytes_ -= expected;
      static_cast<void>(window_.forget(x->header.seq));
      on_lanes_failed_later(why);
  }
}

void session_slot::finish_bulk_receives() {
  while (!received_.empty()) {
    std::vector<bulk_receive*> done;
    done.swap(received_);
    received_.reserve(receiving_);
    for (auto* raw : done) {
      std::unique_ptr<bulk_receive> x{raw};
      bulk_received(*x);
    }
  }
}

void session_slot::bulk_received(bulk_receive& x) {
  --receiving_;
  receiving_bytes_ -= x.memory.size();
  if (over_)
    return;
  if (x.status != errc::ok) {
    static_cast<void>(window_.forget(x.header.seq)); // the lane is failing, and says so itself
    return;
  }
  incoming y;
  y.header = x.header;
  y.bulk = true;
  y.bytes = x.header.size;
  auto data = std::move(x.memory).freeze();
  std::size_t at = 0;
  if ((x.header.flags & proto::body_in_data) != 0) {
    y.owned = data.slice(0, x.header.size);
    at = x.header.size;
  } else {
    y.owned = std::move(x.body);
  }
  for (auto size : x.sizes) {
    y.attachments.push_back(data.slice(at, size));
    at += size;
    y.bytes += size;
  }
  counters_.bytes_received.add(y.bytes);
  take_frame(std::move(y));
}

// -- acknowledgements and credit -----------------------------------------------------------

void session_slot::take_ack(std::uint64_t cumulative, std::span<const proto::sack_range> ranges) {
  if (cumulative < journal_.first_unacked() && ranges.empty())
    return; // nothing new
  auto result = journal_.acknowledge(cumulative, ranges, [this](std::uint64_t seq, outgoing&& x) {
    pairs_.acknowledged(x.sender, x.target, seq);
    finish(x, errc::ok);
  });
  if (result != errc::ok)
    return violation("an acknowledgement of " + std::to_string(cumulative));
  if (closing_)
    say_goodbye_if_ready();
}

void session_slot::take_ack_frame(const proto::message_header& header, std::span<const std::byte> body) {
  std::array<proto::sack_range, proto::max_sack_ranges> ranges;
  if (header.aux > ranges.size())
    return violation("an acknowledgement with too many ranges");
  proto::frame_reader in{body};
  for (unsigned i = 0; i < header.aux; ++i)
    if (!in.read(ranges[i]))
      return violation("a short acknowledgement");
  if (header.aux != 0)
    take_ack(journal_.first_unacked() - 1, std::span{ranges}.first(header.aux));
  auto returned = false;
  while (in.ok() && !in.rest().empty()) {
    proto::credit_return x;
    if (!in.read(x))
      return violation("a short credit return");
    auto ok = true;
    if (x.messages != 0 || x.bytes != 0)
      ok = box_->inline_credit().give_back(x.messages, x.bytes) && ok;
    if (x.bulk_messages != 0 || x.bulk_bytes != 0)
      ok = box_->bulk_credit().give_back(x.bulk_messages, x.bulk_bytes) && ok;
    if (auto it = references_.find(x.target); it != references_.end())
      static_cast<void>(static_cast<remote_ref*>(it->second->get())
                          ->credit()
                          .give_back(std::uint64_t{x.messages} + x.bulk_messages, x.bytes + x.bulk_bytes));
    if (!ok)
      counters_.malformed_frames.add();
    returned = true;
  }
  if (returned)
    box_->credit_returned();
}

void session_slot::violation(const std::string& what) {
  counters_.malformed_frames.add();
  log(2, who_.name + " broke the wire contract: " + what + "; the session ends");
  // Not from here: UCX's messages are being walked through.
  loop_.post([this, alive = alive_, what] {
    if (*alive)
      end(make_error(errc::protocol_error, what), false);
  });
}

// -- delivery --------------------------------------------------------------------------------

void session_slot::deliver(incoming&& x) {
  if (!x.owned.empty())
    x.body = x.owned.bytes();
  switch (x.header.kind) {
    case proto::message_kind::message:
      deliver_message(std::move(x));
      break;
    case proto::message_kind::monitor:
      take_monitor(x.header);
      break;
    case proto::message_kind::down:
      take_down(x);
      break;
    case proto::message_kind::link:
      take_link(x.header);
      break;
    case proto::message_kind::unlink:
      take_unlink(x.header);
      break;
    case proto::message_kind::nack:
      take_nack(x);
      break;
    default:
      violation("a message of kind " + std::to_string(static_cast<unsigned>(x.header.kind)));
  }
}

void session_slot::deliver_message(incoming&& x) {
  auto& h = x.header;
  caf::message_id mid{h.message_id};
  if (mid.is_response()) {
    if (auto node = pending_.extract({h.target, h.message_id}); !node.empty()) {
      node.mapped() = nullptr;
      if (spare_pending_.size() < 256)
        spare_pending_.push_back(std::move(node));
    }
  }
  auto* target = find_export(h.target);
  if (target == nullptr) {
    counters_.unknown_target.add();
    reject_message(x, make_error(errc::unknown_target, "no actor " + std::to_string(h.target) + " on this node"));
    return;
  }
  auto cell = target->credit;
  auto to = target->actor;
  caf::strong_actor_ptr from;
  if (h.sender != 0) {
    if (h.sender != last_sender_id_) {
      last_sender_ = reference(h.sender);
      last_sender_id_ = h.sender;
    }
    from = last_sender_;
  }
  auto content = box_->encoder().decode(x.body, x.attachments, types_, *this, &loop_);
  if (!content) {
    counters_.decode_failed.add();
    reject_message(x, std::move(content.error()));
    return;
  }
  if (from && content->match_elements<caf::exit_msg>())
    static_cast<remote_ref*>(from->get())->forget_link(to->get());
  counters_.delivered.add();
  caf::mailbox_element_ptr element{
    new tracked_element(std::move(from), mid, std::move(*content), std::move(cell), x.bytes, x.bulk)};
  to->get()->enqueue(std::move(element), &loop_);
}

void session_slot::reject_message(const incoming& x, caf::error why) {
  auto& h = x.header;
  credit_cell_ptr cell{new credit_cell(returns_, h.target), false};
  cell->consumed(x.bytes, x.bulk);
  caf::message_id mid{h.message_id};
  if (mid.is_request() && h.sender != 0) {
    std::array<std::byte, max_error_context + 64> memory;
    proto::byte_writer out{memory};
    box_->encoder().encode_error(why, out, &loop_);
    if (!out.overflown())
      post_control(proto::message_kind::nack, h.target, h.sender, mid.response_id().integer_value(),
                   std::span{memory}.first(out.needed()));
    return;
  }
  if (mid.is_response()) { // the one who asks must not wait for ever for an answer that cannot be read
    if (auto* target = find_export(h.target))
      target->actor->enqueue(nullptr, mid, caf::make_message(std::move(why)), &loop_);
    return;
  }
  log(2, "a message from " + who_.name + " was dropped: " + explain(why));
}

} // namespace troupe
