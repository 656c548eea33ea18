#include <troupe/transport/handshake.hpp>

#include <algorithm>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/hmac.hpp>

namespace troupe::transport {

namespace {

constexpr std::size_t bound = proto::max_unproved_frame_bytes;

v1::Hello to_hello(const link_offer& offer) {
  v1::Hello out;
  out.set_magic(proto::link_magic);
  out.set_min_version(offer.min_version);
  out.set_max_version(offer.max_version);
  out.set_nonce(random_bytes(proto::link_nonce_bytes));
  out.set_name(offer.identity.name);
  out.set_incarnation(offer.identity.incarnation);
  for (const auto& feature : offer.features)
    out.add_features(feature);
  for (const auto& transport : offer.transports)
    out.add_transports(transport);
  auto& limits = *out.mutable_limits();
  limits.set_window_messages(offer.limits.window_messages);
  limits.set_window_bytes(offer.limits.window_bytes);
  limits.set_bulk_window_messages(offer.limits.bulk_window_messages);
  limits.set_bulk_window_bytes(offer.limits.bulk_window_bytes);
  limits.set_target_window_messages(offer.limits.target_window_messages);
  limits.set_target_window_bytes(offer.limits.target_window_bytes);
  limits.set_max_message_bytes(offer.limits.max_message_bytes);
  auto& host = *out.mutable_host();
  host.set_host_id(offer.host.host_id);
  host.set_uid(offer.host.uid);
  host.set_pid(offer.host.process.pid);
  host.set_pid_start(offer.host.process.start_time);
  host.set_pid_namespace(offer.host.process.pid_namespace);
  out.set_heartbeat_ms(static_cast<std::uint32_t>(offer.heartbeat.count()));
  out.set_down_after_ms(static_cast<std::uint32_t>(offer.down_after.count()));
  out.set_library_version(offer.library_version);
  return out;
}

link_peer to_peer(const v1::Hello& hello, const link_offer& offer) {
  link_peer out;
  out.name = hello.name();
  out.incarnation = hello.incarnation();
  out.features.assign(hello.features().begin(), hello.features().end());
  out.transports.assign(hello.transports().begin(), hello.transports().end());
  const auto& limits = hello.limits();
  out.limits = {limits.window_messages(),   limits.window_bytes(),           limits.bulk_window_messages(),
                limits.bulk_window_bytes(), limits.target_window_messages(), limits.target_window_bytes(),
                limits.max_message_bytes()};
  const auto& host = hello.host();
  out.host.host_id = host.host_id();
  out.host.uid = host.uid();
  out.host.process = {host.pid(), host.pid_start(), host.pid_namespace()};
  out.same_host = same_host(out.host, offer.host);
  out.library_version = proto::clean_link_text(hello.library_version());
  out.heartbeat = std::chrono::milliseconds{hello.heartbeat_ms()};
  out.down_after = std::chrono::milliseconds{hello.down_after_ms()};
  return out;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string join(const std::vector<std::string>& list) {
  std::string out;
  for (const auto& item : list)
    out += (out.empty() ? "" : ", ") + item;
  return out.empty() ? "none" : proto::clean_link_text(out);
}

std::string versions(std::uint32_t least, std::uint32_t most) {
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

std::string quoted(const std::string& name) { return "'" + proto::clean_link_text(name) + "'"; }

// Our own frames keep to the limits: the offer was checked when the service was made.
void append(const v1::LinkFrame& frame, std::string& out) {
  [[maybe_unused]] auto fits = proto::encode_link_frame(frame, out, bound);
}

// What a dialler asks for, as its proof covers it.
std::string wish(bool verify_only, std::uint64_t serial) {
  return (verify_only ? "verify " : "link ") + std::to_string(serial);
}

std::uint64_t random_number() {
  std::uint64_t out;
  fill_random(std::as_writable_bytes(std::span{&out, 1}));
  return out;
}

} // namespace

bool outranks(const link_identity& a, const link_identity& b) noexcept {
  return a.incarnation != b.incarnation ? a.incarnation > b.incarnation : a.name > b.name;
}

std::string_view field_out_of_limits(const link_offer& offer) {
  if (offer.heartbeat.count() <= 0 || offer.heartbeat.count() > proto::max_down_after_ms)
    return "hello.heartbeat_ms";
  if (offer.down_after.count() <= 0 || offer.down_after.count() > proto::max_down_after_ms)
    return "hello.down_after_ms";
  v1::LinkFrame frame;
  *frame.mutable_hello() = to_hello(offer);
  return proto::field_out_of_limits(frame);
}

std::string encode_reject(errc code, std::string_view text) {
  v1::LinkFrame frame;
  frame.mutable_reject()->set_code(static_cast<std::uint32_t>(code));
  frame.mutable_reject()->set_text(proto::clean_link_text(text));
  std::string out;
  append(frame, out);
  return out;
}

handshake::handshake(role mine, const link_offer& offer, std::string_view secret)
    : role_(mine), offer_(offer), secret_(secret) {
  v1::LinkFrame frame;
  *frame.mutable_hello() = to_hello(offer);
  append(frame, opening_);
}

handshake handshake::dialler(const link_offer& offer, std::string_view secret) {
  return {role::dialler, offer, secret};
}

handshake handshake::acceptor(const link_offer& offer, std::string_view secret) {
  return {role::acceptor, offer, secret};
}

handshake::step handshake::take(std::span<const std::byte> body, std::string& out) {
  if (state_ == state::done || state_ == state::expects_caller)
    return fail(errc::protocol_error, "the peer sent more than the handshake has");
  v1::LinkFrame frame;
  std::string_view reason;
  if (body.size() > bound || !proto::decode_link_frame(body, frame, reason))
    return fail(errc::decode_failed, "the handshake cannot be read: " + std::string{reason});
  switch (frame.kind_case()) {
  case v1::LinkFrame::kHello:
    if (state_ == state::expects_hello)
      return take_hello(frame.hello(), body, out);
    break;
  case v1::LinkFrame::kProof:
    if (state_ == state::expects_proof)
      return take_proof(frame, out);
    break;
  case v1::LinkFrame::kWelcome:
    if (state_ == state::expects_welcome)
      return take_welcome(frame, out);
    break;
  case v1::LinkFrame::kReject:
    if (role_ == role::dialler) {
      auto code = static_cast<std::uint8_t>(frame.reject().code());
      auto known = is_errc(code) && code != static_cast<std::uint8_t>(errc::ok);
      return fail(known ? static_cast<errc>(code) : errc::rejected,
                  "refused by the peer: " + proto::clean_link_text(frame.reject().text()));
    }
    break;
  default:
    break;
  }
  return refuse(errc::protocol_error, "this frame does not belong here in the handshake", out);
}

handshake::step handshake::take_hello(const v1::Hello& hello, std::span<const std::byte> body, std::string& out) {
  if (hello.magic() != proto::link_magic)
    return fail(errc::protocol_error, "the peer does not speak the troupe link protocol");
  peer_hello_.assign(reinterpret_cast<const char*>(body.data()), body.size());
  peer_ = to_peer(hello, offer_);
  auto most = std::min(offer_.max_version, hello.max_version());
  if (hello.min_version() > most || offer_.min_version > most)
    return refuse(errc::bad_version,
                  "protocol versions do not meet: node " + quoted(offer_.identity.name) + " speaks " +
                      versions(offer_.min_version, offer_.max_version) + ", node " + quoted(hello.name()) + " speaks " +
                      versions(hello.min_version(), hello.max_version()) + "; update the older one",
                  out);
  peer_.version = most;
  if (peer_.identity() == offer_.identity)
    return refuse(errc::self_connect,
                  "node " + quoted(offer_.identity.name) + " connected to itself; give the address of another node",
                  out);
  if (role_ == role::dialler) {
    state_ = state::expects_caller;
    return step::peer_known;
  }
  out += opening_;
  state_ = state::expects_proof;
  return step::more;
}

void handshake::prove(bool verify_only, std::uint64_t serial, std::string& out) {
  verify_only_ = verify_only;
  auto digest = hmac_sha256(secret_, signed_bytes(role::dialler, wish(verify_only, serial)));
  v1::LinkFrame frame;
  frame.mutable_proof()->set_hmac(digest.data(), digest.size());
  frame.mutable_proof()->set_verify_only(verify_only);
  frame.mutable_proof()->set_serial(serial);
  append(frame, out);
  state_ = state::expects_welcome;
}

handshake::step handshake::take_proof(const v1::LinkFrame& frame, std::string& out) {
  verify_only_ = frame.proof().verify_only();
  peer_serial_ = frame.proof().serial();
  auto expected = hmac_sha256(secret_, signed_bytes(role::dialler, wish(verify_only_, peer_serial_)));
  if (!same_digest(expected, frame.proof().hmac()))
    return refuse(errc::authentication_failed,
                  "node " + quoted(peer_.name) + " has another secret than node " + quoted(offer_.identity.name) +
                      "; give both the same",
                  out);
  state_ = state::expects_caller;
  return step::peer_proved;
}

handshake::step handshake::welcome(link_terms::outcome result, std::uint64_t serial, std::string& out) {
  terms_.result = result;
  v1::Terms terms;
  terms.set_serial(serial);
  terms.set_version(peer_.version);
  switch (result) {
  case link_terms::outcome::verified:
    terms.set_outcome(v1::Terms::VERIFIED);
    break;
  case link_terms::outcome::deferred:
    terms.set_outcome(v1::Terms::DEFERRED);
    break;
  case link_terms::outcome::established:
    terms_.transport = choose_transport();
    if (terms_.transport.empty())
      return refuse(errc::incompatible, no_transport_text(), out);
    terms_.session = {random_number(), random_number()};
    std::erase_if(peer_.features, [&](const auto& feature) { return !contains(offer_.features, feature); });
    terms.set_outcome(v1::Terms::ESTABLISHED);
    terms.set_session_high(terms_.session.high);
    terms.set_session_low(terms_.session.low);
    terms.set_transport(terms_.transport);
    for (const auto& feature : peer_.features)
      terms.add_features(feature);
    break;
  }
  auto bytes = terms.SerializeAsString();
  auto digest = hmac_sha256(secret_, signed_bytes(role::acceptor, bytes));
  v1::LinkFrame frame;
  frame.mutable_welcome()->set_hmac(digest.data(), digest.size());
  frame.mutable_welcome()->set_terms(bytes);
  append(frame, out);
  state_ = state::done;
  return step::settled;
}

handshake::step handshake::take_welcome(const v1::LinkFrame& frame, std::string& out) {
  const auto& welcome = frame.welcome();
  auto expected = hmac_sha256(secret_, signed_bytes(role::acceptor, welcome.terms()));
  if (!same_digest(expected, welcome.hmac()))
    return fail(errc::authentication_failed, "whoever answered for node " + quoted(peer_.name) +
                                                 " does not know the secret; check the address, and that both have the "
                                                 "same secret");
  v1::Terms terms;
  if (!terms.ParseFromString(welcome.terms()))
    return fail(errc::decode_failed, "the terms of node " + quoted(peer_.name) + " cannot be read");
  peer_serial_ = terms.serial();
  auto wanted = verify_only_ ? v1::Terms::VERIFIED : v1::Terms::ESTABLISHED;
  auto deferred = terms.outcome() == v1::Terms::DEFERRED && !verify_only_;
  if (terms.version() != peer_.version || (terms.outcome() != wanted && !deferred))
    return refuse(errc::protocol_error, "these terms were not offered", out);
  terms_.result = deferred       ? link_terms::outcome::deferred
                  : verify_only_ ? link_terms::outcome::verified
                                 : link_terms::outcome::established;
  if (terms_.result == link_terms::outcome::established) {
    terms_.session = {terms.session_high(), terms.session_low()};
    terms_.transport = terms.transport();
    if (terms_.transport != choose_transport())
      return refuse(errc::protocol_error, "this transport was not agreed on", out);
    std::vector<std::string> agreed{terms.features().begin(), terms.features().end()};
    for (const auto& feature : agreed)
      if (!contains(offer_.features, feature) || !contains(peer_.features, feature))
        return refuse(errc::protocol_error, "this feature was not offered", out);
    peer_.features = std::move(agreed);
  }
  state_ = state::done;
  return step::settled;
}

handshake::step handshake::refuse(errc code, std::string text, std::string& out) {
  // An acceptor knows no Reject: it sees the connection close.
  if (role_ == role::acceptor)
    out += encode_reject(code, text);
  return fail(code, std::move(text));
}

handshake::step handshake::fail(errc code, std::string text) {
  why_ = {code, std::move(text)};
  state_ = state::done;
  return step::failed;
}

std::string handshake::signed_bytes(role who, std::string_view attached) const {
  auto mine = std::string_view{opening_}.substr(proto::link_prefix_bytes);
  auto dialler = role_ == role::dialler ? mine : std::string_view{peer_hello_};
  auto acceptor = role_ == role::dialler ? std::string_view{peer_hello_} : mine;
  // Each part is preceded by its length, so that no two different triples make the same bytes.
  std::string out = "troupe link handshake 1";
  out.push_back(static_cast<char>(who));
  for (auto part : {dialler, acceptor, attached}) {
    for (int i = 0; i < 8; ++i)
      out.push_back(static_cast<char>(static_cast<std::uint64_t>(part.size()) >> (8 * i)));
    out += part;
  }
  return out;
}

// Both sides compute it, by the dialler's preference.
std::string handshake::choose_transport() const {
  const auto& first = role_ == role::dialler ? offer_.transports : peer_.transports;
  const auto& second = role_ == role::dialler ? peer_.transports : offer_.transports;
  for (const auto& transport : first)
    if (contains(second, transport) && (transport != "shm" || shares_memory(offer_.host, peer_.host)))
      return transport;
  return {};
}

std::string handshake::no_transport_text() const {
  auto text = "no transport in common: node " + quoted(offer_.identity.name) + " allows " + join(offer_.transports) +
              ", node " + quoted(peer_.name) + " allows " + join(peer_.transports);
  if (contains(offer_.transports, "shm") && contains(peer_.transports, "shm"))
    text += peer_.same_host ? ", but they run as different users" : ", but they are not on the same host";
  return text + "; set the transport of one of them to auto";
}

} // namespace troupe::transport
