#include <troupe/transport/payload.hpp>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace troupe {
namespace {

std::string text_of(const payload& p) {
  return {reinterpret_cast<const char*>(p.data()), p.size()};
}

class Payload : public testing::Test {
protected:
  void SetUp() override { payload_pool_trim(); }
  void TearDown() override { payload_pool_trim(); }
};

TEST_F(Payload, StartsEmpty) {
  payload p;
  EXPECT_TRUE(p.empty());
  EXPECT_EQ(p.data(), nullptr);
  EXPECT_TRUE(p.slice(0, 0).empty());
}

TEST_F(Payload, CopiesItsInput) {
  std::string text = "forty-two";
  auto p = payload::copy_of(text.data(), text.size());
  text[0] = 'x';
  EXPECT_EQ(text_of(p), "forty-two");
}

TEST_F(Payload, SharesItsBlockWhenCopiedAndSliced) {
  auto p = payload::copy_of("abcdef", 6);
  auto copy = p;
  auto middle = p.slice(2, 3);
  EXPECT_EQ(copy.data(), p.data());
  EXPECT_EQ(middle.data(), p.data() + 2);
  p = {};
  copy = {};
  EXPECT_EQ(text_of(middle), "cde"); // the slice alone keeps the block
  EXPECT_EQ(text_of(middle.slice(1, 2)), "de");
}

TEST_F(Payload, RefusesSlicesBeyondItsEnd) {
  auto p = payload::copy_of("abcdef", 6);
  EXPECT_EQ(p.slice(6, 0).size(), 0u);
  EXPECT_THROW((void)p.slice(7, 0), std::out_of_range);
  EXPECT_THROW((void)p.slice(2, 5), std::out_of_range);
  EXPECT_THROW((void)p.slice(1, SIZE_MAX), std::out_of_range);
  EXPECT_THROW((void)p.slice(SIZE_MAX, 2), std::out_of_range);
}

TEST_F(Payload, ComparesBytes) {
  EXPECT_EQ(payload::copy_of("abc", 3), payload::copy_of("xabc", 4).slice(1, 3));
  EXPECT_FALSE(payload::copy_of("abc", 3) == payload::copy_of("abd", 3));
  EXPECT_EQ(payload{}, payload::copy_of(nullptr, 0));
}

TEST_F(Payload, FreezesABufferWithoutCopying) {
  auto buffer = payload_buffer::allocate(100);
  auto* place = buffer.data();
  std::memset(place, 'z', 100);
  auto p = std::move(buffer).freeze(10);
  EXPECT_EQ(p.data(), place);
  EXPECT_EQ(text_of(p), "zzzzzzzzzz");
  EXPECT_EQ(buffer.size(), 0u);
}

TEST_F(Payload, RefusesToFreezeMoreThanThereIs) {
  EXPECT_THROW((void)payload_buffer::allocate(4).freeze(5), std::out_of_range);
}

TEST_F(Payload, AlignsEveryBlock) {
  for (std::size_t size : {0ul, 1ul, 63ul, 65ul, 4096ul, 65536ul, 100000ul, 1ul << 20}) {
    auto buffer = payload_buffer::allocate(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % payload_limits::alignment, 0u) << size;
    EXPECT_EQ(buffer.size(), size);
    std::memset(buffer.data(), 1, size);
  }
}

TEST_F(Payload, ReusesLargeBlocksAndLeavesSmallOnesToTheHeap) {
  std::byte* place = nullptr;
  {
    auto buffer = payload_buffer::allocate(1 << 20);
    place = buffer.data();
  }
  EXPECT_EQ(payload_pool_cached(), std::size_t{1} << 20);
  auto again = payload_buffer::allocate((1 << 20) - 100); // same class
  EXPECT_EQ(again.data(), place);
  EXPECT_EQ(payload_pool_cached(), 0u);
  { auto small = payload_buffer::allocate(payload_limits::pool_min_block - 1); }
  EXPECT_EQ(payload_pool_cached(), 0u);
  { auto huge = payload_buffer::allocate(payload_limits::pool_max_block + 1); }
  EXPECT_EQ(payload_pool_cached(), 0u);
}

// Every size gets a block that holds it; one of the next class up would show in the cached bytes.
TEST_F(Payload, PicksAClassThatFits) {
  for (auto size = payload_limits::pool_min_block; size <= payload_limits::pool_max_block; size += size / 7 + 1) {
    { auto buffer = payload_buffer::allocate(size); }
    EXPECT_GE(payload_pool_cached(), size);
    EXPECT_LE(payload_pool_cached(), size + size / 4 + 1);
    payload_pool_trim();
  }
}

TEST_F(Payload, BoundsWhatItCaches) {
  {
    std::vector<payload_buffer> buffers;
    for (std::size_t n = 0; n < payload_limits::pool_max_cached + (64u << 20); n += 32u << 20)
      buffers.push_back(payload_buffer::allocate(32u << 20));
  }
  EXPECT_EQ(payload_pool_cached(), payload_limits::pool_max_cached);
}

TEST_F(Payload, AnswersAnImpossibleSizeWithoutThrowingWhenAskedTo) {
  EXPECT_FALSE(payload_buffer::try_allocate(SIZE_MAX).has_value());
  EXPECT_TRUE(payload_buffer::try_allocate(10).has_value());
}

TEST_F(Payload, MayBeSharedAcrossThreads) {
  for (int round = 0; round < 50; ++round) {
    auto p = payload::copy_of(std::string(100'000, 'q').data(), 100'000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([p] {
        for (std::size_t i = 0; i < 200; ++i) {
          auto part = p.slice(i, 100);
          ASSERT_EQ(part.bytes()[99], std::byte{'q'});
        }
      });
    p = {};
    for (auto& t : threads)
      t.join();
    ASSERT_EQ(payload_pool_cached() % 1024, 0u);
    ASSERT_GT(payload_pool_cached(), 0u);
  }
}

} // namespace
} // namespace troupe
