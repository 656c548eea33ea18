// troupe-chat: a chat room on one node, its members on others.
//
//   troupe-chat serve --as ada            opens a room and chats in it
//   troupe-chat join --as ben             joins it, from another terminal

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/runtime/node.hpp>

#include "chat.pb.h"
#include "console.hpp"
#include "member.hpp"
#include "room.hpp"
#include "script.hpp"
#include "text.hpp"

namespace {

constexpr const char* default_address = "127.0.0.1:7117";

struct arguments {
  CLI::App* serve = nullptr;
  CLI::App* join = nullptr;
  std::string address;
  std::string name;
  std::string script_file;
  std::size_t history = chat::default_history;
  bool numbers = false;

  void add_to(CLI::App& app) {
    app.description("A chat room on one node, its members on others.");
    app.require_subcommand(1);
    serve = app.add_subcommand("serve", "Open a room, at --listen or else at " + std::string{default_address});
    join = app.add_subcommand("join", "Join a room");
    serve->add_option("--history", history, "Lines kept for those who join late")
        ->check(CLI::Range(std::size_t{0}, chat::max_history));
    join->add_option("address", address, "HOST:PORT of the room; --connect or else " + std::string{default_address});
    for (auto* each : {serve, join}) {
      each->fallthrough(); // the node's flags may come after the command
      each->add_option("--as", name, each == serve ? "Chat in the room under this name, too" : "Your name; else $USER");
      each->add_option("--script", script_file, "A file of commands to follow instead of the keyboard");
      each->add_flag("--numbers", numbers, "Show the number of each line");
    }
  }
};

[[noreturn]] void fail(const std::string& what, const caf::error& why) {
  throw std::runtime_error(what + ": " + troupe::explain(why));
}

/// Runs the node, with a member in `room` if `name` is not empty, until it is told to end. The exit status.
int chat_in(troupe::node& node, chat::console& screen, const caf::actor& room, const std::string& name,
            const arguments& given, std::optional<chat::script> plan) {
  // The node's destructor waits for the member, which uses these.
  static std::atomic<int> status{0};
  if (name.empty()) {
    node.run();
    return 0;
  }
  chat::member_setup setup;
  setup.name = name;
  setup.room = room;
  setup.screen = &screen;
  setup.numbers = given.numbers;
  const bool typing = !plan;
  setup.plan = std::move(plan);
  setup.finished = [&node](int how) {
    status = how;
    node.stop();
  };
  const auto me = node.spawn(chat::member, std::move(setup));
  if (typing)
    screen.listen(
        name + "> ", [me](std::string line) { caf::anon_send(me, chat::typed_atom_v, std::move(line)); },
        [me] { caf::anon_send(me, chat::typed_atom_v, std::string{"/quit"}); });
  node.run();
  screen.close();
  return status;
}

int serve(troupe::node& node, chat::console& screen, const arguments& given, std::optional<chat::script> plan) {
  const auto room = node.spawn(chat::room, given.history);
  if (const auto why = node.publish(chat::room_name, room))
    fail("cannot publish the room", why);
  const auto port = node.listen();
  if (!port)
    fail("cannot listen", port.error());
  const auto& address = *node.config().listen;
  screen.show("* the room is open at " + address.substr(0, address.rfind(':') + 1) + std::to_string(*port));
  return chat_in(node, screen, room, given.name, given, std::move(plan));
}

int join(troupe::node& node, chat::console& screen, const arguments& given, std::optional<chat::script> plan) {
  const auto peer = node.connect(*node.config().connect);
  if (!peer)
    fail("cannot join", peer.error());
  screen.show("* connected to " + chat::printable(peer->name) + " over " +
              (peer->transport == "shm" ? "shared memory (shm)" : peer->transport));
  const auto room = node.lookup(*peer, chat::room_name);
  if (!room)
    fail("cannot find the room", room.error());
  return chat_in(node, screen, *room, given.name, given, std::move(plan));
}

} // namespace

int main(int argc, char** argv) {
  arguments given;
  const auto body = [&given](troupe::node_config config) {
    const bool serving = given.serve->parsed();
    if (given.name.empty() && !serving) {
      const char* user = std::getenv("USER");
      given.name = user != nullptr ? user : "";
    }
    if (!(serving && given.name.empty()) && !chat::valid_name(given.name))
      throw troupe::usage_error("'" + chat::printable(given.name) +
                                "' is no name: give --as with 1 to 32 letters, digits, '-', '_' or '.'");
    if (given.name.empty() && !given.script_file.empty())
      throw troupe::usage_error("--script needs somebody to follow it: give --as NAME, too");
    std::optional<chat::script> plan;
    if (!given.script_file.empty())
      plan = chat::script::read_file(given.script_file);

    if (serving && !config.listen)
      config.listen = default_address;
    if (!given.address.empty())
      config.connect = given.address;
    else if (!serving && !config.connect)
      config.connect = default_address;
    config.add_protobuf<chat::Line, chat::Join, chat::Welcome, chat::Say, chat::Accepted, chat::Leave, chat::Goodbye,
                        chat::WhoIsThere, chat::Members>();
    chat::console screen; // outlives the node, whose actors write to it
    troupe::node node{std::move(config)};
    return serving ? serve(node, screen, given, std::move(plan)) : join(node, screen, given, std::move(plan));
  };
  return troupe::run_main(argc, argv, body, [&given](CLI::App& app) { given.add_to(app); });
}
