#include <troupe/actors/slot.hpp>

#include <algorithm>

#include <troupe/actors/progress_loop.hpp>

namespace troupe {

slot::~slot() = default;

// -- lease_base -----------------------------------------------------------------

lease_base::lease_base(progress_loop& loop, std::unique_ptr<slot> object)
  : record_(loop.reaper().add(loop, std::move(object))) {
  // nop
}

void lease_base::reset() noexcept {
  auto record = std::move(record_);
  if (!record)
    return;
  auto loop = record->loop_.load(std::memory_order_acquire);
  if (loop == nullptr)
    return;
  if (loop->on_thread()) {
    loop->reaper().release(record, loop->now());
    return;
  }
  // A loop that has stopped meanwhile has destroyed the slot already.
  loop->post([record] {
    if (auto here = record->loop_.load(std::memory_order_relaxed))
      here->reaper().release(record, here->now());
  });
}

std::shared_ptr<slot_record> lease_base::add() const noexcept {
  if (object() != nullptr)
    ++record_->leases_;
  return record_;
}

// -- slot_reaper ------------------------------------------------------------------

std::shared_ptr<slot_record> slot_reaper::add(progress_loop& loop, std::unique_ptr<slot> object) {
  auto record = std::make_shared<slot_record>(loop, std::move(object));
  record->place_ = records_.insert(records_.end(), record);
  return record;
}

void slot_reaper::release(const std::shared_ptr<slot_record>& record, time_point now) {
  if (--record->leases_ == 0 && !record->closing_)
    begin(record, now);
}

void slot_reaper::begin(const std::shared_ptr<slot_record>& record, time_point now) {
  record->closing_ = true;
  record->deadline_ = now + record->object_->close_limit();
  closing_.push_back(record);
  record->object_->begin_close();
}

unsigned slot_reaper::poll(time_point now) {
  // First choose, then destroy: that may end leases on other slots, which then appear in closing_. So may, for all we
  // know, settled() and give_up(): hence the index.
  std::vector<std::shared_ptr<slot_record>> done;
  for (std::size_t i = 0; i < closing_.size();) {
    auto record = closing_[i];
    if (!record->object_->settled()) {
      if (now < record->deadline_) {
        ++i;
        continue;
      }
      overdue_.fetch_add(1, std::memory_order_relaxed);
      record->object_->give_up();
    }
    closing_.erase(closing_.begin() + static_cast<std::ptrdiff_t>(i));
    done.push_back(std::move(record));
  }
  for (auto& record : done) {
    records_.erase(record->place_);
    record->loop_.store(nullptr, std::memory_order_release);
    record->object_.reset();
  }
  return static_cast<unsigned>(done.size());
}

bool slot_reaper::revoke_newest(time_point now) {
  auto open = std::find_if(records_.rbegin(), records_.rend(), [](const auto& record) { return !record->closing_; });
  if (open == records_.rend())
    return false;
  begin(std::shared_ptr<slot_record>{*open}, now);
  return true;
}

} // namespace troupe
