// What the threads outside a session's loop see of the session: its credit, its way in, and whether it is over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <caf/actor_control_block.hpp>
#include <caf/error.hpp>
#include <caf/message.hpp>
#include <caf/message_id.hpp>
#include <caf/node_id.hpp>

#include <troupe/actors/limits.hpp>
#include <troupe/proto/frame.hpp>
#include <troupe/transport/credit.hpp>
#include <troupe/transport/payload.hpp>

namespace troupe {

class codec;
class progress_loop;
class remote_ref;
class session_slot;

/// Whoever wants to know how one accepted operation ended: gets op_done{op_id, status} exactly once.
struct op_owner {
  caf::strong_actor_ptr actor; ///< null: nobody, the terminal goes to the counters alone
  std::uint64_t op_id = 0;
};

/// An operation encoded by the thread that sent it, on its way to the session's loop.
struct outbound_op {
  outbound_op* next = nullptr;
  proto::message_kind kind = proto::message_kind::message;
  caf::strong_actor_ptr target; ///< a remote_ref of this session
  caf::strong_actor_ptr sender; ///< local, or null
  caf::message_id mid;
  payload body;
  std::vector<payload> attachments;
  std::vector<caf::strong_actor_ptr> handles; ///< local actors inside the message
  op_owner owner;
  bool unlinks_source = false; ///< an exit message: ends the link between `sender` and `target`

  /// Bytes counted against the windows.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Whether it travels on the bulk lane.
  [[nodiscard]] bool bulk() const noexcept;
};

/// Counted by one thread, the session's loop, and read by any: no locked instruction on the hot path.
class loop_counter {
public:
  void add(std::uint64_t n = 1) noexcept { value_.store(load() + n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t load() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

/// Counted by any thread.
class shared_counter {
public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t load() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

/// Counts what a session does; every accepted operation ends in exactly one of ok, failed, canceled, indeterminate.
/// Totals since the session began.
struct session_counters {
  loop_counter accepted, ok, failed, canceled, indeterminate;
  shared_counter refused;        ///< no credit: the sender got its message back
  shared_counter unnotified;     ///< of those: too many waited already, no credit_available follows
  shared_counter bounced;        ///< the session was over
  shared_counter dropped;        ///< refused or bounced, with no sender to tell
  shared_counter encode_failed;  ///< a message that could not be encoded
  loop_counter decode_failed;    ///< a frame whose body could not be decoded
  loop_counter unknown_target;   ///< a frame for an actor that is not here (any more)
  loop_counter foreign_frames;   ///< a frame with another epoch's key
  loop_counter malformed_frames; ///< a frame that breaks the wire contract
  loop_counter delivered;        ///< messages handed to local actors
  loop_counter batches_sent, bulk_sent, bytes_sent, bytes_received;
};

/// The thread-safe half of a session. Shared by its remote_refs, which outlive it; holds no UCP object.
class outbox : public std::enable_shared_from_this<outbox> {
public:
  outbox(progress_loop& loop, const codec& encoder, caf::node_id peer, std::string peer_name, session_limits limits);
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;
  ~outbox();

  // -- properties, @threadsafe ------------------------------------------------

  [[nodiscard]] progress_loop& loop() const noexcept { return loop_; }
  [[nodiscard]] const codec& encoder() const noexcept { return encoder_; }
  [[nodiscard]] const caf::node_id& peer() const noexcept { return peer_; }
  [[nodiscard]] const std::string& peer_name() const noexcept { return peer_name_; }
  [[nodiscard]] const session_limits& limits() const noexcept { return limits_; }
  [[nodiscard]] session_counters& counters() noexcept { return counters_; }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Why the session ended; none while it lives.
  [[nodiscard]] caf::error reason() const;

  // -- the way in, @threadsafe ------------------------------------------------

  /// Hands `op` to the loop, in the order of the calls of one thread. On a session that ended the operation is bounced.
  void push(std::unique_ptr<outbound_op> op);

  /// Takes credit for a message to `ref` of `bytes`, from the target's window and the lane's. `reserved`: it may draw on
  /// the reserve (down, exit, link and reply messages).
  [[nodiscard]] bool take_credit(remote_ref& ref, std::uint64_t bytes, bool bulk, bool reserved);

  /// Waits until take_credit succeeds or the session is over (then false). For threads that may block only.
  [[nodiscard]] bool wait_for_credit(remote_ref& ref, std::uint64_t bytes, bool bulk);

  /// Remembers to send credit_available{ref} to `sender` when credit comes back.
  void await_credit(const caf::strong_actor_ptr& sender, remote_ref& ref);

  /// Tells the sender of a message that will not travel: a request gets `why` as its response, a plain message comes
  /// back as refused{target, content, why}; one without a sender is counted and logged.
  void refuse(const caf::strong_actor_ptr& sender, caf::message_id mid, const caf::strong_actor_ptr& target,
              caf::message content, caf::error why);

  // -- for the session, on its loop -------------------------------------------

  /// The session's loop-side half; null before the session opened and after it ended. Loop thread only.
  [[nodiscard]] session_slot* slot() const noexcept { return slot_; }
  void attach(session_slot* slot) noexcept { slot_ = slot; }

  /// Everything pushed since the last call, oldest first, as a linked list the caller owns. Loop thread only.
  [[nodiscard]] outbound_op* take_all() noexcept;

  /// Credit came back: wakes blocked threads and tells those who wait.
  void credit_returned();

  /// Ends the session for every sender: later pushes bounce with `why`, waiting threads give up.
  void close(caf::error why);

  [[nodiscard]] transport::credit_account& inline_credit() noexcept { return inline_credit_; }
  [[nodiscard]] transport::credit_account& bulk_credit() noexcept { return bulk_credit_; }

private:
  struct waiter {
    caf::strong_actor_ptr sender;
    caf::strong_actor_ptr target;
  };

  void bounce_all();
  void bounce(outbound_op& op, const caf::error& why);

  progress_loop& loop_;
  const codec& encoder_;
  const caf::node_id peer_;
  const std::string peer_name_;
  const session_limits limits_;
  session_counters counters_;
  transport::credit_account inline_credit_;
  transport::credit_account bulk_credit_;
  std::atomic<outbound_op*> head_{nullptr};
  std::atomic<bool> closed_{false};
  session_slot* slot_ = nullptr;
  mutable std::mutex mutex_; // reason_, waiters_, and the sleep of wait_for_credit
  std::condition_variable credit_;
  std::atomic<std::size_t> sleepers_{0}; // threads in wait_for_credit plus entries of waiters_
  std::deque<waiter> waiters_;
  caf::error reason_;
};

} // namespace troupe
