#include <troupe/runtime/system_config.hpp>

#include <utility>

#include <caf/actor_system_config.hpp>
#include <caf/thread_hook.hpp>

#include <troupe/actors/payload_inspect.hpp>
#include <troupe/runtime/log.hpp>
#include <troupe/runtime/node_events.hpp>
#include <troupe/runtime/signals.hpp>

namespace troupe {

namespace {

class thread_identity : public caf::thread_hook {
public:
  explicit thread_identity(std::shared_ptr<const std::string> name) : name_(std::move(name)) {
    // nop
  }

  void init(caf::actor_system&) override {
    // nop
  }

  void thread_started() override {
    signal_shield::block_this_thread();
    name_log_thread(*name_);
  }

  void thread_terminates() override {
    // nop
  }

private:
  std::shared_ptr<const std::string> name_;
};

} // namespace

std::unique_ptr<caf::actor_system_config> make_system_config(std::shared_ptr<const std::string> thread_name) {
  auto config = std::make_unique<caf::actor_system_config>();
  config->add_thread_hook<thread_identity>(std::move(thread_name));
  add_payload_type(*config);
  config->add_message_type<peer>("troupe.peer");
  config->add_message_type<node_up>("troupe.node_up");
  config->add_message_type<node_down>("troupe.node_down");
  return config;
}

} // namespace troupe
