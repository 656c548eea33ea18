#include <troupe/transport/hmac.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <limits>
#include <stdexcept>

namespace troupe::transport {

hmac_digest hmac_sha256(std::string_view key, std::string_view message) {
  if (key.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw std::runtime_error("HMAC-SHA-256: the key is larger than OpenSSL takes");
  hmac_digest out;
  unsigned int size = 0;
  // OpenSSL reads a null key as "the one of last time".
  const auto* data = key.empty() ? "" : key.data();
  if (HMAC(EVP_sha256(), data, static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
           message.size(), reinterpret_cast<unsigned char*>(out.data()), &size) == nullptr ||
      size != out.size())
    throw std::runtime_error("HMAC-SHA-256 is not available from OpenSSL: check its configuration (openssl.cnf)");
  return out;
}

bool same_digest(const hmac_digest& a, std::string_view b) noexcept {
  return b.size() == a.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void fill_random(std::span<std::byte> bytes) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("OpenSSL has no random bytes: check that the system's generator works");
}

std::string random_bytes(std::size_t n) {
  std::string out(n, '\0');
  fill_random(std::as_writable_bytes(std::span{out}));
  return out;
}

} // namespace troupe::transport
