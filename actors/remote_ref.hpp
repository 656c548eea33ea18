// An actor on another node, as an ordinary CAF handle.
#pragma once

#include <atomic>
#include <memory>

#include <caf/actor_proxy.hpp>

#include <troupe/actors/outbox.hpp>
#include <troupe/transport/credit.hpp>

namespace troupe {

/// Stands in for one actor of the peer of one session. Sending to it encodes the message in the sender's thread; a
/// sender on the session's loop goes straight to the session, any other one through the outbox. When the session ends,
/// or the remote actor dies, it terminates like a local actor: monitors get their down_msg, links their exit_msg, and
/// requests are answered with the reason. It never comes back: a new session makes new references.
class remote_ref : public caf::actor_proxy {
public:
  /// `box` null: a reference that is dead from the start (no session with that node).
  remote_ref(caf::actor_config& cfg, std::shared_ptr<outbox> box);
  ~remote_ref() override;

  // -- what CAF asks of a proxy, @threadsafe ----------------------------------

  using caf::actor_proxy::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) override;
  bool add_backlink(caf::abstract_actor* x) override;
  bool remove_backlink(caf::abstract_actor* x) override;
  void kill_proxy(caf::execution_unit* host, caf::error reason) override;
  const char* name() const override { return "troupe.remote_ref"; }

  // -- for the session ---------------------------------------------------------

  /// The window of this target. @threadsafe
  [[nodiscard]] transport::credit_account& credit() noexcept { return credit_; }
  [[nodiscard]] const std::shared_ptr<outbox>& box() const noexcept { return box_; }
  [[nodiscard]] bool dead() const noexcept { return dead_.load(std::memory_order_acquire); }
  /// Ends the link to `x` on this side without telling the peer, which already knows.
  void forget_link(caf::abstract_actor* x);

private:
  void enqueue_foreign(caf::mailbox_element_ptr what, bool reserved, bool blocking);
  void push_link(proto::message_kind kind, caf::abstract_actor* x);
  caf::error death_reason();

  const std::shared_ptr<outbox> box_;
  transport::credit_account credit_;
  std::atomic<bool> dead_{false};
};

/// Whether messages with this content or id may draw on the reserve: replies, exits, downs.
[[nodiscard]] bool draws_on_reserve(const caf::type_erased_tuple& content, caf::message_id mid) noexcept;

} // namespace troupe
