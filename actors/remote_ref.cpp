#include <troupe/actors/remote_ref.hpp>

#include <mutex>
#include <limits>
#include <vector>

#include <caf/abstract_actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scoped_execution_unit.hpp>
#include <caf/system_messages.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/error.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/session_slot.hpp>

namespace troupe {

namespace {

transport::credit_limits target_limits(const outbox* box) {
  if (box == nullptr)
    return {}; // dead from the start: never asked
  auto& x = box->limits();
  return {x.target_window_messages, x.target_window_bytes, x.reserve_messages, x.reserve_bytes};
}

bool is_exit(const caf::type_erased_tuple& content) {
  return content.type_token() == caf::make_type_token<caf::exit_msg>() && content.match_elements<caf::exit_msg>();
}

/// A thread that runs actors for others must never sleep for credit: only a blocking actor on its own thread may.
bool may_block(const caf::strong_actor_ptr& sender, caf::execution_unit* host) {
  if (!sender || !sender->get()->getf(caf::abstract_actor::is_blocking_flag))
    return false;
  return host == nullptr || dynamic_cast<caf::scoped_execution_unit*>(host) != nullptr;
}

/// The asker, as an actor of this node, of a request that came from one node and is passed on to another: frames name
/// senders by their id alone. Ends with the answer.
class relay final : public caf::monitorable_actor {
public:
  relay(caf::actor_config& cfg, caf::strong_actor_ptr asker) : caf::monitorable_actor(cfg), asker_(std::move(asker)) {}

  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) override {
    if (!what || !what->mid.is_response())
      return;
    caf::strong_actor_ptr asker;
    {
      std::lock_guard guard{mutex_};
      asker.swap(asker_);
    }
    if (!asker)
      return;
    asker->get()->enqueue(nullptr, what->mid, what->move_content_to_message(), host);
    cleanup(caf::exit_reason::normal, host);
  }
  const char* name() const override { return "troupe.relay"; }

private:
  std::mutex mutex_;
  caf::strong_actor_ptr asker_;
};

} // namespace

bool draws_on_reserve(const caf::type_erased_tuple& content, caf::message_id mid) noexcept {
  return mid.is_response() || content.match_elements<caf::exit_msg>() || content.match_elements<caf::down_msg>();
}

remote_ref::remote_ref(caf::actor_config& cfg, std::shared_ptr<outbox> box)
  : caf::actor_proxy(cfg), box_(std::move(box)), credit_(target_limits(box_.get())) {
  // nop
}

remote_ref::~remote_ref() = default;

void remote_ref::enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) {
  if (!what)
    return;
  if (box_ == nullptr || dead() || box_->closed()) {
    if (what->mid.is_request() && what->sender) { // not by bounce(), which would hide the reason
      auto why = box_ != nullptr && !box_->closed() ? caf::make_error(caf::sec::request_receiver_down) : death_reason();
      what->sender->enqueue(ctrl(), what->mid.response_id(), caf::make_message(std::move(why)), host);
    } else if (box_ != nullptr) {
      box_->counters().bounced.add();
    }
    return;
  }
  auto mid = what->mid;
  if (!what->stages.empty()) {
    // A forwarding chain (actor composition) would need its own addressing on the wire.
    auto why = make_error(errc::unsupported, "composed actors do not reach across nodes: send to the parts instead");
    auto sender = std::move(what->sender);
    box_->refuse(sender, mid, ctrl(), what->move_content_to_message(), std::move(why));
    return;
  }
  if (what->sender && what->sender->node() != home_system().node()) { // delegated by an actor of this node
    if (mid.is_request()) {
      caf::actor_config config;
      what->sender = caf::make_actor<relay, caf::strong_actor_ptr>(home_system().next_actor_id(), home_system().node(),
                                                                   &home_system(), config, std::move(what->sender));
    } else {
      what->sender = nullptr; // what answers cannot find its way back from there
    }
  }
  auto reserved = draws_on_reserve(what->content(), mid);
  if (box_->loop().on_thread()) {
    if (auto* slot = box_->slot()) {
      slot->send(*this, std::move(what), reserved);
      return;
    }
  }
  auto blocking = may_block(what->sender, host);
  enqueue_foreign(std::move(what), reserved, blocking);
}

