// What a node is told: fields with defaults, filled from flags, the environment and a file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <caf/actor_system_config.hpp>

#include <troupe/actors/direct_types.hpp>
#include <troupe/actors/limits.hpp>
#include <troupe/actors/protobuf.hpp>
#include <troupe/runtime/log.hpp>

namespace CLI {
class App;
}

namespace troupe {

/// A wrong flag, environment variable, file or field: one line that says what, why and what to do.
class usage_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;

  /// What main() returns for it.
  [[nodiscard]] int exit_code() const noexcept { return 2; }
};

/// How lanes are made: chosen per peer (shared memory on the same host), or one of the two.
enum class transport_choice : std::uint8_t { automatic, shm, tcp };

/// Where a value comes from, the strongest last.
enum class value_origin : std::uint8_t { default_value, file, environment, flag };

[[nodiscard]] std::string_view to_string(transport_choice choice) noexcept;
[[nodiscard]] std::string_view to_string(value_origin origin) noexcept;

/// The configuration of one node. Movable, not copyable: it holds the CAF configuration with the message types.
/// What each option means, its flag, variable and range: config_options.hpp, `troupe info`, or the README.
/// Not threadsafe.
class node_config {
public:
  using duration = std::chrono::nanoseconds;

  /// All defaults; neither flags nor the environment are looked at.
  node_config();
  ~node_config();
  node_config(node_config&&) noexcept;
  node_config& operator=(node_config&&) noexcept;

  // -- factories ------------------------------------------------------------

  /// Flags, over the environment (TROUPE_*), over the file of --config, over the defaults. Throws usage_error. On
  /// --help and --version it prints and exits with status 0. `extend` adds an application's own flags, positionals and
  /// subcommands.
  static node_config from(int argc, const char* const* argv, const std::function<void(CLI::App&)>& extend = {});

  // -- identity -------------------------------------------------------------

  std::string name; ///< empty: prepare() makes one of the host name, the process id and, from the 2nd on, a count
  std::optional<std::string> listen;  ///< host:port; port 0: any free one
  std::optional<std::string> connect; ///< host:port; for the application to use
  std::string secret;                 ///< empty: none. Never printed, never logged
  std::string secret_file;            ///< read by prepare() when `secret` is empty

  // -- transports -----------------------------------------------------------

  transport_choice transport = transport_choice::automatic;
  std::string net_device = "lo";

  // -- times ----------------------------------------------------------------

  duration down_after = std::chrono::seconds(4);
  std::optional<duration> heartbeat; ///< unset: a quarter of down_after; use heartbeat_interval()
  duration handshake_timeout = std::chrono::seconds(5);
  duration connect_timeout = std::chrono::seconds(10);
  duration shutdown_timeout = session_limits{}.goodbye_deadline;
  duration ack_delay = session_limits{}.ack_delay;

  [[nodiscard]] duration heartbeat_interval() const noexcept { return heartbeat.value_or(down_after / 4); }

  // -- loops ----------------------------------------------------------------

  std::uint64_t loops = 1;
  duration spin = std::chrono::microseconds(50);

  // -- windows and limits ---------------------------------------------------

  std::uint64_t window_messages = session_limits{}.window_messages;
  std::uint64_t window_bytes = session_limits{}.window_bytes;
  std::uint64_t bulk_window_bytes = session_limits{}.bulk_window_bytes;
  std::uint64_t target_window_messages = session_limits{}.target_window_messages;
  std::uint64_t target_window_bytes = session_limits{}.target_window_bytes;
  std::uint64_t max_message_bytes = session_limits{}.max_message_bytes;
  std::uint64_t max_pending_requests = session_limits{}.max_pending_requests;
  std::uint64_t max_peers = 1024;
  std::uint64_t max_pending_handshakes = 64;

  /// The windows and delays above as a session takes them; what is no option keeps its default.
  [[nodiscard]] session_limits limits() const noexcept;

  // -- log ------------------------------------------------------------------

  log_settings log;

  // -- message types --------------------------------------------------------

  /// A type with an inspect function, under the name by which both nodes know it.
  template <class T>
  node_config& add_message_type(std::string type_name) {
    caf_->add_message_type<T>(std::move(type_name));
    return *this;
  }

  /// A struct of numbers that travels as its bytes: see troupe::add_trivial_message_type() for what it may hold.
  template <class T>
  node_config& add_trivial_message_type(std::string type_name) {
    troupe::add_trivial_message_type<T>(*caf_, std::move(type_name));
    return *this;
  }

  /// Messages generated by protobuf, under their full names.
  template <class... Ts>
  node_config& add_protobuf() {
    add_protobuf_types<Ts...>(*caf_);
    return *this;
  }

  // -- for the node ---------------------------------------------------------

  /// Checks every field against its range and the fields against each other, reads secret_file, completes `listen` and
  /// `connect` with the loopback host. from() has done it; the node does it again, for fields set since. Throws
  /// usage_error.
  void prepare();

  /// Where the option `name` (config_option::name) got its value in from(). Fields set later do not change it.
  [[nodiscard]] value_origin origin(const std::string& option) const;
  /// The same for a person: "default", "flag --loops", "environment TROUPE_LOOPS", "file troupe.toml".
  [[nodiscard]] std::string describe_origin(const std::string& option) const;

  /// The configuration the actor system is made of, owned by this object and needed as long as the system lives.
  [[nodiscard]] caf::actor_system_config& system_config() noexcept { return *caf_; }

private:
  std::shared_ptr<std::string> thread_name_; ///< shared with the hook that names CAF's threads in the log
  std::unique_ptr<caf::actor_system_config> caf_;
  std::map<std::string, value_origin> origins_;
  std::string file_; ///< of --config
};

/// A main() in one call: from(), then `body`. A usage_error ends as one line on standard error and status 2, any other
/// exception as one line and status 1.
int run_main(int argc, const char* const* argv, const std::function<int(node_config)>& body,
             const std::function<void(CLI::App&)>& extend = {});

} // namespace troupe
