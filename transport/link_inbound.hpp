// A connection to us that is no link yet. Internal to the link layer: includes Asio.
#pragma once

#include <memory>
#include <string>
#include <utility> // Asio 1.22 uses std::exchange without it

#include <asio/steady_timer.hpp>

#include <troupe/transport/handshake.hpp>
#include <troupe/transport/link_socket.hpp>

namespace troupe::transport {

class link_core;

/// The acceptor's side of a handshake with its deadline and the decision that the table takes. On the link thread.
class link_inbound : public link_socket::owner, public std::enable_shared_from_this<link_inbound> {
public:
  link_inbound(std::shared_ptr<link_core> core, std::shared_ptr<link_socket> socket);

  void start();
  /// Turns the connection away, once.
  void refuse(errc code, const std::string& text);

  void on_frame(std::span<const std::byte> body) override;
  void on_end(failure why) override;

private:
  void decide();
  void welcome(link_terms::outcome result);
  /// Out of the core's list, with the reason if it is one to report. `reply` is sent last; nothing is when it is empty.
  void finish(const failure& why, const std::string& reply);

  std::shared_ptr<link_core> core_;
  std::shared_ptr<link_socket> socket_;
  handshake handshake_;
  asio::steady_timer deadline_;
  bool done_ = false;
};

} // namespace troupe::transport