void remote_ref::enqueue_foreign(caf::mailbox_element_ptr what, bool reserved, bool blocking) {
  // Encoded once into a scratch buffer that each thread keeps, then copied into memory of exactly the right size.
  thread_local std::vector<std::byte> scratch(proto::max_inline_body);
  auto& content = what->content();
  auto op = std::make_unique<outbound_op>();
  encoded_extras extras;
  auto* ctx = static_cast<caf::execution_unit*>(&box_->loop());
  std::size_t size = 0;
  for (;;) {
    proto::byte_writer out{scratch};
    extras.attachments.clear();
    extras.handles.clear();
    if (auto err = box_->encoder().encode(content, out, extras, ctx)) {
      box_->counters().encode_failed.add();
      auto sender = what->sender;
      box_->refuse(sender, what->mid, ctrl(), what->move_content_to_message(), std::move(err));
      return;
    }
    size = out.needed();
    if (!out.overflown())
      break;
    if (size > box_->limits().max_message_bytes)
      break;
    scratch.resize(size);
  }
  op->target = ctrl();
  op->attachments = std::move(extras.attachments);
  op->handles = std::move(extras.handles);
  op->mid = what->mid;
  op->unlinks_source = is_exit(content);
  std::uint64_t total = size;
  for (auto& x : op->attachments)
    total += x.size();
  auto bulk = !op->attachments.empty() || size > proto::max_inline_body;
  caf::error why;
  if (total > box_->limits().max_message_bytes || size > std::numeric_limits<std::uint32_t>::max()) {
    why = make_error(errc::exceeds_limit, "a message of " + std::to_string(total) + " bytes: max-message-bytes is "
                                            + std::to_string(box_->limits().max_message_bytes));
  } else if (!box_->take_credit(*this, total, bulk, reserved)) {
    if (blocking) {
      if (!box_->wait_for_credit(*this, total, bulk))
        why = death_reason();
    } else {
      why = make_error(errc::busy, "no credit for " + box_->peer_name() + ": wait for credit_available");
    }
  }
  if (why) {
    if (scratch.size() > (1u << 20)) {
      scratch.resize(proto::max_inline_body);
      scratch.shrink_to_fit();
    }
    auto sender = what->sender;
    box_->counters().refused.add();
    auto wait = code_of(why) == errc::busy;
    box_->refuse(sender, what->mid, ctrl(), what->move_content_to_message(), std::move(why));
    if (wait)
      box_->await_credit(sender, *this);
    return;
  }
  op->body = payload::copy_of(scratch.data(), size);
  if (scratch.size() > (1u << 20)) { // one huge message must not pin its size in every thread for ever
    scratch.resize(proto::max_inline_body);
    scratch.shrink_to_fit();
  }
  op->sender = std::move(what->sender);
  box_->push(std::move(op));
}

// The two below run with the mutexes of both actors held: nothing is encoded and nothing is locked here but the
// outbox's own list.

bool remote_ref::add_backlink(caf::abstract_actor* x) {
  if (!caf::monitorable_actor::add_backlink(x))
    return false;
  push_link(proto::message_kind::link, x);
  return true;
}

bool remote_ref::remove_backlink(caf::abstract_actor* x) {
  if (!caf::monitorable_actor::remove_backlink(x))
    return false;
  push_link(proto::message_kind::unlink, x);
  return true;
}

void remote_ref::push_link(proto::message_kind kind, caf::abstract_actor* x) {
  if (box_ == nullptr || dead() || box_->closed() || x->node() != home_system().node())
    return;
  auto op = std::make_unique<outbound_op>();
  op->kind = kind;
  op->target = ctrl();
  op->sender = x->ctrl();
  box_->push(std::move(op));
}

void remote_ref::forget_link(caf::abstract_actor* x) {
  // monitorable_actor::remove_link asks `x` to drop its half; ours must not answer with an unlink frame.
  caf::monitorable_actor::remove_link(x);
}

void remote_ref::kill_proxy(caf::execution_unit* host, caf::error reason) {
  dead_.store(true, std::memory_order_release);
  cleanup(std::move(reason), host);
}

caf::error remote_ref::death_reason() {
  if (box_ == nullptr)
    return make_error(errc::unreachable, "no session with that node: connect to it first");
  if (box_->closed())
    if (auto why = box_->reason())
      return why;
  if (auto why = fail_state())
    return why;
  return make_error(errc::peer_dead, "the session with " + box_->peer_name() + " is over");
}

} // namespace troupe
