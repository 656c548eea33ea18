#include <troupe/transport/link.hpp>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/link_state.hpp>

namespace troupe::transport {

link::link(std::shared_ptr<link_state> state) : state_(std::move(state)) {}

link::~link() = default;

const link_peer& link::peer() const noexcept { return state_->peer(); }

link_session_id link::session() const noexcept { return state_->terms().session; }

const std::string& link::transport() const noexcept { return state_->terms().transport; }

bool link::dialled_by_us() const noexcept { return state_->dialled_by_us(); }

const std::string& link::local_address() const noexcept { return state_->local_address(); }

const std::string& link::remote_address() const noexcept { return state_->remote_address(); }

void link::set_handler(std::shared_ptr<link_handler> handler) { state_->set_handler(std::move(handler)); }

bool link::send(const v1::LinkFrame& frame) { return state_->send(frame); }

bool link::goodbye(std::uint64_t last_sequence, errc code, const std::string& reason) {
  v1::LinkFrame frame;
  frame.mutable_goodbye()->set_last_sequence(last_sequence);
  frame.mutable_goodbye()->set_code(static_cast<std::uint32_t>(code));
  frame.mutable_goodbye()->set_reason(proto::clean_link_text(reason));
  return state_->send(frame);
}

void link::close(errc code, const std::string& text) { state_->close(code, text); }

} // namespace troupe::transport
