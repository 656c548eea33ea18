// The actors that peer_node publishes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <tests/system/peer_messages.hpp>
#include <troupe/runtime/node.hpp>

namespace troupe::test {

inline void say(const std::string& line) {
  static std::mutex mutex;
  std::lock_guard guard{mutex};
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

/// Holds up the actors of kind "gate" until "open".
class gate_keeper {
public:
  void open() {
    std::lock_guard guard{mutex_};
    open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock{mutex_};
    opened_.wait(lock, [this] { return open_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

inline gate_keeper& gates() {
  static gate_keeper instance;
  return instance;
}

// -- the actors -----------------------------------------------------------------

inline caf::behavior echo(caf::event_based_actor* self) {
  self->set_default_handler(caf::reflect);
  return {[](die_atom) {}};
}

inline caf::behavior pinned_echo(pinned_actor* self) {
  self->set_default_handler(caf::reflect);
  return {[](die_atom) {}};
}

struct count_state {
  std::uint64_t sum = 0;
};

inline caf::behavior counter(caf::stateful_actor<count_state>* self) {
  return {
    [self](add_atom, std::uint64_t n) { self->state.sum += n; },
    [self](get_atom) { return self->state.sum; },
  };
}

struct sink_state {
  sink_report report;
  std::map<std::uint64_t, std::uint64_t> next;

  void take(std::uint64_t stream, std::uint64_t n, const std::byte* data, std::size_t size) {
    ++report.messages;
    report.bytes += size;
    if (next[stream]++ != n)
      ++report.out_of_order;
    if (!is_numbered(data, size, stream, n))
      ++report.damaged;
  }
};

using sink_actor = caf::stateful_actor<sink_state>;

inline caf::behavior sink_behavior(sink_actor* self, void (*before_each)()) {
  return {
    [=](put_atom, std::uint64_t stream, std::uint64_t n, const payload& x) {
      before_each();
      self->state.take(stream, n, x.data(), x.size());
    },
    [=](put_atom, std::uint64_t stream, std::uint64_t n, const std::string& x) {
      before_each();
      self->state.take(stream, n, reinterpret_cast<const std::byte*>(x.data()), x.size());
    },
    [=](get_atom) { return self->state.report; },
  };
}

inline caf::behavior sink(sink_actor* self) {
  return sink_behavior(self, [] {});
}

/// A hundred messages a second.
inline caf::behavior slow(sink_actor* self) {
  return sink_behavior(self, [] { std::this_thread::sleep_for(std::chrono::milliseconds{10}); });
}

inline caf::behavior gate(sink_actor* self) {
  return sink_behavior(self, [] { gates().pass(); });
}

inline caf::behavior mortal(caf::event_based_actor* self) {
  self->set_default_handler(caf::reflect);
  return {
    [self](die_atom, std::int32_t how) {
      switch (static_cast<ending>(how)) {
        case ending::normally:
          self->quit();
          break;
        case ending::with_error:
          self->quit(caf::error{mortal_error_code, mortal_error_category});
          break;
        case ending::by_exception:
          throw std::runtime_error("told to throw");
        case ending::with_its_process:
          std::raise(SIGKILL);
      }
    },
    [self](const std::string&) -> caf::result<std::string> { // a request that is never answered
      self->quit(caf::error{mortal_error_code, mortal_error_category});
      return self->make_response_promise();
    },
    [](double) -> double { throw std::runtime_error("told to throw"); },
  };
}

/// Takes requests and never answers.
inline caf::behavior mute(caf::event_based_actor* self) {
  auto kept = std::make_shared<std::vector<caf::response_promise>>();
  return {[self, kept](const std::string&) -> caf::result<std::string> {
    kept->push_back(self->make_response_promise());
    say("asked");
    return caf::delegated<std::string>{};
  }};
}

inline caf::behavior watcher(caf::event_based_actor* self) {
  self->set_down_handler([](const caf::down_msg& x) { say("saw-down " + explain(x.reason)); });
  self->set_exit_handler([self](const caf::exit_msg& x) {
    say("saw-exit " + explain(x.reason));
    if (x.reason == caf::exit_reason::user_shutdown)
      self->quit(x.reason);
  });
  return {
    [self](watch_atom, const caf::actor& who) { self->monitor(who); },
    [self](link_atom, const caf::actor& who) { self->link_to(who); },
    [self](unlink_atom, const caf::actor& who) { self->unlink_from(who); },
  };
}

inline caf::behavior forwarder(caf::event_based_actor* self) {
  return {
    [self](forward_atom, const caf::actor& who, const std::string& text) { return self->delegate(who, text); },
    [self](tell_atom, const caf::actor& who, const std::string& text) { self->send(who, text); },
    [self](burst_atom, const caf::actor& who, std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i)
        self->send(who, i);
    },
  };
}

inline caf::behavior spawner(caf::event_based_actor* self, node* where);

inline caf::actor make(node& where, const std::string& kind) {
  if (kind == "echo")
    return where.spawn(echo);
  if (kind == "pinned-echo")
    return where.spawn_pinned(pinned_echo);
  if (kind == "counter")
    return where.spawn(counter);
  if (kind == "sink")
    return where.spawn(sink);
  if (kind == "slow")
    return where.system().spawn<caf::detached>(slow);
  if (kind == "gate")
    return where.system().spawn<caf::detached>(gate);
  if (kind == "mortal")
    return where.spawn(mortal);
  if (kind == "mute")
    return where.spawn(mute);
  if (kind == "watcher")
    return where.spawn(watcher);
  if (kind == "forwarder")
    return where.spawn(forwarder);
  if (kind == "spawner")
    return where.spawn(spawner, &where);
  return {};
}

inline caf::behavior spawner(caf::event_based_actor*, node* where) {
  return {[where](spawn_atom, const std::string& kind) { return make(*where, kind); }};
}

} // namespace troupe::test
