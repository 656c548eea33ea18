// One thread that runs pinned actors and progresses what they use: UCX workers, timers, slots.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/execution_unit.hpp>
#include <caf/spawn_options.hpp>

#include <troupe/actors/poller_set.hpp>
#include <troupe/actors/residents.hpp>
#include <troupe/actors/run_list.hpp>
#include <troupe/actors/sleep_gate.hpp>
#include <troupe/actors/slot.hpp>
#include <troupe/actors/spin_budget.hpp>
#include <troupe/actors/timer_queue.hpp>
#include <troupe/actors/turn_hook.hpp>

namespace troupe {

/// How one loop behaves.
struct loop_options {
  /// How long a loop without work spins before it sleeps; adapts (see spin_budget). 0: sleep at once. Default is 50 us.
  std::chrono::nanoseconds spin = std::chrono::microseconds{50};
  /// Messages one actor handles before the others and the pollers get their turn. Default is 64.
  std::size_t messages_per_turn = 64;
  /// The thread's name, at most 15 characters are shown. Default is "troupe-loop".
  std::string name = "troupe-loop";
};

/// A turn is: run the posted functions and actors that are ready, poll shared memory, poll the network (as poller_set
/// says), run due timers, look after closing slots, run the turn hooks. A turn that did nothing may be followed by a
/// sleep. What runs on a loop must not block.
///
/// It is the execution unit of its actors: what they spawn with their own spawn() lives here, too, if it is pinned, and
/// on CAF's scheduler if it is not.
class progress_loop : public caf::execution_unit {
public:
  using clock = std::chrono::steady_clock;
  using time_point = clock::time_point;

  // -- life, for the owner -----------------------------------------------------

  /// Throws std::system_error if there are no file descriptors left. `system` outlives the loop.
  explicit progress_loop(caf::actor_system& system, loop_options options = {});
  progress_loop(const progress_loop&) = delete;
  progress_loop& operator=(const progress_loop&) = delete;

  /// Calls stop().
  ~progress_loop() override;

  /// Starts the loop's thread. Once; throws std::system_error if there can be no thread.
  void start();

  /// Instead of start(): the calling thread becomes the loop's and drives it with run_turn(), for deterministic tests.
  void adopt_this_thread() noexcept;

  /// One turn on the thread that adopted the loop, without spinning or sleeping. Returns whether there was something to
  /// do.
  bool run_turn();

  /// Asks every actor of the loop to quit with `why`, by an exit message, which an actor may trap. @threadsafe
  void quit_actors(const caf::error& why);

  /// Waits until no actor lives here, at most `limit`; not on the loop's thread. Returns whether that was so.
  [[nodiscard]] bool await_actors(std::chrono::nanoseconds limit) const { return residents_.await_empty(limit); }

  /// Ends actors that still live (exit_reason::kill), reaps all slots within their limits, drops timers and hooks,
  /// joins the thread, destroys functions that were posted too late. Afterwards post() returns false and a new pinned
  /// actor ends at once. Idempotent; not on the loop's thread. Waits for a function or handler that does not return.
  void stop();

  // -- any thread ---------------------------------------------------------------

  /// Whether the caller runs on this loop's thread. @threadsafe
  [[nodiscard]] bool on_thread() const noexcept { return current_ == this; }

  /// The loop whose thread the caller runs on, or null: a blocking call would deadlock on one. @threadsafe
  [[nodiscard]] static progress_loop* current() noexcept { return current_; }

  /// Runs `f` on the loop, after what this thread posted or sent to its actors before. False if the loop has stopped;
  /// otherwise `f` runs once, or is destroyed unrun if the loop stops first. `f` must not throw. @threadsafe
  template <class F>
  bool post(F&& f) {
    auto task = std::make_unique<posted<std::decay_t<F>>>(std::forward<F>(f));
    if (!schedule(*task))
      return false;
    static_cast<void>(task.release());
    return true;
  }

  /// Runs `node` in this or the next turn; see run_node. False if the loop has stopped. @threadsafe
  [[nodiscard]] bool schedule(run_node& node) noexcept {
    if (on_thread()) {
      if (closed_)
        return false;
      ready_.push_local(node);
      return true;
    }
    if (!ready_.push_remote(node))
      return false;
    gate_.wake();
    return true;
  }

  /// Counts turns: it stands still while the loop sleeps and while it hangs; probe() tells which. @threadsafe
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }

  /// Wakes the loop if it sleeps and returns turns() as it was: a loop that is not hung exceeds it soon, and sleeps
  /// again at once if there is nothing to do. Cheap enough for every heartbeat. @threadsafe
  std::uint64_t probe() noexcept;

  [[nodiscard]] const loop_options& options() const noexcept { return options_; }

