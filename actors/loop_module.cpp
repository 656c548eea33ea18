#include <troupe/actors/loop_module.hpp>

#include <stdexcept>
#include <string>

#include <caf/exit_reason.hpp>

#include <troupe/actors/error.hpp>

// CAF declares this class as a friend of actor_system and leaves its definition to a library that 0.17 does not have.
// It is our only way to give a system its node id, without which every handle would be taken for a local one.
namespace caf::net {

class middleman {
public:
  static void set_node(actor_system& system, node_id id) { system.node_ = std::move(id); }
};

} // namespace caf::net

namespace troupe {

void loop_module::load(caf::actor_system_config& config, loop_module_options options) {
  if (!options.node)
    throw std::invalid_argument("cannot load the loops: the node id is empty; make one with node_id_of()");
  if (options.loops == 0 || options.loops > max_loops)
    throw std::invalid_argument("cannot load the loops: " + std::to_string(options.loops) + " of them asked for; "
                                + "use 1 to " + std::to_string(max_loops));
  register_error_category(config);
  if (caf::get_if<caf::atom_value>(&caf::content(config), "scheduler.policy") == caf::none)
    config.set("scheduler.policy", caf::atom("sharing"));
  config.module_factories.emplace_back([options = std::move(options)](caf::actor_system& system) -> module* {
    return new loop_module(system, options);
  });
}

loop_module& loop_module::of(caf::actor_system& system) {
  if (!system.has_network_manager())
    throw std::logic_error("this actor system has no loops; call loop_module::load() on its configuration first");
  return reinterpret_cast<loop_module&>(system.network_manager()); // CAF casts our subtype_ptr() the other way
}

loop_module::loop_module(caf::actor_system& system, loop_module_options options)
  : system_(system), options_(std::move(options)) {
  // nop
}

loop_module::~loop_module() = default;

void loop_module::init(caf::actor_system_config&) {
  caf::net::middleman::set_node(system_, options_.node);
  for (std::size_t i = 0; i < options_.loops; ++i) {
    auto options = options_.loop;
    options.name += std::to_string(i);
    loops_.push_back(std::make_unique<progress_loop>(system_, std::move(options)));
  }
}

void loop_module::start() {
  if (options_.threads)
    for (auto& loop : loops_)
      loop->start();
}

void loop_module::stop() {
  if (auto hook = std::move(stop_hook_))
    hook();
  for (auto& loop : loops_)
    loop->quit_actors(caf::exit_reason::user_shutdown);
  if (options_.threads) {
    const auto deadline = std::chrono::steady_clock::now() + options_.quit_limit;
    for (auto& loop : loops_)
      static_cast<void>(loop->await_actors(deadline - std::chrono::steady_clock::now()));
  }
  // Before the loops: its jobs hand their results to them.
  background_.stop();
  for (auto& loop : loops_)
    loop->stop();
}

} // namespace troupe
