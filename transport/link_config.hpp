// How a node's links are set up, what they report, and their limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <troupe/transport/errc.hpp>

namespace troupe::transport {

// -- limits of the link layer -------------------------------------------------

/// Protocol versions this library speaks.
inline constexpr std::uint32_t min_link_version = 1;
inline constexpr std::uint32_t max_link_version = 1;
/// Bytes queued for a peer that does not read. More closes the link with errc::exceeds_limit.
inline constexpr std::size_t max_link_outgoing_bytes = 4u << 20;
/// Frames and bytes kept for a link that has no handler yet. More closes the link with errc::exceeds_limit.
inline constexpr std::size_t max_link_unhandled_frames = 256;
inline constexpr std::size_t max_link_unhandled_bytes = 4u << 20;
/// How long the last bytes to a peer may take once its link is closed here.
inline constexpr std::chrono::milliseconds link_linger{500};
/// How long an answer to "are you there?" may take when another process claims the peer's name.
inline constexpr std::chrono::milliseconds link_probe_wait{500};
/// A process that exits closes its sockets a little before its pidfd tells: how long a closed link waits for that
/// before it says that the peer may live on.
inline constexpr std::chrono::milliseconds process_exit_grace{15};
/// The same once the process is known to be exiting; on a busy machine it may not get to its last step for a while.
inline constexpr std::chrono::milliseconds process_exit_wait{1000};
/// Pause of an acceptor that ran out of descriptors or memory.
inline constexpr std::chrono::milliseconds accept_backoff{100};
/// Connections taken in one go before other work gets its turn.
inline constexpr int max_accepts_per_turn = 16;
inline constexpr int listen_backlog = 1024;
/// Name look-ups that run at the same time, each on a helper thread, and those that wait for one.
inline constexpr std::size_t max_running_lookups = 8;
inline constexpr std::size_t max_waiting_lookups = 1024;
/// Addresses of one host name that are tried.
inline constexpr std::size_t max_addresses_per_name = 8;
inline constexpr std::size_t max_secret_bytes = 1024;
/// No link sends heartbeats more often, whatever its peer asks for.
inline constexpr std::chrono::milliseconds min_heartbeat{5};

// -- configuration ------------------------------------------------------------

/// A node as its peers know it: a name, and a random number for this run of the process. Never an address.
struct link_identity {
  std::string name;              ///< 1 to 255 bytes of UTF-8
  std::uint64_t incarnation = 0; ///< never 0

  friend bool operator==(const link_identity&, const link_identity&) = default;
};

/// Of two nodes that dial each other at once, whose link stays. @threadsafe
[[nodiscard]] bool outranks(const link_identity& a, const link_identity& b) noexcept;

/// What a node is willing to take in from one peer; told in the handshake. This layer only carries it.
struct link_limits {
  std::uint64_t window_messages = 0;
  std::uint64_t window_bytes = 0;
  std::uint64_t bulk_window_messages = 0;
  std::uint64_t bulk_window_bytes = 0;
  std::uint64_t target_window_messages = 0;
  std::uint64_t target_window_bytes = 0;
  std::uint64_t max_message_bytes = 0;

  friend bool operator==(const link_limits&, const link_limits&) = default;
};

/// Something an operator may want to read in a log.
struct link_event {
  enum class kind : std::uint8_t {
    link_up,
    link_down,
    refused,     ///< a connection to us was closed before it became a link
    dial_failed, ///< a dial of ours
    accept_failed,
  };
  kind what = kind::link_up;
  std::string remote; ///< host:port, or what was dialled
  errc code = errc::ok;
  std::string text;
};

/// What happened since the service was made.
struct link_counters {
  std::uint64_t accepted = 0; ///< connections taken from a listening socket
  std::uint64_t dialled = 0;  ///< calls of dial()
  std::uint64_t links_up = 0;
  std::uint64_t links_down = 0;
  std::uint64_t accept_failures = 0;
  std::map<errc, std::uint64_t> refused;     ///< connections to us, by reason
  std::map<errc, std::uint64_t> dial_failed; ///< dials of ours, by reason
  std::map<errc, std::uint64_t> down;        ///< links that were up, by cause
};

/// Which transports lanes may use.
enum class transport_policy : std::uint8_t {
  automatic, ///< the first of `link_config::transports` that works for both sides
  shm,       ///< shared memory only
  tcp,       ///< TCP only
};

struct link_config {
  link_identity identity;
  /// Known to every node that may link to this one; at most max_secret_bytes. Empty on all of them, or on none.
  std::string secret;
  /// How long a peer may take to prove itself.
  std::chrono::milliseconds handshake_deadline{5000};
  /// Silence after which a peer is dead; 40 ms to 24 h.
  std::chrono::milliseconds down_after{4000};
  /// Interval of our heartbeats; 0 means a quarter of down_after. A peer with a shorter down_after gets more.
  std::chrono::milliseconds heartbeat{0};
  transport_policy transport = transport_policy::automatic;
  /// In order of preference: "shm", "tcp".
  std::vector<std::string> transports{"shm", "tcp"};
  link_limits limits;
  /// Optional features this node has, at most 16 of 32 bytes each.
  std::vector<std::string> features;
  std::string library_version;
  /// Polled on the link thread for every heartbeat: a number that moves as long as the node's loop is well. A loop that
  /// sleeps when idle must be poked by this function. Empty: 0, and the peer is not told that anything stalls.
  std::function<std::uint64_t()> progress;
  /// Called on the link thread, must not block. Not rate-limited: that is up to who logs.
  std::function<void(const link_event&)> observer;
  /// Connections to us that are not authenticated yet; more are closed with errc::busy.
  std::size_t max_pending_handshakes = 256;
  /// Dials of ours under way; more fail with errc::busy.
  std::size_t max_pending_dials = 1024;
  /// Live links; more are refused with errc::no_resource.
  std::size_t max_links = 1024;
};

} // namespace troupe::transport
