// Bytes that are shared instead of copied: what large messages carry.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

/// Limits of the process-wide pool behind payloads. Blocks from pool_min_block to pool_max_block go back to a free list,
/// because the page faults of fresh memory halve the bandwidth of bulk traffic; all others come from the heap.
struct payload_limits {
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t pool_min_block = 64 * 1024;
  static constexpr std::size_t pool_max_block = 64 * 1024 * 1024;
  /// Most bytes that lie unused in the free lists. What is freed beyond goes back to the system.
  static constexpr std::size_t pool_max_cached = 256 * 1024 * 1024;
};

namespace detail {
struct payload_block; // reference count, capacity, then the bytes
}

/// Immutable, reference-counted bytes: a slice of a shared block. Copying shares the block, slicing too. One payload
/// object belongs to one thread at a time; several that share a block may live in any threads.
class payload {
public:
  payload() noexcept = default;
  payload(const payload& other) noexcept;
  payload(payload&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}
  payload& operator=(payload other) noexcept {
    swap(other);
    return *this;
  }
  ~payload();

  /// Copies `size` bytes into a block of its own. Throws std::bad_alloc. @threadsafe
  [[nodiscard]] static payload copy_of(const void* data, std::size_t size);

  /// The bytes [offset, offset + length) of this one, shared. Throws std::out_of_range when they are not all inside.
  [[nodiscard]] payload slice(std::size_t offset, std::size_t length) const;

  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  void swap(payload& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  /// Same bytes, wherever they lie.
  friend bool operator==(const payload& a, const payload& b) noexcept;

private:
  friend class payload_buffer;
  payload(detail::payload_block* block, const std::byte* data, std::size_t size) noexcept
    : block_(block), data_(data), size_(size) {}

  detail::payload_block* block_ = nullptr;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A block with one owner, to be filled and then frozen into a payload. Its bytes start out undefined and are aligned to
/// payload_limits::alignment.
class payload_buffer {
public:
  /// Holds nothing; size() is 0.
  payload_buffer() noexcept = default;
  payload_buffer(payload_buffer&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  payload_buffer& operator=(payload_buffer&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~payload_buffer();

  /// `size` bytes (0 is legal). Throws std::bad_alloc. @threadsafe
  [[nodiscard]] static payload_buffer allocate(std::size_t size);

  /// Like allocate(), for sizes that a peer chose: empty when there is no memory. @threadsafe
  [[nodiscard]] static std::optional<payload_buffer> try_allocate(std::size_t size) noexcept;

  [[nodiscard]] std::byte* data() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data(), size_}; }

  /// Ends writing: the first `size` bytes become a payload, without a copy, and this buffer holds nothing any more.
  /// Throws std::out_of_range when `size` is more than there is.
  [[nodiscard]] payload freeze(std::size_t size) &&;
  [[nodiscard]] payload freeze() && { return std::move(*this).freeze(size_); }

private:
  payload_buffer(detail::payload_block* block, std::size_t size) noexcept : block_(block), size_(size) {}

  detail::payload_block* block_ = nullptr;
  std::size_t size_ = 0;
};

/// Bytes that lie in the pool's free lists at this moment, for reports and tests. @threadsafe
[[nodiscard]] std::size_t payload_pool_cached() noexcept;

/// Gives the free lists back to the system. @threadsafe
void payload_pool_trim() noexcept;

} // namespace troupe
