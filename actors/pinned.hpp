// Actors that live on one loop's thread.
#pragma once

#include <stdexcept>
#include <utility>

#include <caf/actor_config.hpp>
#include <caf/detail/sync_request_bouncer.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <troupe/actors/progress_loop.hpp>

namespace troupe {

/// Adds to `Base`, a caf::event_based_actor or caf::typed_event_based_actor<...>, that everything the actor does
/// happens on the thread of its loop: handlers, timeouts, on_exit, the destruction of its state, its last down and exit
/// messages. Anyone may send to it from anywhere.
///
/// Spawn it through the loop, or with spawn() of another pinned actor; otherwise, and with caf::detached, the
/// constructor throws std::logic_error out of spawn().
///
/// A pinned actor keeps itself alive until it ends: dropping its last handle does not end it, it must be told to quit.
/// The actor object itself is destroyed wherever its last handle is dropped: keep what belongs to the thread in the
/// state of a stateful_actor, or release it in on_exit(), not in the actor's destructor.
template <class Base>
class pinned : public Base {
public:
  explicit pinned(caf::actor_config& config) : Base(config), loop_(loop_of(config)), node_(*this) {}

  /// The loop it lives on. @threadsafe
  [[nodiscard]] progress_loop& loop() const noexcept { return loop_; }

  // -- what CAF calls ----------------------------------------------------------

  using Base::enqueue;

  /// Ignores the caller's execution unit: the actor runs on its own loop whoever sends. @threadsafe
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    auto mid = what->mid;
    auto sender = what->sender;
    switch (this->mailbox().push_back(std::move(what))) {
      case caf::intrusive::inbox_result::unblocked_reader:
        make_ready();
        break;
      case caf::intrusive::inbox_result::queue_closed:
        if (mid.is_request()) { // nobody else would answer it
          caf::detail::sync_request_bouncer bounce{this->fail_state()};
          bounce(sender, mid);
        }
        break;
      default:
        break;
    }
  }

  void launch(caf::execution_unit*, bool lazy, bool hide) override {
    if (!hide)
      this->register_at_system();
    self_ = this->ctrl();
    if (!loop_.residents().add(node_)) {
      node_.terminate(caf::exit_reason::user_shutdown);
      return;
    }
    if (lazy && this->mailbox().try_block())
      return;
    make_ready();
  }

  bool cleanup(caf::error&& why, caf::execution_unit* host) override {
    auto result = Base::cleanup(std::move(why), host);
    if (self_) {
      loop_.residents().remove(node_);
      self_ = nullptr; // whoever runs us holds another reference
    }
    return result;
  }

  /// Not on the scheduler's account.
  [[nodiscard]] caf::resumable::subtype_t subtype() const override { return caf::resumable::io_actor; }

private:
  class node final : public resident {
  public:
    explicit node(pinned& self) noexcept : self_(self) {}

    void run(progress_loop& loop) noexcept override {
      // Terminated while it was in the list: resuming it would initialize it anew.
      if (self_.self_ && self_.resume(&loop, loop.options().messages_per_turn) == caf::resumable::resume_later
          && loop.schedule(*this))
        return;
      caf::intrusive_ptr_release(self_.ctrl());
    }

    void discard() noexcept override {
      auto control = self_.ctrl();
      if (self_.self_)
        terminate(caf::exit_reason::user_shutdown);
      caf::intrusive_ptr_release(control);
    }

    caf::actor_control_block* control() noexcept override { return self_.ctrl(); }

    void terminate(caf::error why) noexcept override {
      self_.context(&self_.loop_);
      self_.quit(std::move(why));
      if (!self_.finalize())
        self_.cleanup(caf::exit_reason::kill, &self_.loop_);
    }

  private:
    pinned& self_;
  };

  static progress_loop& loop_of(const caf::actor_config& config) {
    auto loop = dynamic_cast<progress_loop*>(config.host);
    if (loop == nullptr)
      throw std::logic_error("cannot spawn a pinned actor here: it needs a loop; "
                             "spawn it through progress_loop::spawn or from a pinned actor");
    if (config.flags & caf::abstract_actor::is_detached_flag)
      throw std::logic_error("cannot spawn a pinned actor detached: it runs on its loop's thread; drop caf::detached");
    return *loop;
  }

  /// Puts the actor on the run list, which holds one reference to it. CAF calls for that only when the mailbox was
  /// blocked, so the actor is in the list at most once.
  void make_ready() {
    caf::intrusive_ptr_add_ref(this->ctrl());
    if (!loop_.schedule(node_))
      node_.discard();
  }

  progress_loop& loop_;
  node node_;
  caf::strong_actor_ptr self_; // from launch to cleanup: it never ends on a stranger's thread
};

using pinned_actor = pinned<caf::event_based_actor>;

template <class... Signatures>
using typed_pinned_actor = pinned<caf::typed_event_based_actor<Signatures...>>;

} // namespace troupe
