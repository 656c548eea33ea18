#include <troupe/transport/link_acceptor.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <system_error>

#include <troupe/transport/link_core.hpp>
#include <troupe/transport/tcp_socket.hpp>

namespace troupe::transport {

namespace {

unique_fd open_spare() { return unique_fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

} // namespace

link_acceptor::link_acceptor(link_core& core, unique_fd listener)
    : core_(core), listener_(core.io()), pause_(core.io()), spare_(open_spare()) {
  asio::error_code why;
  listener_.assign(listener.get(), why);
  if (!why)
    static_cast<void>(listener.release());
  else
    core.accept_failed({errc::no_resource, "a listening socket cannot be watched: " + why.message()});
}

void link_acceptor::start() { wait(); }

void link_acceptor::close() {
  pause_.cancel();
  asio::error_code ignored;
  listener_.close(ignored);
  spare_.reset();
}

void link_acceptor::wait() {
  listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const asio::error_code& why) {
                         if (!why && self->listener_.is_open())
                           self->take();
                       });
}

void link_acceptor::take() {
  for (int i = 0; i < max_accepts_per_turn && listener_.is_open(); ++i) {
    auto next = accept_tcp(listener_.native_handle());
    if (next.socket) {
      core_.accepted(std::move(next.socket), next.address.to_string());
      continue;
    }
    if (next.error == EAGAIN)
      break;
    if (out_of_resources(next.error)) {
      refuse_waiting(next.error);
      pause();
      return;
    }
    // Anything else concerns that one connection: it was gone before we took it.
  }
  if (listener_.is_open())
    wait();
}

void link_acceptor::refuse_waiting(int error) {
  core_.accept_failed({errc::no_resource, "cannot take connections: " + std::generic_category().message(error) +
                                              "; close something, or raise the limit (ulimit -n)"});
  if (!spare_)
    spare_ = open_spare();
  auto text = encode_reject(errc::no_resource, "the node is out of file descriptors; try again later");
  for (int i = 0; i < max_accepts_per_turn && spare_; ++i) {
    spare_.reset();
    auto next = accept_tcp(listener_.native_handle());
    if (next.socket) {
      [[maybe_unused]] auto n = ::send(next.socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
      ::shutdown(next.socket.get(), SHUT_WR);
      core_.refused(next.address.to_string(), {errc::no_resource, "out of file descriptors"});
      next.socket.reset();
    }
    spare_ = open_spare();
    if (next.error != 0)
      break;
  }
}

void link_acceptor::pause() {
  pause_.expires_after(accept_backoff);
  pause_.async_wait([self = shared_from_this()](const asio::error_code& why) {
    if (!why && self->listener_.is_open())
      self->take();
  });
}

} // namespace troupe::transport
