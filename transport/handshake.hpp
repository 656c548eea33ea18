// How two nodes prove to each other that they know the same secret, and agree on terms.
//
//   dialler                                   acceptor
//   Hello (nonce)              ->
//                              <-             Hello (nonce)
//   Proof (hmac)               ->
//                              <-             Welcome (hmac, terms)     or Reject at any point
//
// Each hmac is HMAC-SHA-256 under the secret of: the role that proves, both Hello exactly as they travelled, and what
// travels with the proof. So nothing in them can be altered, a proof cannot be sent back to its maker, and none is of
// use in another handshake. The dialler proves first. Beyond a bounded Hello (and a bounded refusal to be shown to a
// person) nothing of a peer is decoded before its proof was found right.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/transport/link_peer.hpp>
#include <troupe/transport/result.hpp>

namespace troupe::v1 {
class Hello;
class LinkFrame;
} // namespace troupe::v1

namespace troupe::transport {

/// What this node says of itself in every handshake.
struct link_offer {
  link_identity identity;
  host_identity host;
  link_limits limits;
  std::vector<std::string> features;
  std::vector<std::string> transports; ///< allowed ones, in order of preference
  std::string library_version;
  std::chrono::milliseconds heartbeat{1000};
  std::chrono::milliseconds down_after{4000};
  std::uint32_t min_version = min_link_version;
  std::uint32_t max_version = max_link_version;
};

/// The name of the first field of `offer` that no peer would accept ("hello.name"); empty when all is well. @threadsafe
[[nodiscard]] std::string_view field_out_of_limits(const link_offer& offer);

/// What both sides agreed on.
struct link_terms {
  enum class outcome : std::uint8_t {
    established,
    verified, ///< nothing was opened: the dialler only wanted to know who is there
    deferred, ///< nothing was opened: the acceptor's own dial to the dialler stays
  };
  outcome result = outcome::established;
  link_session_id session;
  std::string transport;
};

/// One side of one handshake: bytes in, bytes out; no sockets, no clock. Not threadsafe: one thread at a time.
class handshake {
public:
  enum class step {
    more,        ///< give it the next frame
    peer_known,  ///< dialler: peer() is who the acceptor says it is; call prove()
    peer_proved, ///< acceptor: peer() is authenticated; call welcome() or refuse()
    settled,     ///< peer() is authenticated and terms() holds
    failed,      ///< see why(); send `out` if it is not empty, then close
  };

  /// `offer` and `secret` are borrowed and must outlive the handshake.
  static handshake dialler(const link_offer& offer, std::string_view secret);
  static handshake acceptor(const link_offer& offer, std::string_view secret);

  /// Dialler: the bytes to send first.
  [[nodiscard]] const std::string& opening() const noexcept { return opening_; }

  /// Takes one frame, without its length; appends what is to be sent to `out`.
  step take(std::span<const std::byte> body, std::string& out);

  /// Dialler, at peer_known. `verify_only`: open nothing, only let the peer prove who it is. `serial`: larger than in
  /// every earlier prove() and welcome() of this node.
  void prove(bool verify_only, std::uint64_t serial, std::string& out);

  /// Acceptor, at peer_proved: what the dialler asked for.
  [[nodiscard]] bool verify_only() const noexcept { return verify_only_; }

  /// Acceptor, at peer_proved: ends in settled, or in failed where the two have no transport in common.
  step welcome(link_terms::outcome result, std::uint64_t serial, std::string& out);

  /// Ends in failed, telling the peer why. Not for a peer that does not even send frames.
  step refuse(errc code, std::string text, std::string& out);

  [[nodiscard]] const link_peer& peer() const noexcept { return peer_; }
  /// What the peer gave to its prove() or welcome(); holds at peer_proved and settled.
  [[nodiscard]] std::uint64_t peer_serial() const noexcept { return peer_serial_; }
  [[nodiscard]] const link_terms& terms() const noexcept { return terms_; }
  [[nodiscard]] const failure& why() const noexcept { return why_; }

private:
  enum class state { expects_hello, expects_proof, expects_welcome, expects_caller, done };
  enum class role : char { dialler = 'd', acceptor = 'a' };

  handshake(role mine, const link_offer& offer, std::string_view secret);

  step take_hello(const v1::Hello& hello, std::span<const std::byte> body, std::string& out);
  step take_proof(const v1::LinkFrame& frame, std::string& out);
  step take_welcome(const v1::LinkFrame& frame, std::string& out);
  step fail(errc code, std::string text);
  [[nodiscard]] std::string signed_bytes(role who, std::string_view attached) const;
  [[nodiscard]] std::string choose_transport() const;
  [[nodiscard]] std::string no_transport_text() const;

  role role_;
  const link_offer& offer_;
  std::string_view secret_;
  state state_ = state::expects_hello;
  std::string opening_;    ///< our Hello with its length
  std::string peer_hello_; ///< theirs, as it came
  bool verify_only_ = false;
  std::uint64_t peer_serial_ = 0;
  link_peer peer_;
  link_terms terms_;
  failure why_{errc::in_progress, {}};
};

/// A refusal as a frame, for a peer that is turned away before any handshake. @threadsafe
[[nodiscard]] std::string encode_reject(errc code, std::string_view text);

} // namespace troupe::transport
