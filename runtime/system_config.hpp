// The part of a node's configuration that CAF reads.
#pragma once

#include <memory>
#include <string>

#include <caf/fwd.hpp>

namespace troupe {

/// An actor system's configuration whose threads take no signals and log under `*thread_name`, read when they start.
[[nodiscard]] std::unique_ptr<caf::actor_system_config>
make_system_config(std::shared_ptr<const std::string> thread_name);

} // namespace troupe
