// The one error enum of Troupe and its table.
//
// Every layer reports failures with this enum. transport/ maps UCX statuses to it (ucx_errc.hpp), actors/ turns it
// into a caf::error (error.hpp), runtime/ explains it to a person.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe {

/// What went wrong, in one vocabulary for every layer. The values travel between nodes: append, never renumber.
enum class errc : std::uint8_t {
  ok = 0,
  in_progress = 1, ///< never terminal

  // -- the caller's mistake ---------------------------------------------------
  invalid_param = 2,
  out_of_range = 3,
  exceeds_limit = 4,
  unsupported = 5,
  unsupported_memory = 6,
  unsupported_descriptor = 7,
  already_exists = 8,
  not_allowed = 9,
  reserved = 10,
  would_deadlock = 11, ///< a blocking call of the node made on a loop's thread

  // -- try again later --------------------------------------------------------
  busy = 20,
  no_memory = 21,
  no_resource = 22,
  no_device = 23,
  quiesced = 24, ///< posted on an epoch that is being purged
  address_in_use = 25,

  // -- the peer or the way to it ----------------------------------------------
  unreachable = 40,
  rejected = 41,
  timed_out = 42,
  peer_reset = 43,  ///< connection lost; the cause is in the text
  peer_dead = 44,   ///< declared dead: killed, said goodbye, or silent beyond down_after
  peer_closing = 45,
  self_connect = 46, ///< a node tried to connect to itself
  name_in_use = 47,
  authentication_failed = 48,
  bad_version = 49,
  incompatible = 50,
  invalid_address = 51,

  // -- how an operation ended -------------------------------------------------
  canceled = 60,
  abandoned = 61,
  flushed = 62,
  too_late = 63,
  truncated = 64,
  indeterminate = 65, ///< the outcome is unknown: it may or may not have been delivered

  // -- names, handles, generations --------------------------------------------
  not_found = 80,
  unknown_peer = 81,
  unknown_session = 82,
  unknown_type = 83,   ///< a message type the other side does not know
  unknown_target = 84, ///< no such actor (any more)
  stale_generation = 85,
  stale_incarnation = 86,
  wrong_epoch = 87,

  // -- bytes that are not what they should be ----------------------------------
  bad_signature = 100,
  corrupt = 101,
  protocol_error = 102,
  decode_failed = 103,

  internal = 120,
};

/// The name of a code, as written in the enum; "unknown_errc" for a value that is none. @threadsafe
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// What the caller does next: one short sentence in the imperative. @threadsafe
[[nodiscard]] std::string_view next_step(errc code) noexcept;

/// Whether `value`, as read from the wire, is one of the enumerators. @threadsafe
[[nodiscard]] bool is_errc(std::uint8_t value) noexcept;

} // namespace troupe
