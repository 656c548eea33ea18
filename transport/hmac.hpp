// Message authentication and randomness, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace troupe::transport {

inline constexpr std::size_t hmac_bytes = 32;
using hmac_digest = std::array<char, hmac_bytes>;

/// HMAC-SHA-256 of `message`; an empty key is one. Throws std::runtime_error when OpenSSL cannot. @threadsafe
[[nodiscard]] hmac_digest hmac_sha256(std::string_view key, std::string_view message);

/// Compares in a time that does not depend on where the two differ. @threadsafe
[[nodiscard]] bool same_digest(const hmac_digest& a, std::string_view b) noexcept;

/// Fills `bytes` from the system's generator for secrets. Throws std::runtime_error when there is none. @threadsafe
void fill_random(std::span<std::byte> bytes);

/// `n` random bytes. @threadsafe
[[nodiscard]] std::string random_bytes(std::size_t n);

} // namespace troupe::transport
