#include <troupe/transport/payload.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

namespace detail {

// The header takes one alignment unit, so that the bytes behind it are aligned like the block.
struct alignas(payload_limits::alignment) payload_block {
  std::atomic<std::size_t> references{1};
  std::uint8_t size_class; // index into the pool, or no_class

  std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(payload_block); }
};
static_assert(sizeof(payload_block) == payload_limits::alignment);

} // namespace detail

namespace {

using detail::payload_block;

constexpr std::uint8_t no_class = 0xff;
constexpr std::align_val_t block_alignment{payload_limits::alignment};

// Four classes per power of two: at most a quarter of a block is unused.
constexpr int first_exponent = std::countr_zero(payload_limits::pool_min_block);
constexpr int last_exponent = std::countr_zero(payload_limits::pool_max_block);
constexpr std::size_t class_count = static_cast<std::size_t>(last_exponent - first_exponent) * 4 + 1;

constexpr std::size_t class_bytes(std::size_t i) {
  return (payload_limits::pool_min_block >> 2) * (4 + (i & 3)) << (i >> 2);
}
static_assert(class_bytes(0) == payload_limits::pool_min_block);
static_assert(class_bytes(class_count - 1) == payload_limits::pool_max_block);

std::size_t class_of(std::size_t size) {
  if (size <= payload_limits::pool_min_block)
    return 0;
  auto exponent = std::bit_width(size - 1) - 1; // 2^exponent < size <= 2^(exponent + 1)
  auto step = std::size_t{1} << (exponent - 2);
  auto quarter = (size - (std::size_t{1} << exponent) + step - 1) / step; // 1 to 4
  return static_cast<std::size_t>(exponent - first_exponent) * 4 + quarter;
}

class pool {
public:
  payload_block* take(std::size_t i) noexcept {
    auto& list = lists_[i];
    std::lock_guard guard{list.mutex};
    if (list.blocks.empty())
      return nullptr;
    auto* block = list.blocks.back();
    list.blocks.pop_back();
    cached_.fetch_sub(class_bytes(i), std::memory_order_relaxed);
    return block;
  }

  bool give(payload_block* block) noexcept {
    auto i = static_cast<std::size_t>(block->size_class);
    if (cached_.fetch_add(class_bytes(i), std::memory_order_relaxed) + class_bytes(i)
        > payload_limits::pool_max_cached) {
      cached_.fetch_sub(class_bytes(i), std::memory_order_relaxed);
      return false;
    }
    auto& list = lists_[i];
    std::lock_guard guard{list.mutex};
    try {
      list.blocks.push_back(block);
      return true;
    } catch (...) { // no memory for the list itself: the block goes back to the system
      cached_.fetch_sub(class_bytes(i), std::memory_order_relaxed);
      return false;
    }
  }

  void trim() noexcept {
    for (std::size_t i = 0; i < class_count; ++i)
      while (auto* block = take(i))
        ::operator delete(block, block_alignment);
  }

  std::size_t cached() const noexcept { return cached_.load(std::memory_order_relaxed); }

private:
  struct free_list {
    std::mutex mutex;
    std::vector<payload_block*> blocks;
  };
  std::array<free_list, class_count> lists_;
  std::atomic<std::size_t> cached_{0};
};

// Never destroyed: payloads in static objects may be freed after any destructor of ours.
pool& the_pool() {
  static pool& instance = *new pool;
  return instance;
}

payload_block* new_block(std::size_t size) {
  auto cls = no_class;
  auto capacity = size;
  if (size >= payload_limits::pool_min_block && size <= payload_limits::pool_max_block) {
    auto i = class_of(size);
    if (auto* block = the_pool().take(i)) {
      block->references.store(1, std::memory_order_relaxed);
      return block;
    }
    cls = static_cast<std::uint8_t>(i);
    capacity = class_bytes(i);
  }
  if (capacity > SIZE_MAX - sizeof(payload_block))
    throw std::bad_alloc{};
  auto* memory = ::operator new(sizeof(payload_block) + capacity, block_alignment);
  auto* block = new (memory) payload_block;
  block->size_class = cls;
  return block;
}

void drop_reference(payload_block* block) noexcept {
  if (block == nullptr || block->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (block->size_class == no_class || !the_pool().give(block))
    ::operator delete(block, block_alignment);
}

std::out_of_range beyond_end(const char* what, std::size_t asked, std::size_t size) {
  return std::out_of_range{std::string{what} + ": byte " + std::to_string(asked) + " is beyond the end, there are "
                           + std::to_string(size)};
}

} // namespace

payload::payload(const payload& other) noexcept : block_(other.block_), data_(other.data_), size_(other.size_) {
  if (block_)
    block_->references.fetch_add(1, std::memory_order_relaxed);
}

payload::~payload() {
  drop_reference(block_);
}

payload payload::copy_of(const void* data, std::size_t size) {
  auto buffer = payload_buffer::allocate(size);
  if (size != 0)
    std::memcpy(buffer.data(), data, size);
  return std::move(buffer).freeze(size);
}

payload payload::slice(std::size_t offset, std::size_t length) const {
  if (offset > size_ || length > size_ - offset)
    throw beyond_end("payload::slice", offset > size_ ? offset : length, size_);
  payload result{*this};
  result.data_ += offset;
  result.size_ = length;
  return result;
}

bool operator==(const payload& a, const payload& b) noexcept {
  return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
}

payload_buffer::~payload_buffer() {
  drop_reference(block_);
}

payload_buffer payload_buffer::allocate(std::size_t size) {
  return {new_block(size), size};
}

std::optional<payload_buffer> payload_buffer::try_allocate(std::size_t size) noexcept {
  try {
    return allocate(size);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

std::byte* payload_buffer::data() noexcept {
  return block_ ? block_->bytes() : nullptr;
}

payload payload_buffer::freeze(std::size_t size) && {
  if (size > size_)
    throw beyond_end("payload_buffer::freeze", size, size_);
  auto* block = std::exchange(block_, nullptr);
  size_ = 0;
  return {block, block ? block->bytes() : nullptr, size};
}

std::size_t payload_pool_cached() noexcept {
  return the_pool().cached();
}

void payload_pool_trim() noexcept {
  the_pool().trim();
}

} // namespace troupe
