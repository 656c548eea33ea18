#include <troupe/transport/ucx_options.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include <ucp/api/ucp.h>
#include <ucs/config/global_opts.h>

namespace troupe::transport {

namespace {

unsigned running_version() noexcept {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major * 1000 + minor;
}

constexpr unsigned version(unsigned major, unsigned minor) {
  return major * 1000 + minor;
}

struct ranged_option {
  ucx_option option;
  unsigned first = 0; // releases that have it, or need it
  unsigned last = ~0u;
};

constexpr auto all_options = std::to_array<ranged_option>({
  {{"UCX_POSIX_ERROR_HANDLING", "y", "without it shared memory cannot serve endpoints that report a dead peer"}},
  {{"UCX_RNDV_SCHEME", "am", "other schemes run into an assertion when a tcp peer dies during a transfer"},
   0,
   version(1, 13)},
  {{"UCX_TCP_KEEPIDLE", "2s", "notice a cut link while a connection is idle"}},
  {{"UCX_TCP_KEEPINTVL", "1s", "notice a cut link while a connection is idle"}},
  {{"UCX_TCP_KEEPCNT", "3", "notice a cut link while a connection is idle"}},
  {{"UCX_TCP_USER_TIMEOUT", "5s", "notice a cut link while data is unacknowledged"}, version(1, 23)},
  {{"UCX_TCP_CM_USER_TIMEOUT", "5s", "notice a cut link while a connection is being made"}, version(1, 23)},
  {{"UCX_TCP_CM_REUSEADDR", "y", "a restarted node can listen on its port again at once"}},
});

bool is_yes(std::string_view value) {
  return value == "y" || value == "yes" || value == "Y" || value == "1" || value == "on" || value == "ON"
         || value == "YES";
}

} // namespace

std::span<const ucx_option> ucx_options() noexcept {
  static const auto applicable = [] {
    std::vector<ucx_option> result;
    for (const auto& x : all_options)
      if (running_version() >= x.first && running_version() <= x.last)
        result.push_back(x.option);
    return result;
  }();
  return applicable;
}

void prepare_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const auto& option : ucx_options())
      ::setenv(option.name, option.value, 0);
    // A context for one transport would warn of the options of the other. UCX has read this one already, when it was
    // loaded, so the environment does not help.
    if (std::getenv("UCX_WARN_UNUSED_ENV_VARS") == nullptr)
      ucs_global_opts_set_value("WARN_UNUSED_ENV_VARS", "n");
  });
}

std::vector<std::string> conflicting_environment() {
  std::vector<std::string> result;
  if (const char* value = std::getenv("UCX_POSIX_ERROR_HANDLING"); value && !is_yes(value))
    result.push_back("UCX_POSIX_ERROR_HANDLING=" + std::string{value}
                     + " turns off peer failure handling over shared memory, which lanes need: set "
                       "UCX_POSIX_ERROR_HANDLING=y or unset it");
  if (const char* value = std::getenv("UCX_SOCKADDR_TLS_PRIORITY"); value && !std::strstr(value, "tcp"))
    result.push_back("UCX_SOCKADDR_TLS_PRIORITY=" + std::string{value}
                     + " leaves no way to listen and may abort the process: set UCX_SOCKADDR_TLS_PRIORITY=tcp or "
                       "unset it");
  if (const char* value = std::getenv("UCX_PROTO_ENABLE");
      value && is_yes(value) && running_version() <= version(1, 13))
    result.push_back("UCX_PROTO_ENABLE=" + std::string{value}
                     + " aborts the process when it connects with this release of UCX: unset UCX_PROTO_ENABLE");
  return result;
}

} // namespace troupe::transport
