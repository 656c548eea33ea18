// A node: one process's part in a Troupe application.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/error.hpp>
#include <caf/expected.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/error.hpp>
#include <troupe/actors/payload_inspect.hpp>
#include <troupe/actors/pinned.hpp>
#include <troupe/actors/session_messages.hpp>
#include <troupe/runtime/config.hpp>
#include <troupe/runtime/node_events.hpp>

namespace troupe {

/// An actor system whose actors reach those of other nodes. Nodes listen or connect, publish actors under names and look
/// up those of others; what they get is an ordinary caf::actor. Any number of nodes may live in one process.
///
/// All members are @threadsafe except construction, destruction and run(). Those that wait (connect, lookup) answer
/// errc::would_deadlock on a loop's thread, which a pinned actor runs on.
class node {
public:
  /// Starts the loops and the link thread; opens no port. Throws usage_error for a configuration that cannot be,
  /// std::runtime_error when the system refuses threads or descriptors.
  explicit node(node_config config);

  /// As shutdown(), then ends the actor system: actors that were spawned directly and still live are abandoned.
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  // -- properties -------------------------------------------------------------

  [[nodiscard]] caf::actor_system& system() noexcept;
  [[nodiscard]] const node_config& config() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  /// Random, new for each node object.
  [[nodiscard]] std::uint64_t incarnation() const noexcept;

  // -- peers ------------------------------------------------------------------

  /// Listens on config().listen, or on any free port of the loopback interface when that is unset, and returns the port.
  /// Errors: address_in_use, invalid_address, not_allowed.
  caf::expected<std::uint16_t> listen();
  /// Listens on "host:port" (port 0: any free one). May be called for several addresses; they end together.
  caf::expected<std::uint16_t> listen(const std::string& address);
  /// Stops listening; peers stay.
  void stop_listening();

  /// Connects to "host:port" and waits until messages can flow, at most config().connect_timeout. A peer that is connected
  /// already is returned as it is. Errors: unreachable, invalid_address, timed_out, authentication_failed, bad_version,
  /// incompatible, self_connect, name_in_use.
  caf::expected<peer> connect(const std::string& address);

  /// Says goodbye to one peer. Its references die; node_down follows.
  caf::error disconnect(const peer& who);

  /// `who` gets node_up for every session that is up or comes up, and node_down when it is over.
  void subscribe(const caf::actor& who);

  /// The session actor of a peer: takes send_op, get_session_state, close_session.
  caf::expected<caf::actor> session_of(const peer& who);

  // -- names ------------------------------------------------------------------

  /// Makes `who` known to other nodes as `name` (1 to 255 bytes). Errors: already_exists, invalid_param, exceeds_limit.
  caf::error publish(const std::string& name, caf::actor who);
  /// New lookups fail at once; handles that others hold stay valid. Errors: not_found.
  caf::error unpublish(const std::string& name);
  /// The actor that `where` publishes as `name`. Waits at most config().connect_timeout. Errors: not_found,
  /// unknown_peer (the session is over), timed_out.
  caf::expected<caf::actor> lookup(const peer& where, const std::string& name);

  // -- actors -----------------------------------------------------------------

  /// Spawns a function-based actor on CAF's scheduler. It is told to quit when the node shuts down.
  template <class F, class... Ts>
  auto spawn(F fun, Ts&&... xs) {
    auto x = system().spawn(std::move(fun), std::forward<Ts>(xs)...);
    adopt(caf::actor_cast<caf::strong_actor_ptr>(x));
    return x;
  }

  /// Spawns an actor whose function takes a troupe::pinned_actor* on the first loop: between it and the wire no message
  /// crosses a thread. It must never block.
  template <class F, class... Ts>
  auto spawn_pinned(F fun, Ts&&... xs) {
    auto x = loop().spawn_functor(std::move(fun), std::forward<Ts>(xs)...);
    adopt(caf::actor_cast<caf::strong_actor_ptr>(x));
    return x;
  }

  /// The loop that pinned actors of this node live on; `index` < config().loops.
  [[nodiscard]] progress_loop& loop(std::size_t index = 0);

  // -- life -------------------------------------------------------------------

  /// Waits for SIGINT, SIGTERM or stop(), then shuts down.
  void run();
  /// Ends run(), now or later.
  void stop() noexcept;

  /// In this order: stops accepting, ends the actors spawned through this node, says goodbye to every peer and waits for
  /// the answers (at most config().shutdown_timeout), closes lanes and links. Idempotent. Not on a loop's thread.
  void shutdown();

private:
  void adopt(caf::strong_actor_ptr who);

  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace troupe
