#include <troupe/actors/session.hpp>

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>

#include <troupe/actors/endpoint.hpp>
#include <troupe/actors/error.hpp>
#include <troupe/actors/worker.hpp>

namespace troupe {

namespace {

/// The first epoch of a session.
constexpr std::uint32_t first_epoch = 1;

/// Carries what the link says from the link thread to the session's loop.
class link_courier final : public transport::link_handler {
public:
  explicit link_courier(std::shared_ptr<outbox> box) noexcept : box_(std::move(box)) {}

  void on_frame(const v1::LinkFrame& frame) override {
    tell([frame](session_slot& slot) { slot.on_link_frame(frame); });
  }
  void on_progress(std::uint64_t, bool stalled) override {
    tell([stalled](session_slot& slot) { slot.on_link_progress(stalled); });
  }
  void on_down(const transport::link_down& why) override {
    tell([why](session_slot& slot) { slot.on_link_down(why); });
  }

private:
  template <class F>
  void tell(F f) {
    if (box_->closed())
      return;
    box_->loop().post([box = box_, f = std::move(f)] {
      if (auto* slot = box->slot())
        f(*slot);
    });
  }

  const std::shared_ptr<outbox> box_;
};

} // namespace

session_actor_state::~session_actor_state() {
  *alive_ = false;
  if (auto* slot = slot_.get())
    slot->detach_observer();
  if (!lost_said_ && seed_.watcher && seed_.box) {
    // Killed: the slot ends the session once the lanes are closed; the watcher must hear of it all the same.
    auto why = make_error(errc::peer_closing, "the session's actor ended");
    if (slot_)
      slot_->end(why, false);
    caf::anon_send(seed_.watcher, session_lost{slot_ ? slot_->who() : peer{}, why});
  }
}

void session_actor_state::begin(session_seed seed, progress_loop& loop) {
  seed_ = std::move(seed);
  loop_ = &loop;
  slot_ = make_lease<session_slot>(loop, loop, *seed_.environment, seed_.link, seed_.box,
                                   static_cast<session_observer&>(*this));
  slot_->start();
  seed_.link->set_handler(std::make_shared<link_courier>(seed_.box));
  auto take = [this, alive = alive_](lease<worker_slot> worker, const failure& why) {
    if (*alive)
      take_worker(std::move(worker), why);
  };
  if (seed_.link->transport() == "shm")
    seed_.workers->take_shm(loop, std::move(take));
  else
    seed_.workers->take_network(loop, std::move(take));
}

void session_actor_state::take_worker(lease<worker_slot> worker, const failure& why) {
  if (!slot_ || lost_said_)
    return;
  if (!worker) {
    slot_->open_failed(why.code, why.text);
    return;
  }
  auto me = caf::actor_cast<caf::actor>(self_);
  auto epoch = make_lease<lanes>(*loop_, *loop_, worker.share(), slot_->as_lanes_owner(), slot_.share(), first_epoch,
                                 lane_credentials::make());
  auto& opened = *epoch;
  if (worker->transport() == transport::lane_transport::shm) {
    worker_ = loop_->spawn_functor<caf::hidden>(worker_actor, std::make_shared<lease<worker_slot>>(std::move(worker)));
    self_->monitor(worker_);
  }
  endpoint_ = loop_->spawn_functor<caf::hidden>(endpoint_actor, std::make_shared<lease<lanes>>(std::move(epoch)), me);
  self_->monitor(endpoint_);
  slot_->open(opened);
}

void session_actor_state::on_session_up() {
  self_->send(seed_.watcher, session_up{slot_->who()});
}

void session_actor_state::on_session_stalled(bool stalled) {
  self_->send(seed_.watcher, worker_stalled{slot_->who(), stalled});
}

void session_actor_state::on_session_over(const caf::error& why) {
  lost_said_ = true;
  self_->send(seed_.watcher, session_lost{slot_->who(), why});
  for (auto* child : {&endpoint_, &worker_})
    if (*child)
      self_->send_exit(*child, caf::exit_reason::user_shutdown);
  self_->send(self_, caf::exit_msg{self_->address(), caf::exit_reason::user_shutdown});
}

caf::behavior session_actor(session_pinned* self, session_seed seed) {
  self->set_down_handler([self](const caf::down_msg& down) {
    if (auto* slot = self->state.slot())
      slot->end(make_error(errc::peer_reset, "a part of the session ended: " + explain(down.reason)), false);
  });
  self->state.begin(std::move(seed), self->loop());
  return {
    [self](const send_op& op) {
      auto who = caf::actor_cast<caf::strong_actor_ptr>(self->current_sender());
      if (auto* slot = self->state.slot())
        slot->send(op, {std::move(who), op.op_id});
      else
        self->send(caf::actor_cast<caf::actor>(who), op_done{op.op_id, errc::peer_dead});
    },
    [self](get_session_state) {
      auto* slot = self->state.slot();
      return slot != nullptr ? slot->state() : session_state{};
    },
    [self](close_session) {
      if (auto* slot = self->state.slot())
        slot->close_gracefully("the session was closed");
    },
  };
}

} // namespace troupe
