#include <troupe/proto/link_codec.hpp>

#include <cstring>

namespace troupe::proto {

namespace {

// The length of the UTF-8 character that begins at `at`, 0 when there is none.
std::size_t character_at(std::string_view text, std::size_t at) noexcept {
  auto lead = static_cast<unsigned char>(text[at]);
  std::size_t n = lead < 0x80                   ? 1
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                  : lead >= 0xe0 && lead < 0xf0 ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
  if (n == 0 || at + n > text.size())
    return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80)
      return 0;
  if (n > 1) {
    // Overlong forms, surrogates and what lies beyond U+10FFFF are no UTF-8 either.
    auto second = static_cast<unsigned char>(text[at + 1]);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second >= 0x90))
      return 0;
  }
  return n;
}

bool printable(std::string_view text, std::size_t at, std::size_t length) noexcept {
  return length > 1 || (length == 1 && text[at] >= ' ' && text[at] != 0x7f);
}

// The lengths of strings and the counts of repeated fields of each kind of frame. Each function names the offending
// field, or returns nothing.

bool fits(const std::string& text, std::size_t most, std::size_t least = 0) {
  return text.size() >= least && text.size() <= most;
}

bool text_fits(const std::string& text, std::size_t most, std::size_t least = 0) {
  return fits(text, most, least) && is_link_text(text);
}

template <class Strings>
bool tokens_fit(const Strings& tokens, int most, std::size_t most_bytes) {
  if (tokens.size() > most)
    return false;
  for (const auto& token : tokens)
    if (!text_fits(token, most_bytes, 1))
      return false;
  return true;
}

std::string_view check(const v1::Hello& x) {
  if (!fits(x.nonce(), link_nonce_bytes, link_nonce_bytes))
    return "hello.nonce";
  if (!text_fits(x.name(), max_node_name_bytes, 1))
    return "hello.name";
  if (x.incarnation() == 0)
    return "hello.incarnation";
  if (!tokens_fit(x.features(), max_link_features, max_link_token_bytes))
    return "hello.features";
  if (!tokens_fit(x.transports(), max_link_transports, max_link_token_bytes))
    return "hello.transports";
  if (!text_fits(x.host().host_id(), max_host_id_bytes))
    return "hello.host.host_id";
  if (x.down_after_ms() < min_down_after_ms || x.down_after_ms() > max_down_after_ms)
    return "hello.down_after_ms";
  if (x.heartbeat_ms() == 0 || x.heartbeat_ms() > x.down_after_ms())
    return "hello.heartbeat_ms";
  if (!text_fits(x.library_version(), max_library_version_bytes))
    return "hello.library_version";
  return {};
}

std::string_view check(const v1::Proof& x) {
  return fits(x.hmac(), link_hmac_bytes, link_hmac_bytes) ? "" : "proof.hmac";
}

std::string_view check(const v1::Welcome& x) {
  if (!fits(x.hmac(), link_hmac_bytes, link_hmac_bytes))
    return "welcome.hmac";
  return fits(x.terms(), max_terms_bytes) ? "" : "welcome.terms";
}

std::string_view check(const v1::Reject& x) {
  if (x.code() > 255)
    return "reject.code";
  return text_fits(x.text(), max_link_text_bytes) ? "" : "reject.text";
}

std::string_view check(const v1::Goodbye& x) {
  if (x.code() > 255)
    return "goodbye.code";
  return text_fits(x.reason(), max_link_text_bytes) ? "" : "goodbye.reason";
}

std::string_view check(const v1::TypeTable& x) {
  return tokens_fit(x.names(), max_type_names, max_type_name_bytes) ? "" : "type_table.names";
}

std::string_view check(const v1::LaneOffer& x) {
  if (!text_fits(x.transport(), max_link_token_bytes, 1))
    return "lane_offer.transport";
  if (!fits(x.worker_address(), max_worker_address_bytes))
    return "lane_offer.worker_address";
  if (!text_fits(x.host(), max_host_name_bytes))
    return "lane_offer.host";
  if (x.port() > 65535)
    return "lane_offer.port";
  // The side that takes the lanes has tickets to hand out, the one that opens them has none.
  if (!x.message_ticket().empty() && x.message_ticket().size() != link_ticket_bytes)
    return "lane_offer.message_ticket";
  if (!x.bulk_ticket().empty() && x.bulk_ticket().size() != link_ticket_bytes)
    return "lane_offer.bulk_ticket";
  return {};
}

