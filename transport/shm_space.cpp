#include <troupe/transport/shm_space.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <sys/statvfs.h>

namespace troupe::transport {

std::string shm_directory() {
  const char* directory = std::getenv("UCX_POSIX_DIR");
  return directory && *directory ? directory : "/dev/shm";
}

void require_shm_space(std::size_t bytes, const std::string& directory) {
  struct statvfs room {};
  if (::statvfs(directory.c_str(), &room) != 0)
    throw std::runtime_error{"cannot use shared memory: " + directory + ": " + std::strerror(errno)
                             + "; mount a tmpfs there"};
  auto free_bytes = static_cast<std::size_t>(room.f_bavail) * room.f_frsize;
  if (free_bytes < bytes)
    throw std::runtime_error{"cannot use shared memory: " + directory + " has " + std::to_string(free_bytes >> 10)
                             + " KiB free and a worker needs " + std::to_string(bytes >> 10)
                             + " KiB; enlarge it (mount -o remount,size=..., docker --shm-size=...) or use tcp"};
}

} // namespace troupe::transport
