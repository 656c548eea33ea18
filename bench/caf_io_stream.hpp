#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>

#include <caf/stateful_actor.hpp>

#include "bench/caf_io_peer.hpp"
#include "bench/workload.hpp"

// One-way streams over CAF's io module. BASP has no flow control: a sender that is bounded is so by acknowledgements.

namespace troupe::bench {

/// Messages a sender posts before it lets its mailbox be looked at.
inline constexpr std::uint64_t burst = 128;

struct caf_io_sender_state {
  caf::actor server;
  caf_io_options options;
  std::function<caf::message(std::uint64_t sequence)> make;
  std::shared_ptr<std::promise<tally>> done;
  std::uint64_t sent = 0;
  std::uint64_t taken = 0; // as told by the receiver's last acknowledgement
  bool scheduled = false;
};

using caf_io_sender = caf::stateful_actor<caf_io_sender_state>;

inline void send_burst(caf_io_sender* self) {
  auto& state = self->state;
  std::uint64_t room = burst;
  if (state.options.window > 0)
    room = std::min<std::uint64_t>(room, state.options.window -
                                             std::min<std::uint64_t>(state.options.window, state.sent - state.taken));
  for (; room > 0; --room)
    self->send(state.server, state.make(state.sent++));
  const bool open = state.options.window == 0 || state.sent - state.taken < state.options.window;
  if (open && !state.scheduled) {
    state.scheduled = true;
    self->send(self, more_atom_v);
  }
}

/// Streams what `make` makes to `server` until the receiver's tally comes back, and fulfils `done` with it.
inline caf::behavior run_sender(caf_io_sender* self, const caf::actor& server, const caf_io_options& options,
                                std::function<caf::message(std::uint64_t)> make,
                                std::shared_ptr<std::promise<tally>> done) {
  self->state.server = server;
  self->state.options = options;
  self->state.make = std::move(make);
  self->state.done = std::move(done);
  self->send(server, begin_atom_v, options.warm_up, options.seconds, static_cast<std::uint64_t>(options.window));
  send_burst(self);
  return {
      [self](more_atom) {
        self->state.scheduled = false;
        send_burst(self);
      },
      [self](ack_atom, std::uint64_t taken) {
        self->state.taken = taken;
        if (!self->state.scheduled)
          send_burst(self);
      },
      [self](const tally& result) {
        self->state.done->set_value(result);
        self->quit();
      },
  };
}

} // namespace troupe::bench
