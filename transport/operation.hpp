// The completion side of everything that is posted on a worker.
#pragma once

#include <cstdint>

#include <troupe/transport/errc.hpp>

namespace troupe::transport {

/// Something posted and not finished yet. Whoever posts owns it, and keeps it and every buffer it names alive until the
/// terminal call.
struct operation {
  /// The one terminal call of an operation that was `pending`. From here on buffers, header and iov are the caller's
  /// again. It comes from worker::progress(), endpoint::close() or worker::abandon(), possibly inside a UCP callback:
  /// note the outcome (append to a list) and return. It must not post, close, progress, run user code, or destroy an
  /// endpoint or worker; destroying the operation itself is fine.
  /// `status`: ok; canceled: ended by our close or abandon; otherwise what ended it.
  virtual void on_complete(errc status) noexcept = 0;

protected:
  ~operation() = default;
};

enum class post_status : std::uint8_t {
  completed, ///< done already; the operation is NOT called back
  pending,   ///< the operation will be called back exactly once
  failed,    ///< nothing was posted; the reason is in the errc argument; the operation is NOT called back
};

} // namespace troupe::transport
