// Internal to transport/: what a kept_message holds.
#pragma once

#include <vector>

#include <troupe/transport/worker.hpp>

namespace troupe::transport {

/// Linked into its worker while it holds a rendezvous, so that abandon() finds it.
struct worker::kept_record {
  worker* owner = nullptr; ///< null: holds nothing of the worker
  inbound message;         ///< held without an owner: lost when the worker was abandoned
  std::vector<std::byte> header;
  payload data;
  kept_record* previous = nullptr;
  kept_record* next = nullptr;

  void link(worker& x) noexcept;
  void unlink() noexcept;
};

} // namespace troupe::transport
