// A node for the system tests. It publishes the actors below, prints its port and what it sees as lines on standard
// output, and obeys commands on standard input:
//
//   publish NAME KIND     unpublish NAME     connect ADDRESS     disconnect NAME     listen ADDRESS     stop-listening
//   open (the gates)      actors             stop
//
// It prints: "port N", "ready", "up NAME TRANSPORT SESSION", "down NAME CODE", "done COMMAND", "failed COMMAND: WHY",
// "actors N", "saw-down REASON", "saw-exit REASON", "stopped".

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <caf/actor_registry.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <tests/system/peer_messages.hpp>
#include <troupe/runtime/node.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

void say(const std::string& line) {
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

gate_keeper& gates() {
  static gate_keeper instance;
  return instance;
}

// -- the actors -----------------------------------------------------------------

caf::behavior echo(caf::event_based_actor* self) {
  self->set_default_handler(caf::reflect);
  return {[](die_atom) {}};
}

caf::behavior pinned_echo(pinned_actor* self) {
  self->set_default_handler(caf::reflect);
  return {[](die_atom) {}};
}

struct count_state {
  std::uint64_t sum = 0;
};

caf::behavior counter(caf::stateful_actor<count_state>* self) {
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

caf::behavior sink_behavior(sink_actor* self, void (*before_each)()) {
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

caf::behavior sink(sink_actor* self) {
  return sink_behavior(self, [] {});
}

/// A hundred messages a second.
caf::behavior slow(sink_actor* self) {
  return sink_behavior(self, [] { std::this_thread::sleep_for(std::chrono::milliseconds{10}); });
}

caf::behavior gate(sink_actor* self) {
  return sink_behavior(self, [] { gates().pass(); });
}

caf::behavior mortal(caf::event_based_actor* self) {
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
caf::behavior mute(caf::event_based_actor* self) {
  auto kept = std::make_shared<std::vector<caf::response_promise>>();
  return {[self, kept](const std::string&) -> caf::result<std::string> {
    kept->push_back(self->make_response_promise());
    say("asked");
    return caf::delegated<std::string>{};
  }};
}

caf::behavior watcher(caf::event_based_actor* self) {
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

caf::behavior forwarder(caf::event_based_actor* self) {
  return {
    [self](forward_atom, const caf::actor& who, const std::string& text) { return self->delegate(who, text); },
    [self](tell_atom, const caf::actor& who, const std::string& text) { self->send(who, text); },
    [self](burst_atom, const caf::actor& who, std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i)
        self->send(who, i);
    },
  };
}

caf::behavior spawner(caf::event_based_actor* self, node* where);

caf::actor make(node& where, const std::string& kind) {
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

caf::behavior spawner(caf::event_based_actor*, node* where) {
  return {[where](spawn_atom, const std::string& kind) { return make(*where, kind); }};
}

caf::behavior event_printer(caf::event_based_actor*) {
  return {
    [](const node_up& x) { say("up " + x.who.name + " " + x.who.transport + " " + std::to_string(x.who.session)); },
    [](const node_down& x) { say("down " + x.who.name + " " + std::string{to_string(code_of(x.reason))}); },
  };
}

// -- the commands ------------------------------------------------------------------

class commands {
public:
  explicit commands(node& where) : where_(where), wake_(eventfd(0, EFD_CLOEXEC)), thread_([this] { read_all(); }) {}

  ~commands() {
    static_cast<void>(eventfd_write(wake_, 1));
    thread_.join();
    close(wake_);
  }

private:
  void read_all() {
    std::string seen;
    for (;;) {
      pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {wake_, POLLIN, 0}};
      char bytes[4096];
      ssize_t size = 0;
      if (poll(ready, 2, -1) < 0 || ready[1].revents != 0
          || (size = read(STDIN_FILENO, bytes, sizeof(bytes))) <= 0)
        return;
      seen.append(bytes, static_cast<std::size_t>(size));
      for (auto end = seen.find('\n'); end != std::string::npos; end = seen.find('\n')) {
        auto line = seen.substr(0, end);
        seen.erase(0, end + 1);
        obey(line);
      }
    }
  }

  void obey(const std::string& line) {
    std::istringstream in{line};
    std::string what, first, second;
    in >> what >> first >> second;
    caf::error why;
    if (what == "publish") {
      why = where_.publish(first, make(where_, second));
    } else if (what == "unpublish") {
      why = where_.unpublish(first);
    } else if (what == "connect") {
      auto reached = where_.connect(first);
      if (reached)
        peers_[reached->name] = *reached;
      else
        why = reached.error();
    } else if (what == "disconnect") {
      why = where_.disconnect(peers_[first]);
    } else if (what == "listen") {
      auto port = where_.listen(first);
      if (port)
        say("port " + std::to_string(*port));
      else
        why = port.error();
    } else if (what == "stop-listening") {
      where_.stop_listening();
    } else if (what == "open") {
      gates().open();
    } else if (what == "actors") {
      say("actors " + std::to_string(where_.system().registry().running()));
    } else if (what == "stop") {
      where_.stop();
    } else {
      why = make_error(errc::invalid_param, "no such command");
    }
    say(why ? "failed " + line + ": " + explain(why) : "done " + line);
  }

  node& where_;
  const int wake_;
  std::map<std::string, peer> peers_;
  std::thread thread_;
};

} // namespace

int main(int argc, char** argv) {
  unsigned types = 1;
  auto silent = false;
  auto extend = [&](CLI::App& app) {
    app.add_option("--types", types, "the version of test.note that this node knows");
    app.add_flag("--no-listen", silent, "open no port");
  };
  return run_main(
    argc, argv,
    [&](node_config config) {
      config.add_message_type<sink_report>("test.sink_report");
      if (types == 1)
        config.add_message_type<note_v1>("test.note");
      else
        config.add_message_type<note_v2>("test.note");
      {
        node self{std::move(config)};
        for (auto kind : {"echo", "pinned-echo", "counter", "sink", "slow", "gate", "mortal", "mute", "watcher",
                          "forwarder", "spawner"})
          if (auto why = self.publish(kind, make(self, kind)))
            throw std::runtime_error(explain(why));
        self.subscribe(self.spawn(event_printer));
        if (!silent) {
          auto port = self.listen();
          if (!port)
            throw std::runtime_error(explain(port.error()));
          say("port " + std::to_string(*port));
        }
        say("ready");
        commands obeyed{self};
        self.run();
        gates().open(); // a thread that waits there would keep the process
      }
      say("stopped");
      return 0;
    },
    extend);
}
