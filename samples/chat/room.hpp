#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <troupe/actors/protobuf.hpp>

#include "chat.pb.h"

namespace chat {

/// The name under which a node publishes its room.
inline constexpr const char* room_name = "room";

/// Members of a room at one time.
inline constexpr std::size_t max_members = 256;

/// Lines kept for those who join late, unless told otherwise, and at most.
inline constexpr std::size_t default_history = 200;
inline constexpr std::size_t max_history = 10'000;

struct room_state {
  struct member {
    std::string name;
    caf::actor handle;
    /// A member that takes lines more slowly than they are said is sent nothing until it has caught up; then the lines
    /// from this number on, as far as the history still has them. `none`: it is up to date.
    std::uint64_t behind_from = none;
  };
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::map<caf::actor_addr, member> members;
  std::deque<Line> history;
  std::size_t history_limit = default_history;
  std::uint64_t next_number = 1;
};

using room_actor = caf::stateful_actor<room_state>;

/// A chat room: takes Join, Say, Leave and WhoIsThere, sends Line to every member. It watches its members, on whatever
/// node they are, and tells the others when one is lost.
caf::behavior room(room_actor* self, std::size_t history_limit);

} // namespace chat
