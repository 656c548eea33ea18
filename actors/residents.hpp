// The actors that live on a loop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include <caf/actor_control_block.hpp>
#include <caf/error.hpp>

#include <troupe/actors/run_list.hpp>

namespace troupe {

/// A pinned actor as its loop sees it.
class resident : public run_node {
public:
  /// The actor's reference count. Valid while the actor is in the list, which it is in from launch to cleanup.
  virtual caf::actor_control_block* control() noexcept = 0;

  /// Ends the actor now, whatever it waits for: on_exit, then downs and exits with `why`. Loop thread only.
  virtual void terminate(caf::error why) noexcept = 0;

protected:
  ~resident() = default;

private:
  friend class resident_list;
  resident* previous_ = nullptr;
  resident* next_ = nullptr;
};

/// All live actors of a loop, hidden ones included. @threadsafe
class resident_list {
public:
  resident_list() = default;
  resident_list(const resident_list&) = delete;
  resident_list& operator=(const resident_list&) = delete;

  /// False after close(): the actor must end at once.
  [[nodiscard]] bool add(resident& x);
  void remove(resident& x);

  /// Everyone here now, kept alive by the handles.
  [[nodiscard]] std::vector<caf::strong_actor_ptr> all() const;

  /// The actor added last, kept alive by `handle`; null if nobody is here.
  [[nodiscard]] resident* newest(caf::strong_actor_ptr& handle) const;

  /// Waits until nobody is here, at most `limit` (and at most a day). Returns whether that was so.
  [[nodiscard]] bool await_empty(std::chrono::nanoseconds limit) const;

  void close();
  [[nodiscard]] std::size_t size() const;

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable empty_;
  resident* last_ = nullptr;
  std::size_t size_ = 0;
  bool closed_ = false;
};

} // namespace troupe
