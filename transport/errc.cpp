#include <troupe/transport/errc.hpp>

#include <array>

namespace troupe {

namespace {

struct row {
  errc code;
  std::string_view name;
  std::string_view next;
};

// In the order of the enum; the test walks all 256 values against it.
constexpr auto rows = std::to_array<row>({
  {errc::ok, "ok", "Go on."},
  {errc::in_progress, "in_progress", "Wait for the terminal message of this operation."},

  {errc::invalid_param, "invalid_param", "Correct the argument that the text names."},
  {errc::out_of_range, "out_of_range", "Keep the offset and length inside the object that the text names."},
  {errc::exceeds_limit, "exceeds_limit", "Send less, or raise the limit that the text names."},
  {errc::unsupported, "unsupported", "Use another way: this one is not available with these settings."},
  {errc::unsupported_memory, "unsupported_memory", "Use host memory."},
  {errc::unsupported_descriptor, "unsupported_descriptor", "Create the descriptor with the same version on both sides."},
  {errc::already_exists, "already_exists", "Choose another name, or remove the existing one first."},
  {errc::not_allowed, "not_allowed", "Do it in a state, or from a place, that permits it."},
  {errc::reserved, "reserved", "Choose a name or number outside the reserved ones."},
  {errc::would_deadlock, "would_deadlock", "Make the blocking call from a thread that is not a progress loop."},

  {errc::busy, "busy", "Try again when credit or the resource is available."},
  {errc::no_memory, "no_memory", "Free memory, or lower the configured windows."},
  {errc::no_resource, "no_resource", "Free what the text names, or raise its limit, then try again."},
  {errc::no_device, "no_device", "Name a network device that this host has."},
  {errc::quiesced, "quiesced", "Wait for the next epoch; the session posts again by itself."},
  {errc::address_in_use, "address_in_use", "Choose another port, or stop the program that holds this one."},

  {errc::unreachable, "unreachable", "Check the address, and that both sides share a transport."},
  {errc::rejected, "rejected", "Look at the other side's log: it refused on purpose."},
  {errc::timed_out, "timed_out", "Check that the other side runs and is reachable, or raise the timeout."},
  {errc::peer_reset, "peer_reset", "Connect again; the text tells why the connection ended."},
  {errc::peer_dead, "peer_dead", "Wait for the peer's return (node_up), then look its actors up again."},
  {errc::peer_closing, "peer_closing", "Stop sending to this peer: it is shutting down."},
  {errc::self_connect, "self_connect", "Give the address of another node."},
  {errc::name_in_use, "name_in_use", "Give this node a name that no living node of the group has."},
  {errc::authentication_failed, "authentication_failed", "Configure the same secret on both sides."},
  {errc::bad_version, "bad_version", "Run versions on both sides whose protocol ranges overlap."},
  {errc::incompatible, "incompatible", "Configure the feature that the text names alike on both sides."},
  {errc::invalid_address, "invalid_address", "Write the address as host:port, with an address of the right host."},

  {errc::canceled, "canceled", "Nothing: it ended because it was told to."},
  {errc::abandoned, "abandoned", "Treat the outcome as unknown; the memory may be used again."},
  {errc::flushed, "flushed", "Post it again if it is still wanted."},
  {errc::too_late, "too_late", "Wait for the operation's own result: it could not be canceled any more."},
  {errc::truncated, "truncated", "Provide a buffer that holds the whole message."},
  {errc::indeterminate, "indeterminate", "Ask the peer, or repeat it only if doing so twice is harmless."},

  {errc::not_found, "not_found", "Check the name, and that its owner has published it."},
  {errc::unknown_peer, "unknown_peer", "Connect to the peer first."},
  {errc::unknown_session, "unknown_session", "Connect again: the other side no longer knows this session."},
  {errc::unknown_type, "unknown_type", "Register the message type on the receiving node, too."},
  {errc::unknown_target, "unknown_target", "Look the actor up again: this one has ended."},
  {errc::stale_generation, "stale_generation", "Obtain a fresh handle: this one was replaced."},
  {errc::stale_incarnation, "stale_incarnation", "Obtain fresh references: the peer has restarted."},
  {errc::wrong_epoch, "wrong_epoch", "Nothing: what arrived belonged to an earlier connection."},

  {errc::bad_signature, "bad_signature", "Configure the same key on both sides."},
  {errc::corrupt, "corrupt", "Obtain the data again: its checksum does not fit."},
  {errc::protocol_error, "protocol_error", "Check that the other side is a Troupe node of a compatible version."},
  {errc::decode_failed, "decode_failed", "Build both sides with the same message definitions."},

  {errc::internal, "internal", "Report it, together with the text and the log: this is a defect."},
});

constexpr auto index = [] {
  std::array<std::int16_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    table[static_cast<std::uint8_t>(rows[i].code)] = static_cast<std::int16_t>(i);
  return table;
}();

const row* find(errc code) noexcept {
  auto i = index[static_cast<std::uint8_t>(code)];
  return i < 0 ? nullptr : &rows[static_cast<std::size_t>(i)];
}

} // namespace

std::string_view to_string(errc code) noexcept {
  const auto* r = find(code);
  return r ? r->name : "unknown_errc";
}

std::string_view next_step(errc code) noexcept {
  const auto* r = find(code);
  return r ? r->next : "Update this node: the other side uses an error code that it does not know.";
}

bool is_errc(std::uint8_t value) noexcept {
  return index[value] >= 0;
}

} // namespace troupe
