// Which host a process is on, as far as sharing memory goes.
#pragma once

#include <cstdint>
#include <string>

#include <troupe/transport/process_watch.hpp>

namespace troupe::transport {

/// What a process tells its peers about where it runs.
struct host_identity {
  /// The boot and the /dev/shm the process sees, as text; empty when they cannot be told. Two processes whose ids are
  /// equal and not empty reach each other's shared memory objects by name.
  std::string host_id;
  /// Effective user: shared memory objects are private to it.
  std::uint32_t uid = 0;
  process_id process;
};

/// This process's. Reads /proc and /dev/shm: do not call it for every message. @threadsafe
[[nodiscard]] host_identity this_host();

/// Whether both run under one kernel and see the same /dev/shm. @threadsafe
[[nodiscard]] bool same_host(const host_identity& a, const host_identity& b) noexcept;

/// Whether each may open the other's shared memory: same host, same user. @threadsafe
[[nodiscard]] bool shares_memory(const host_identity& a, const host_identity& b) noexcept;

} // namespace troupe::transport
