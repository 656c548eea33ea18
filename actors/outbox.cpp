#include <troupe/actors/outbox.hpp>

#include <array>

#include <caf/abstract_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_message.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/error.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/remote_ref.hpp>
#include <troupe/actors/session_messages.hpp>
#include <troupe/actors/session_slot.hpp>

namespace troupe {

std::uint64_t outbound_op::bytes() const noexcept {
  std::uint64_t total = body.size();
  for (auto& x : attachments)
    total += x.size();
  return total;
}

bool outbound_op::bulk() const noexcept {
  return !attachments.empty() || body.size() > proto::max_inline_body;
}

outbox::outbox(progress_loop& loop, const codec& encoder, caf::node_id peer, std::string peer_name,
               session_limits limits)
  : loop_(loop),
    encoder_(encoder),
    peer_(std::move(peer)),
    peer_name_(std::move(peer_name)),
    limits_(limits),
    inline_credit_({limits.window_messages, limits.window_bytes, limits.reserve_messages, limits.reserve_bytes}),
    bulk_credit_(
      {limits.bulk_window_messages, limits.bulk_window_bytes, limits.reserve_messages, limits.reserve_bytes}) {
  // nop
}

outbox::~outbox() {
  // Nobody is left to push; what a failed close left behind is bounced all the same.
  bounce_all();
}

caf::error outbox::reason() const {
  std::lock_guard guard{mutex_};
  return reason_;
}

void outbox::push(std::unique_ptr<outbound_op> op) {
  auto* node = op.release();
  auto* head = head_.load(std::memory_order_relaxed);
  do {
    node->next = head;
  } while (!head_.compare_exchange_weak(head, node, std::memory_order_seq_cst, std::memory_order_relaxed));
  if (closed_.load(std::memory_order_seq_cst)) {
    bounce_all(); // close() may have emptied the list before this one came
    return;
  }
  if (head == nullptr) {
    auto self = shared_from_this();
    auto posted = loop_.post([self] {
      if (auto* slot = self->slot())
        slot->take_outbox();
    });
    if (!posted)
      close(make_error(errc::peer_closing, "this node is shutting down"));
  }
}

bool outbox::take_credit(remote_ref& ref, std::uint64_t bytes, bool bulk, bool reserved) {
  auto& lane = bulk ? bulk_credit_ : inline_credit_;
  if (reserved) {
    if (!ref.credit().take_reserved(bytes))
      return false;
    if (lane.take_reserved(bytes))
      return true;
  } else {
    if (!ref.credit().take(bytes))
      return false;
    if (lane.take(bytes))
      return true;
  }
  static_cast<void>(ref.credit().give_back(1, bytes));
  return false;
}

bool outbox::wait_for_credit(remote_ref& ref, std::uint64_t bytes, bool bulk) {
  std::unique_lock guard{mutex_};
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  auto taken = false;
  credit_.wait(guard, [&] {
    if (closed() || ref.dead())
      return true;
    taken = take_credit(ref, bytes, bulk, false);
    return taken;
  });
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return taken;
}

void outbox::await_credit(const caf::strong_actor_ptr& sender, remote_ref& ref) {
  if (!sender)
    return;
  {
    std::lock_guard guard{mutex_};
    for (auto& x : waiters_)
      if (x.sender == sender && x.target->get() == &ref)
        return;
    if (waiters_.size() >= limits_.max_credit_waiters) {
      counters_.unnotified.add();
      return;
    }
    waiters_.push_back({sender, ref.ctrl()});
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
  }
  // Credit that came back between the refusal and here would tell nobody.
  if (ref.credit().low() && inline_credit_.low() && bulk_credit_.low())
    credit_returned();
}

void outbox::credit_returned() {
  if (sleepers_.load(std::memory_order_seq_cst) == 0)
    return;
  std::vector<waiter> ready;
  {
    std::lock_guard guard{mutex_};
    credit_.notify_all();
    if (closed() || (inline_credit_.low() && bulk_credit_.low())) {
      std::deque<waiter> rest;
      for (auto& x : waiters_) {
        auto& ref = static_cast<remote_ref&>(*x.target->get());
        if (closed() || ref.dead() || ref.credit().low())
          ready.push_back(std::move(x));
        else
          rest.push_back(std::move(x));
      }
      waiters_.swap(rest);
      sleepers_.fetch_sub(ready.size(), std::memory_order_relaxed);
    }
  }
  for (auto& x : ready)
    x.sender->enqueue(nullptr, caf::make_message_id(), caf::make_message(credit_available{x.target}), nullptr);
}

void outbox::refuse(const caf::strong_actor_ptr& sender, caf::message_id mid, const caf::strong_actor_ptr& target,
                    caf::message content, caf::error why) {
  if (!sender) {
    counters_.dropped.add();
    return;
  }
  if (mid.is_request()) {
    sender->enqueue(target, mid.response_id(), caf::make_message(std::move(why)), nullptr);
  } else if (mid.is_response()) {
    // The one who answered cannot do anything about it; the one who asked must not wait for ever. The error is small
    // enough for the reserve that every response may draw on.
    auto op = std::make_unique<outbound_op>();
    op->kind = proto::message_kind::nack;
    op->target = target;
    op->mid = mid;
    std::array<std::byte, max_error_context + 64> text;
    proto::byte_writer out{text};
    encoder_.encode_error(why, out);
    if (out.overflown()) { // does not happen: encode_error keeps below it
      counters_.dropped.add();
      return;
    }
    op->body = payload::copy_of(text.data(), out.needed());
    push(std::move(op));
  } else {
    sender->enqueue(nullptr, caf::make_message_id(),
                    caf::make_message(refused{target, std::move(content), std::move(why)}), nullptr);
  }
}

outbound_op* outbox::take_all() noexcept {
  auto* node = head_.exchange(nullptr, std::memory_order_acquire);
  outbound_op* oldest = nullptr;
  while (node != nullptr) {
    auto* next = node->next;
    node->next = oldest;
    oldest = node;
    node = next;
  }
  return oldest;
}

void outbox::close(caf::error why) {
  {
    std::lock_guard guard{mutex_};
    if (closed_.load(std::memory_order_relaxed))
      return;
    reason_ = why;
    closed_.store(true, std::memory_order_seq_cst);
  }
  bounce_all();
  credit_returned();
}

void outbox::bounce_all() {
  auto why = reason();
  for (auto* node = take_all(); node != nullptr;) {
    std::unique_ptr<outbound_op> op{node};
    node = node->next;
    bounce(*op, why);
  }
}

void outbox::bounce(outbound_op& op, const caf::error& why) {
  counters_.bounced.add();
  if (op.sender && op.mid.is_request())
    op.sender->enqueue(op.target, op.mid.response_id(), caf::make_message(why), nullptr);
  else if (op.kind == proto::message_kind::message && !op.sender)
    counters_.dropped.add();
  if (op.owner.actor)
    op.owner.actor->enqueue(nullptr, caf::make_message_id(), caf::make_message(op_done{op.owner.op_id, errc::peer_dead}),
                            nullptr);
}

} // namespace troupe
