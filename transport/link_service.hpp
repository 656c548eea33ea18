// All links of a node: one thread that listens, dials, and keeps every link alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <troupe/transport/link.hpp>
#include <troupe/transport/link_config.hpp>
#include <troupe/transport/result.hpp>

namespace troupe::transport {

class link_core;

/// Owns the link thread. All methods are @threadsafe, and may be called from callbacks except where said otherwise.
///
/// Between two nodes there is at most one link. A dial that finds one already gives that; of two dials at once the one
/// of the node that outranks the other stays and both get it; a second process of a live peer's name is refused with
/// name_in_use; a node that dials itself gets self_connect.
class link_service {
public:
  using accept_handler = std::function<void(std::shared_ptr<link>)>;
  using dial_callback = std::function<void(result<std::shared_ptr<link>>)>;

  /// Starts the thread. Throws std::invalid_argument when a field of `config` is out of its limits, std::system_error
  /// when the system has no thread or descriptors.
  explicit link_service(link_config config);

  /// As shutdown(). Not on the link thread.
  ~link_service();
  link_service(const link_service&) = delete;
  link_service& operator=(const link_service&) = delete;

  /// Gets each link once, on the link thread, when it is up, whoever dialled it, and before the callback of the dial.
  /// Set it first; links that come up without it are kept for it.
  void set_accept_handler(accept_handler handler);

  /// Listens on host:port (port 0: any) and returns the port. `host` is resolved here, in the caller's thread: a name
  /// may block for seconds. Fails with address_in_use, invalid_address, not_allowed or no_resource. May be called for
  /// several addresses.
  result<std::uint16_t> listen(const std::string& host, std::uint16_t port);

  /// Closes all listening sockets, and connections that are not links yet. When it returns the ports are free.
  void stop_listening();

  /// Connects and calls `done` exactly once on the link thread: with the link; or unreachable, invalid_address (unknown
  /// host), timed_out (`deadline`), authentication_failed, bad_version, incompatible, self_connect, name_in_use, busy,
  /// no_resource; or canceled on shutdown. After shutdown `done` is called here, with canceled.
  void dial(const std::string& host, std::uint16_t port, std::chrono::milliseconds deadline, dial_callback done);

  [[nodiscard]] link_counters counters() const;

  /// Ends every link (on_down with errc::canceled), dial and listener, then the thread. Idempotent. On the link thread
  /// it begins all that and returns; elsewhere everything has ended when it returns, and no callback runs any more. The
  /// last frames to peers that do not take them may hold it up for link_linger.
  void shutdown();

private:
  std::shared_ptr<link_core> core_;
};

} // namespace troupe::transport
