#include "member.hpp"

#include <chrono>
#include <iostream>
#include <utility>

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>

#include <troupe/actors/error.hpp>

#include "text.hpp"

namespace chat {

namespace {

// How long the room has to answer.
constexpr auto patience = std::chrono::seconds{10};

void run_script(member_actor* self);

void show(member_actor* self, const std::string& text) {
  auto& setup = self->state.setup;
  setup.screen->show(text);
  if (setup.plan) {
    setup.plan->shown(text);
    run_script(self);
  }
}

void finish(member_actor* self, int status) {
  if (std::exchange(self->state.ended, true))
    return;
  self->state.setup.finished(status);
  self->quit();
}

void fail(member_actor* self, const std::string& why) {
  std::cerr << "troupe-chat: " << why << std::endl;
  finish(self, 1);
}

void take(member_actor* self, const Line& line) {
  auto& state = self->state;
  if (line.number() < state.next_number)
    return; // the history had it
  if (line.number() > state.next_number)
    show(self, "* missed: lines " + std::to_string(state.next_number) + " to " + std::to_string(line.number() - 1));
  state.next_number = line.number() + 1;
  const auto number = state.setup.numbers ? "[" + std::to_string(line.number()) + "] " : "";
  show(self, number + to_text(line));
}

template <class Names>
std::string list(const Names& names) {
  std::string result;
  for (const auto& name : names)
    result += (result.empty() ? "" : ", ") + printable(name);
  return result;
}

// -- what a member asks of the room -------------------------------------------

void join(member_actor* self) {
  auto& state = self->state;
  Join request;
  request.set_name(state.setup.name);
  self->request(state.setup.room, patience, request)
      .then(
          [self](const Welcome& welcome) {
            auto& state = self->state;
            state.next_number = welcome.next_number() - static_cast<std::uint64_t>(welcome.history_size());
            for (const auto& line : welcome.history())
              take(self, line);
            state.joined = true;
            show(self, "* you are " + state.setup.name + "; here are: " + list(welcome.members()));
            for (const auto& line : std::exchange(state.early, {}))
              take(self, line);
            if (state.setup.plan)
              run_script(self);
          },
          [self](const caf::error& why) { fail(self, troupe::explain(why)); });
}

void say(member_actor* self, const std::string& text, std::function<void()> accepted) {
  Say request;
  request.set_text(text);
  self->request(self->state.setup.room, patience, request)
      .then([accepted = std::move(accepted)](const Accepted&) { accepted(); },
            [self](const caf::error& why) {
              if (self->state.setup.plan)
                fail(self, "script: not said: " + troupe::explain(why));
              else
                show(self, "* not said: " + troupe::explain(why));
            });
}

void show_members(member_actor* self) {
  self->request(self->state.setup.room, patience, WhoIsThere{})
      .then([self](const Members& there) { show(self, "* here are: " + list(there.names())); },
            [self](const caf::error& why) { show(self, "* no answer: " + troupe::explain(why)); });
}

void leave(member_actor* self) {
  self->request(self->state.setup.room, patience, Leave{})
      .then([self](const Goodbye&) { finish(self, 0); },
            [self](const caf::error& why) { fail(self, "the room did not say goodbye: " + troupe::explain(why)); });
}

// -- what makes it act --------------------------------------------------------

void run_script(member_actor* self) {
  auto& state = self->state;
  if (!state.joined || state.ended)
    return;
  auto& plan = *state.setup.plan;
  const auto step = plan.current();
  switch (step.what) {
  case script::command::say:
    if (!std::exchange(state.acting, true))
      say(self, step.text, [self] {
        self->state.acting = false;
        self->state.setup.plan->advance();
        run_script(self);
      });
    break;
  case script::command::wait_for:
    if (plan.found()) {
      plan.advance();
      state.waiting = 0;
      run_script(self);
    } else if (std::exchange(state.waiting, step.line) != step.line) {
      self->delayed_send(self, plan.patience(), late_atom_v, static_cast<std::uint64_t>(step.line));
    }
    break;
  case script::command::members:
    plan.advance();
    show_members(self);
    run_script(self);
    break;
  case script::command::leave:
    if (!std::exchange(state.acting, true))
      leave(self);
    break;
  case script::command::deadline: // taken by the script itself
  case script::command::stay:
    break;
  }
}

void obey(member_actor* self, const std::string& line) {
  if (!self->state.joined || line.empty())
    return;
  if (line == "/quit") {
    leave(self);
  } else if (line == "/members") {
    show_members(self);
  } else if (line == "/help") {
    show(self, "* type a line to say it; /members: who is here; /quit: leave; //TEXT: say /TEXT");
  } else if (line.starts_with("/") && !line.starts_with("//")) {
    show(self, "* there is no command " + printable(line) + "; /help lists them");
  } else {
    say(self, line.starts_with("//") ? line.substr(1) : line, [] {});
  }
}

void room_is_gone(member_actor* self, const caf::error& why) {
  auto& state = self->state;
  const bool orderly = why == caf::exit_reason::normal || why == caf::exit_reason::user_shutdown ||
                       troupe::code_of(why) == troupe::errc::peer_closing;
  // A script that stays, or a person, outlives nothing by this; any other script has not seen all it waits for.
  const bool content = !state.setup.plan || state.setup.plan->current().what == script::command::stay;
  if (orderly) {
    state.setup.screen->show("* the room is closed");
    return finish(self, content ? 0 : 1);
  }
  state.setup.screen->show("* the room is lost: " + troupe::explain(why));
  finish(self, 1);
}

} // namespace

caf::behavior member(member_actor* self, member_setup setup) {
  self->state.setup = std::move(setup);
  self->monitor(self->state.setup.room);
  self->set_down_handler([self](const caf::down_msg& down) { room_is_gone(self, down.reason); });
  join(self);
  return {
      [self](const Line& line) {
        if (self->state.joined)
          take(self, line);
        else
          self->state.early.push_back(line);
      },
      [self](typed_atom, const std::string& line) { obey(self, line); },
      [self](late_atom, std::uint64_t line) {
        const auto& step = self->state.setup.plan->current();
        if (step.what == script::command::wait_for && step.line == line)
          fail(self, "script line " + std::to_string(line) + ": nothing with \"" + step.text + "\" was shown in time");
      },
  };
}

} // namespace chat
