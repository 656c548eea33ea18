// A UCX worker in the hands of a loop: polled there, its frames handed to the lanes they belong to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <troupe/actors/poller_set.hpp>
#include <troupe/actors/slot.hpp>
#include <troupe/proto/frame.hpp>
#include <troupe/transport/worker.hpp>

namespace troupe {

class lanes;
class progress_loop;

/// The network worker of a loop (permanent, shared by all network peers), or the shared-memory worker of one peer's
/// epoch. Owned by the loop; a worker actor holds the lease. Everything here belongs to the loop's thread.
class worker_slot final : public slot, private poller {
public:
  /// Connections that came in and have not shown a ticket yet; further ones are rejected.
  static constexpr std::size_t max_unclaimed = 256;
  /// ... and for how long they may stay without one.
  static constexpr std::chrono::nanoseconds unclaimed_deadline = std::chrono::seconds{5};

  /// Takes over `worker`, which may come from another thread, and has the loop poll it.
  worker_slot(progress_loop& loop, std::unique_ptr<transport::worker> worker);
  ~worker_slot() override;

  [[nodiscard]] transport::worker& worker() noexcept { return *worker_; }
  [[nodiscard]] transport::lane_transport transport() const noexcept { return worker_->owner()->transport(); }
  [[nodiscard]] progress_loop& loop() noexcept { return loop_; }

  // -- the lanes that live here -------------------------------------------------

  /// From now on frames with `key` go to `who`.
  void add(lanes& who, std::uint64_t key);
  void remove(lanes& who);
  /// The lanes with this key, or null.
  [[nodiscard]] lanes* find(std::uint64_t key) const noexcept {
    auto it = lanes_.find(key);
    return it == lanes_.end() ? nullptr : it->second;
  }

  /// Lets `who` be dialled: opens the network listener if it is not open. Shared; closed when the last one was reached
  /// or gave up.
  [[nodiscard]] result<transport::socket_address> expect(lanes& who, const std::string& host);
  void stop_expecting(lanes& who);

  /// Frames with no lanes' key, since the beginning.
  [[nodiscard]] std::uint64_t foreign_frames() const noexcept { return foreign_frames_; }
  /// One turn: lets UCX work and hands over what came. Returns 0 when there was nothing to do.
  unsigned pump();

  // -- slot -------------------------------------------------------------------

  void begin_close() override;
  bool settled() override;

private:
  struct unclaimed {
    std::unique_ptr<transport::endpoint> endpoint;
    std::chrono::steady_clock::time_point since;
  };

  unsigned progress() override { return pump(); }
  int event_fd() override { return worker_->event_fd(); }
  bool arm() override;

  void take(transport::inbound& message);
  void take_ticket(lanes& who, transport::inbound& message, std::span<const std::byte> ticket);
  void accept_pending();
  void expire_unclaimed();

  progress_loop& loop_;
  std::unique_ptr<transport::worker> worker_;
  std::unordered_map<std::uint64_t, lanes*> lanes_;
  std::uint64_t last_key_ = 0;
  lanes* last_ = nullptr;
  std::unique_ptr<transport::listener> listener_;
  std::vector<lanes*> expected_;
  std::vector<unclaimed> unclaimed_;
  std::vector<std::unique_ptr<transport::endpoint>> closing_; // rejected connections, until they settled
  std::uint64_t foreign_frames_ = 0;
};

} // namespace troupe
