#include <troupe/transport/host_identity.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include <troupe/transport/unique_fd.hpp>

namespace troupe::transport {

host_identity this_host() {
  host_identity out;
  out.uid = ::geteuid();
  out.process = this_process();
  // The boot id alone would make two containers of one host equal that do not share /dev/shm.
  char boot[64];
  unique_fd file{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
  auto n = file ? ::read(file.get(), boot, sizeof(boot)) : 0;
  struct stat shm;
  if (n > 1 && ::stat("/dev/shm", &shm) == 0) {
    std::string_view text{boot, static_cast<std::size_t>(n)};
    out.host_id = std::string{text.substr(0, text.find('\n'))} + ":" + std::to_string(shm.st_dev);
  }
  return out;
}

bool same_host(const host_identity& a, const host_identity& b) noexcept {
  return !a.host_id.empty() && a.host_id == b.host_id;
}

bool shares_memory(const host_identity& a, const host_identity& b) noexcept {
  return same_host(a, b) && a.uid == b.uid;
}

} // namespace troupe::transport
