#include <troupe/actors/credit_returns.hpp>

#include <troupe/actors/outbox.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/session_slot.hpp>

namespace troupe {

void credit_cell::consumed(std::uint64_t bytes, bool bulk) noexcept {
  auto& queue = *queue_;
  auto was_urgent = queue.urgent();
  // The totals go first: whoever empties the cell subtracts from them what it found in the cell.
  queue.messages_.fetch_add(1, std::memory_order_relaxed);
  queue.bytes_.fetch_add(bytes, std::memory_order_relaxed);
  (bulk ? bulk_bytes_ : bytes_).fetch_add(bytes, std::memory_order_relaxed);
  // seq_cst against pop(): either it sees this count, or we see that the cell is not queued any more.
  (bulk ? bulk_messages_ : messages_).fetch_add(1, std::memory_order_seq_cst);
  if (!queued_.load(std::memory_order_seq_cst) && !queued_.exchange(true, std::memory_order_acq_rel)) {
    ref(); // the queue's reference
    queue.push(this);
  }
  if (!was_urgent && queue.urgent())
    queue.wake(true);
}

credit_returns::~credit_returns() {
  while (pop()) {
    // drops the queue's references
  }
}

void credit_returns::push(credit_cell* cell) noexcept {
  auto* head = head_.load(std::memory_order_relaxed);
  do {
    cell->next_ = head;
  } while (!head_.compare_exchange_weak(head, cell, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (head == nullptr)
    wake(false);
}

credit_cell_ptr credit_returns::pop() noexcept {
  if (taken_ == nullptr)
    taken_ = head_.exchange(nullptr, std::memory_order_acq_rel);
  if (taken_ == nullptr)
    return nullptr;
  auto* cell = taken_;
  taken_ = cell->next_;
  cell->next_ = nullptr;
  // Only now may the cell be queued again: its counts are read after this.
  cell->queued_.store(false, std::memory_order_seq_cst);
  return {cell, false};
}

credit_returns::entry credit_returns::empty_cell(credit_cell& cell) noexcept {
  auto take = [](std::atomic<std::uint64_t>& x) { return x.exchange(0, std::memory_order_acq_rel); };
  entry x{cell.target_, take(cell.messages_), take(cell.bytes_), take(cell.bulk_messages_), take(cell.bulk_bytes_)};
  messages_.fetch_sub(x.messages + x.bulk_messages, std::memory_order_relaxed);
  bytes_.fetch_sub(x.bytes + x.bulk_bytes, std::memory_order_relaxed);
  woken_.store(false, std::memory_order_relaxed);
  return x;
}

void credit_returns::wake(bool now) noexcept {
  if (closed_.load(std::memory_order_relaxed))
    return;
  if (!now && woken_.exchange(true, std::memory_order_relaxed))
    return;
  auto box = box_.lock();
  if (!box || box->closed())
    return;
  auto& loop = box->loop();
  if (loop.on_thread()) {
    if (auto* slot = box->slot())
      slot->credit_due(now);
    return;
  }
  loop.post([box = std::move(box), now] {
    if (auto* slot = box->slot())
      slot->credit_due(now);
  });
}

} // namespace troupe
