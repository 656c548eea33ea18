// What is known of the node at the other end of a link.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <troupe/transport/host_identity.hpp>
#include <troupe/transport/link_config.hpp>

namespace troupe::transport {

/// Never used for a second link.
struct link_session_id {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const link_session_id&, const link_session_id&) = default;
};

/// The peer's half of the handshake. Said by the peer, authenticated and within limits, but not verified otherwise.
struct link_peer {
  std::string name;
  std::uint64_t incarnation = 0;
  host_identity host;
  /// It sees this node's /dev/shm.
  bool same_host = false;
  /// What it is willing to take in.
  link_limits limits;
  /// Features it has; before the terms are settled all of them, then those both sides have.
  std::vector<std::string> features;
  /// Transports it allows, in its order of preference.
  std::vector<std::string> transports;
  /// Protocol version both use, 0 before it is settled.
  std::uint32_t version = 0;
  std::string library_version;
  std::chrono::milliseconds heartbeat{0};
  std::chrono::milliseconds down_after{0};

  [[nodiscard]] link_identity identity() const { return {name, incarnation}; }
  [[nodiscard]] std::uint64_t pid() const noexcept { return host.process.pid; }
};

} // namespace troupe::transport
