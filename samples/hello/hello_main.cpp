#include <chrono>
#include <iostream>

#include <caf/scoped_actor.hpp>

#include <troupe/runtime/node.hpp>

caf::behavior greeter(caf::event_based_actor*) {
  return {[](const std::string& name) { return "hello, " + name; }};
}

template <class T>
T need(caf::expected<T> x) { // run_main() makes one line and exit status 1 of the exception
  return x ? *x : throw std::runtime_error{troupe::explain(x.error())};
}

int hello(troupe::node_config config) {
  troupe::node node{std::move(config)};
  int status = 0;
  if (const auto& address = node.config().connect) {
    auto remote = need(node.lookup(need(node.connect(*address)), "greeter")); // an ordinary caf::actor
    caf::scoped_actor self{node.system()};
    self->request(remote, std::chrono::seconds{1}, "ada")
      .receive([](const std::string& text) { std::cout << text << '\n'; },
               [&](const caf::error& why) { std::cerr << troupe::explain(why) << '\n', status = 1; });
  } else {
    node.publish("greeter", node.spawn(greeter));
    auto port = need(node.listen());
    std::cout << "listening on port " << port << std::endl;
    node.run(); // until SIGINT or SIGTERM, then drains
  }
  return status;
}

int main(int argc, char** argv) { return troupe::run_main(argc, argv, hello); }
