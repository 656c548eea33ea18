// What `troupe info` prints: the effective configuration, UCX and its transports, RDMA devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <troupe/runtime/config.hpp>

namespace troupe {

/// The version of this library, such as "0.1.0". @threadsafe
[[nodiscard]] std::string_view version() noexcept;

/// A transport of UCX on a device: {"posix", "memory"}, {"tcp", "lo"}.
struct ucx_transport {
  std::string name;
  std::string device;
};

/// An RDMA device as libibverbs sees it.
struct rdma_device {
  std::string name;
  std::string node_guid;
};

/// What this machine offers.
struct system_info {
  std::string ucx_version;          ///< of the library loaded
  std::string ucx_compiled_version; ///< of the headers compiled against
  std::vector<ucx_transport> transports;
  std::vector<rdma_device> rdma_devices;
  std::string rdma_note; ///< why there is none, when libibverbs says so
};

/// Asks UCX and libibverbs; opens devices for a moment, takes tens of milliseconds. Never throws: what cannot be asked
/// is left empty. @threadsafe
[[nodiscard]] system_info read_system_info();

/// For a person, and at the same time a file that --config reads.
[[nodiscard]] std::string info_text(const node_config& config, const system_info& system);
/// One JSON object: {troupe, configuration: [...], ucx: {...}, rdma: {...}}.
[[nodiscard]] std::string info_json(const node_config& config, const system_info& system);
/// The README's table of options, in Markdown. Depends on nothing but the code.
[[nodiscard]] std::string options_markdown();

} // namespace troupe
