#include <troupe/transport/name_lookup.hpp>

#include <netdb.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include <troupe/proto/link_codec.hpp>
#include <troupe/transport/link_config.hpp>

namespace troupe::transport {

namespace {

failure no_such_host(const std::string& host, const char* cause) {
  return {errc::invalid_address, "cannot resolve host '" + proto::clean_link_text(host) + "': " + cause +
                                     "; check its spelling, or use its address"};
}

struct request {
  std::string host;
  std::uint16_t port;
  name_lookup::callback done;
};

} // namespace

result<address_list> look_up(const std::string& host, std::uint16_t port) {
  if (host.empty() || host.size() > proto::max_host_name_bytes || host.find('\0') != std::string::npos)
    return no_such_host(host, "this is no host name");
  if (auto literal = socket_address::from(host, port))
    return address_list{*literal};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  auto rc = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (rc != 0)
    return no_such_host(host, ::gai_strerror(rc));
  address_list out;
  for (auto* at = list; at != nullptr && out.size() < max_addresses_per_name; at = at->ai_next)
    if (socket_address address{at->ai_addr, at->ai_addrlen}; !address.empty())
      out.push_back(address);
  ::freeaddrinfo(list);
  if (out.empty())
    return no_such_host(host, "it has no IPv4 or IPv6 address");
  // A server bound to "localhost" and a client that dials 127.0.0.1 are meant to meet.
  std::stable_partition(out.begin(), out.end(), [](const auto& x) { return x.data()->sa_family == AF_INET; });
  return out;
}

struct name_lookup::shared {
  std::mutex mutex;
  std::deque<request> waiting;
  std::size_t running = 0;
};

name_lookup::name_lookup() : shared_(std::make_shared<shared>()) {}

name_lookup::~name_lookup() {
  std::deque<request> forgotten;
  std::lock_guard guard{shared_->mutex};
  forgotten.swap(shared_->waiting);
}

void name_lookup::start(const std::string& host, std::uint16_t port, callback done) {
  if (socket_address::from(host, port)) {
    done(look_up(host, port));
    return;
  }
  auto why = enqueue(host, port, done);
  if (why.code != errc::ok)
    done(std::move(why));
}

// `done` is moved from when it was taken.
failure name_lookup::enqueue(const std::string& host, std::uint16_t port, callback& done) {
  auto what = "cannot resolve host '" + proto::clean_link_text(host) + "': ";
  std::lock_guard guard{shared_->mutex};
  if (shared_->waiting.size() >= max_waiting_lookups)
    return {errc::busy, what + std::to_string(max_waiting_lookups) + " look-ups are waiting; try again later"};
  if (shared_->running < max_running_lookups) {
    try {
      // Detached: a resolver that hangs must not keep the process from ending.
      std::thread{[state = shared_] { work(state); }}.detach();
      ++shared_->running;
    } catch (const std::system_error&) {
      // Without any thread the request would wait for ever.
      if (shared_->running == 0)
        return {errc::no_resource, what + "no thread is to be had; raise the limit (ulimit -u)"};
    }
  }
  shared_->waiting.push_back({host, port, std::move(done)});
  return {errc::ok, {}};
}

void name_lookup::work(const std::shared_ptr<shared>& state) {
  for (;;) {
    request next;
    {
      std::lock_guard guard{state->mutex};
      if (state->waiting.empty()) {
        --state->running;
        return;
      }
      next = std::move(state->waiting.front());
      state->waiting.pop_front();
    }
    next.done(look_up(next.host, next.port));
  }
}

} // namespace troupe::transport
