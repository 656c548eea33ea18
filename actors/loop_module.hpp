// The part of an actor system that owns the loops of a node and gives the system its node id.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/node_id.hpp>

#include <troupe/actors/background.hpp>
#include <troupe/actors/progress_loop.hpp>

namespace troupe {

struct loop_module_options {
  /// Becomes actor_system::node(); see node_id_of(). Must be valid, else every handle of every node would look local.
  caf::node_id node;
  /// Loops, each with a thread; 1 to loop_module::max_loops. Default is 1.
  std::size_t loops = 1;
  /// For each loop; their names get a number.
  loop_options loop;
  /// How long actors that were told to quit may take when the system ends; then they are killed. Default is 2 s.
  std::chrono::nanoseconds quit_limit = std::chrono::seconds{2};
  /// False: no loop has a thread; a test drives them with progress_loop::adopt_this_thread() and run_turn().
  bool threads = true;
};

/// Sits in the system's network_manager slot, so it starts after the scheduler and stops before it.
///
/// ~actor_system first waits for every actor that is not hidden (unless await_actors_before_shutdown(false)), then
/// stops its modules, this one first. stop(): the stop hook; exit messages (user_shutdown) to all pinned actors, hidden
/// ones included; a wait of quit_limit; the background thread; then every loop's stop(), which kills and reaps what is
/// left. A handle of a terminated actor may outlive the system.
class loop_module final : public caf::actor_system::module {
public:
  static constexpr std::size_t max_loops = 64;

  /// Loads the module into every system made from `config`, registers Troupe's error category and sets the scheduler's
  /// policy to `sharing` unless the configuration has one (CAF's default sleeps for milliseconds when it is idle).
  /// Throws std::invalid_argument for options out of their range.
  static void load(caf::actor_system_config& config, loop_module_options options);

  /// Throws std::logic_error if the system was made without load(). @threadsafe
  [[nodiscard]] static loop_module& of(caf::actor_system& system);

  ~loop_module() override;

  // -- @threadsafe ---------------------------------------------------------------

  /// Valid until the system ends; `index` < loops().
  [[nodiscard]] progress_loop& loop(std::size_t index = 0) noexcept { return *loops_[index]; }
  [[nodiscard]] std::size_t loops() const noexcept { return loops_.size(); }

  /// Runs `job` on the background thread, see background_thread::submit().
  template <class F>
  [[nodiscard]] caf::error run_blocking(F&& job) {
    return background_.submit(std::forward<F>(job));
  }

  // -- for the owner of the system --------------------------------------------------

  /// `hook` is called first in stop(), on the thread that destroys the system, with all loops running. One hook; a
  /// further call replaces it. Not threadsafe: set it before the system ends.
  void set_stop_hook(std::function<void()> hook) { stop_hook_ = std::move(hook); }

  // -- what CAF calls ------------------------------------------------------------------

  void init(caf::actor_system_config& config) override;
  void start() override;
  void stop() override;
  id_t id() const override { return network_manager; }
  void* subtype_ptr() override { return this; }

private:
  loop_module(caf::actor_system& system, loop_module_options options);

  caf::actor_system& system_;
  const loop_module_options options_;
  std::vector<std::unique_ptr<progress_loop>> loops_;
  background_thread background_{"troupe-back"};
  std::function<void()> stop_hook_;
};

} // namespace troupe
