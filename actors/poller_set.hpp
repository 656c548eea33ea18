// Who a loop polls, and how often.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace troupe {

/// Something that must be progressed by its thread, such as a UCX worker. Owned by whoever added it to a loop.
struct poller {
  /// Handles what is there; returns how much that was, 0 for nothing. Called often: the cheaper the better.
  virtual unsigned progress() = 0;
  /// Readable when progress() is needed after arm(); -1 if there is none, then a sleeping loop wakes every
  /// poller_set::blind_interval to look. Asked once, when added; stays open until removed; belongs to one poller.
  virtual int event_fd() = 0;
  /// Prepares event_fd() for a sleep. False: there is something to progress, do not sleep.
  virtual bool arm() = 0;

protected:
  ~poller() = default;
};

/// The cost of asking it decides how often a poller is asked.
enum class poll_class {
  shared_memory, ///< a few loads: every turn
  network,       ///< a system call: every turn while that pays, else about every poller_set::relaxed_interval
};

class sleep_gate;

/// The pollers of one loop. Not threadsafe. progress() may add and remove pollers, itself too.
class poller_set {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// A network poller is polled every turn for this long after it brought something.
  static constexpr std::chrono::nanoseconds network_attention = std::chrono::microseconds{100};
  /// ... and every turn, too, while the shared-memory pollers brought nothing for this long: no one is slowed down
  /// then.
  static constexpr std::chrono::nanoseconds shared_memory_attention = std::chrono::milliseconds{1};
  /// Otherwise network pollers are polled this often.
  static constexpr std::chrono::nanoseconds relaxed_interval = std::chrono::microseconds{10};
  /// A poller without a descriptor limits each sleep to this.
  static constexpr std::chrono::nanoseconds blind_interval = std::chrono::milliseconds{1};

  explicit poller_set(sleep_gate& gate) noexcept : gate_(gate) {}
  poller_set(const poller_set&) = delete;
  poller_set& operator=(const poller_set&) = delete;

  /// Adds `p`; no effect if it is here already. Its first progress() is in this turn or the next.
  void add(poller& p, poll_class kind);

  /// Forgets `p`; no effect if it is not here. Its descriptor must still be open.
  void remove(poller& p) noexcept;

  /// One turn: returns what the pollers returned in sum.
  unsigned progress(time_point now);

  /// Arms everyone for a sleep; false if one has something to do. The next progress() asks all of them either way.
  [[nodiscard]] bool arm();

  /// Whether a sleep must be limited to blind_interval.
  [[nodiscard]] bool has_blind() const noexcept { return blind_ != 0; }

  [[nodiscard]] std::size_t size() const noexcept { return shared_memory_.alive + network_.alive; }

private:
  struct entry {
    poller* who; // null: removed while the list was walked
    int fd;
  };
  struct list {
    std::vector<entry> entries;
    std::size_t alive = 0;
    bool has_holes = false;
  };

  [[nodiscard]] bool network_due(time_point now) const noexcept;
  unsigned walk(list& xs);
  bool arm(list& xs);
  bool remove(list& xs, poller& p) noexcept;
  void close_holes(list& xs) noexcept;

  sleep_gate& gate_;
  list shared_memory_;
  list network_;
  std::size_t blind_ = 0;
  bool walking_ = false;
  bool ask_all_ = true;
  time_point shared_memory_traffic_{};
  time_point network_traffic_{};
  time_point network_polled_{};
};

} // namespace troupe
