// How credit finds its way back: messages that left a mailbox, counted by whichever thread runs the target.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <caf/intrusive_ptr.hpp>
#include <caf/ref_counted.hpp>

namespace troupe {

class outbox;
class credit_returns;

/// What one target consumed since the session last told the sender. Refcounted: elements in mailboxes outlive sessions.
class credit_cell : public caf::ref_counted {
public:
  credit_cell(std::shared_ptr<credit_returns> queue, std::uint64_t target) : queue_(std::move(queue)), target_(target) {}

  /// A message of `bytes` left the mailbox of this target, or was dropped on its way there. @threadsafe
  void consumed(std::uint64_t bytes, bool bulk) noexcept;

  [[nodiscard]] std::uint64_t target() const noexcept { return target_; }

private:
  friend class credit_returns;

  const std::shared_ptr<credit_returns> queue_;
  const std::uint64_t target_;
  std::atomic<std::uint64_t> messages_{0}, bytes_{0}, bulk_messages_{0}, bulk_bytes_{0};
  std::atomic<bool> queued_{false};
  credit_cell* next_ = nullptr; // owned by the queue while queued_
};

using credit_cell_ptr = caf::intrusive_ptr<credit_cell>;

/// The cells of one session that have something to return.
class credit_returns : public std::enable_shared_from_this<credit_returns> {
public:
  /// What is gathered for one target.
  struct entry {
    std::uint64_t target, messages, bytes, bulk_messages, bulk_bytes;
  };

  /// `urgent_messages`, `urgent_bytes`: so much consumed asks the loop to return it at once, not with the next timer.
  credit_returns(std::weak_ptr<outbox> box, std::uint64_t urgent_messages, std::uint64_t urgent_bytes)
    : box_(std::move(box)), urgent_messages_(urgent_messages), urgent_bytes_(urgent_bytes) {}
  ~credit_returns();

  /// Whether there is anything to return. The session's loop only.
  [[nodiscard]] bool empty() const noexcept {
    return taken_ == nullptr && head_.load(std::memory_order_acquire) == nullptr;
  }
  /// Whether it should be returned now. @threadsafe
  [[nodiscard]] bool urgent() const noexcept {
    return messages_.load(std::memory_order_relaxed) >= urgent_messages_
           || bytes_.load(std::memory_order_relaxed) >= urgent_bytes_;
  }

  /// Empties up to `max` cells into `f(entry)`. The session's loop only. Returns how many were handed over.
  template <class F>
  std::size_t collect(std::size_t max, F&& f) {
    std::size_t n = 0;
    while (n < max) {
      auto cell = pop();
      if (!cell)
        break;
      auto x = empty_cell(*cell);
      if (x.messages + x.bulk_messages != 0) {
        f(x);
        ++n;
      }
    }
    return n;
  }

  /// Returns what is gathered from now on without waking the loop (the session is over).
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }

private:
  friend class credit_cell;

  void push(credit_cell* cell) noexcept;
  credit_cell_ptr pop() noexcept;
  entry empty_cell(credit_cell& cell) noexcept;
  void wake(bool now) noexcept;

  const std::weak_ptr<outbox> box_;
  const std::uint64_t urgent_messages_, urgent_bytes_;
  std::atomic<credit_cell*> head_{nullptr};
  credit_cell* taken_ = nullptr; // loop only: what pop() works through
  std::atomic<std::uint64_t> messages_{0}, bytes_{0};
  std::atomic<bool> woken_{false}, closed_{false};
};

} // namespace troupe
