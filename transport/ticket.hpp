// Internal to transport/: a pending operation, between UCX's callback and ours.
#pragma once

#include <troupe/transport/worker.hpp>

namespace troupe::transport {

/// UCX's callbacks point to tickets, not to operations: a ticket lives as long as its worker, so whatever UCX calls late
/// finds one.
struct worker::ticket {
  operation* op = nullptr; ///< null: free, or being posted
  endpoint_state* ep = nullptr;
  worker* owner = nullptr;
  ticket* next_free = nullptr;
  errc early = errc::in_progress; ///< the status, when UCX called back before the posting call returned
};

} // namespace troupe::transport
