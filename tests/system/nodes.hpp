// Nodes for the system tests: the test's own, and peer_node processes, over either transport.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <tests/system/peer_messages.hpp>
#include <tests/system/peer_process.hpp>
#include <troupe/runtime/node.hpp>

#ifndef TROUPE_BIN_DIR
#  define TROUPE_BIN_DIR "build/dev/bin"
#endif

namespace troupe::test {

// -- what happens, kept and waited for -------------------------------------------------

/// Texts in the order in which they were noted.
class journal_of_events {
public:
  void note(std::string what) {
    std::lock_guard guard{mutex_};
    events_.push_back(std::move(what));
    changed_.notify_all();
  }

  /// Waits until `n` events that start with `start` were noted.
  [[nodiscard]] bool wait(const std::string& start, std::size_t n = 1, std::chrono::milliseconds most = patience) const {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, most, [&] { return count_of(start) >= n; });
  }
  [[nodiscard]] std::size_t count(const std::string& start) const {
    std::lock_guard guard{mutex_};
    return count_of(start);
  }
  [[nodiscard]] std::vector<std::string> all() const {
    std::lock_guard guard{mutex_};
    return events_;
  }
  [[nodiscard]] std::string text() const {
    std::string result;
    for (auto& x : all())
      result += x + "\n";
    return result;
  }

private:
  [[nodiscard]] std::size_t count_of(const std::string& start) const {
    return static_cast<std::size_t>(
      std::count_if(events_.begin(), events_.end(), [&](auto& x) { return x.starts_with(start); }));
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> events_;
};

using event_log = std::shared_ptr<journal_of_events>;

/// Notes "up NAME TRANSPORT" and "down NAME CODE", downs and exits of actors it watches as "actor-down WHY" and
/// "actor-exit WHY", numbers as "number N", texts as "text T", and what came back as "refused CODE" and "credit".
inline caf::behavior note_taker(caf::event_based_actor* self, event_log log) {
  self->set_down_handler([log](const caf::down_msg& x) { log->note("actor-down " + explain(x.reason)); });
  self->set_exit_handler([log, self](const caf::exit_msg& x) {
    log->note("actor-exit " + explain(x.reason));
    if (x.reason == caf::exit_reason::user_shutdown)
      self->quit(x.reason);
  });
  return {
    [log](const node_up& x) { log->note("up " + x.who.name + " " + x.who.transport); },
    [log](const node_down& x) { log->note("down " + x.who.name + " " + std::string{to_string(code_of(x.reason))}); },
    [log](std::uint64_t n) { log->note("number " + std::to_string(n)); },
    [log](const std::string& x) { log->note("text " + x); },
    [log](const refused& x) { log->note("refused " + std::string{to_string(code_of(x.reason))}); },
    [log](const credit_available&) { log->note("credit"); },
    [log](const op_done& x) { log->note("op " + std::to_string(x.op_id) + " " + std::string{to_string(x.status)}); },
    [self, log](watch_atom, const caf::actor& who) {
      self->monitor(who);
      log->note("watching");
    },
    [self, log](link_atom, const caf::actor& who) {
      self->link_to(who);
      log->note("linked");
    },
    [self, log](unlink_atom, const caf::actor& who) {
      self->unlink_from(who);
      log->note("unlinked");
    },
  };
}

// -- answers ----------------------------------------------------------------------------

/// Asks `whom` and waits for a T. Nothing that a test asks may stay unanswered: that is errc::internal.
template <class T, class... Ts>
caf::expected<T> ask(caf::actor_system& system, const caf::actor& whom, Ts&&... question) {
  caf::scoped_actor self{system};
  caf::expected<T> answer = make_error(errc::internal, "no answer");
  self->request(whom, patience, std::forward<Ts>(question)...)
    .receive([&](T& x) { answer = std::move(x); }, [&](caf::error& why) { answer = std::move(why); });
  return answer;
}

template <class... Ts>
caf::error ask_for_nothing(caf::actor_system& system, const caf::actor& whom, Ts&&... question) {
  caf::scoped_actor self{system};
  caf::error answer;
  self->request(whom, patience, std::forward<Ts>(question)...).receive([] {}, [&](caf::error& why) {
    answer = std::move(why);
  });
  return answer;
}

// -- nodes -----------------------------------------------------------------------------------

/// A peer_node process that is ready.
class peer_node : public child_process {
public:
  peer_node(const std::string& name, const std::string& transport, std::vector<std::string> arguments = {},
            std::map<std::string, std::string> environment = {}, void (*before)() = nullptr)
    : child_process(command(name, transport, std::move(arguments)), std::move(environment), before) {
    if (auto text = line("port "))
      port_ = static_cast<std::uint16_t>(std::stoul(*text));
    if (!line("ready"))
      throw std::runtime_error("peer_node does not start: " + rest());
    eventually([this] { return catches(id(), SIGTERM); }); // from when it runs: before that a signal just ends it
  }

