#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>

#include <caf/message.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/pinned.hpp>
#include <troupe/actors/session_messages.hpp>

#include "bench/troupe_peer.hpp"
#include "bench/workload.hpp"

// One-way streams at full rate. The runtime says when it is enough: what it refuses is kept and sent again, before
// anything new, when it says that there is credit.

namespace troupe::bench {

/// What a sender shares with the thread that waits for it.
struct stream {
  caf::actor server;
  std::promise<tally> done;
  std::uint64_t posted = 0;  // new messages
  std::uint64_t refused = 0; // those, and repetitions, that came back
  std::deque<caf::message> returned;
  bool scheduled = false;
};

/// Posts `burst` messages at a time, made by `post(self, server, sequence)`, until the receiver's tally comes.
template <class Post>
caf::behavior run_sender(pinned_actor* self, std::shared_ptr<stream> state, std::uint64_t burst, Post post) {
  const auto schedule = [self, state] {
    if (!std::exchange(state->scheduled, true))
      self->send(self, more_atom_v);
  };
  schedule();
  return {
      // A refusal of the last burst is in the mailbox before this reminder.
      [self, state, schedule, burst, post](more_atom) {
        state->scheduled = false;
        if (!state->returned.empty())
          return;
        for (std::uint64_t left = burst; left > 0; --left)
          post(self, state->server, state->posted++);
        schedule();
      },
      [self, state](refused& what) {
        if (code_of(what.reason) != errc::busy) {
          state->done.set_exception(std::make_exception_ptr(std::runtime_error(explain(what.reason))));
          self->quit();
          return;
        }
        ++state->refused;
        state->returned.push_back(std::move(what.content));
      },
      [self, state, schedule](const credit_available&) {
        for (auto& content : std::exchange(state->returned, {}))
          self->send(state->server, std::move(content));
        schedule();
      },
      [self, state](const tally& result) {
        state->done.set_value(result);
        self->quit();
      },
  };
}

} // namespace troupe::bench
