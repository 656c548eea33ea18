// What a session has under way: batches in chunks, bulk messages, and the journal's entry for each message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <troupe/actors/outbox.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/proto/frame.hpp>
#include <troupe/transport/endpoint.hpp>
#include <troupe/transport/operation.hpp>
#include <troupe/transport/payload.hpp>

namespace troupe {

/// Who is told that UCX is done with something, possibly inside a UCP callback.
struct send_progress {
  progress_loop& loop;
  turn_hook& hook; ///< armed, so that what waits is sent at the end of this turn
  std::size_t batches = 0;
  std::size_t bulk = 0;
};

class chunk_pool;

/// Memory for several batches, one after the other. Lives until UCX is done with it and every message in it is
/// acknowledged, because a lost epoch posts them again.
struct chunk final : transport::operation {
  explicit chunk(chunk_pool& p) noexcept : pool(p) {}
  void on_complete(errc status) noexcept override;

  chunk_pool& pool;
  std::uint32_t entries = 0;   ///< messages of the journal that lie in here
  std::uint32_t in_flight = 0; ///< batches that are queued or at UCX
  std::size_t used = 0;
  bool current = false; ///< being filled
  std::array<std::byte, proto::max_batch_bytes> data;
};

/// The chunks of one session. Their number is bounded by its windows.
class chunk_pool {
public:
  explicit chunk_pool(send_progress& progress) noexcept : progress_(progress) {}
  chunk_pool(const chunk_pool&) = delete;
  chunk_pool& operator=(const chunk_pool&) = delete;
  ~chunk_pool();

  [[nodiscard]] chunk* take();
  /// Takes back `x` if nothing needs it any more.
  void release_if_done(chunk& x) noexcept;
  [[nodiscard]] send_progress& progress() noexcept { return progress_; }

private:
  send_progress& progress_;
  std::vector<std::unique_ptr<chunk>> all_;
  std::vector<chunk*> spare_;
};

/// A batch that was closed and waits for its turn at UCX.
struct queued_batch {
  chunk* where;
  std::uint32_t offset;
  std::uint32_t size;
};

/// The data of a bulk message, as the journal keeps it.
struct bulk_body {
  payload body;
  std::vector<payload> attachments;
};

/// A message from acceptance to its terminal.
struct outgoing {
  std::uint64_t sender = 0;
  std::uint64_t target = 0;
  chunk* where = nullptr;      ///< of a message in a batch
  std::uint32_t offset = 0;    ///< of its frame in the chunk
  std::uint32_t size = 0;      ///< of its frame
  std::unique_ptr<bulk_body> bulk;
  op_owner owner;
};

class bulk_pool;

/// A bulk message at UCX. Holds what UCX reads until it is done, whatever becomes of the journal's entry.
struct bulk_send final : transport::operation {
  explicit bulk_send(bulk_pool& p) noexcept : pool(p) {}
  void on_complete(errc status) noexcept override;

  bulk_pool& pool;
  std::vector<std::byte> header; ///< lane_header, message_header, sizes and, if it fits, the body
  payload body;                  ///< empty when it travels in the header
  std::vector<payload> attachments;
  std::vector<transport::io_slice> slices;
};

/// The bulk_sends of one session.
class bulk_pool {
public:
  explicit bulk_pool(send_progress& progress) noexcept : progress_(progress) {}
  bulk_pool(const bulk_pool&) = delete;
  bulk_pool& operator=(const bulk_pool&) = delete;

  [[nodiscard]] bulk_send* take();
  void release(bulk_send& x) noexcept;
  [[nodiscard]] send_progress& progress() noexcept { return progress_; }

private:
  send_progress& progress_;
  std::vector<std::unique_ptr<bulk_send>> all_;
  std::vector<bulk_send*> spare_;
};

} // namespace troupe
