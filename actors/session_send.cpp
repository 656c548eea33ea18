// The way out of a session: encode, take credit, number, journal, batch, post.
#include <troupe/actors/session_slot.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <caf/make_message.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/remote_ref.hpp>

namespace troupe {

namespace {

/// Of a message_header's size field. Attachments are not part of the body.
constexpr std::uint64_t max_body_bytes = std::numeric_limits<std::uint32_t>::max();

constexpr std::size_t frame_size(std::size_t body) {
  return sizeof(proto::message_header) + body;
}

} // namespace

// -- acceptance -----------------------------------------------------------------

void session_slot::send(remote_ref& target, caf::mailbox_element_ptr what, bool reserved) {
  auto mid = what->mid;
  auto refuse = [&](caf::error why) {
    auto sender = std::move(what->sender);
    box_->refuse(sender, mid, target.ctrl(), what->move_content_to_message(), std::move(why));
  };
  if (over_ || closing_) {
    counters_.bounced.add();
    refuse(make_error(errc::peer_closing, "the session with " + who_.name + " is closing"));
    return;
  }
  auto& content = what->content();
  auto unlinks = content.match_elements<caf::exit_msg>();
  extras_.clear();
  auto room = batch_room(0);
  proto::byte_writer out{room};
  auto err = box_->encoder().encode(content, out, extras_, &loop_);
  auto size = out.needed();
  auto bulk = !extras_.attachments.empty() || size > proto::max_inline_body;
  if (!err && !bulk && out.overflown()) { // it fits into a chunk, but not into what is left of this one
    extras_.clear();
    room = batch_room(size);
    proto::byte_writer again{room};
    err = box_->encoder().encode(content, again, extras_, &loop_);
  }
  if (err) {
    counters_.encode_failed.add();
    refuse(std::move(err));
    return;
  }
  std::uint64_t total = size;
  for (auto& x : extras_.attachments)
    total += x.size();
  if (total > limits_.max_message_bytes || size > max_body_bytes) {
    counters_.refused.add();
    refuse(make_error(errc::exceeds_limit, "a message of " + std::to_string(total) + " bytes: max-message-bytes is "
                                             + std::to_string(limits_.max_message_bytes)));
    return;
  }
  payload body;
  if (bulk) {
    if (!out.overflown()) {
      body = payload::copy_of(room.data(), size);
    } else {
      auto memory = payload_buffer::try_allocate(size);
      if (!memory) {
        refuse(make_error(errc::no_memory, "no memory for a message of " + std::to_string(size) + " bytes"));
        return;
      }
      extras_.clear();
      proto::byte_writer again{memory->bytes()};
      if (auto second = box_->encoder().encode(content, again, extras_, &loop_)) {
        refuse(std::move(second));
        return;
      }
      body = std::move(*memory).freeze(size);
    }
  }
  if (journal_.admits(total) != errc::ok || !box_->take_credit(target, total, bulk, reserved)) {
    counters_.refused.add();
    auto sender = what->sender;
    refuse(make_error(errc::busy, "no credit for " + who_.name + ": wait for credit_available"));
    box_->await_credit(sender, target);
    return;
  }
  if (mid.is_request() && what->sender && !remember_request(what->sender, mid)) {
    counters_.refused.add();
    static_cast<void>(target.credit().give_back(1, total));
    static_cast<void>((bulk ? box_->bulk_credit() : box_->inline_credit()).give_back(1, total));
    refuse(make_error(errc::busy, "max-pending-requests (" + std::to_string(limits_.max_pending_requests)
                                    + ") requests wait for an answer of " + who_.name));
    return;
  }
  if (what->sender)
    export_actor(what->sender);
  for (auto& x : extras_.handles)
    export_actor(x);
  auto sender = what->sender ? what->sender->id() : 0;
  outgoing entry;
  entry.sender = sender;
  entry.target = target.id();
  if (bulk) {
    entry.bulk = std::make_unique<bulk_body>(bulk_body{body, extras_.attachments});
    auto seq = accept(std::move(entry), total);
    queue_bulk(seq, pairs_.link(sender, target.id(), seq), sender, target.id(), mid.integer_value(), std::move(body),
               std::move(extras_.attachments));
  } else {
    entry.where = chunk_;
    entry.offset = static_cast<std::uint32_t>(chunk_->used);
    entry.size = static_cast<std::uint32_t>(frame_size(size));
    auto seq = accept(std::move(entry), total);
    append_to_batch({seq, pairs_.link(sender, target.id(), seq), sender, target.id(), mid.integer_value(),
                     static_cast<std::uint32_t>(size), 0, proto::message_kind::message, 0});
  }
  if (unlinks && what->sender)
    target.forget_link(what->sender->get());
}

void session_slot::send(const send_op& op, op_owner owner) {
  auto refuse = [&](errc why) {
    if (owner.actor)
      owner.actor->enqueue(nullptr, caf::make_message_id(), caf::make_message(op_done{owner.op_id, why}), &loop_);
  };
  auto* target = op.target ? dynamic_cast<remote_ref*>(op.target->get()) : nullptr;
  if (target == nullptr || target->box() != box_)
    return refuse(errc::unknown_target);
  if (over_ || closing_ || target->dead())
    return refuse(errc::peer_dead);
  extras_.clear();
  scratch_.resize(std::max(scratch_.size(), proto::max_inline_body));
  for (;;) {
    proto::byte_writer out{scratch_};
    extras_.clear();
    if (auto err = box_->encoder().encode(op.content, out, extras_, &loop_)) {
      counters_.encode_failed.add();
      return refuse(code_of(err));
    }
    auto size = out.needed();
    if (size > limits_.max_message_bytes)
      return refuse(errc::exceeds_limit);
    if (out.overflown()) {
      scratch_.resize(size);
      continue;
    }
    outbound_op x;
    x.target = op.target;
    x.body = payload::copy_of(scratch_.data(), size);
    x.attachments = extras_.attachments;
    x.handles = extras_.handles;
    x.owner = std::move(owner);
    if (x.bytes() > limits_.max_message_bytes || size > max_body_bytes) {
      owner = std::move(x.owner);
      return refuse(errc::exceeds_limit);
    }
    if (journal_.admits(x.bytes()) != errc::ok || !box_->take_credit(*target, x.bytes(), x.bulk(), false)) {
      counters_.refused.add();
      owner = std::move(x.owner);
      return refuse(errc::busy);
    }
    return post_message(x);
  }
}

void session_slot::take_outbox() {
  for (auto* next = box_->take_all(); next != nullptr;) {
    std::unique_ptr<outbound_op> op{next};
    next = op->next;
    auto* target = static_cast<remote_ref*>(op->target->get());
    switch (op->kind) {
      case proto::message_kind::message:
        post_message(*op);
        break;
      case proto::message_kind::link:
      case proto::message_kind::unlink:
        export_actor(op->sender);
        post_control(op->kind, op->sender->id(), target->id(), 0, {});
        break;
      default:
        post_control(op->kind, 0, target->id(), op->mid.integer_value(), op->body.bytes());
    }
    if (op->unlinks_source && op->sender)
      target->forget_link(op->sender->get());
  }
}

void session_slot::post_message(outbound_op& op) {
  auto bytes = op.bytes();
  auto sender = op.sender ? op.sender->id() : 0;
  auto target = op.target->id();
  if (op.sender && op.mid.is_request() && !remember_request(op.sender, op.mid)) {
    counters_.refused.add();
    static_cast<void>(static_cast<remote_ref*>(op.target->get())->credit().give_back(1, bytes));
    static_cast<void>((op.bulk() ? box_->bulk_credit() : box_->inline_credit()).give_back(1, bytes));
    op.sender->enqueue(op.target, op.mid.response_id(),
                       caf::make_message(make_error(errc::busy, "too many requests wait for an answer of " + who_.name)),
                       &loop_);
    return;
  }
  if (op.sender)
    export_actor(op.sender);
  for (auto& x : op.handles)
    export_actor(x);
  outgoing entry;
  entry.sender = sender;
  entry.target = target;
  entry.owner = std::move(op.owner);
  if (op.bulk()) {
    entry.bulk = std::make_unique<bulk_body>(bulk_body{op.body, op.attachments});
    auto seq = accept(std::move(entry), bytes);
    queue_bulk(seq, pairs_.link(sender, target, seq), sender, target, op.mid.integer_value(), std::move(op.body),
               std::move(op.attachments));
    return;
  }
  auto size = op.body.size();
  auto room = batch_room(size);
  std::memcpy(room.data(), op.body.data(), size);
  entry.where = chunk_;
  entry.offset = static_cast<std::uint32_t>(chunk_->used);
  entry.size = static_cast<std::uint32_t>(frame_size(size));
  auto seq = accept(std::move(entry), bytes);
  append_to_batch({seq, pairs_.link(sender, target, seq), sender, target, op.mid.integer_value(),
                   static_cast<std::uint32_t>(size), 0, proto::message_kind::message, 0});
}

void session_slot::post_control(proto::message_kind kind, std::uint64_t sender, std::uint64_t target,
                                std::uint64_t message_id, std::span<const std::byte> body, std::uint16_t aux,
                                std::uint8_t flags) {
  if (over_)
    return;
  auto room = batch_room(body.size());
  if (!body.empty())
    std::memcpy(room.data(), body.data(), body.size());
  outgoing entry;
  entry.sender = sender;
  entry.target = target;
  entry.where = chunk_;
  entry.offset = static_cast<std::uint32_t>(chunk_->used);
  entry.size = static_cast<std::uint32_t>(frame_size(body.size()));
  auto seq = accept(std::move(entry), frame_size(body.size()));
  append_to_batch({seq, pairs_.link(sender, target, seq), sender, target, message_id,
                   static_cast<std::uint32_t>(body.size()), aux, kind, flags});
}

std::uint64_t session_slot::accept(outgoing entry, std::size_t bytes) {
  if (entry.where != nullptr)
    ++entry.where->entries;
  counters_.accepted.add();
  counters_.bytes_sent.add(bytes);
  auto* where = entry.where;
  auto accepted = journal_.append(std::move(entry), bytes);
  if (!accepted) { // only control frames get here: a peer that acknowledges none of a million of them
    if (where != nullptr)
      --where->entries;
    counters_.failed.add();
    if (lanes_ != nullptr)
      lanes_->fail(errc::exceeds_limit, "the journal is full");
  }
  return accepted.seq;
}

bool session_slot::remember_request(const caf::strong_actor_ptr& sender, caf::message_id mid) {
  if (pending_.size() >= limits_.max_pending_requests)
    return false;
  pending_key key{sender->id(), mid.response_id().integer_value()};
  if (spare_pending_.empty()) {
    pending_.emplace(key, sender);
  } else {
    auto node = std::move(spare_pending_.back());
    spare_pending_.pop_back();
    node.key() = key;
    node.mapped() = sender;
    pending_.insert(std::move(node));
  }
  return true;
}

void session_slot::finish(outgoing& x, errc status) {
  if (x.where != nullptr) {
    --x.where->entries;
    chunks_.release_if_done(*x.where);
  }
  switch (status) {
    case errc::ok:
      counters_.ok.add();
      break;
    case errc::canceled:
      counters_.canceled.add();
      break;
    case errc::indeterminate:
      counters_.indeterminate.add();
      break;
    default:
      counters_.failed.add();
  }
  if (x.owner.actor)
    x.owner.actor->enqueue(nullptr, caf::make_message_id(), caf::make_message(op_done{x.owner.op_id, status}), &loop_);
}

// -- batches -----------------------------------------------------------------------

std::span<std::byte> session_slot::batch_room(std::size_t wanted) {
  if (batch_open_ && batch_count_ == 0) { // opened for a message that was refused
    chunk_->used = batch_start_;
    batch_open_ = false;
  }
  if (!batch_open_ && chunk_ != nullptr && chunk_->entries == 0 && chunk_->in_flight == 0)
    chunk_->used = 0; // all of it is delivered: begin again, in memory that is in the cache
  auto headers = sizeof(proto::message_header) + (batch_open_ ? 0 : sizeof(proto::lane_header));
  if (chunk_ == nullptr || chunk_->used + headers + wanted > chunk_->data.size()
      || batch_count_ == std::numeric_limits<std::uint16_t>::max()) {
    close_batch();
    if (chunk_ != nullptr) {
      chunk_->current = false;
      chunks_.release_if_done(*chunk_);
    }
    chunk_ = chunks_.take();
  }
  if (!batch_open_) {
    batch_start_ = chunk_->used;
    chunk_->used += sizeof(proto::lane_header);
    batch_open_ = true;
  }
  return std::span{chunk_->data}.subspan(chunk_->used + sizeof(proto::message_header));
}

void session_slot::append_to_batch(const proto::message_header& header) {
  std::memcpy(chunk_->data.data() + chunk_->used, &header, sizeof(header));
  chunk_->used += frame_size(header.size);
  ++batch_count_;
  loop_.call_at_turn_end(*this);
}

void session_slot::close_batch() {
  if (chunk_ == nullptr || !batch_open_)
    return;
  batch_open_ = false;
  if (batch_count_ == 0 && !say_ack_) {
    chunk_->used = batch_start_; // opened for a message that was refused
    return;
  }
  proto::lane_header header{lanes_ != nullptr ? lanes_->peer_key() : 0, window_.cumulative(),
                            lanes_ != nullptr ? lanes_->epoch() : 0, proto::lane_frame::batch, batch_count_};
  std::memcpy(chunk_->data.data() + batch_start_, &header, sizeof(header));
  ++chunk_->in_flight;
  batches_.push_back({chunk_, static_cast<std::uint32_t>(batch_start_),
                      static_cast<std::uint32_t>(chunk_->used - batch_start_)});
  chunk_->used = std::min((chunk_->used + 7) & ~std::size_t{7}, chunk_->data.size());
  batch_count_ = 0;
  say_ack_ = false;
  acks_.on_sent();
}

void session_slot::end_of_turn() noexcept {
  finish_bulk_receives();
  flush();
}

void session_slot::flush() {
  if (!up_ || lanes_ == nullptr || over_)
    return;
  if (acks_.due(loop_.now()))
    say_ack_ = true;
  if (credit_now_ || window_.range_count() != 0)
    append_ack_frame();
  // While UCX has enough to do, messages gather in the open batch: that is where the rate comes from.
  if ((batch_count_ != 0 || say_ack_) && (progress_.batches < max_batches_in_flight || say_ack_)) {
    if (!batch_open_)
      static_cast<void>(batch_room(0));
    close_batch();
  }
  while (!batches_.empty() && progress_.batches < max_batches_in_flight) {
    auto x = batches_.front();
    batches_.pop_front();
    // The key and the epoch may not have been known when the batch was closed.
    auto* header = reinterpret_cast<proto::lane_header*>(x.where->data.data() + x.offset);
    header->epoch_key = lanes_->peer_key();
    header->epoch = lanes_->epoch();
    errc why{};
    counters_.batches_sent.add();
    switch (lanes_->post_batch(x.where->data.data() + x.offset, x.size, *x.where, why)) {
      case transport::post_status::completed:
        --x.where->in_flight;
        chunks_.release_if_done(*x.where);
        break;
      case transport::post_status::pending:
        ++progress_.batches;
        break;
      case transport::post_status::failed:
        --x.where->in_flight;
        chunks_.release_if_done(*x.where);
        on_lanes_failed_later(why);
        return;
    }
  }
  post_bulk();
  if (acks_.pending() != 0)
    arm_ack_timer();
}

// -- bulk -----------------------------------------------------------------------------

void session_slot::queue_bulk(std::uint64_t seq, std::uint64_t after, std::uint64_t sender, std::uint64_t target,
                              std::uint64_t message_id, payload body, std::vector<payload> attachments) {
  auto* x = bulk_sends_.take();
  proto::message_header header{seq, after, sender, target, message_id, static_cast<std::uint32_t>(body.size()),
                               static_cast<std::uint16_t>(attachments.size()), proto::message_kind::message, 0};
  auto table = attachments.size() * sizeof(std::uint64_t);
  auto fixed = sizeof(proto::lane_header) + sizeof(header) + table;
  auto body_in_header = fixed + body.size() <= proto::max_bulk_header;
  if (!body_in_header)
    header.flags |= proto::body_in_data;
  x->header.resize(fixed + (body_in_header ? body.size() : 0));
  auto* at = x->header.data() + sizeof(proto::lane_header);
  std::memcpy(at, &header, sizeof(header));
  at += sizeof(header);
  for (auto& attachment : attachments) {
    std::uint64_t size = attachment.size();
    std::memcpy(at, &size, sizeof(size));
    at += sizeof(size);
  }
  if (body_in_header && !body.empty())
    std::memcpy(at, body.data(), body.size());
  if (!body_in_header)
    x->body = std::move(body);
  x->attachments = std::move(attachments);
  bulk_queue_.push_back(x);
  loop_.call_at_turn_end(*this);
}

void session_slot::post_bulk() {
  while (!bulk_queue_.empty() && progress_.bulk < max_bulk_in_flight) {
    auto* x = bulk_queue_.front();
    bulk_queue_.pop_front();
    proto::lane_header header{lanes_->peer_key(), window_.cumulative(), lanes_->epoch(), proto::lane_frame::bulk, 1};
    std::memcpy(x->header.data(), &header, sizeof(header));
    errc why{};
    counters_.bulk_sent.add();
    auto status = transport::post_status::failed;
    auto pieces = x->attachments.size() + (x->body.empty() ? 0 : 1);
    if (pieces <= 1) {
      auto& data = x->body.empty() && !x->attachments.empty() ? x->attachments.front() : x->body;
      status = lanes_->bulk().am_send(transport::am_id::bulk, x->header.data(), x->header.size(), data.data(),
                                      data.size(), transport::send_flags::none, *x, why);
    } else {
      x->slices.clear();
      if (!x->body.empty())
        x->slices.push_back({const_cast<std::byte*>(x->body.data()), x->body.size()});
      for (auto& attachment : x->attachments)
        x->slices.push_back({const_cast<std::byte*>(attachment.data()), attachment.size()});
      status = lanes_->bulk().am_send(transport::am_id::bulk, x->header.data(), x->header.size(), x->slices,
                                      transport::send_flags::none, *x, why);
    }
    switch (status) {
      case transport::post_status::completed:
        bulk_sends_.release(*x);
        break;
      case transport::post_status::pending:
        ++progress_.bulk;
        break;
      case transport::post_status::failed:
        bulk_sends_.release(*x);
        on_lanes_failed_later(why);
        return;
    }
  }
}

// -- acknowledgements and credit ----------------------------------------------------------

void session_slot::append_ack_frame() {
  std::array<proto::sack_range, proto::max_sack_ranges> ranges;
  std::array<proto::credit_return, proto::max_credit_returns> credits;
  auto n_ranges = window_.ranges(ranges);
  std::size_t n_credits = 0;
  if (credit_now_) {
    static_cast<void>(returns_->collect(credits.size(), [&](const credit_returns::entry& x) {
      credits[n_credits++] = {x.target, static_cast<std::uint32_t>(x.messages),
                              static_cast<std::uint32_t>(x.bulk_messages), x.bytes, x.bulk_bytes};
    }));
    credit_now_ = !returns_->empty() && n_credits == credits.size();
    if (credit_now_)
      loop_.call_at_turn_end(*this);
  }
  if (n_credits == 0 && (n_ranges == 0 || !say_ack_))
    return;
  auto ranges_bytes = n_ranges * sizeof(proto::sack_range);
  auto credits_bytes = n_credits * sizeof(proto::credit_return);
  auto room = batch_room(ranges_bytes + credits_bytes);
  if (n_ranges != 0)
    std::memcpy(room.data(), ranges.data(), ranges_bytes);
  if (n_credits != 0)
    std::memcpy(room.data() + ranges_bytes, credits.data(), credits_bytes);
  append_to_batch({0, 0, 0, 0, 0, static_cast<std::uint32_t>(ranges_bytes + credits_bytes),
                   static_cast<std::uint16_t>(n_ranges), proto::message_kind::ack, 0});
  say_ack_ = true; // credit never waits behind a full pipe
}

void session_slot::arm_ack_timer() {
  if (ack_timer_)
    return;
  ack_timer_ = true;
  loop_.after(limits_.ack_delay, [this, alive = alive_] {
    if (!*alive)
      return;
    ack_timer_ = false;
    if (acks_.pending() != 0) {
      say_ack_ = true;
      loop_.call_at_turn_end(*this);
    }
  });
}

void session_slot::credit_due(bool now) {
  if (over_)
    return;
  if (now) {
    credit_now_ = true;
    loop_.call_at_turn_end(*this);
    return;
  }
  if (credit_timer_)
    return;
  credit_timer_ = true;
  loop_.after(limits_.credit_delay, [this, alive = alive_] {
    if (!*alive)
      return;
    credit_timer_ = false;
    if (!returns_->empty())
      credit_due(true);
  });
}

} // namespace troupe
