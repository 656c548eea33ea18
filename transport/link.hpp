// A link: one authenticated TCP connection to one peer, for control frames, heartbeats and the news of its death.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <troupe/transport/link_peer.hpp>

namespace troupe::v1 {
class LinkFrame; // <troupe/proto/link.pb.h>
}

namespace troupe::transport {

class link_state;

/// Why a link is no more.
struct link_down {
  /// peer_dead: its process ended. timed_out: silent for down_after. stale_incarnation: another process took its name
  /// over, and it did not answer. peer_closing: it said goodbye. peer_reset: the connection was lost, or the peer
  /// declared this node dead. canceled: the service was shut down. Otherwise what the peer did wrong, or the code given
  /// to close().
  errc cause = errc::ok;
  std::string text;
  /// The peer will not come back as this incarnation, as far as this node is concerned.
  bool peer_dead = false;
};

/// Whoever a link reports to. Called on the link thread; must not block.
class link_handler {
public:
  virtual ~link_handler() = default;

  /// A frame the link does not handle itself: Goodbye, GoodbyeAck, TypeTable, LaneOffer, LanesUp, LaneFailed.
  virtual void on_frame(const v1::LinkFrame& frame) = 0;

  /// The peer's progress counter stands still for two heartbeats, or moves again: called at each change.
  virtual void on_progress(std::uint64_t peer_progress, bool stalled) = 0;

  /// Exactly once, and last, after every frame the peer's end of the connection still held. Not called when the handler
  /// is set after the service was shut down.
  virtual void on_down(const link_down& why) = 0;
};

/// A handle to a live or dead link. It lives in its service until it is down, whether handles exist or not.
class link {
public:
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link();

  // -- what does not change: all @threadsafe -----------------------------------

  [[nodiscard]] const link_peer& peer() const noexcept;
  [[nodiscard]] link_session_id session() const noexcept;
  /// "shm" or "tcp": what lanes to this peer use.
  [[nodiscard]] const std::string& transport() const noexcept;
  [[nodiscard]] bool dialled_by_us() const noexcept;
  /// "127.0.0.1:4000"
  [[nodiscard]] const std::string& local_address() const noexcept;
  [[nodiscard]] const std::string& remote_address() const noexcept;

  // -- use: all @threadsafe -----------------------------------------------------

  /// Frames and a down that came before are kept (max_link_unhandled_frames) and handed over, in order. The link lets
  /// go of the handler when it is down.
  void set_handler(std::shared_ptr<link_handler> handler);

  /// Queues a frame of a kind that on_frame() takes. False when the link is down, the frame is of another kind or
  /// breaks a limit of its fields (proto/link_codec.hpp), or max_link_outgoing_bytes wait already; the latter also
  /// closes the link with errc::exceeds_limit.
  bool send(const v1::LinkFrame& frame);

  /// Queues a Goodbye. The link stays up: wait for the GoodbyeAck, then close(). False as send().
  bool goodbye(std::uint64_t last_sequence, errc code, const std::string& reason);

  /// Sends what is queued, in the background, and ends the link: on_down({code, text, false}).
  void close(errc code, const std::string& text);

private:
  friend class link_core;
  explicit link(std::shared_ptr<link_state> state);

  std::shared_ptr<link_state> state_;
};

} // namespace troupe::transport