  static std::vector<std::string> command(const std::string& name, const std::string& transport,
                                          std::vector<std::string> arguments) {
    std::vector<std::string> words{TROUPE_BIN_DIR "/peer_node", "--name", name, "--transport", transport};
    if (std::find(arguments.begin(), arguments.end(), "--listen") == arguments.end())
      arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
  std::uint16_t port_ = 0;
};

inline node_config config_of(const std::string& name, const std::string& transport) {
  node_config x;
  x.name = name;
  x.transport = transport == "shm"   ? transport_choice::shm
                : transport == "tcp" ? transport_choice::tcp
                                     : transport_choice::automatic;
  x.add_message_type<sink_report>("test.sink_report");
  x.add_message_type<note_v1>("test.note");
  x.add_message_type<private_note>("test.private_note");
  return x;
}

/// Tests that run over both transports. `self` is the test's own node, made on first use.
class NodesOver : public testing::TestWithParam<const char*> {
protected:
  [[nodiscard]] std::string transport() const { return GetParam(); }

  /// Changes what the test's own node is made with; before it is used.
  template <class F>
  void configure(F&& change) {
    auto x = config_of("tester", transport());
    change(x);
    node_ = std::make_unique<node>(std::move(x));
  }

  node& self() {
    if (!node_)
      node_ = std::make_unique<node>(config_of("tester", transport()));
    return *node_;
  }
  caf::actor_system& system() { return self().system(); }
  void end_self() {
    note_takers_.clear();
    node_.reset();
  }

  [[nodiscard]] std::unique_ptr<peer_node> start(const std::string& name, std::vector<std::string> arguments = {},
                                                 std::map<std::string, std::string> environment = {}) const {
    return std::make_unique<peer_node>(name, transport(), std::move(arguments), std::move(environment));
  }

  /// Connects; the peer must be reached over the transport that this test is about.
  peer connect(const peer_node& to) {
    auto reached = self().connect(to.address());
    if (!reached)
      throw std::runtime_error("connect: " + explain(reached.error()));
    if (reached->transport != transport())
      throw std::runtime_error("connected over " + reached->transport);
    return *reached;
  }

  caf::actor lookup(const peer& where, const std::string& name) {
    auto found = self().lookup(where, name);
    if (!found)
      throw std::runtime_error("lookup of " + name + ": " + explain(found.error()));
    return *found;
  }

  /// An actor that notes what it gets. It lives as long as the test's node, also when nobody holds a handle.
  caf::actor notes(const event_log& log) {
    note_takers_.push_back(self().spawn(note_taker, log));
    return note_takers_.back();
  }

  session_state state(const peer& of) {
    auto session = self().session_of(of);
    if (!session)
      throw std::runtime_error("session_of: " + explain(session.error()));
    auto x = ask<session_state>(system(), *session, get_session_state{});
    if (!x)
      throw std::runtime_error("get_session_state: " + explain(x.error()));
    return *x;
  }

private:
  std::unique_ptr<node> node_;
  std::vector<caf::actor> note_takers_;
};

#define TROUPE_OVER_BOTH_TRANSPORTS(fixture)                                                                           \
  INSTANTIATE_TEST_SUITE_P(Over, fixture, testing::Values("shm", "tcp"), [](const auto& info) { return info.param; })

} // namespace troupe::test
