#include <troupe/actors/tracked_element.hpp>

#include <utility>

#include <troupe/actors/error.hpp>

namespace troupe {

tracked_element::tracked_element(caf::strong_actor_ptr from, caf::message_id mid, caf::message content,
                                 credit_cell_ptr cell, std::uint64_t bytes, bool bulk)
  : caf::mailbox_element(std::move(from), mid, {}),
    content_(std::move(content)),
    cell_(std::move(cell)),
    bytes_(bytes),
    bulk_(bulk) {
  // nop
}

tracked_element::~tracked_element() {
  if (cell_)
    cell_->consumed(bytes_, bulk_);
  // Whoever answers, delegates or keeps a promise takes the sender out of here; CAF forgets it when a handler throws. A
  // mailbox that was closed has told the sender already, who takes the first answer.
  if (sender && mid.is_request() && !mid.is_answered())
    sender->enqueue(nullptr, mid.response_id(),
                    caf::make_message(make_error(errc::abandoned, "the request was not answered: the actor that took it "
                                                                  "ended or failed")),
                    nullptr);
}

caf::type_erased_tuple& tracked_element::content() {
  return content_.vals() ? content_.content() : nothing_;
}

const caf::type_erased_tuple& tracked_element::content() const {
  if (content_.vals())
    return const_cast<const caf::message&>(content_).content();
  return nothing_;
}

} // namespace troupe
