// Something to do once at the end of a loop's turn, such as sending what gathered during it.
#pragma once

namespace troupe {

/// Armed with progress_loop::call_at_turn_end(); runs once and is idle again. Owned by whoever armed it; destroying an
/// armed hook takes it back. Everything here belongs to the loop's thread.
class turn_hook {
public:
  turn_hook() = default;
  turn_hook(const turn_hook&) = delete;
  turn_hook& operator=(const turn_hook&) = delete;

  /// Runs after the actors, pollers and timers of a turn. May arm hooks (they run at the end of the next turn),
  /// schedule actors (they run in the next turn, without a sleep between) and destroy hooks, this one too.
  virtual void end_of_turn() noexcept = 0;

  [[nodiscard]] bool armed() const noexcept { return next_ != nullptr; }

  /// Takes an armed hook back; it will not run. Idempotent.
  void disarm() noexcept {
    if (!armed())
      return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

protected:
  ~turn_hook() { disarm(); }

private:
  friend class turn_hook_list;
  turn_hook* next_ = nullptr;
  turn_hook* previous_ = nullptr;
};

/// The armed hooks of one loop, in the order they were armed.
class turn_hook_list {
public:
  turn_hook_list() noexcept { reset(root_); }
  turn_hook_list(const turn_hook_list&) = delete;
  turn_hook_list& operator=(const turn_hook_list&) = delete;
  ~turn_hook_list() { clear(); }

  /// O(1); nothing happens if the hook is armed.
  void arm(turn_hook& hook) noexcept {
    if (hook.armed())
      return;
    hook.previous_ = root_.previous_;
    hook.next_ = &root_;
    root_.previous_->next_ = &hook;
    root_.previous_ = &hook;
  }

  [[nodiscard]] bool empty() const noexcept { return root_.next_ == &root_; }

  /// Runs and disarms the hooks armed before the call; returns how many.
  unsigned run() noexcept {
    if (empty())
      return 0;
    anchor batch; // a list of its own: hooks armed by hooks gather in root_ and wait for the next turn
    batch.next_ = root_.next_;
    batch.previous_ = root_.previous_;
    batch.next_->previous_ = &batch;
    batch.previous_->next_ = &batch;
    reset(root_);
    unsigned count = 0;
    while (batch.next_ != &batch) {
      auto& hook = *batch.next_;
      hook.disarm();
      hook.end_of_turn();
      ++count;
    }
    reset_unlinked(batch);
    return count;
  }

  /// Disarms all without running them.
  void clear() noexcept {
    while (!empty())
      root_.next_->disarm();
    reset_unlinked(root_);
    reset(root_);
  }

private:
  struct anchor final : turn_hook {
    void end_of_turn() noexcept override {}
    friend class turn_hook_list;
  };

  static void reset(turn_hook& x) noexcept { x.next_ = x.previous_ = &x; }
  static void reset_unlinked(turn_hook& x) noexcept { x.next_ = x.previous_ = nullptr; }

  anchor root_;
};

} // namespace troupe
