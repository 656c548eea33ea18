// What the parts of the link layer share: the thread's event loop, the table, the books. Internal: includes Asio.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility> // Asio 1.22 uses std::exchange without it
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <troupe/transport/handshake.hpp>
#include <troupe/transport/link_service.hpp>
#include <troupe/transport/link_socket.hpp>
#include <troupe/transport/link_table.hpp>
#include <troupe/transport/name_lookup.hpp>

namespace troupe::transport {

class link_acceptor;
class link_dial;
class link_inbound;

/// One per service; links, dials and inbound handshakes keep it alive. On the link thread only, but for what is marked.
class link_core : public std::enable_shared_from_this<link_core> {
public:
  explicit link_core(link_config config);

  // -- any thread ---------------------------------------------------------------

  void start();
  void shutdown();

  /// Runs `f` on the link thread, soon. False, and `f` is dropped, after shutdown. @threadsafe
  bool post(std::function<void()> f);

  [[nodiscard]] bool on_thread() const noexcept { return std::this_thread::get_id() == thread_id_; }
  [[nodiscard]] link_counters counters() const;

  // -- what does not change -------------------------------------------------------

  [[nodiscard]] asio::io_context& io() noexcept { return io_; }
  [[nodiscard]] const link_config& config() const noexcept { return config_; }
  [[nodiscard]] const link_offer& offer() const noexcept { return offer_; }

  // -- links ------------------------------------------------------------------------

  [[nodiscard]] link_table<link>& table() noexcept { return table_; }
  [[nodiscard]] static link_state& state_of(const std::shared_ptr<link>& which) noexcept { return *which->state_; }

  /// Grows with each call: for handshakes.
  [[nodiscard]] std::uint64_t next_serial() noexcept { return ++serials_; }

  /// Makes a link of a settled handshake, and tells the accept handler and the dials that wait for this peer.
  std::shared_ptr<link> bring_up(std::shared_ptr<link_socket> socket, const handshake& settled, bool dialled_by_us);

  /// The books of a link that went down.
  void gone(const link_state& state, const link_down& why);

  void set_accept_handler(link_service::accept_handler handler);

  // -- connections that are no links yet ----------------------------------------------

  void add_listener(unique_fd socket);
  void stop_listening();
  void accepted(unique_fd socket, const std::string& remote);
  void forget(const std::shared_ptr<link_inbound>& inbound);
  void refused(const std::string& remote, const failure& why);
  void accept_failed(const failure& why);

  void dial(const std::string& host, std::uint16_t port, std::chrono::milliseconds deadline,
            link_service::dial_callback done);
  void forget(const std::shared_ptr<link_dial>& dial);
  void dial_failed(const std::string& what, const failure& why);
  /// Dials that wait for another one's link to `peer` share its failure.
  void claim_failed(const link_identity& peer, const failure& why);
  [[nodiscard]] name_lookup& lookups() noexcept { return lookups_; }

private:
  void stop();
  void note(link_event::kind what, const std::string& remote, errc code, const std::string& text);
  template <class F>
  void count(F&& f);

  link_config config_;
  link_offer offer_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
  std::thread::id thread_id_; ///< set once, before anything is posted
  std::mutex joining_;

  mutable std::mutex mutex_; ///< guards the next three
  bool open_ = true;         ///< post() still takes something
  bool stopping_ = false;
  link_counters counters_;

  link_table<link> table_;
  link_service::accept_handler accept_handler_;
  std::vector<std::shared_ptr<link>> unclaimed_; ///< links that came up before there was a handler
  std::vector<std::shared_ptr<link_acceptor>> acceptors_;
  std::set<std::shared_ptr<link_inbound>> inbound_;
  std::set<std::shared_ptr<link_dial>> dials_;
  std::uint64_t serials_ = 0;
  bool stopped_ = false;
  name_lookup lookups_;
};

} // namespace troupe::transport
