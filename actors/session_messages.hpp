// The messages of sessions: what they tell senders, watchers and supervisors.
#pragma once

#include <cstdint>
#include <string>

#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/error.hpp>
#include <caf/message.hpp>
#include <caf/meta/type_name.hpp>

#include <troupe/transport/errc.hpp>

namespace troupe {

/// The other node of one session. A value: it stays valid, and stays dead once the session is over.
struct peer {
  std::string name;
  std::uint64_t incarnation = 0; ///< random, new at each start of the process
  std::uint64_t session = 0;     ///< never reused: a peer that comes back has another one
  std::string transport;         ///< what carries its messages: "shm" or "tcp"
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, peer& x) {
  return f(caf::meta::type_name("troupe.peer"), x.name, x.incarnation, x.session, x.transport);
}

inline bool operator==(const peer& a, const peer& b) {
  return a.session == b.session && a.incarnation == b.incarnation && a.name == b.name;
}

// -- to senders (local only) ------------------------------------------------

/// A plain message that was not accepted, back at its sender. Requests are answered with the error instead.
struct refused {
  caf::strong_actor_ptr target;
  caf::message content;
  caf::error reason; ///< errc::busy: wait for credit_available; anything else is final
};

/// There is credit again for `target`, to an actor that was refused with errc::busy. Once per refusal burst.
struct credit_available {
  caf::strong_actor_ptr target;
};

/// The one terminal message of an operation given to a session with send_op.
struct op_done {
  std::uint64_t op_id = 0;
  errc status = errc::ok; ///< ok: handed to its target's mailbox; failed, canceled or indeterminate otherwise
};

// -- to a session (local only) ----------------------------------------------

/// Sends `content` to `target`, an actor of the session's peer, and answers with op_done{op_id}.
struct send_op {
  std::uint64_t op_id = 0; ///< chosen by the caller, unique among its operations
  caf::strong_actor_ptr target;
  caf::message content;
};

/// Ends the session: sends what was accepted, says goodbye, waits for the acknowledgement (at most goodbye_deadline).
struct close_session {};

/// Asks for session_state.
struct get_session_state {};

/// A snapshot of a session. Counts are totals since it began.
struct session_state {
  peer who;
  bool up = false;
  std::uint64_t accepted = 0, ok = 0, failed = 0, canceled = 0, indeterminate = 0;
  std::uint64_t refused = 0, bounced = 0, dropped = 0;
  std::uint64_t encode_failed = 0, decode_failed = 0, unknown_target = 0, foreign_frames = 0, malformed_frames = 0;
  std::uint64_t delivered = 0, batches_sent = 0, bulk_sent = 0, bytes_sent = 0, bytes_received = 0;
  std::uint64_t journal_entries = 0, journal_bytes = 0, held_back = 0, exports = 0, references = 0, pending_requests = 0;
};

// -- to the watchers of a session (local only) ------------------------------

/// The lanes are up in both directions: messages flow. Once.
struct session_up {
  peer who;
};

/// The session is over, after the last message of the peer and the downs of its actors. Once.
struct session_lost {
  peer who;
  caf::error reason;
};

/// The peer's loop has not moved for two heartbeats although its process answers, or moves again.
struct worker_stalled {
  peer who;
  bool stalled = false;
};

} // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::refused)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::credit_available)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::op_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::send_op)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::close_session)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::get_session_state)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::session_state)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::session_up)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::session_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::worker_stalled)
