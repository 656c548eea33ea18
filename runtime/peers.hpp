// The peers actor: spawns a session for every link, and tells who is interested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/behavior.hpp>
#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>

#include <troupe/actors/loop_module.hpp>
#include <troupe/actors/peer_table.hpp>
#include <troupe/actors/pinned.hpp>
#include <troupe/actors/session.hpp>
#include <troupe/runtime/node_events.hpp>
#include <troupe/transport/link.hpp>

namespace troupe {

/// What the peers actor works with. Everything outlives it.
struct peers_environment {
  loop_module* loops = nullptr;
  peer_table* table = nullptr;
  session_environment* sessions = nullptr;
  worker_pool* workers = nullptr;
  const codec* encoder = nullptr;
};

// -- its messages (local only) --------------------------------------------------

/// A link passed its handshake.
struct link_arrived {
  std::shared_ptr<transport::link> link;
};
/// Answered with the peer when the session with this number is up, or with the reason why it never will be.
struct await_session {
  std::uint64_t session = 0;
};
/// From now on `who` gets node_up and node_down; node_up for each session that is up already.
struct subscribe_events {
  caf::actor who;
};
/// Closes the session with this number gracefully; who awaits it from now on is told that it is over.
struct close_peer {
  std::uint64_t session = 0;
};
/// Answered with the number of sessions.
struct count_sessions {};
/// Answered with the session actor of the session with this number.
struct find_session {
  std::uint64_t session = 0;
};
/// Closes every session gracefully; answered when none is left. New links are turned away.
struct close_sessions {};

class peers_state {
public:
  static inline const char* name = "troupe.peers";
  /// Sessions that ended are remembered for late await_sessions.
  static constexpr std::size_t max_ended = 256;
  /// Sessions that are awaited although their link was not announced yet.
  static constexpr std::size_t max_early = 4096;

  explicit peers_state(caf::event_based_actor* self) noexcept : self_(self) {}

  void begin(peers_environment environment) { environment_ = environment; }
  void add(const std::shared_ptr<transport::link>& link);
  void up(const peer& who);
  void lost(const peer& who, const caf::error& why);
  void died(const caf::actor_addr& who);
  void subscribe(const caf::actor& who);
  void await(std::uint64_t session, caf::response_promise promise);
  /// False: there is no such session.
  [[nodiscard]] bool close(std::uint64_t session);
  void close_all(caf::response_promise promise);
  [[nodiscard]] std::size_t count() const noexcept { return sessions_.size(); }
  [[nodiscard]] caf::expected<caf::actor> find(std::uint64_t session) const;

private:
  struct entry {
    std::shared_ptr<outbox> box;
    caf::actor actor;
    peer who;
    bool is_up = false;
    bool closing = false;
    std::vector<caf::response_promise> waiting;
  };

  void closed_one();

  caf::event_based_actor* self_;
  peers_environment environment_;
  std::unordered_map<std::uint64_t, entry> sessions_;
  std::unordered_map<std::uint64_t, caf::error> ended_;
  std::vector<std::uint64_t> ended_order_;
  std::unordered_map<std::uint64_t, std::vector<caf::response_promise>> early_; // asked before the link was announced
  std::vector<caf::actor> subscribers_;
  std::vector<caf::response_promise> closing_;
  std::size_t next_loop_ = 0;
  bool closed_ = false;
};

using peers_pinned = caf::stateful_actor<peers_state, pinned_actor>;

caf::behavior peers_actor(peers_pinned* self, peers_environment environment);

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::link_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::await_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::close_peer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::subscribe_events)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::count_sessions)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::find_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::close_sessions)
