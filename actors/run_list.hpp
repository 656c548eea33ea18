// What is ready to run on a loop: a queue of its own thread, and a list that any other thread pushes to.
#pragma once

#include <atomic>

namespace troupe {

class progress_loop;

/// Something a loop runs once per push. The pusher keeps the node alive and pushes it again only after it ran.
class run_node {
public:
  run_node() = default;
  run_node(const run_node&) = delete;
  run_node& operator=(const run_node&) = delete;

  /// Runs on the loop's thread; may push this node again or end its life.
  virtual void run(progress_loop& loop) noexcept = 0;

  /// Called instead of run() when the loop stops first: releases what run() would have.
  virtual void discard() noexcept = 0;

protected:
  ~run_node() = default;

private:
  friend class run_list;
  run_node* next_ = nullptr;
};

/// Intrusive, no allocation, unbounded: its length is bounded by the number of nodes there are. Each thread's pushes
/// are taken in order; the loop's own pushes cost no atomic operation.
class run_list {
public:
  run_list() = default;
  run_list(const run_list&) = delete;
  run_list& operator=(const run_list&) = delete;

  // -- any other thread --------------------------------------------------------

  /// Appends `node`. False after close_remote(): the node was not taken. @threadsafe
  [[nodiscard]] bool push_remote(run_node& node) noexcept {
    auto head = remote_.load(std::memory_order_relaxed);
    do {
      if (head == closed_mark())
        return false;
      node.next_ = head;
    } while (!remote_.compare_exchange_weak(head, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
    return true;
  }

  // -- the loop's thread -------------------------------------------------------

  void push_local(run_node& node) noexcept {
    node.next_ = nullptr;
    if (tail_ != nullptr)
      tail_->next_ = &node;
    else
      head_ = &node;
    tail_ = &node;
  }

  /// Runs `f` on every node that is here now, oldest first; what is pushed meanwhile waits for the next call. Returns
  /// how many there were.
  template <class F>
  unsigned take_each(F&& f) {
    if (auto head = remote_.load(std::memory_order_relaxed); head != nullptr && head != closed_mark())
      take_remote(nullptr);
    unsigned count = 0;
    auto node = head_;
    head_ = tail_ = nullptr;
    while (node != nullptr) {
      auto next = node->next_; // f may push the node again or destroy it
      f(*node);
      node = next;
      ++count;
    }
    return count;
  }

  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr && remote_empty(); }

  /// Ordered after a sleep_gate announcement, so that a push is seen here or the pusher sees the announcement.
  [[nodiscard]] bool remote_empty() const noexcept {
    auto head = remote_.load(std::memory_order_seq_cst);
    return head == nullptr || head == closed_mark();
  }

  /// Refuses pushes of other threads from now on; what came before is moved to the local queue. Once.
  void close_remote() noexcept { take_remote(closed_mark()); }

private:
  run_node* closed_mark() const noexcept {
    return reinterpret_cast<run_node*>(const_cast<std::atomic<run_node*>*>(&remote_));
  }

  void take_remote(run_node* replacement) noexcept {
    auto node = remote_.exchange(replacement, std::memory_order_acquire);
    if (node == nullptr)
      return;
    auto last = node; // the newest one comes first
    run_node* oldest = nullptr;
    while (node != nullptr) {
      auto next = node->next_;
      node->next_ = oldest;
      oldest = node;
      node = next;
    }
    if (tail_ != nullptr)
      tail_->next_ = oldest;
    else
      head_ = oldest;
    tail_ = last;
  }

  alignas(64) std::atomic<run_node*> remote_{nullptr};
  alignas(64) run_node* head_ = nullptr;
  run_node* tail_ = nullptr;
};

} // namespace troupe