std::string_view check(const v1::LaneFailed& x) {
  if (x.code() > 255)
    return "lane_failed.code";
  return text_fits(x.text(), max_link_text_bytes) ? "" : "lane_failed.text";
}

} // namespace

std::string_view field_out_of_limits(const v1::LinkFrame& frame) {
  using kind = v1::LinkFrame;
  switch (frame.kind_case()) {
  case kind::kHello:
    return check(frame.hello());
  case kind::kProof:
    return check(frame.proof());
  case kind::kWelcome:
    return check(frame.welcome());
  case kind::kReject:
    return check(frame.reject());
  case kind::kGoodbye:
    return check(frame.goodbye());
  case kind::kTypeTable:
    return check(frame.type_table());
  case kind::kLaneOffer:
    return check(frame.lane_offer());
  case kind::kLaneFailed:
    return check(frame.lane_failed());
  case kind::kHeartbeat:
  case kind::kPing:
  case kind::kPong:
  case kind::kGoodbyeAck:
  case kind::kLanesUp:
    return {};
  case kind::KIND_NOT_SET:
    break;
  }
  return "kind";
}

bool encode_link_frame(const v1::LinkFrame& frame, std::string& out, std::size_t bound) {
  if (!field_out_of_limits(frame).empty())
    return false;
  auto size = frame.ByteSizeLong();
  if (size == 0 || size > bound)
    return false;
  auto start = out.size();
  out.resize(start + link_prefix_bytes + size);
  for (std::size_t i = 0; i < link_prefix_bytes; ++i)
    out[start + i] = static_cast<char>(size >> (8 * i) & 0xff);
  if (!frame.SerializeToArray(out.data() + start + link_prefix_bytes, static_cast<int>(size))) {
    out.resize(start);
    return false;
  }
  return true;
}

bool decode_link_frame(std::span<const std::byte> body, v1::LinkFrame& frame, std::string_view& why) {
  if (body.size() > max_link_frame_bytes || !frame.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    why = "bytes that are no link frame";
    return false;
  }
  why = field_out_of_limits(frame);
  return why.empty();
}

bool is_link_text(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    auto n = character_at(text, at);
    if (!printable(text, at, n))
      return false;
    at += n;
  }
  return true;
}

std::string clean_link_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    auto n = character_at(text, at);
    auto good = printable(text, at, n);
    if (out.size() + (good ? n : 1) > max_link_text_bytes)
      break;
    if (good)
      out.append(text, at, n);
    else
      out.push_back('?');
    at += n == 0 ? 1 : n;
  }
  return out;
}

void link_frame_cutter::feed(std::span<const std::byte> bytes) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

link_frame_cutter::status link_frame_cutter::next(std::span<const std::byte>& body) {
  auto left = buffer_.size() - taken_;
  if (left < link_prefix_bytes)
    return status::need_more;
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < link_prefix_bytes; ++i)
    size |= static_cast<std::uint32_t>(static_cast<unsigned char>(buffer_[taken_ + i])) << (8 * i);
  if (size == 0)
    return status::empty;
  if (size > bound_) {
    claimed_ = size;
    return status::too_large;
  }
  if (left - link_prefix_bytes < size)
    return status::need_more;
  body = std::as_bytes(std::span{buffer_.data() + taken_ + link_prefix_bytes, size});
  taken_ += link_prefix_bytes + size;
  return status::frame;
}

std::string link_frame_cutter::excerpt() const {
  static constexpr std::size_t most = 16;
  std::string out;
  for (std::size_t at = taken_; at < buffer_.size() && out.size() < most; ++at)
    out.push_back(buffer_[at] >= ' ' && buffer_[at] < 0x7f ? buffer_[at] : '.');
  return out;
}

} // namespace troupe::proto
