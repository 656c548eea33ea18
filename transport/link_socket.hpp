// Frames over one TCP socket. Internal to the link layer: includes Asio.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility> // Asio 1.22 uses std::exchange without it

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/result.hpp>
#include <troupe/transport/unique_fd.hpp>

namespace troupe::transport {

/// Owns a connected socket: cuts what arrives into frames, queues what is to be sent. All on the link thread, but for
/// queued().
class link_socket : public std::enable_shared_from_this<link_socket> {
public:
  /// Whoever the frames are for. The socket keeps its owner alive until finish() or close().
  struct owner {
    virtual ~owner() = default;
    /// One frame, without its length.
    virtual void on_frame(std::span<const std::byte> body) = 0;
    /// Nothing more will come, said at most once: peer_reset when the peer or the network ended it, else what was wrong
    /// with its bytes. The owner calls finish() or close().
    virtual void on_end(failure why) = 0;
  };

  /// Takes frames of up to `bound` bytes.
  link_socket(asio::io_context& io, unique_fd socket, std::size_t bound);
  link_socket(const link_socket&) = delete;
  link_socket& operator=(const link_socket&) = delete;

  void start(std::shared_ptr<owner> whose);

  /// Hands the socket to another owner, who gets the frames from here on, with another bound.
  void hand_over(std::shared_ptr<owner> whose, std::size_t bound);

  /// Sends whole frames, now or when the socket takes them. False when more than max_link_outgoing_bytes would wait.
  bool send(std::string_view frames);

  /// Bytes that wait to be sent. @threadsafe
  [[nodiscard]] std::size_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

  /// Whether bytes wait to be read.
  [[nodiscard]] bool readable();

  /// Reads what is there now, up to the end if the peer is gone.
  void drain();

  /// The owner hears no more. Sends what is queued, says that nothing follows, and closes when the peer has closed too,
  /// or link_linger is over. Without the wait the last frames could be lost to a reset.
  void finish();

  /// The owner hears no more; closes at once.
  void close();

  [[nodiscard]] bool open() const noexcept { return descriptor_.is_open(); }
  [[nodiscard]] const std::string& remote() const noexcept { return remote_; }
  [[nodiscard]] const std::string& local() const noexcept { return local_; }

private:
  void wait_to_read();
  void wait_to_write();
  /// Reads and hands out; false when the end was reached or the owner let go.
  bool read(std::size_t most);
  void hand_out();
  void discard();
  void end(failure why);
  /// False when the socket is broken.
  bool write();

  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer linger_;
  std::shared_ptr<owner> owner_;
  proto::link_frame_cutter cutter_;
  std::string outgoing_;
  std::atomic<std::size_t> queued_{0};
  bool reading_ = false;   ///< a wait for readability is under way
  bool eof_ = false;       ///< nothing can be read any more
  bool writing_ = false;   ///< a wait for writability is under way
  bool broken_ = false;    ///< writing failed: what can still be read is read, then it ends
  bool ended_ = false;     ///< on_end was called
  bool finishing_ = false; ///< finish() was called
  bool shut_ = false;
  std::string remote_;
  std::string local_;
};

} // namespace troupe::transport
