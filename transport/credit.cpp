#include <troupe/transport/credit.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe::transport {

namespace {

constexpr unsigned byte_bits = 40;
static_assert(max_credit_bytes == (std::uint64_t{1} << byte_bits) - 1);
static_assert(max_credit_messages == ~std::uint64_t{0} >> byte_bits);

constexpr std::uint64_t pack(credit_amount x) noexcept {
  return x.messages << byte_bits | x.bytes;
}

constexpr credit_amount unpack(std::uint64_t word) noexcept {
  return {word >> byte_bits, word & max_credit_bytes};
}

void check_one(const char* what, std::uint64_t limit, std::uint64_t reserve, std::uint64_t ceiling) {
  if (limit == 0 || limit > ceiling || reserve > ceiling - limit)
    throw std::invalid_argument("credit: the limit is " + std::to_string(limit) + " " + what + " and the reserve "
                                + std::to_string(reserve) + ", choose a limit above 0 and a sum up to "
                                + std::to_string(ceiling));
}

} // namespace

void credit_limits::check() const {
  check_one("messages", messages, reserve_messages, max_credit_messages);
  check_one("bytes", bytes, reserve_bytes, max_credit_bytes);
}

credit_account::credit_account(credit_limits limits) : limits_(limits) {
  limits_.check();
}

bool credit_account::take(std::uint64_t bytes) noexcept {
  return take(bytes, limits_.messages, limits_.bytes);
}

bool credit_account::take_reserved(std::uint64_t bytes) noexcept {
  return take(bytes, limits_.messages + limits_.reserve_messages, limits_.bytes + limits_.reserve_bytes);
}

bool credit_account::take(std::uint64_t bytes, std::uint64_t max_messages, std::uint64_t max_bytes) noexcept {
  if (bytes > max_credit_bytes)
    return false;
  auto word = used_.load();
  for (;;) {
    auto out = unpack(word);
    if (out.messages >= max_messages)
      return false;
    if (out.bytes != 0 && (out.bytes > max_bytes || bytes > max_bytes - out.bytes))
      return false;
    if (used_.compare_exchange_weak(word, pack({out.messages + 1, out.bytes + bytes})))
      return true;
  }
}

bool credit_account::give_back(std::uint64_t messages, std::uint64_t bytes) noexcept {
  auto word = used_.load();
  for (;;) {
    const auto out = unpack(word);
    credit_amount left{out.messages - std::min(messages, out.messages), out.bytes - std::min(bytes, out.bytes)};
    auto plausible = messages <= out.messages && bytes <= out.bytes;
    if (left.messages == 0 && left.bytes != 0) {
      // No message is out, so no byte is: what a peer fails to return would be lost for ever.
      left.bytes = 0;
      plausible = false;
    }
    if (used_.compare_exchange_weak(word, pack(left)))
      return plausible;
  }
}

bool credit_account::low() const noexcept {
  const auto out = used();
  return out.messages * 2 < limits_.messages && out.bytes * 2 < limits_.bytes;
}

credit_amount credit_account::used() const noexcept {
  return unpack(used_.load());
}

} // namespace troupe::transport
