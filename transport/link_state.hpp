// A link that is up: its frames, heartbeats and end. Internal to the link layer: includes Asio.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility> // Asio 1.22 uses std::exchange without it
#include <vector>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <troupe/proto/link.pb.h>
#include <troupe/transport/handshake.hpp>
#include <troupe/transport/link.hpp>
#include <troupe/transport/link_socket.hpp>

namespace troupe::transport {

class link_core;

/// On the link thread only, but for what is marked.
class link_state : public link_socket::owner, public std::enable_shared_from_this<link_state> {
public:
  using clock = std::chrono::steady_clock;

  link_state(std::shared_ptr<link_core> core, std::shared_ptr<link_socket> socket, link_peer peer, link_terms terms,
             bool dialled_by_us);

  // -- what does not change: @threadsafe --------------------------------------------

  [[nodiscard]] const link_peer& peer() const noexcept { return peer_; }
  [[nodiscard]] const link_terms& terms() const noexcept { return terms_; }
  [[nodiscard]] bool dialled_by_us() const noexcept { return dialled_by_us_; }
  [[nodiscard]] const std::string& local_address() const noexcept { return local_; }
  [[nodiscard]] const std::string& remote_address() const noexcept { return remote_; }

  // -- what the handle does: @threadsafe ----------------------------------------------

  void set_handler(std::shared_ptr<link_handler> handler);
  bool send(const v1::LinkFrame& frame);
  void close(errc code, const std::string& text);

  // -- the link thread ------------------------------------------------------------------

  /// `self` is the handle in the table: what the table forgets when the link is down.
  void start(const std::shared_ptr<link>& self);

  /// Asks the peer to answer; false when it does not within link_probe_wait or the link goes down.
  void probe(std::function<void(bool)> done);

  /// Ends the link, once. `parting` is sent last.
  void down(link_down why, const v1::LinkFrame* parting = nullptr);

  /// Whether its connection has ended already, and it is down as soon as it is known why.
  [[nodiscard]] bool lost() const noexcept { return lost_.has_value(); }

  void on_frame(std::span<const std::byte> body) override;
  void on_end(failure why) override;

private:
  struct probing {
    std::uint64_t id;
    asio::steady_timer timer;
    std::function<void(bool)> done;
  };

  void hand_to_user(v1::LinkFrame&& frame);
  void take_handler(const std::shared_ptr<link_handler>& handler);
  void serve_handler();
  void tell_down(const link_down& why);
  void heard();
  void take_heartbeat(const v1::Heartbeat& beat);
  void answered(std::uint64_t id, bool alive);
  void broke(errc code, const std::string& text);
  void beat();
  void flush();
  void watch_silence(clock::duration wait);
  void check_silence();
  void watch_process();
  void process_ended();
  /// After the connection was lost, for the process to be seen ending.
  void await_exit(clock::duration wait);
  bool transmit(const v1::LinkFrame& frame);

  std::shared_ptr<link_core> core_;
  std::shared_ptr<link_socket> socket_;
  const link_peer peer_;
  const link_terms terms_;
  const bool dialled_by_us_;
  const std::string local_;
  const std::string remote_;
  std::weak_ptr<link> self_;

  std::mutex mutex_; ///< guards the next two
  std::string outgoing_;
  bool flushing_ = false;
  std::atomic<bool> down_{false};

  std::shared_ptr<link_handler> handler_;
  bool told_ = false;                   ///< on_down was called
  std::deque<v1::LinkFrame> unhandled_; ///< frames for a handler that is not there yet
  std::size_t unhandled_bytes_ = 0;
  std::optional<link_down> unhandled_down_;

  asio::steady_timer beat_timer_;
  asio::steady_timer silence_timer_;
  asio::steady_timer exit_timer_;
  asio::posix::stream_descriptor process_;
  std::chrono::milliseconds interval_; ///< of our heartbeats
  clock::time_point last_heard_;
  bool grace_used_ = false;
  std::uint64_t beats_ = 0;
  std::uint64_t peer_progress_ = 0;
  int unmoved_ = 0;
  bool stalled_ = false;
  std::optional<v1::Goodbye> goodbye_;
  std::optional<failure> lost_; ///< the connection ended; whether the process has is about to be known
  std::vector<std::shared_ptr<probing>> probes_;
  std::uint64_t probe_ids_ = 0;
};

} // namespace troupe::transport
