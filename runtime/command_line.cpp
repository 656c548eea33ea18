// node_config::from() and run_main(): flags, environment and file by CLI11.
#include <troupe/runtime/config.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <set>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <troupe/runtime/config_options.hpp>
#include <troupe/runtime/info.hpp>
#include <troupe/runtime/nearest_name.hpp>
#include <troupe/runtime/secret_file.hpp>

namespace troupe {

namespace {

constexpr std::string_view environment_prefix = "TROUPE_";
constexpr const char* config_variable = "TROUPE_CONFIG";

/// Variables of the build, the tests, the benchmarks and the demo: no settings of a node, and no typing errors.
constexpr std::array<std::string_view, 8> foreign_prefixes{"TROUPE_TEST_",   "TROUPE_BENCH",   "TROUPE_BIN_",
                                                           "TROUPE_SOURCE_", "TROUPE_BUILD",   "TROUPE_DEMO",
                                                           "TROUPE_CCACHE",  "TROUPE_SANITIZE"};

std::string first_line(std::string_view text) { return std::string{text.substr(0, text.find('\n'))}; }

std::string suggestion(const std::string& wrong, const std::vector<std::string>& names) {
  const auto nearest = nearest_name(wrong, names);
  return nearest.empty() ? "" : "did you mean " + nearest + "? ";
}

/// The value of a variable; an empty one counts as unset, as it does for CLI11.
const char* variable(const std::string& name) {
  const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// All options of an application and its subcommands.
void collect(const CLI::App& app, std::vector<const CLI::Option*>& options) {
  for (const auto* option : app.get_options())
    options.push_back(option);
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    collect(*sub, options);
}

// -- the file -------------------------------------------------------------------

/// CLI11's reader of configuration files, made strict: it lets a file win over the environment, and overlooks misspelt,
/// repeated and half-quoted entries, all of which would change a node in silence.
class strict_file : public CLI::ConfigTOML {
public:
  explicit strict_file(const CLI::App& app) : app_(app) {
    // nop
  }

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> result;
    for (auto& item : CLI::ConfigTOML::from_config(input)) {
      if (belongs_to_subcommand(item)) {
        result.push_back(std::move(item));
        continue;
      }
      // Where a section begins and ends.
      if (item.name == "++" || item.name == "--")
        continue;
      item.name = item.fullname();
      item.parents.clear();
      check(item);
      if (wins_over_environment(item.name))
        result.push_back(std::move(item));
    }
    return result;
  }

  [[nodiscard]] bool has(const std::string& key) const { return seen_.contains(key); }

private:
  [[nodiscard]] bool belongs_to_subcommand(const CLI::ConfigItem& item) const {
    if (item.parents.empty())
      return false;
    const auto named = [&](const CLI::App* sub) { return sub->check_name(item.parents.front()); };
    return !app_.get_subcommands(named).empty();
  }

  [[nodiscard]] bool wins_over_environment(const std::string& key) const {
    const auto* option = app_.get_option_no_throw("--" + key);
    return option == nullptr || variable(option->get_envname()) == nullptr;
  }

  void check(const CLI::ConfigItem& item) const {
    const auto* option = app_.get_option_no_throw("--" + item.name);
    if (option == nullptr)
      refuse(item.name, "no such setting; " + suggestion(item.name, keys()) + "--help lists all");
    if (!seen_.insert(item.name).second)
      refuse(item.name, "set twice; keep one of the two");
    if (find_option(item.name) == nullptr)
      return;
    if (item.inputs.size() != 1)
      refuse(item.name, "needs exactly one value; put quotes around one that holds spaces or commas");
    const auto& value = item.inputs.front();
    if (!value.empty() && (value.front() == '"' || value.front() == '\''))
      refuse(item.name, "the quotes do not close; mind that # begins a comment, even between quotes");
    if (item.name == "secret" && open_to_others(path()))
      refuse(item.name, "every user can read or write this file: chmod 600 " + path());
  }

  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (const auto* option : app_.get_options())
      for (const auto& name : option->get_lnames())
        result.push_back(name);
    return result;
  }

  [[nodiscard]] std::string path() const { return app_.get_config_ptr()->as<std::string>(); }

  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw usage_error(path() + ": " + key + ": " + why);
  }

  const CLI::App& app_;
  mutable std::set<std::string> seen_; // from_config() is const in CLI11
};

void check_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), R_OK) != 0)
    throw usage_error("--config: cannot read " + path + ": " + std::strerror(errno) + "; name a file that can be read");
  if (S_ISDIR(status.st_mode))
    throw usage_error("--config: " + path + " is a directory; name a file");
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<off_t>(max_config_file_bytes))
    throw usage_error("--config: " + path + " is larger than 1MiB; name a file of settings");
}

// -- the environment --------------------------------------------------------------

void refuse_unknown_variables(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  collect(app, options);
  std::vector<std::string> known{config_variable};
  for (const auto* option : options)
    if (!option->get_envname().empty())
      known.push_back(option->get_envname());

  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name{text.substr(0, text.find('='))};
    const auto is_prefix = [&name](std::string_view prefix) { return name.starts_with(prefix); };
    if (!is_prefix(environment_prefix) || std::find(known.begin(), known.end(), name) != known.end() ||
        std::any_of(foreign_prefixes.begin(), foreign_prefixes.end(), is_prefix))
      continue;
    throw usage_error(name + ": no such setting in the environment; " + suggestion(name, known) +
                      "correct or unset it, --help lists all");
  }
}

