#include <troupe/runtime/secret_file.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <troupe/runtime/config_options.hpp>

namespace troupe {

namespace {

constexpr mode_t others = S_IROTH | S_IWOTH;

class file {
public:
  explicit file(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0)
      throw std::invalid_argument("cannot read " + path + ": " + std::strerror(errno));
  }
  ~file() { ::close(fd_); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_; }

private:
  int fd_;
};

} // namespace

std::string read_secret_file(const std::string& path) {
  const file source{path};
  // Of the file opened, not of the path: nobody can swap it in between.
  struct stat status {};
  if (::fstat(source.fd(), &status) != 0)
    throw std::invalid_argument("cannot examine " + path + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    throw std::invalid_argument(path + " is not a file: name one that holds the secret");
  if ((status.st_mode & others) != 0)
    throw std::invalid_argument(path + " can be read or written by every user: chmod 600 " + path);

  std::string secret;
  std::array<char, max_secret_bytes + 2> buffer;
  for (;;) {
    const auto count = ::read(source.fd(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      throw std::invalid_argument("cannot read " + path + ": " + std::strerror(errno));
    if (count == 0)
      break;
    secret.append(buffer.data(), static_cast<std::size_t>(count));
    if (secret.size() > max_secret_bytes + 2)
      break;
  }
  if (!secret.empty() && secret.back() == '\n')
    secret.pop_back();
  if (!secret.empty() && secret.back() == '\r')
    secret.pop_back();
  if (secret.empty())
    throw std::invalid_argument(path + " is empty: write a secret of 1 to 1024 bytes into it");
  if (secret.size() > max_secret_bytes)
    throw std::invalid_argument(path + " holds more than 1024 bytes: write a shorter secret into it");
  return secret;
}

bool open_to_others(const std::string& path) noexcept {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & others) != 0;
}

} // namespace troupe
