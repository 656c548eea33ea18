#include "room.hpp"

#include <algorithm>
#include <utility>

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/session_messages.hpp>

#include "text.hpp"

namespace chat {

namespace {

void send_line(room_actor* self, const room_state::member& to, const Line& line) {
  if (to.behind_from == room_state::none)
    self->send(to.handle, line);
}

/// Numbers and keeps a line, and sends it to every member.
void tell(room_actor* self, Line::Kind kind, const std::string& author, const std::string& text = {}) {
  auto& state = self->state;
  Line line;
  line.set_number(state.next_number++);
  line.set_kind(kind);
  line.set_author(author);
  line.set_text(text);
  for (const auto& [address, member] : state.members)
    send_line(self, member, line);
  state.history.push_back(std::move(line));
  if (state.history.size() > state.history_limit)
    state.history.pop_front();
}

room_state::member* find(room_actor* self, const caf::strong_actor_ptr& who) {
  const auto found = self->state.members.find(caf::actor_cast<caf::actor_addr>(who));
  return found == self->state.members.end() ? nullptr : &found->second;
}

caf::error refuse(troupe::errc code, const char* why) { return troupe::make_error(code, why); }

caf::result<Welcome> join(room_actor* self, const Join& request) {
  auto& state = self->state;
  const auto who = self->current_sender();
  if (!valid_name(request.name()))
    return refuse(troupe::errc::invalid_param, "cannot join: a name is 1 to 32 letters, digits, '-', '_' or '.'");
  if (find(self, who) != nullptr)
    return refuse(troupe::errc::already_exists, "cannot join: already in the room");
  if (std::ranges::any_of(state.members, [&](const auto& known) { return known.second.name == request.name(); }))
    return refuse(troupe::errc::name_in_use, "cannot join: somebody in the room has this name; choose another one");
  if (state.members.size() >= max_members)
    return refuse(troupe::errc::busy, "cannot join: the room is full; try again when somebody has left");

  // Told before the newcomer is a member: its first line is the one after this, and the answer says so.
  tell(self, Line::JOINED, request.name());
  auto handle = caf::actor_cast<caf::actor>(who);
  self->monitor(handle);
  state.members.emplace(handle.address(), room_state::member{request.name(), handle, room_state::none});
  Welcome answer;
  answer.set_next_number(state.next_number);
  for (const auto& line : state.history)
    *answer.add_history() = line;
  for (const auto& [address, member] : state.members)
    answer.add_members(member.name);
  return answer;
}

caf::result<Accepted> say(room_actor* self, const Say& request) {
  const auto* author = find(self, self->current_sender());
  if (author == nullptr)
    return refuse(troupe::errc::not_allowed, "cannot say it: not in the room; join first");
  if (request.text().empty() || request.text().size() > max_text)
    return refuse(troupe::errc::exceeds_limit, "cannot say it: a text is 1 to 4096 bytes");
  tell(self, Line::SAID, author->name, request.text());
  Accepted answer;
  answer.set_number(self->state.next_number - 1);
  return answer;
}

void remove(room_actor* self, const caf::actor_addr& who, Line::Kind how) {
  const auto found = self->state.members.find(who);
  if (found == self->state.members.end())
    return;
  const auto name = found->second.name;
  self->state.members.erase(found);
  tell(self, how, name);
}

/// The runtime took a line back because its member has too many already.
void fall_behind(room_actor* self, const troupe::refused& what) {
  auto* member = find(self, what.target);
  if (member == nullptr || !what.content.match_elements<Line>())
    return;
  member->behind_from = std::min(member->behind_from, what.content.get_as<Line>(0).number());
}

void catch_up(room_actor* self, const caf::strong_actor_ptr& who) {
  auto* member = find(self, who);
  if (member == nullptr)
    return;
  const auto from = std::exchange(member->behind_from, room_state::none);
  for (const auto& line : self->state.history)
    if (line.number() >= from)
      send_line(self, *member, line);
}

} // namespace

caf::behavior room(room_actor* self, std::size_t history_limit) {
  self->state.history_limit = history_limit;
  self->set_down_handler([self](const caf::down_msg& down) {
    const bool orderly = down.reason == caf::exit_reason::normal || down.reason == caf::exit_reason::user_shutdown;
    remove(self, down.source, orderly ? Line::LEFT : Line::LOST);
  });
  return {
      [self](const Join& request) { return join(self, request); },
      [self](const Say& request) { return say(self, request); },
      [self](const Leave&) {
        const auto who = caf::actor_cast<caf::actor_addr>(self->current_sender());
        self->demonitor(who);
        remove(self, who, Line::LEFT);
        return Goodbye{};
      },
      [self](const WhoIsThere&) {
        Members answer;
        for (const auto& [address, member] : self->state.members)
          answer.add_names(member.name);
        return answer;
      },
      [self](const troupe::refused& what) { fall_behind(self, what); },
      [self](const troupe::credit_available& what) { catch_up(self, what.target); },
  };
}

} // namespace chat
