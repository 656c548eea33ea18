#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/type_id.hpp>

#include <troupe/actors/protobuf.hpp>

#include "chat.pb.h"
#include "console.hpp"
#include "script.hpp"

CAF_BEGIN_TYPE_ID_BLOCK(troupe_chat, first_custom_type_id)
CAF_ADD_ATOM(troupe_chat, chat, typed_atom, "typed") // (typed, line): a person entered it
CAF_ADD_ATOM(troupe_chat, chat, late_atom, "late")   // (late, line of the script): its deadline is over
CAF_END_TYPE_ID_BLOCK(troupe_chat)

namespace chat {

/// What a member is made of.
struct member_setup {
  std::string name;
  caf::actor room;
  console* screen = nullptr;                ///< outlives the member
  std::optional<script> plan;               ///< none: a person types
  bool numbers = false;                     ///< show each line's number
  std::function<void(int status)> finished; ///< called once, with the exit status of the program
};

struct member_state {
  member_setup setup;
  bool joined = false;
  bool ended = false;
  std::uint64_t next_number = 0; ///< of the line that comes next
  std::vector<Line> early;       ///< lines that came before the room's welcome
  bool acting = false;           ///< the script's current command is with the room
  std::size_t waiting = 0;       ///< the script's line whose deadline runs; 0: none
};

using member_actor = caf::stateful_actor<member_state>;

/// Somebody in a room: joins it, shows its lines, says what is typed or scripted, and tells when the room is gone.
caf::behavior member(member_actor* self, member_setup setup);

} // namespace chat
