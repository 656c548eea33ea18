// What a node tells its subscribers about other nodes.
#pragma once

#include <caf/error.hpp>
#include <caf/meta/type_name.hpp>

#include <troupe/actors/session_messages.hpp>

namespace troupe {

/// A session with `who` is up: its actors can be looked up. Once per session.
struct node_up {
  peer who;
};

/// The session with `who` is over; every message that arrived from it was handed over before, and the downs of its
/// actors were sent. Once per session that was up. `reason` says why: errc::peer_dead, timed_out, peer_closing, ...
struct node_down {
  peer who;
  caf::error reason;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_up& x) {
  return f(caf::meta::type_name("troupe.node_up"), x.who);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_down& x) {
  return f(caf::meta::type_name("troupe.node_down"), x.who, x.reason);
}

} // namespace troupe
