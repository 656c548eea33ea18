#include <troupe/runtime/info.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <nlohmann/json.hpp>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include <troupe/runtime/config_options.hpp>
#include <troupe/transport/ucx_options.hpp>

#ifndef TROUPE_VERSION
#error "the build defines TROUPE_VERSION, the version of the project"
#endif

namespace troupe {

namespace {

// -- UCX --------------------------------------------------------------------------

/// The memory domains of a UCX component; counts are bounded by what the component says of itself.
void read_component(uct_component_h component, std::set<std::pair<std::string, std::string>>& found) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK || attributes.md_resource_count == 0)
    return;
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK)
    return;

  for (const auto& domain : domains) {
    uct_md_config_t* config = nullptr;
    if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK)
      continue;
    uct_md_h md = nullptr;
    const auto status = uct_md_open(component, domain.md_name, config, &md);
    uct_config_release(config);
    if (status != UCS_OK)
      continue;
    uct_tl_resource_desc_t* resources = nullptr;
    unsigned count = 0;
    if (uct_md_query_tl_resources(md, &resources, &count) == UCS_OK) {
      for (unsigned i = 0; i < count; ++i)
        found.emplace(resources[i].tl_name, resources[i].dev_name);
      uct_release_tl_resource_list(resources);
    }
    uct_md_close(md);
  }
}

std::vector<ucx_transport> read_transports() {
  std::set<std::pair<std::string, std::string>> found;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i)
      read_component(components[i], found);
    uct_release_component_list(components);
  }
  std::vector<ucx_transport> result;
  for (const auto& [name, device] : found)
    result.push_back({name, device});
  return result;
}

// -- RDMA -------------------------------------------------------------------------

void read_rdma_devices(system_info& info) {
  int count = 0;
  errno = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr) {
    info.rdma_note = errno == ENOSYS ? "the kernel has no RDMA support" : std::strerror(errno);
    return;
  }
  for (int i = 0; i < count; ++i) {
    const auto guid = static_cast<std::uint64_t>(ibv_get_device_guid(devices[i])); // big-endian
    info.rdma_devices.push_back({ibv_get_device_name(devices[i]), fmt::format("{:016x}", __builtin_bswap64(guid))});
  }
  ibv_free_device_list(devices);
}

// -- text -------------------------------------------------------------------------

/// A value as the configuration file takes it.
std::string file_value(const config_option& option, const std::string& value) {
  return option.quoted ? '"' + value + '"' : value;
}

/// Ranges and texts stand in cells of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  return text;
}

std::string code(const std::string& text) { return '`' + text + '`'; }

} // namespace

std::string_view version() noexcept { return TROUPE_VERSION; }

system_info read_system_info() {
  transport::prepare_environment();
  system_info info;
  info.ucx_version = ucp_get_version_string();
  info.ucx_compiled_version = fmt::format("{}.{}", UCP_API_MAJOR, UCP_API_MINOR);
  info.transports = read_transports();
  read_rdma_devices(info);
  return info;
}

std::string info_text(const node_config& config, const system_info& system) {
  auto out = fmt::format("# Troupe {}\n#\n# The configuration of a node here and now; --config reads this output.\n",
                         version());
  for (const auto& option : config_options()) {
    const auto value = option.get(config);
    // What a file need not say, or must not: the rest of the line is for the reader only.
    const bool shown_only = !value || option.name == "secret" || option.default_value.starts_with('<');
    const bool commented =
        shown_only && (option.name == "secret" || config.origin(option.name) == value_origin::default_value);
    out += fmt::format("\n# {}\n# Range: {}. Default: {}. From: {}. Variable: {}\n{}{} = {}\n", option.documentation,
                       option.range, option.default_value, config.describe_origin(option.name), option.environment(),
                       commented ? "# " : "", option.name, value ? file_value(option, *value) : "<unset>");
  }

  out += fmt::format("\n# UCX {} (compiled against {}) offers\n", system.ucx_version, system.ucx_compiled_version);
  if (system.transports.empty())
    out += "#   no transport\n";
  for (const auto& [name, device] : system.transports)
    out += fmt::format("#   {} on {}\n", name, device);

  out += "\n# RDMA devices that libibverbs sees\n";
  if (system.rdma_devices.empty())
    out += fmt::format("#   none{}{}; shared memory and TCP need none\n", system.rdma_note.empty() ? "" : ": ",
                       system.rdma_note);
  for (const auto& [name, guid] : system.rdma_devices)
    out += fmt::format("#   {} (node GUID {})\n", name, guid);
  return out;
}

std::string info_json(const node_config& config, const system_info& system) {
  using nlohmann::ordered_json;
  ordered_json options = ordered_json::array();
  for (const auto& option : config_options()) {
    const auto value = option.get(config);
    options.push_back({{"name", option.name},
                       {"value", value ? ordered_json(*value) : ordered_json(nullptr)},
                       {"origin", to_string(config.origin(option.name))},
                       {"default", option.default_value},
                       {"range", option.range},
                       {"flag", option.flag()},
                       {"environment", option.environment()},
                       {"documentation", option.documentation}});
  }
  ordered_json transports = ordered_json::array();
  for (const auto& [name, device] : system.transports)
    transports.push_back({{"name", name}, {"device", device}});
  ordered_json devices = ordered_json::array();
  for (const auto& [name, guid] : system.rdma_devices)
    devices.push_back({{"name", name}, {"node_guid", guid}});
  const ordered_json document{{"troupe", version()},
                              {"configuration", std::move(options)},
                              {"ucx",
                               {{"version", system.ucx_version},
                                {"compiled_version", system.ucx_compiled_version},
                                {"transports", std::move(transports)}}},
                              {"rdma", {{"devices", std::move(devices)}, {"note", system.rdma_note}}}};
  // A name may be any bytes.
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

std::string options_markdown() {
  std::string out = "| option | default | range | meaning |\n|---|---|---|---|\n";
  for (const auto& option : config_options())
    out += fmt::format("| {} | {} | {} | {} |\n", code(option.name), code(option.default_value), cell(option.range),
                       cell(option.documentation));
  return out;
}

} // namespace troupe
