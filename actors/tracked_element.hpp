// A message from another node in a mailbox: it gives its credit back when it leaves.
#pragma once

#include <cstdint>

#include <caf/actor_control_block.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message.hpp>

#include <troupe/actors/credit_returns.hpp>

namespace troupe {

/// Destroyed when its actor has handled it, or when its mailbox is closed: that is when the sender's window opens again,
/// and when a request that nobody took over or answered (a handler that threw) is answered with errc::abandoned.
class tracked_element final : public caf::mailbox_element {
public:
  tracked_element(caf::strong_actor_ptr from, caf::message_id mid, caf::message content, credit_cell_ptr cell,
                  std::uint64_t bytes, bool bulk);
  ~tracked_element() override;

  caf::type_erased_tuple& content() override;
  const caf::type_erased_tuple& content() const override;
  caf::message move_content_to_message() override { return std::move(content_); }
  caf::message copy_content_to_message() const override { return content_; }

private:
  caf::message content_;
  caf::empty_type_erased_tuple nothing_; // what an empty message has instead of a content
  const credit_cell_ptr cell_;
  const std::uint64_t bytes_;
  const bool bulk_;
};

} // namespace troupe
