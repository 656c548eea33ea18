// The room that shared memory needs.
#pragma once

#include <cstddef>
#include <string>

namespace troupe::transport {

/// Where UCX puts its segments: UCX_POSIX_DIR, or /dev/shm.
[[nodiscard]] std::string shm_directory();

/// Throws std::runtime_error when the file system of `directory` has fewer than `bytes` bytes free: without room, the first
/// touch of a page ends the process with SIGBUS. @threadsafe
void require_shm_space(std::size_t bytes, const std::string& directory = shm_directory());

} // namespace troupe::transport
