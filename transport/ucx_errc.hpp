// UCX statuses in Troupe's vocabulary: the one table.
#pragma once

#include <string>

#include <ucs/type/status.h>

#include <troupe/transport/errc.hpp>

namespace troupe::transport {

/// The errc for a UCX status. Total: link and endpoint failures are peer_reset, numbers unknown to UCX `internal`.
/// @threadsafe
[[nodiscard]] errc to_errc(ucs_status_t status) noexcept;

/// UCX's own words and number, for the text of an error: "Connection reset by remote peer (UCX status -25)". @threadsafe
[[nodiscard]] std::string describe(ucs_status_t status);

} // namespace troupe::transport
