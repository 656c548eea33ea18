// Who owns what must be closed with patience: the loop, in slots; actors hold leases on them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

class progress_loop;
class slot_reaper;

/// Something a loop owns and closes in order: a worker, an endpoint, a journal. When its last lease ends the loop calls
/// begin_close() once, then asks settled() each turn until it says true or close_limit() is over, then destroys it. All
/// of that on the loop's thread, none of it may throw or block.
///
/// Order comes from ownership: a slot that needs another one alive holds a lease on it (an endpoint on its worker),
/// which ends only with its own destruction.
class slot {
public:
  /// What close_limit() says unless a slot knows better.
  static constexpr std::chrono::nanoseconds default_close_limit = std::chrono::milliseconds{500};

  slot() = default;
  slot(const slot&) = delete;
  slot& operator=(const slot&) = delete;
  virtual ~slot();

  /// The last lease ended. May be called from within another slot's destructor or an actor's end.
  virtual void begin_close() = 0;

  /// Whether it may be destroyed. Asked after begin_close() only.
  virtual bool settled() = 0;

  /// close_limit() is over and settled() still says false: the destructor follows and must cope.
  virtual void give_up() {}

  /// How long settling may take, from begin_close() on. Asked once.
  [[nodiscard]] virtual std::chrono::nanoseconds close_limit() const { return default_close_limit; }
};

/// One slot as its loop and its leases see it.
class slot_record {
public:
  slot_record(progress_loop& loop, std::unique_ptr<slot> object) noexcept : loop_(&loop), object_(std::move(object)) {}

private:
  friend class slot_reaper;
  friend class lease_base;

  std::atomic<progress_loop*> loop_; // null once the slot is gone
  std::unique_ptr<slot> object_;
  std::size_t leases_ = 1;
  bool closing_ = false;
  std::chrono::steady_clock::time_point deadline_{};
  std::list<std::shared_ptr<slot_record>>::iterator place_{};
};

/// What every lease<T> does, whatever T is.
class lease_base {
public:
  lease_base() noexcept = default;
  lease_base(lease_base&&) noexcept = default;
  lease_base& operator=(lease_base&& other) noexcept {
    if (this != &other) {
      reset();
      record_ = std::move(other.record_);
    }
    return *this;
  }
  ~lease_base() { reset(); }

  /// Ends this lease. On another thread than the loop's it ends as soon as the loop gets to it.
  void reset() noexcept;

protected:
  lease_base(progress_loop& loop, std::unique_ptr<slot> object);
  explicit lease_base(std::shared_ptr<slot_record> record) noexcept : record_(std::move(record)) {}

  [[nodiscard]] slot* object() const noexcept { return record_ ? record_->object_.get() : nullptr; }
  [[nodiscard]] std::shared_ptr<slot_record> add() const noexcept;

private:
  std::shared_ptr<slot_record> record_;
};

/// Keeps a slot of type `T` open. Move-only; belongs to the loop's thread, which also makes it; only reset(), moves and
/// the destructor may happen elsewhere. After the loop stopped (it destroys what is left then) get() is null.
template <class T>
class lease : public lease_base {
public:
  lease() noexcept = default;

  /// Gives `object` to `loop`. Loop thread only.
  lease(progress_loop& loop, std::unique_ptr<T> object) : lease_base(loop, std::move(object)) {}

  [[nodiscard]] T* get() const noexcept { return static_cast<T*>(object()); }
  T* operator->() const noexcept { return get(); }
  T& operator*() const noexcept { return *get(); }
  explicit operator bool() const noexcept { return get() != nullptr; }

  /// A further lease on the same slot, for a slot that needs it alive or an actor that takes over.
  [[nodiscard]] lease share() const noexcept { return lease{add()}; }

private:
  explicit lease(std::shared_ptr<slot_record> record) noexcept : lease_base(std::move(record)) {}
};

/// Makes a `T` on the loop. Loop thread only.
template <class T, class... Ts>
[[nodiscard]] lease<T> make_lease(progress_loop& loop, Ts&&... xs) {
  return lease<T>{loop, std::make_unique<T>(std::forward<Ts>(xs)...)};
}

/// The slots of one loop, open ones and those that settle. Belongs to the loop's thread; a part of progress_loop.
class slot_reaper {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// How often a sleeping loop looks at slots that settle.
  static constexpr std::chrono::nanoseconds poll_interval = std::chrono::milliseconds{1};

  slot_reaper() = default;
  slot_reaper(const slot_reaper&) = delete;
  slot_reaper& operator=(const slot_reaper&) = delete;

  std::shared_ptr<slot_record> add(progress_loop& loop, std::unique_ptr<slot> object);

  /// One lease less; the last one begins the close.
  void release(const std::shared_ptr<slot_record>& record, time_point now);

  /// Destroys what has settled or is overdue; returns how many.
  unsigned poll(time_point now);

  /// Begins to close the newest slot that is still leased; those leases are empty afterwards. False if there is none.
  bool revoke_newest(time_point now);

  [[nodiscard]] bool settling() const noexcept { return !closing_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }

  /// How many slots were destroyed unsettled since the loop began. @threadsafe
  [[nodiscard]] std::uint64_t overdue() const noexcept { return overdue_.load(std::memory_order_relaxed); }

private:
  void begin(const std::shared_ptr<slot_record>& record, time_point now);

  std::list<std::shared_ptr<slot_record>> records_; // oldest first: what others depend on comes before them
  std::vector<std::shared_ptr<slot_record>> closing_;
  std::atomic<std::uint64_t> overdue_{0};
};

} // namespace troupe
