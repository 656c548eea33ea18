// A node as an application would write it: without --connect it serves a greeter and prints its port, with --connect it
// asks that greeter and prints the answer.
#include <chrono>
#include <iostream>
#include <string>
#include <utility>

#include <caf/actor.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/runtime/config.hpp>
#include <troupe/runtime/node.hpp>

namespace {

caf::behavior greeter(caf::event_based_actor*) {
  return {[](const std::string& name) { return "hello, " + name; }};
}

int fail(const char* what, const caf::error& why) {
  std::cerr << what << ": " << troupe::explain(why) << '\n';
  return 1;
}

int serve(troupe::node& node) {
  if (auto why = node.publish("greeter", node.spawn(greeter)))
    return fail("publish", why);
  auto port = node.listen();
  if (!port)
    return fail("listen", port.error());
  std::cout << "listening on port " << *port << std::endl;
  node.run();
  return 0;
}

int greet(troupe::node& node, const std::string& address) {
  auto peer = node.connect(address);
  if (!peer)
    return fail("connect", peer.error());
  auto remote = node.lookup(*peer, "greeter");
  if (!remote)
    return fail("lookup", remote.error());
  int status = 1;
  caf::scoped_actor self{node.system()};
  self->request(*remote, std::chrono::seconds(5), "ada")
    .receive(
      [&](const std::string& text) {
        std::cout << text << std::endl;
        status = 0;
      },
      [&](const caf::error& why) { status = fail("request", why); });
  return status;
}

} // namespace

int main(int argc, char** argv) {
  return troupe::run_main(argc, argv, [](troupe::node_config config) {
    troupe::node node{std::move(config)};
    if (auto address = node.config().connect)
      return greet(node, *address);
    return serve(node);
  });
}
