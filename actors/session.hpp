// The session actor: the conversation with one peer, from the link that began it to its one session_lost.
#pragma once

#include <memory>

#include <caf/actor.hpp>
#include <caf/behavior.hpp>
#include <caf/stateful_actor.hpp>

#include <troupe/actors/pinned.hpp>
#include <troupe/actors/session_messages.hpp>
#include <troupe/actors/session_slot.hpp>
#include <troupe/actors/slot.hpp>
#include <troupe/actors/worker_pool.hpp>

namespace troupe {

/// What a session is made from.
struct session_seed {
  session_environment* environment = nullptr; ///< outlives the actor
  worker_pool* workers = nullptr;             ///< outlives the actor
  std::shared_ptr<transport::link> link;
  std::shared_ptr<outbox> box;
  caf::actor watcher; ///< gets session_up, session_lost (always, and last), worker_stalled
};

class session_actor_state : public session_observer {
public:
  static inline const char* name = "troupe.session";

  explicit session_actor_state(caf::event_based_actor* self) noexcept : self_(self) {}
  virtual ~session_actor_state();

  void begin(session_seed seed, progress_loop& loop);
  [[nodiscard]] session_slot* slot() const noexcept { return slot_.get(); }

private:
  void on_session_up() override;
  void on_session_over(const caf::error& why) override;
  void on_session_stalled(bool stalled) override;
  void take_worker(lease<worker_slot> worker, const failure& why);

  caf::event_based_actor* self_;
  session_seed seed_;
  progress_loop* loop_ = nullptr;
  lease<session_slot> slot_;
  caf::actor worker_, endpoint_;
  bool lost_said_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

using session_pinned = caf::stateful_actor<session_actor_state, pinned_actor>;

/// Takes send_op (one op_done each), get_session_state, close_session. Data passes by its mailbox: see session_slot.hpp.
/// Its worker and endpoint actors are its temporary children; if one of them dies, the session ends. It quits when the
/// session is over. Spawn it on the loop of `seed.box`.
caf::behavior session_actor(session_pinned* self, session_seed seed);

} // namespace troupe
