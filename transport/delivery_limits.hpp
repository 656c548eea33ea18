// The limits of the delivery logic: journal, pair order, receive window, credit and acknowledgement.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <troupe/proto/frame.hpp>

namespace troupe::transport {

/// Sequence numbers a sender may have under way: from the oldest one that is not acknowledged to the newest.
/// Both sides must agree: the journal's max_entries of one side may not exceed the receive window of the other.
/// Large, because one slow bulk message keeps the oldest number open while small messages go on past it.
inline constexpr std::size_t default_window = std::size_t{1} << 20;
/// The largest window a configuration or a peer may ask for.
inline constexpr std::size_t max_window = std::size_t{1} << 24;

/// Bytes a journal may hold. A single message above it is refused for good, so it is also the largest message.
inline constexpr std::size_t default_journal_bytes = std::size_t{4} << 30;

/// Slots a ring starts with, and never shrinks below.
inline constexpr std::size_t min_ring_slots = 64;

/// Predecessors one frame may name besides `after`: what fits into an inline body.
inline constexpr std::size_t max_predecessors = proto::max_inline_body / sizeof(std::uint64_t);
/// Predecessors that all held frames of a window may wait for together, beyond one each. A frame that would exceed it
/// is held like a barrier instead: later than needed, never too early.
inline constexpr std::size_t max_pending_predecessors = std::size_t{1} << 16;
/// Places for held frames that a window keeps allocated when it holds none.
inline constexpr std::size_t kept_held_slots = 4096;

/// The most messages and bytes a credit account can count, limit and reserve together.
inline constexpr std::uint64_t max_credit_messages = (std::uint64_t{1} << 24) - 1;
inline constexpr std::uint64_t max_credit_bytes = (std::uint64_t{1} << 40) - 1;
/// What down, exit, link and reply messages may take above the limits of a credit account.
inline constexpr std::uint64_t default_reserve_messages = 1024;
inline constexpr std::uint64_t default_reserve_bytes = std::uint64_t{1} << 20;

/// A standalone acknowledgement is due after this many deliveries, or this long after the first of them.
inline constexpr std::uint64_t default_ack_deliveries = 256;
inline constexpr std::chrono::nanoseconds default_ack_delay = std::chrono::microseconds(500);
/// A standalone credit return is due when this part of the window was consumed (1/n), or after this long.
inline constexpr std::uint64_t default_credit_fraction = 4;
inline constexpr std::chrono::nanoseconds default_credit_delay = std::chrono::milliseconds(5);

} // namespace troupe::transport
