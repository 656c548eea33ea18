#include <troupe/transport/context.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>

#include <troupe/transport/ucx_errc.hpp>
#include <troupe/transport/ucx_options.hpp>

namespace troupe::transport {

namespace {

const char* tls_of(lane_transport x) {
  return x == lane_transport::shm ? "posix,self" : "tcp,self";
}

std::string network_devices() {
  std::string result;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/sys/class/net", ignored})
    result += (result.empty() ? "" : ", ") + entry.path().filename().string();
  return result.empty() ? "none visible in /sys/class/net" : result;
}

// UCX offers what it opened only as text for people; the lines of interest read
//   "#  resource 0  :  md 0  dev 0  flags -- posix/memory".
std::vector<std::string> opened_transports(ucp_context_h handle) {
  char* text = nullptr;
  std::size_t size = 0;
  std::vector<std::string> result;
  std::FILE* stream = ::open_memstream(&text, &size);
  if (stream == nullptr)
    return result;
  ucp_context_print_info(handle, stream);
  std::fclose(stream);
  std::unique_ptr<char, decltype(&std::free)> owner{text, &std::free};
  std::istringstream lines{std::string{text, size}};
  for (std::string line; std::getline(lines, line);) {
    if (line.find("resource ") == std::string::npos || line.find(" md ") == std::string::npos)
      continue;
    auto name = line.substr(line.find_last_of(' ') + 1);
    if (name.find('/') != std::string::npos && name.rfind("self/", 0) != 0)
      result.push_back(std::move(name));
  }
  return result;
}

std::string ask_for(lane_transport transport, const std::string& device) {
  if (transport == lane_transport::tcp)
    return "name an interface of this host (it has: " + network_devices() + ") instead of '" + device
           + "', and check that UCX has its tcp transport (ucx_info -d)";
  return "check that /dev/shm is mounted and writable and that UCX has its posix transport (ucx_info -d)";
}

struct config_deleter {
  void operator()(ucp_config_t* x) const noexcept { ucp_config_release(x); }
};

} // namespace

std::string_view to_string(lane_transport x) noexcept {
  return x == lane_transport::shm ? "shm" : "tcp";
}

context::context(lane_transport transport, std::string net_device)
  : transport_(transport), net_device_(std::move(net_device)) {
  prepare_environment();
  auto name = std::string{to_string(transport_)};
  auto what = "cannot set up UCX for " + name + (transport_ == lane_transport::tcp ? " on " + net_device_ : "") + ": ";
  if (auto conflicts = conflicting_environment(); !conflicts.empty())
    throw std::runtime_error{what + conflicts.front()};
  if (const char* tls = std::getenv("UCX_TLS"))
    notices_.push_back("UCX_TLS=" + std::string{tls} + " does not apply to " + name + " lanes: they use "
                       + tls_of(transport_) + "; choose the transport in the node's configuration");
  const char* devices = std::getenv("UCX_NET_DEVICES");
  if (devices && transport_ == lane_transport::tcp && net_device_ != devices)
    notices_.push_back("UCX_NET_DEVICES=" + std::string{devices} + " does not apply to tcp lanes: they use "
                       + net_device_ + "; choose the device in the node's configuration");

  ucp_config_t* raw = nullptr;
  if (auto status = ucp_config_read(nullptr, nullptr, &raw); status != UCS_OK)
    throw std::runtime_error{what + "its configuration cannot be read: " + describe(status)
                             + "; check the UCX_* variables of the environment"};
  std::unique_ptr<ucp_config_t, config_deleter> config{raw};
  auto modify = [&](const char* key, const std::string& value) {
    if (auto status = ucp_config_modify(raw, key, value.c_str()); status != UCS_OK)
      throw std::runtime_error{what + "UCX refuses " + key + "=" + value + ": " + describe(status)};
  };
  modify("TLS", tls_of(transport_));
  modify("NET_DEVICES", transport_ == lane_transport::tcp ? net_device_ : "all");

  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.mt_workers_shared = 1;
  auto context_name = "troupe-" + name;
  params.name = context_name.c_str();
  if (auto status = ucp_init(&params, raw, &handle_); status != UCS_OK)
    throw std::runtime_error{what + describe(status) + "; " + ask_for(transport_, net_device_)};
  transports_ = opened_transports(handle_);
  auto wanted = transport_ == lane_transport::shm ? "posix/" : "tcp/";
  if (std::none_of(transports_.begin(), transports_.end(), [&](const auto& x) { return x.rfind(wanted, 0) == 0; })) {
    ucp_cleanup(handle_);
    throw std::runtime_error{what + "UCX did not open " + wanted + "*; " + ask_for(transport_, net_device_)};
  }
}

std::size_t shm_bytes_per_worker() noexcept {
  // The receive queue and the first 512 receive buffers of 8 KiB, which UCX allocates together, and some slack.
  return 6 * 1024 * 1024;
}

context::~context() {
  ucp_cleanup(handle_);
}

} // namespace troupe::transport
