// The `troupe` command.
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include <troupe/runtime/config.hpp>
#include <troupe/runtime/info.hpp>

namespace {

/// `troupe info`: what is configured and what the machine offers.
struct info_command {
  bool chosen = false;
  bool json = false;
  bool markdown = false;

  void add_to(CLI::App& app) {
    auto* command = app.add_subcommand("info", "Print the effective configuration, UCX's transports and RDMA devices");
    // The options of a node may stand behind the name of the command.
    command->fallthrough();
    command->callback([this] { chosen = true; });
    auto* as_json = command->add_flag("--json", json, "Print one JSON object");
    command->add_flag("--markdown", markdown, "Print the table of all options in Markdown")->excludes(as_json);
  }

  int run(const troupe::node_config& config) const {
    if (markdown)
      std::cout << troupe::options_markdown();
    else if (json)
      std::cout << troupe::info_json(config, troupe::read_system_info());
    else
      std::cout << troupe::info_text(config, troupe::read_system_info());
    std::cout.flush();
    if (!std::cout)
      throw std::runtime_error("cannot write to standard output: check where it leads");
    return EXIT_SUCCESS;
  }
};

} // namespace

int main(int argc, char** argv) {
  info_command info;
  const auto add_commands = [&info](CLI::App& app) {
    app.description("Troupe: actors that talk over UCX");
    app.require_subcommand(1);
    info.add_to(app);
  };
  const auto run_command = [&info](const troupe::node_config& config) { return info.run(config); };
  return troupe::run_main(argc, argv, run_command, add_commands);
}