  /// How many actors live here. @threadsafe
  [[nodiscard]] std::size_t actors() const { return residents_.size(); }

  // -- spawning, any thread -------------------------------------------------------

  /// Spawns an actor of class `Impl`, which is or derives from pinned<...>; `xs` are for its constructor.
  template <class Impl, caf::spawn_options Os = caf::no_spawn_options, class... Ts>
  caf::infer_handle_from_class_t<Impl> spawn(Ts&&... xs) {
    static_assert(!caf::has_detach_flag(Os), "a pinned actor cannot be detached: it has the loop's thread");
    caf::actor_config config{this};
    return system().template spawn_class<Impl, Os>(config, std::forward<Ts>(xs)...);
  }

  /// Spawns an actor whose behavior `fun` makes: fun(pinned_actor* self, xs...), typed and stateful ones likewise. A
  /// `fun` without a self pointer, or with that of another kind of actor, gets an ordinary actor on CAF's scheduler.
  template <caf::spawn_options Os = caf::no_spawn_options, class F, class... Ts>
  caf::infer_handle_from_fun_t<F> spawn_functor(F fun, Ts&&... xs) {
    static_assert(!caf::has_detach_flag(Os), "a pinned actor cannot be detached: it has the loop's thread");
    caf::actor_config config{this};
    return system().template spawn_functor<Os>(std::true_type{}, config, fun, std::forward<Ts>(xs)...);
  }

  // -- the loop's thread only ------------------------------------------------------

  /// `p` is polled from now on; remove it before its descriptor is closed. See poller_set for how often.
  void add_poller(poller& p, poll_class kind) { pollers_.add(p, kind); }
  void remove_poller(poller& p) noexcept { pollers_.remove(p); }

  /// Calls `f` once, `delay` from now or a little later; a delay <= 0 means the next turn, one beyond the clock's range
  /// never. `f` must not throw.
  timer_id after(std::chrono::nanoseconds delay, std::function<void()> f);

  /// True if the timer will not run; false if it ran already, runs now, or is not known.
  bool cancel(timer_id id) noexcept { return timers_.cancel(id); }

  /// Runs `hook` once at the end of this turn, or of the next if this turn's end has come. O(1); an armed hook stays
  /// where it is.
  void call_at_turn_end(turn_hook& hook) noexcept { hooks_.arm(hook); }

  /// The time as of about the beginning of this turn: free, and late by some microseconds plus what ran in this turn.
  [[nodiscard]] time_point now() const noexcept { return now_; }

  // -- what was going on, @threadsafe ------------------------------------------------

  [[nodiscard]] std::uint64_t sleeps() const noexcept { return gate_.sleeps(); }
  [[nodiscard]] std::uint64_t wakes() const noexcept { return gate_.wakes(); }
  /// Slots that did not settle within their limit.
  [[nodiscard]] std::uint64_t overdue_slots() const noexcept { return reaper_.overdue(); }

  // -- for CAF and the classes of this room -----------------------------------------

  /// CAF hands over ordinary actors that a pinned one woke or spawned: they belong to the scheduler.
  void exec_later(caf::resumable* job) override;

  [[nodiscard]] resident_list& residents() noexcept { return residents_; }
  [[nodiscard]] slot_reaper& reaper() noexcept { return reaper_; }

private:
  template <class F>
  class posted final : public run_node {
  public:
    template <class G>
    explicit posted(G&& f) : f_(std::forward<G>(f)) {}
    void run(progress_loop&) noexcept override {
      std::unique_ptr<posted> guard{this};
      f_();
    }
    void discard() noexcept override { delete this; }

  private:
    F f_;
  };

  void run();
  void step();
  bool turn();
  void read_clock() noexcept;
  void idle();
  void sleep();
  [[nodiscard]] std::chrono::nanoseconds sleep_limit() const noexcept;
  void wind_down();
  void end_actors();
  void reap_slots();

  static constinit thread_local progress_loop* current_;

  const loop_options options_;
  run_list ready_;
  sleep_gate gate_;
  poller_set pollers_;
  timer_queue timers_;
  turn_hook_list hooks_;
  slot_reaper reaper_;
  resident_list residents_;
  spin_budget spin_;
  std::thread thread_;

  // loop thread
  time_point now_;
  time_point last_work_;
  unsigned stale_turns_ = 0;
  unsigned spins_ = 0;
  bool was_busy_ = false;
  bool slept_ = false;
  bool winding_down_ = false;
  bool closed_ = false;

  alignas(64) std::atomic<std::uint64_t> turns_{0};
  std::atomic<bool> probed_{false};
  std::atomic<bool> stopping_{false};
  bool stopped_ = false; // the owner's
};

} // namespace troupe
