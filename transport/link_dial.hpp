// One dial: resolve, connect, handshake, and one answer to whoever asked. Internal to the link layer: includes Asio.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility> // Asio 1.22 uses std::exchange without it

#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <troupe/transport/handshake.hpp>
#include <troupe/transport/link_service.hpp>
#include <troupe/transport/link_socket.hpp>
#include <troupe/transport/name_lookup.hpp>

namespace troupe::transport {

class link_core;

/// On the link thread.
class link_dial : public link_socket::owner, public std::enable_shared_from_this<link_dial> {
public:
  link_dial(std::shared_ptr<link_core> core, const std::string& host, std::uint16_t port,
            std::chrono::milliseconds deadline, link_service::dial_callback done);

  void start();

  /// The identity whose link, made by another dial, ends this one too; none while it is on its own.
  [[nodiscard]] const std::optional<link_identity>& waits_for() const noexcept { return waits_for_; }

  void succeed(const std::shared_ptr<link>& which);
  void fail(failure why);

  void on_frame(std::span<const std::byte> body) override;
  void on_end(failure why) override;

private:
  void resolved(result<address_list> addresses);
  void connect_next();
  void await_connection();
  void connection_failed(failure why);
  void shake_hands();
  void peer_known();
  void settled();
  void established();
  void start_over();
  void wait_for(const link_identity& peer);
  void release_claim();
  void let_go();
  void limit_step(std::chrono::milliseconds most);

  std::shared_ptr<link_core> core_;
  const std::string host_;
  const std::uint16_t port_;
  const std::string what_; ///< "host:port"
  const std::chrono::milliseconds allowed_;
  link_service::dial_callback done_;

  asio::steady_timer deadline_;
  asio::steady_timer step_timer_; ///< of one address, or of the handshake
  std::string stage_ = "resolving the name";
  address_list addresses_;
  std::size_t next_address_ = 0;
  asio::posix::stream_descriptor connecting_;
  failure last_failure_;
  std::shared_ptr<link_socket> socket_;
  std::optional<handshake> handshake_;
  bool claimed_ = false;
  std::shared_ptr<link> silent_namesake_; ///< of another incarnation, did not answer a probe
  std::optional<link_identity> waits_for_;
};

} // namespace troupe::transport
