// The UCX options that lanes need. The user sets nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace troupe::transport {

/// An environment variable of UCX, the value that Troupe gives it when the user gave none, and why.
struct ucx_option {
  const char* name;
  const char* value;
  const char* reason;
};

/// Every option that prepare_environment() sets, for this release of UCX. @threadsafe
[[nodiscard]] std::span<const ucx_option> ucx_options() noexcept;

/// Sets ucx_options() in the environment, leaving alone what is set already. Does its work once per process. Call it
/// before any thread is started: setenv is not safe beside getenv. (A context calls it, too; a UCX option read by then
/// is read again for each new context.)
void prepare_environment();

/// What the environment asks for that lanes cannot work with: a sentence each that names the variable and what to set it
/// to. Empty: all is well. @threadsafe
[[nodiscard]] std::vector<std::string> conflicting_environment();

} // namespace troupe::transport
