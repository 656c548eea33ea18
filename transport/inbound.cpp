// The receiving half of worker: what UCX's callback appends, and messages that are kept.
#include <troupe/transport/inbound.hpp>

#include <cstring>
#include <utility>

#include <troupe/proto/frame.hpp>
#include <troupe/transport/kept_record.hpp>
#include <troupe/transport/ucx_errc.hpp>
#include <troupe/transport/worker.hpp>

namespace troupe::transport {

namespace {

constexpr std::size_t arena_chunk_bytes = 64 * 1024;
constexpr std::size_t arena_chunks_retained = 16;

// Eager data up to this size is copied out of UCX's buffers, which is cheaper than holding and releasing them.
constexpr std::size_t hold_threshold = 16 * 1024;

// What the sender of a refused rendezvous gets to see.
ucs_status_t refusal(errc why) noexcept {
  switch (why) {
    case errc::exceeds_limit:
      return UCS_ERR_EXCEEDS_LIMIT;
    case errc::no_memory:
      return UCS_ERR_NO_MEMORY;
    case errc::busy:
      return UCS_ERR_BUSY;
    default:
      return UCS_ERR_REJECTED;
  }
}

} // namespace

std::byte* worker::arena_copy(const void* bytes, std::size_t n) {
  if (n == 0)
    return nullptr;
  std::byte* place = nullptr;
  if (n > arena_chunk_bytes) {
    arena_large_.push_back(std::make_unique_for_overwrite<std::byte[]>(n));
    place = arena_large_.back().get();
  } else {
    if (arena_chunk_ < arena_.size() && arena_used_ + n > arena_chunk_bytes) {
      ++arena_chunk_;
      arena_used_ = 0;
    }
    if (arena_chunk_ == arena_.size())
      arena_.push_back(std::make_unique_for_overwrite<std::byte[]>(arena_chunk_bytes));
    place = arena_[arena_chunk_].get() + arena_used_;
    arena_used_ += (n + 15) & ~std::size_t{15};
  }
  std::memcpy(place, bytes, n);
  return place;
}

void worker::reset_inbound() noexcept {
  inbound_.clear();
  arena_chunk_ = 0;
  arena_used_ = 0;
  if (!arena_large_.empty())
    arena_large_.clear();
  if (arena_.size() > arena_chunks_retained)
    arena_.resize(arena_chunks_retained);
}

ucs_status_t worker::on_message(void* arg, const void* header, size_t header_size, void* data, size_t size,
                                const ucp_am_recv_param_t* param) {
  const auto& which = *static_cast<const handler_argument*>(arg);
  auto& self = *which.self;
  inbound message;
  message.id = which.id;
  message.rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  message.size = size;
  if (header_size > proto::max_bulk_header) [[unlikely]] {
    ++self.counters_.refused_header;
    return message.rendezvous ? UCS_ERR_EXCEEDS_LIMIT : UCS_OK;
  }
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0)
    message.reply_ep = param->reply_ep;
  message.header = static_cast<const std::byte*>(header);
  message.header_size = static_cast<std::uint32_t>(header_size);
  message.data = message.rendezvous ? nullptr : static_cast<const std::byte*>(data);

  auto verdict = size > worker_limits::max_message_bytes ? errc::exceeds_limit : errc::ok;
  if (message.rendezvous && self.open_rendezvous_ >= worker_limits::max_open_rendezvous)
    verdict = errc::busy;
  if (verdict == errc::ok && self.admission_)
    verdict = self.admission_(self.admission_context_, message);
  if (verdict != errc::ok) [[unlikely]] {
    ++(message.rendezvous ? self.counters_.refused_rendezvous : self.counters_.refused_eager);
    return message.rendezvous ? refusal(verdict) : UCS_OK;
  }

  // UCX's header dies with this call, its data does unless the message says otherwise.
  message.header = self.arena_copy(header, header_size);
  auto answer = UCS_OK;
  if (message.rendezvous) {
    ++self.open_rendezvous_;
    message.held = true;
    message.desc = data;
    answer = UCS_INPROGRESS;
  } else if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 && size > hold_threshold) {
    message.held = true;
    message.desc = data;
    answer = UCS_INPROGRESS;
  } else {
    message.data = self.arena_copy(data, size);
  }
  self.inbound_.push_back(message);
  ++self.counters_.received;
  return answer;
}

// -- kept messages ------------------------------------------------------------

void worker::kept_record::link(worker& x) noexcept {
  owner = &x;
  next = x.kept_;
  if (next)
    next->previous = this;
  x.kept_ = this;
}

void worker::kept_record::unlink() noexcept {
  if (owner == nullptr)
    return;
  (previous ? previous->next : owner->kept_) = next;
  if (next)
    next->previous = previous;
  owner = nullptr;
  previous = next = nullptr;
}

kept_message worker::keep(inbound& message) {
  auto record = std::make_unique<kept_record>();
  record->header.assign(message.header, message.header + message.header_size);
  record->message = message;
  record->message.header = record->header.data();
  record->message.data = nullptr;
  if (message.rendezvous) {
    if (message.held)
      record->link(*this);
    message.held = false;
  } else {
    record->data = payload::copy_of(message.data, message.size);
    release(message);
    record->message.held = false;
  }
  return kept_message{std::move(record)};
}

kept_message::kept_message(std::unique_ptr<worker::kept_record> record) noexcept : record_(std::move(record)) {}

kept_message::kept_message() noexcept = default;

kept_message::kept_message(kept_message&& other) noexcept = default;

kept_message& kept_message::operator=(kept_message&& other) noexcept {
  std::swap(record_, other.record_);
  return *this;
}

kept_message::~kept_message() {
  if (record_ && record_->owner) {
    record_->owner->release(record_->message);
    record_->unlink();
  }
}

am_id kept_message::id() const noexcept {
  return record_->message.id;
}

std::span<const std::byte> kept_message::header() const noexcept {
  return record_->header;
}

bool kept_message::rendezvous() const noexcept {
  return record_->message.rendezvous;
}

std::size_t kept_message::size() const noexcept {
  return record_->message.size;
}

const payload& kept_message::data() const noexcept {
  return record_->data;
}

post_status kept_message::receive(std::byte* buffer, std::size_t size, operation& op, errc& why) noexcept {
  if (record_->owner == nullptr) {
    why = record_->message.held ? errc::canceled : errc::invalid_param;
    return post_status::failed;
  }
  auto& owner = *record_->owner;
  auto result = owner.receive(record_->message, buffer, size, op, why);
  if (!record_->message.held)
    record_->unlink();
  return result;
}

} // namespace troupe::transport
