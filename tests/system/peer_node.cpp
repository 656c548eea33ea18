// A node for the system tests. It publishes the actors below, prints its port and what it sees as lines on standard
// output, and obeys commands on standard input:
//
//   publish NAME KIND     unpublish NAME     connect ADDRESS     disconnect NAME     listen ADDRESS     stop-listening
//   tell PEER NAME TEXT   blast PEER COUNT SIZE (to its sink)     mix PEER COUNT MOST
//   open (the gates)      actors             stop
//
// It prints: "port N", "ready", "up NAME TRANSPORT SESSION", "down NAME CODE", "done COMMAND", "failed COMMAND: WHY",
// "actors N", "blasted MESSAGES BYTES DAMAGED", "asked", "saw-down REASON", "saw-exit REASON", "stopped".

#include <chrono>
#include <map>
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
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <tests/system/peer_actors.hpp>
#include <tests/system/peer_messages.hpp>
#include <troupe/runtime/node.hpp>

namespace {

using namespace troupe;
using namespace troupe::test;

/// The last session with each peer.
struct known {
  std::mutex mutex;
  std::map<std::string, peer> peers;
};

known& known_peers() {
  static known instance;
  return instance;
}

void remember(const peer& who) {
  std::lock_guard guard{known_peers().mutex};
  known_peers().peers[who.name] = who;
}

caf::behavior event_printer(caf::event_based_actor*) {
  return {
    [](const node_up& x) {
      remember(x.who);
      say("up " + x.who.name + " " + x.who.transport + " " + std::to_string(x.who.session));
    },
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
    std::string what, first, second, third;
    in >> what >> first >> second >> third;
    caf::error why;
    if (what == "publish") {
      why = where_.publish(first, make(where_, second));
    } else if (what == "unpublish") {
      why = where_.unpublish(first);
    } else if (what == "connect") {
      auto reached = where_.connect(first);
      if (reached)
        remember(*reached);
      else
        why = reached.error();
    } else if (what == "tell") {
      auto whom = where_.lookup(peer_called(first), second);
      if (whom)
        caf::anon_send(*whom, third);
      else
        why = whom.error();
    } else if (what == "blast" || what == "mix") {
      why = blast(peer_called(first), std::stoull(second), std::stoull(third), what == "mix");
    } else if (what == "disconnect") {
      why = where_.disconnect(peer_called(first));
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

  caf::error blast(const peer& where, std::uint64_t count, std::size_t size, bool mixed) const {
    auto sink = where_.lookup(where, "sink");
    if (!sink)
      return sink.error();
    caf::scoped_actor self{where_.system()};
    sizes next{1, size};
    for (std::uint64_t n = 0; n < count; ++n) {
      if (mixed)
        put(*self, *sink, 0, n, next());
      else
        self->send(*sink, put_atom::value, std::uint64_t{0}, n, numbered_payload(0, n, size));
    }
    caf::error result;
    self->request(*sink, std::chrono::minutes{1}, get_atom::value)
      .receive(
        [](const sink_report& x) {
          say("blasted " + std::to_string(x.messages) + " " + std::to_string(x.bytes) + " "
              + std::to_string(x.damaged + x.out_of_order));
        },
        [&](caf::error& why) { result = std::move(why); });
    return result;
  }

  peer peer_called(const std::string& name) const {
    std::lock_guard guard{known_peers().mutex};
    auto it = known_peers().peers.find(name);
    return it == known_peers().peers.end() ? peer{} : it->second;
  }

  node& where_;
  const int wake_;
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
