// The loop-side half of a session: numbers, journal, window, credit, and the way of every message in and out.
//
// out: remote_ref -> send() or take_outbox() -> batch or bulk queue -> lanes           (session_send.cpp)
// in:  lanes -> on_lane_frame() -> receive window -> deliver() -> the actor's mailbox   (session_receive.cpp)
// Bringing it up and ending it: session_slot.cpp. Handles, monitors and links: session_actors.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <caf/mailbox_element.hpp>
#include <caf/proxy_registry.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/credit_returns.hpp>
#include <troupe/actors/export_table.hpp>
#include <troupe/actors/handle_source.hpp>
#include <troupe/actors/lanes.hpp>
#include <troupe/actors/outbox.hpp>
#include <troupe/actors/outgoing.hpp>
#include <troupe/actors/session_messages.hpp>
#include <troupe/actors/slot.hpp>
#include <troupe/actors/turn_hook.hpp>
#include <troupe/proto/link.pb.h>
#include <troupe/transport/ack_policy.hpp>
#include <troupe/transport/journal.hpp>
#include <troupe/transport/link.hpp>
#include <troupe/transport/pair_order.hpp>
#include <troupe/transport/receive_window.hpp>

namespace troupe {

class remote_ref;

/// What a session needs from its node. Outlives it.
struct session_environment {
  caf::actor_system* system = nullptr;
  const codec* encoder = nullptr;
  caf::proxy_registry* proxies = nullptr;
  /// Answers requests to actor 0 of this node, the node itself (lookup).
  caf::strong_actor_ptr node_service;
  /// Tells a person what happened; level 0: debug, 1: info, 2: warning. Called on the loop. May be empty.
  std::function<void(int level, const std::string& text)> log;
  /// What this node takes in from one peer.
  session_limits limits;
  /// What any session exported: a peer may have a handle from another node.
  export_table exported;
};

/// Who hears of a session: its actor. Called on the loop.
struct session_observer {
  virtual void on_session_up() = 0;
  /// After the peer's last message and the downs of its actors.
  virtual void on_session_over(const caf::error& why) = 0;
  virtual void on_session_stalled(bool stalled) = 0;

protected:
  ~session_observer() = default;
};

/// Owned by the loop; the session actor holds a lease, and the lanes hold another until they have settled. Everything
/// here belongs to the loop's thread.
class session_slot final : public slot, private turn_hook, private lanes_owner, private handle_source {
public:
  session_slot(progress_loop& loop, session_environment& environment, std::shared_ptr<transport::link> link,
               std::shared_ptr<outbox> box, session_observer& observer);
  ~session_slot() override;

  [[nodiscard]] const peer& who() const noexcept { return who_; }
  [[nodiscard]] const std::shared_ptr<outbox>& box() const noexcept { return box_; }
  [[nodiscard]] bool up() const noexcept { return up_; }
  [[nodiscard]] session_state state() const;

  // -- life ---------------------------------------------------------------------

  /// Tells the peer our types and, once `open` is called, how to reach our lanes.
  void start();
  /// Takes the lanes of the epoch into use; the actor of the lanes holds their lease.
  void open(lanes& epoch);
  /// Could not make lanes.
  void open_failed(errc why, const std::string& text);
  /// The peer's control frames, and the end of the link.
  void on_link_frame(const v1::LinkFrame& frame);
  void on_link_down(const transport::link_down& why);
  void on_link_progress(bool stalled);
  /// Sends what was accepted, says goodbye, and ends when it is acknowledged or late.
  void close_gracefully(std::string reason);
  /// Ends now. The peer's frames that are already here are still delivered.
  void end(caf::error why, bool peer_is_gone);
  [[nodiscard]] lanes_owner& as_lanes_owner() noexcept { return *this; }
  /// Nobody watches any more (the actor is gone).
  void detach_observer() noexcept { observer_ = nullptr; }

  // -- out (session_send.cpp) -------------------------------------------------------

  /// From a sender on this loop: encodes straight into the batch.
  void send(remote_ref& target, caf::mailbox_element_ptr what, bool reserved);
  /// From the session's mailbox: the same with one terminal op_done to `owner`.
  void send(const send_op& op, op_owner owner);
  /// Takes what other threads pushed.
  void take_outbox();
  /// Credit is waiting to be returned; `now`: at the end of this turn, otherwise after credit_delay.
  void credit_due(bool now);

  // -- actors (session_actors.cpp) ----------------------------------------------------

  /// The reference to actor `id` of the peer; made if there is none.
  const caf::strong_actor_ptr& reference(caf::actor_id id);
  /// A local actor that the peer may address from now on.
  void export_actor(const caf::strong_actor_ptr& x);
  /// A local actor that the peer monitors died.
  void on_local_down(caf::actor_id id, const caf::error& why);
  /// The peer's actor is to be watched; called once per reference.
  void monitor_remote(caf::actor_id id);

  // -- slot -----------------------------------------------------------------------------

  void begin_close() override;
  bool settled() override { return true; }

private:
  struct exported {
    caf::strong_actor_ptr actor;
    credit_cell_ptr credit;
    bool monitored = false;
  };
  struct pending_key {
    std::uint64_t sender, message_id;
    bool operator==(const pending_key&) const = default;
  };
  struct pending_hash {
    std::size_t operator()(const pending_key& x) const noexcept {
      return std::hash<std::uint64_t>{}(x.sender * 0x9E3779B97F4A7C15ull ^ x.message_id);
    }
  };
  using pending_table = std::unordered_map<pending_key, caf::strong_actor_ptr, pending_hash>;

