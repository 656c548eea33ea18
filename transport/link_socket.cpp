#include <troupe/transport/link_socket.hpp>

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

#include <troupe/transport/link_config.hpp>
#include <troupe/transport/tcp_socket.hpp>

namespace troupe::transport {

namespace {

constexpr std::size_t read_chunk = 16 * 1024;
// One link's share before others get their turn.
constexpr std::size_t read_per_turn = 256 * 1024;
// What is taken in one go when the peer has died: more than a socket buffer holds.
constexpr std::size_t read_at_end = 16 * 1024 * 1024;

} // namespace

link_socket::link_socket(asio::io_context& io, unique_fd socket, std::size_t bound)
    : descriptor_(io), linger_(io), cutter_(bound), remote_(remote_address(socket.get())),
      local_(local_address(socket.get())) {
  asio::error_code why;
  descriptor_.assign(socket.get(), why);
  if (!why)
    static_cast<void>(socket.release());
}

void link_socket::start(std::shared_ptr<owner> whose) {
  owner_ = std::move(whose);
  if (open())
    wait_to_read();
  else
    asio::post(descriptor_.get_executor(), [self = shared_from_this()] {
      self->end(
          {errc::no_resource, "the socket cannot be watched; the system's limit of watched descriptors is reached"});
    });
}

void link_socket::hand_over(std::shared_ptr<owner> whose, std::size_t bound) {
  owner_ = std::move(whose);
  cutter_.bound(bound);
}

bool link_socket::send(std::string_view frames) {
  if (!open() || finishing_ || broken_)
    return true; // the end is on its way to the owner
  if (outgoing_.size() + frames.size() > max_link_outgoing_bytes)
    return false;
  outgoing_ += frames;
  queued_ = outgoing_.size();
  if (!writing_ && !write()) {
    // Whoever calls may be in the middle of something: the end comes from the loop.
    broken_ = true;
    asio::post(descriptor_.get_executor(), [self = shared_from_this()] {
      // A peer that said goodbye before it went may have left it in our buffer.
      self->drain();
      self->end({errc::peer_reset, "the connection broke while sending"});
    });
  }
  return true;
}

bool link_socket::readable() {
  int n = 0;
  return open() && ::ioctl(descriptor_.native_handle(), FIONREAD, &n) == 0 && n > 0;
}

void link_socket::drain() {
  if (open() && owner_ && !ended_)
    read(read_at_end);
}

void link_socket::finish() {
  auto keep = std::move(owner_);
  owner_ = nullptr;
  if (!open() || finishing_)
    return;
  finishing_ = true;
  if (broken_ || (eof_ && !writing_)) {
    if (!broken_)
      write();
    close();
    return;
  }
  linger_.expires_after(link_linger);
  linger_.async_wait([self = shared_from_this()](const asio::error_code& why) {
    if (!why)
      self->close();
  });
  if (!writing_ && !write())
    close();
  else if (!reading_ && !eof_)
    wait_to_read();
}

void link_socket::close() {
  auto keep = std::move(owner_);
  owner_ = nullptr;
  finishing_ = true;
  linger_.cancel();
  asio::error_code ignored;
  descriptor_.close(ignored);
}

void link_socket::wait_to_read() {
  reading_ = true;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const asio::error_code& why) {
                           self->reading_ = false;
                           if (why || !self->open())
                             return;
                           if (self->finishing_)
                             self->discard();
                           else if (!self->ended_)
                             self->read(read_per_turn);
                           // After the end the descriptor stays readable: waiting again would never stop.
                           if (self->open() && !self->eof_ && !self->reading_ && (self->finishing_ || !self->ended_))
                             self->wait_to_read();
                         });
}

bool link_socket::read(std::size_t most) {
  auto keep = shared_from_this();
  std::array<std::byte, read_chunk> chunk;
  std::size_t taken = 0;
  while (taken < most) {
    auto n = ::recv(descriptor_.native_handle(), chunk.data(), chunk.size(), 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return true;
    eof_ = n <= 0;
    if (n == 0) {
      end({errc::peer_reset,
           cutter_.in_frame() ? "the peer closed the connection within a frame" : "the peer closed the connection"});
      return false;
    }
    if (n < 0) {
      end({errc::peer_reset, "the connection was lost: " + std::generic_category().message(errno)});
      return false;
    }
    taken += static_cast<std::size_t>(n);
    cutter_.feed(std::span{chunk}.first(static_cast<std::size_t>(n)));
    hand_out();
    if (!open() || finishing_ || ended_)
      return false;
  }
  return true;
}

void link_socket::hand_out() {
  using status = proto::link_frame_cutter::status;
  std::span<const std::byte> body;
  while (open() && !finishing_ && !ended_) {
    switch (cutter_.next(body)) {
    case status::need_more:
      return;
    case status::frame: {
      auto whose = owner_; // it may hand the socket over, or let go of it
      whose->on_frame(body);
      break;
    }
    case status::too_large:
      end({errc::exceeds_limit, "a frame of " + std::to_string(cutter_.claimed()) + " bytes exceeds the limit of " +
                                    std::to_string(cutter_.bound()) + "; the stream goes on with \"" +
                                    cutter_.excerpt() + "\""});
      return;
    case status::empty:
      end({errc::protocol_error, "a frame of no bytes"});
      return;
    }
  }
}

// Only what the peer sent before it saw us close; it is thrown away, and a peer that sends without end is cut off.
void link_socket::discard() {
  std::array<std::byte, read_chunk> chunk;
  for (std::size_t taken = 0; taken < read_per_turn;) {
    auto n = ::recv(descriptor_.native_handle(), chunk.data(), chunk.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (n <= 0)
      break;
    taken += static_cast<std::size_t>(n);
  }
  close();
}

void link_socket::end(failure why) {
  if (ended_ || !owner_)
    return;
  ended_ = true;
  auto whose = owner_;
  whose->on_end(std::move(why));
}

bool link_socket::write() {
  std::size_t sent = 0;
  while (sent < outgoing_.size()) {
    auto n = ::send(descriptor_.native_handle(), outgoing_.data() + sent, outgoing_.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return false;
    break;
  }
  outgoing_.erase(0, sent);
  queued_ = outgoing_.size();
  if (!outgoing_.empty())
    wait_to_write();
  else if (finishing_ && !shut_)
    shut_ = ::shutdown(descriptor_.native_handle(), SHUT_WR) == 0;
  return true;
}

void link_socket::wait_to_write() {
  writing_ = true;
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](const asio::error_code& why) {
                           self->writing_ = false;
                           if (why || !self->open() || self->write())
                             return;
                           self->broken_ = true;
                           if (self->finishing_) {
                             self->close();
                             return;
                           }
                           self->drain();
                           self->end({errc::peer_reset, "the connection broke while sending"});
                         });
}

} // namespace troupe::transport