// -- flags --------------------------------------------------------------------------

/// One line for what CLI11 did not like.
[[noreturn]] void refuse_arguments(const CLI::App& app, const CLI::ParseError& why) {
  // A misspelt command is both: it is missing and it is too much.
  if (dynamic_cast<const CLI::ExtrasError*>(&why) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&why) != nullptr) {
    const auto extras = app.remaining(true);
    const auto wrong = std::find_if(extras.begin(), extras.end(), [](const auto& arg) { return arg.starts_with('-'); });
    if (wrong != extras.end()) {
      std::vector<const CLI::Option*> options;
      collect(app, options);
      std::vector<std::string> flags;
      for (const auto* option : options)
        for (const auto& name : option->get_lnames())
          flags.push_back("--" + name);
      const auto flag = wrong->substr(0, wrong->find('='));
      throw usage_error(flag + ": no such option; " + suggestion(flag, flags) + "--help lists all");
    }
    if (!extras.empty()) {
      std::vector<std::string> commands;
      for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
        commands.push_back(sub->get_name());
      throw usage_error('"' + extras.front() + "\" is not expected; " + suggestion(extras.front(), commands) +
                        "--help says what is");
    }
  }
  throw usage_error(first_line(why.what()) + "; --help lists all options");
}

/// Where an option with results got them. CLI11 asks flags, then the file, then the environment.
value_origin origin_of(const CLI::App& app, const CLI::Option& option, const strict_file& file,
                       const std::string& name) {
  const auto& order = app.parse_order();
  if (std::find(order.begin(), order.end(), &option) != order.end())
    return value_origin::flag;
  return variable(option.get_envname()) == nullptr && file.has(name) ? value_origin::file : value_origin::environment;
}

std::string program_name(int argc, const char* const* argv) {
  const std::string_view path = argc > 0 && argv[0] != nullptr ? argv[0] : "troupe";
  return std::string{path.substr(path.rfind('/') + 1)};
}

} // namespace

node_config node_config::from(int argc, const char* const* argv, const std::function<void(CLI::App&)>& extend) {
  node_config config;
  const auto program = program_name(argc, argv);
  CLI::App app{"", program};
  app.set_version_flag("--version", program + ", Troupe " + std::string{version()});

  // CLI11 would overlook a missing file that only a variable names.
  const char* file_of_environment = variable(config_variable);
  app.set_config("--config", file_of_environment != nullptr ? file_of_environment : "",
                 "A file of settings, one key = value a line, TOML or INI; keys are the long names of the flags",
                 file_of_environment != nullptr)
      ->type_name("FILE (Env:TROUPE_CONFIG)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check([](const std::string& path) {
        check_file(path);
        return std::string{};
      });
  const auto file = std::make_shared<strict_file>(app);
  app.config_formatter(file);

  // Values are taken from the results below, where it is known who gave them.
  const CLI::callback_t take_text = [](const CLI::results_t&) { return true; };
  std::vector<std::pair<const config_option*, CLI::Option*>> bound;
  for (const auto& option : config_options()) {
    auto* added = app.add_option(option.flag(), take_text, option.documentation + " Range: " + option.range + '.')
                      ->envname(option.environment())
                      ->type_name("TEXT")
                      ->expected(1)
                      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
                      ->group("Node");
    added->default_str(option.default_value);
    bound.emplace_back(&option, added);
  }
  if (extend)
    extend(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    std::exit(EXIT_SUCCESS);
  } catch (const CLI::CallForVersion& text) {
    std::cout << text.what() << '\n';
    std::exit(EXIT_SUCCESS);
  } catch (const CLI::ParseError& why) {
    refuse_arguments(app, why);
  }
  refuse_unknown_variables(app);

  config.file_ = app.get_config_ptr()->empty() ? "" : app.get_config_ptr()->as<std::string>();
  for (const auto& [option, parsed] : bound) {
    if (parsed->count() == 0)
      continue;
    config.origins_[option->name] = origin_of(app, *parsed, *file, option->name);
    const auto where = [&, name = option->name] {
      switch (config.origin(name)) {
      case value_origin::flag:
        return "--" + name;
      case value_origin::environment:
        return find_option(name)->environment();
      default:
        return config.file_ + ": " + name;
      }
    };
    try {
      option->set(config, parsed->results().back());
      // Depends on another option: prepare() checks it when all are known.
      if (option->name != "heartbeat")
        option->check(config);
    } catch (const std::invalid_argument& why) {
      throw usage_error(where() + ": " + why.what());
    }
  }

  if (!config.secret.empty() && !config.secret_file.empty()) {
    const auto secret = config.origin("secret");
    const auto secret_file = config.origin("secret-file");
    if (secret == secret_file)
      throw usage_error("secret, secret-file: both are set; keep one of the two");
    if (secret < secret_file)
      config.secret.clear();
    else
      config.secret_file.clear();
  }
  config.prepare();
  return config;
}

int run_main(int argc, const char* const* argv, const std::function<int(node_config)>& body,
             const std::function<void(CLI::App&)>& extend) {
  const auto complain = [&](const char* why) {
    std::cerr << program_name(argc, argv) << ": " << first_line(why) << std::endl;
  };
  try {
    return body(node_config::from(argc, argv, extend));
  } catch (const usage_error& why) {
    complain(why.what());
    return why.exit_code();
  } catch (const std::exception& why) {
    complain(why.what());
    return EXIT_FAILURE;
  }
}

} // namespace troupe
