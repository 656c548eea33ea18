// The lanes of one epoch of a session: one UCX endpoint for messages, one for bulk.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <troupe/actors/slot.hpp>
#include <troupe/actors/worker_slot.hpp>
#include <troupe/proto/frame.hpp>
#include <troupe/transport/endpoint.hpp>

namespace troupe {

using lane_ticket = std::array<std::byte, proto::ticket_size>;

/// What one side tells the other over the link so that it can open its lanes: one-time tickets, and the key that every
/// frame to the teller must carry. Random, made by the teller.
struct lane_credentials {
  std::uint64_t key = 0;
  lane_ticket message_ticket{};
  lane_ticket bulk_ticket{};

  static lane_credentials make();
};

/// Who the lanes work for: the session. Called on the loop, never from inside a UCP callback.
struct lanes_owner {
  /// Both lanes showed their tickets: the peer reaches us.
  virtual void on_lanes_reached() = 0;
  /// A frame with our key. `message` may be received, kept or released.
  virtual void on_lane_frame(transport::inbound& message, const proto::lane_header& header) = 0;
  /// Everything that arrived was handed over: a good moment to act on it at once.
  virtual void on_lanes_drained() = 0;
  /// A lane failed, or its worker is going away. At most once; close the lanes then.
  virtual void on_lanes_failed(errc why, const std::string& text) = 0;
  /// The lease on them ended: they take and hand over nothing from here on, and may be gone any time.
  virtual void on_lanes_closed() = 0;

protected:
  ~lanes_owner() = default;
};

/// Owned by the loop; an endpoint actor holds the lease. Everything here belongs to the loop's thread.
class lanes final : public slot {
public:
  /// How long a forced close may take until the remaining requests are counted as settled (ucx: shared memory never
  /// tells when the peer is frozen).
  static constexpr std::chrono::nanoseconds settle_deadline = std::chrono::milliseconds{200};

  /// `owner` owns the operations posted here, so its slot is kept open by `keep` until these lanes have settled.
  lanes(progress_loop& loop, lease<worker_slot> worker, lanes_owner& owner, lease_base keep, std::uint32_t epoch,
        lane_credentials ours);
  ~lanes() override;

  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] const lane_credentials& ours() const noexcept { return ours_; }
  [[nodiscard]] transport::lane_transport transport() const noexcept { return worker_->transport(); }
  [[nodiscard]] worker_slot& worker() noexcept { return *worker_; }
  [[nodiscard]] bool open() const noexcept { return message_ && bulk_ && !closing_; }
  [[nodiscard]] bool reached() const noexcept { return message_claimed_ && bulk_claimed_; }
  /// The transports of the message lane as UCX names them. Not for the hot path.
  [[nodiscard]] std::string ucx_transports() const { return message_ ? message_->transports() : std::string{}; }

  // -- bring-up ------------------------------------------------------------------

  /// Shared memory: connects both lanes to the peer's worker and shows `theirs`.
  [[nodiscard]] result<std::uint32_t> connect(std::span<const std::byte> address, const lane_credentials& theirs);
  /// Network, the side that dials: the same by host and port.
  [[nodiscard]] result<std::uint32_t> connect(const transport::socket_address& address, const lane_credentials& theirs);
  /// Network, the side that is dialled: remembers what to show once the peer's connections have shown our tickets.
  void expect(const lane_credentials& theirs);

  // -- data path -------------------------------------------------------------------

  /// Posts a batch on the message lane. Never by rendezvous, whatever UCX_RNDV_THRESH says: the peer takes it for an
  /// attack.
  [[nodiscard]] transport::post_status post_batch(const void* data, std::size_t size, transport::operation& op,
                                                  errc& why) noexcept {
    return message_->am_send(transport::am_id::message, nullptr, 0, data, size, transport::send_flags::eager, op, why);
  }
  [[nodiscard]] transport::endpoint& bulk() noexcept { return *bulk_; }

  /// The key that frames to the peer carry.
  [[nodiscard]] std::uint64_t peer_key() const noexcept { return theirs_.key; }

  // -- for the worker slot -----------------------------------------------------------

  void on_frame(transport::inbound& message, const proto::lane_header& header);
  /// Whether `ticket` is one of ours that was not used yet; takes over the connection that showed it (network) then.
  [[nodiscard]] bool claim(transport::am_id lane, std::span<const std::byte> ticket,
                           std::unique_ptr<transport::endpoint> connection);
  void on_drained();
  void on_endpoint_failed(errc why);
  [[nodiscard]] bool owns(const transport::endpoint& x) const noexcept {
    return &x == message_.get() || &x == bulk_.get();
  }
  void fail(errc why, const std::string& text);

  // -- slot --------------------------------------------------------------------------

  void begin_close() override;
  bool settled() override;
  [[nodiscard]] std::chrono::nanoseconds close_limit() const override { return std::chrono::seconds{5}; }
  void give_up() override;

private:
  /// An opening frame on its way; it has to live until UCX is done with it.
  struct opening_frame final : transport::operation {
    std::array<std::byte, sizeof(proto::lane_header) + proto::ticket_size> bytes{};
    bool pending = false;
    void on_complete(errc) noexcept override { pending = false; }
  };

  void show_tickets(transport::send_flags flags);
  void show(opening_frame& frame, transport::endpoint& lane, transport::am_id id, const lane_ticket& ticket,
            transport::send_flags flags);

  progress_loop& loop_;
  // In this order: the worker goes last, after the owner of the operations.
  lease<worker_slot> worker_;
  lease_base keep_;
  const std::uint32_t epoch_;
  const lane_credentials ours_;
  lane_credentials theirs_;
  lanes_owner* owner_; // null once closing: then frames are dropped
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // for functions posted to the loop
  std::unique_ptr<transport::endpoint> message_;
  std::unique_ptr<transport::endpoint> bulk_;
  opening_frame message_opening_, bulk_opening_;
  bool message_claimed_ = false;
  bool bulk_claimed_ = false;
  bool expecting_ = false; // the peer's connections come to us
  bool failed_ = false;
  bool closing_ = false;
  std::chrono::steady_clock::time_point closing_since_{};
};

} // namespace troupe
