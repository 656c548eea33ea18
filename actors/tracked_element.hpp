// A message from another node in a mailbox: it gives its credit back when it leaves.
#pragma once

#include <caf/actor_control_block.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message.hpp>

#include <troupe/actors/credit_returns.hpp>

namespace troupe {

/// Destroyed when its actor has handled it, or when its mailbox is closed: that is when the sender's window opens again.
class tracked_element final : public caf::mailbox_element {
public:
  tracked_element(caf::strong_actor_ptr from, caf::message_id mid, caf::message content, credit_cell_ptr cell,
                  std::uint64_t bytes, bool bulk)
    : caf::mailbox_element(std::move(from), mid, {}),
      content_(std::move(content)),
      cell_(std::move(cell)),
      bytes_(bytes),
      bulk_(bulk) {
    // nop
  }

  ~tracked_element() override {
    if (cell_)
      cell_->consumed(bytes_, bulk_);
  }

  caf::type_erased_tuple& content() override { return content_.content(); }
  const caf::type_erased_tuple& content() const override { return const_cast<const caf::message&>(content_).content(); }
  caf::message move_content_to_message() override { return std::move(content_); }
  caf::message copy_content_to_message() const override { return content_; }

private:
  caf::message content_;
  const credit_cell_ptr cell_;
  const std::uint64_t bytes_;
  const bool bulk_;
};

} // namespace troupe