  /// A message on its way in: its bytes lie in UCX's memory (`body`) or in its own (`owned`).
  struct incoming {
    proto::message_header header{};
    std::span<const std::byte> body;
    payload owned;
    std::vector<payload> attachments;
    std::uint64_t bytes = 0; // counted against the windows
    bool bulk = false;
  };
  friend struct bulk_receive;

  // -- bring-up and end -----------------------------------------------------------------
  void say_lane_offer();
  void take_lane_offer(const v1::LaneOffer& offer);
  void come_up_if_ready();
  void take_goodbye(const v1::Goodbye& goodbye);
  void say_goodbye_if_ready();
  void answer_goodbye_if_ready();
  void drain_last_frames();
  void settle_send_side(const caf::error& why);
  void on_lanes_reached() override;
  void on_lanes_drained() override;
  void on_lanes_failed(errc why, const std::string& text) override;
  void on_lanes_closed() override;
  void on_lanes_failed_later(errc why);
  void log(int level, const std::string& text) const;

  // -- out ------------------------------------------------------------------------------
  std::span<std::byte> batch_room(std::size_t wanted);
  void append_to_batch(const proto::message_header& header);
  std::uint64_t accept(outgoing entry, std::size_t bytes);
  void post_message(outbound_op& op);
  void post_control(proto::message_kind kind, std::uint64_t sender, std::uint64_t target, std::uint64_t message_id,
                    std::span<const std::byte> body, std::uint16_t aux = 0, std::uint8_t flags = 0);
  void queue_bulk(std::uint64_t seq, std::uint64_t after, std::uint64_t sender, std::uint64_t target,
                  std::uint64_t message_id, payload body, std::vector<payload> attachments);
  void post_bulk();
  bool remember_request(const caf::strong_actor_ptr& sender, caf::message_id mid);
  void end_of_turn() noexcept override;
  void flush();
  void close_batch();
  void append_ack_frame();
  void arm_ack_timer();
  void finish(outgoing& x, errc status);

  // -- in -------------------------------------------------------------------------------
  void on_lane_frame(transport::inbound& message, const proto::lane_header& header) override;
  void take_batch(const proto::lane_header& header, proto::frame_reader in);
  void take_bulk(transport::inbound& message, const proto::lane_header& header);
  void bulk_received(struct bulk_receive& x);
  void finish_bulk_receives();
  void take_frame(incoming x);
  void take_ack(std::uint64_t cumulative, std::span<const proto::sack_range> ranges);
  void take_ack_frame(const proto::message_header& header, std::span<const std::byte> body);
  void deliver(incoming&& x);
  void deliver_message(incoming&& x);
  void reject_message(const incoming& x, caf::error why);
  void violation(const std::string& what);

  // -- actors ------------------------------------------------------------------------------
  void take_monitor(const proto::message_header& header);
  void take_down(const incoming& x);
  void take_link(const proto::message_header& header);
  void take_unlink(const proto::message_header& header);
  void take_nack(const incoming& x);
  exported* find_export(caf::actor_id id);
  void send_down(caf::actor_id id, const caf::error& why);
  caf::strong_actor_ptr local(caf::actor_id id) override;
  caf::strong_actor_ptr remote(const caf::node_id& node, caf::actor_id id) override;

  progress_loop& loop_;
  session_environment& environment_;
  const std::shared_ptr<transport::link> link_;
  const std::shared_ptr<outbox> box_;
  session_observer* observer_;
  session_counters& counters_;
  const session_limits& limits_; // the windows are those that the peer told
  peer who_;
  peer_types types_;
  bool have_types_ = false;

  // life
  lanes* lanes_ = nullptr;
  bool reached_ = false;      // the peer's tickets arrived
  bool peer_reached_ = false; // the peer says that ours did
  bool offer_pending_ = false;
  v1::LaneOffer offer_;
  bool up_ = false;
  bool closing_ = false; // sends what was accepted, then goodbye
  bool goodbye_said_ = false;
  bool goodbye_heard_ = false;
  std::uint64_t goodbye_last_ = 0;
  errc goodbye_code_ = errc::peer_closing;
  std::string goodbye_reason_;
  bool lane_failure_seen_ = false;
  bool over_ = false;
  bool ending_ = false;
  std::string closing_reason_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  // out
  transport::journal<outgoing> journal_;
  transport::pair_order pairs_;
  send_progress progress_;
  chunk_pool chunks_;
  chunk* chunk_ = nullptr;      // the one being filled
  std::size_t batch_start_ = 0; // of the open batch in it
  std::uint16_t batch_count_ = 0;
  bool batch_open_ = false;
  std::deque<queued_batch> batches_;
  std::deque<bulk_send*> bulk_queue_;
  bulk_pool bulk_sends_;
  bool say_ack_ = false; // the next flush sends a batch even if it has no message
  encoded_extras extras_;
  std::vector<std::byte> scratch_;
  pending_table pending_;
  std::vector<pending_table::node_type> spare_pending_;

  // in
  transport::receive_window<incoming> window_;
  transport::ack_policy acks_;
  bool ack_timer_ = false;
  std::shared_ptr<credit_returns> returns_;
  bool credit_now_ = false;
  bool credit_timer_ = false;
  std::vector<struct bulk_receive*> received_; // appended to by UCX's callbacks
  std::size_t receiving_ = 0;
  std::uint64_t receiving_bytes_ = 0;

  // actors
  std::unordered_map<caf::actor_id, exported> exports_;
  std::unordered_map<caf::actor_id, caf::strong_actor_ptr> references_;
  std::uint64_t last_sender_id_ = 0; // the two lookups of the last message, as traffic comes in streaks
  caf::strong_actor_ptr last_sender_;
};

} // namespace troupe
