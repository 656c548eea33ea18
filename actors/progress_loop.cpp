#include <troupe/actors/progress_loop.hpp>

#include <algorithm>

#include <pthread.h>
#include <sched.h>

#include <caf/exit_reason.hpp>
#include <caf/logger.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/system_messages.hpp>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

/// The clock is read every turn that follows work, else once in this many turns: a turn without work takes less time
/// than a few readings.
constexpr unsigned turns_per_clock_reading = 8;

/// A spin this long is worth giving way to other threads of the same core, whose work may be what we wait for...
constexpr nanoseconds yield_after = std::chrono::microseconds{10};
/// ... once in this many turns, because it is a system call.
constexpr unsigned spins_per_yield = 32;

loop_options checked(loop_options options) {
  options.messages_per_turn = std::max<std::size_t>(options.messages_per_turn, 1);
  return options;
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

} // namespace

constinit thread_local progress_loop* progress_loop::current_ = nullptr;

// -- life ------------------------------------------------------------------------

progress_loop::progress_loop(caf::actor_system& system, loop_options options)
  : execution_unit(&system),
    options_(checked(std::move(options))),
    pollers_(gate_),
    spin_(options_.spin),
    now_(clock::now()),
    last_work_(now_) {
  // nop
}

progress_loop::~progress_loop() {
  stop();
}

void progress_loop::start() {
  thread_ = std::thread{[this] {
    current_ = this;
    pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
    CAF_SET_LOGGER_SYS(&system());
    system().thread_started();
    run();
    wind_down();
    system().thread_terminates();
  }};
}

void progress_loop::adopt_this_thread() noexcept {
  current_ = this;
}

bool progress_loop::run_turn() {
  stale_turns_ = turns_per_clock_reading;
  return turn();
}

void progress_loop::quit_actors(const caf::error& why) {
  for (auto& actor : residents_.all())
    actor->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                   caf::make_message(caf::exit_msg{actor->address(), why}), nullptr);
}

void progress_loop::stop() {
  if (stopped_)
    return;
  stopped_ = true;
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_seq_cst);
    gate_.wake();
    thread_.join();
    return;
  }
  auto outer = std::exchange(current_, this);
  wind_down();
  current_ = outer == this ? nullptr : outer;
}

std::uint64_t progress_loop::probe() noexcept {
  auto before = turns();
  probed_.store(true, std::memory_order_seq_cst);
  gate_.wake();
  return before;
}

void progress_loop::exec_later(caf::resumable* job) {
  system().scheduler().enqueue(job);
}

timer_id progress_loop::after(nanoseconds delay, std::function<void()> f) {
  auto now = clock::now();
  auto due = delay < time_point::max() - now ? now + delay : time_point::max();
  return timers_.arm(due, std::move(f));
}

// -- the thread ---------------------------------------------------------------------

void progress_loop::run() {
  while (!stopping_.load(std::memory_order_relaxed))
    step();
}

void progress_loop::step() {
  if (!turn()) {
    idle();
    return;
  }
  if (slept_)
    spin_.missed(now_ - last_work_);
  else if (spins_ != 0)
    spin_.hit(now_ - last_work_);
  slept_ = false;
  spins_ = 0;
}

bool progress_loop::turn() {
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  read_clock();
  auto work = ready_.take_each([this](run_node& node) { node.run(*this); });
  work += pollers_.progress(now_);
  if (timers_.next() <= now_)
    work += timers_.run_due(now_);
  if (reaper_.settling())
    work += reaper_.poll(now_);
  // Last: what was sent in this turn leaves in this turn.
  work += hooks_.run();
  was_busy_ = work != 0;
  return was_busy_;
}

void progress_loop::read_clock() noexcept {
  if (!was_busy_ && ++stale_turns_ < turns_per_clock_reading)
    return;
  stale_turns_ = 0;
  now_ = clock::now();
  if (was_busy_)
    last_work_ = now_;
}

void progress_loop::idle() {
  ++spins_;
  const auto gap = now_ - last_work_;
  if (gap >= spin_.get())
    sleep();
  else if (gap >= yield_after && spins_ % spins_per_yield == 0)
    sched_yield();
  else
    relax();
}

void progress_loop::sleep() {
  if (!ready_.empty() || !hooks_.empty())
    return;
  now_ = clock::now();
  const auto limit = sleep_limit();
  if (limit == nanoseconds{0})
    return;
  gate_.announce();
  const bool told = probed_.exchange(false, std::memory_order_seq_cst)
                    || (stopping_.load(std::memory_order_seq_cst) && !winding_down_);
  if (told || !ready_.remote_empty() || !pollers_.arm()) {
    gate_.retract();
    return;
  }
  gate_.wait(limit);
  now_ = clock::now();
  stale_turns_ = 0;
  slept_ = true;
}

nanoseconds progress_loop::sleep_limit() const noexcept {
  auto limit = nanoseconds::max();
  if (auto next = timers_.next(); next != time_point::max())
    limit = std::max(next - now_, nanoseconds{0});
  if (reaper_.settling())
    limit = std::min(limit, slot_reaper::poll_interval);
  if (pollers_.has_blind())
    limit = std::min(limit, poller_set::blind_interval);
  return limit == nanoseconds::max() ? nanoseconds{-1} : limit;
}

// -- the end ------------------------------------------------------------------------

void progress_loop::wind_down() {
  winding_down_ = true;
  end_actors();
  reap_slots();
  // From here on post() says false; what was posted before and not run is destroyed, and may hold the last leases.
  ready_.close_remote();
  closed_ = true;
  while (ready_.take_each([](run_node& node) { node.discard(); }) != 0)
    continue;
  timers_.clear();
  reap_slots();
  hooks_.clear();
}

void progress_loop::end_actors() {
  residents_.close();
  caf::strong_actor_ptr handle;
  while (auto actor = residents_.newest(handle)) {
    actor->terminate(caf::exit_reason::kill);
    handle = nullptr;
    turn(); // what its end set off, and its place in the run list
  }
}

void progress_loop::reap_slots() {
  do {
    while (reaper_.settling())
      step();
  } while (reaper_.revoke_newest(now_));
}

} // namespace troupe
