#include <troupe/transport/link_service.hpp>

#include <condition_variable>
#include <mutex>

#include <troupe/transport/link_core.hpp>
#include <troupe/transport/tcp_socket.hpp>

namespace troupe::transport {

namespace {

failure shut_down() { return {errc::canceled, "the link service was shut down"}; }

} // namespace

link_service::link_service(link_config config) : core_(std::make_shared<link_core>(std::move(config))) {
  core_->start();
}

link_service::~link_service() { shutdown(); }

void link_service::set_accept_handler(accept_handler handler) {
  core_->post([core = core_, handler = std::move(handler)] { core->set_accept_handler(handler); });
}

result<std::uint16_t> link_service::listen(const std::string& host, std::uint16_t port) {
  auto addresses = look_up(host, port);
  if (!addresses)
    return addresses.error();
  auto listener = listen_tcp(*addresses);
  if (!listener)
    return listener.error();
  auto given = listener->address.port();
  auto socket = std::make_shared<unique_fd>(std::move(listener->socket));
  if (!core_->post([core = core_, socket] { core->add_listener(std::move(*socket)); }))
    return shut_down();
  return given;
}

void link_service::stop_listening() {
  if (core_->on_thread()) {
    core_->stop_listening();
    return;
  }
  struct {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  } wait;
  // When it cannot be posted, shutdown() has closed them or is about to, and waits for it.
  if (!core_->post([&wait, core = core_] {
        core->stop_listening();
        std::lock_guard guard{wait.mutex};
        wait.done = true;
        wait.changed.notify_one();
      }))
    return;
  std::unique_lock lock{wait.mutex};
  wait.changed.wait(lock, [&] { return wait.done; });
}

void link_service::dial(const std::string& host, std::uint16_t port, std::chrono::milliseconds deadline,
                        dial_callback done) {
  auto shared = std::make_shared<dial_callback>(std::move(done));
  if (!core_->post(
          [core = core_, host, port, deadline, shared] { core->dial(host, port, deadline, std::move(*shared)); }))
    (*shared)(shut_down());
}

link_counters link_service::counters() const { return core_->counters(); }

void link_service::shutdown() { core_->shutdown(); }

} // namespace troupe::transport
