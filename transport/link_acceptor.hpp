// One listening socket. Internal to the link layer: includes Asio.
#pragma once

#include <memory>
#include <utility> // Asio 1.22 uses std::exchange without it

#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <troupe/transport/unique_fd.hpp>

namespace troupe::transport {

class link_core;

/// Takes connections and hands them to the core. On the link thread.
///
/// When the process is out of descriptors, a spare one is given up for a moment to tell those who wait that they are
/// refused; then the acceptor pauses for accept_backoff instead of trying again and again.
class link_acceptor : public std::enable_shared_from_this<link_acceptor> {
public:
  link_acceptor(link_core& core, unique_fd listener);

  void start();
  void close();

private:
  void wait();
  void take();
  /// Out of descriptors or memory, as errno says.
  void refuse_waiting(int error);
  void pause();

  link_core& core_; ///< closes its acceptors before it goes
  asio::posix::stream_descriptor listener_;
  asio::steady_timer pause_;
  unique_fd spare_;
};

} // namespace troupe::transport
