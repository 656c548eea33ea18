// Host names to addresses, without making anyone wait who did not ask to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <troupe/transport/result.hpp>
#include <troupe/transport/socket_address.hpp>

namespace troupe::transport {

using address_list = std::vector<socket_address>;

/// The addresses of `host`, a name or a literal, IPv4 first, at most max_addresses_per_name. Blocks as long as the
/// system's resolver does: seconds, for a name. Fails with invalid_address. @threadsafe
[[nodiscard]] result<address_list> look_up(const std::string& host, std::uint16_t port);

/// Runs look-ups on helper threads: at most max_running_lookups at a time, max_waiting_lookups waiting.
class name_lookup {
public:
  using callback = std::function<void(result<address_list>)>;

  name_lookup();
  /// Does not wait for look-ups that run: they cannot be interrupted. Their callbacks may still be called, later.
  ~name_lookup();
  name_lookup(const name_lookup&) = delete;
  name_lookup& operator=(const name_lookup&) = delete;

  /// Calls `done` once: at once, here, for a literal address or when too many are waiting (errc::busy), else on a
  /// helper thread. @threadsafe
  void start(const std::string& host, std::uint16_t port, callback done);

private:
  struct shared;
  failure enqueue(const std::string& host, std::uint16_t port, callback& done);
  static void work(const std::shared_ptr<shared>& state);

  std::shared_ptr<shared> shared_;
};

} // namespace troupe::transport
