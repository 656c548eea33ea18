#include <troupe/transport/hmac.hpp>

#include <gtest/gtest.h>

using namespace troupe::transport;

namespace {

std::string hex(const hmac_digest& digest) {
  std::string out;
  for (unsigned char byte : digest)
    for (auto half : {byte >> 4, byte & 15})
      out.push_back("0123456789abcdef"[half]);
  return out;
}

} // namespace

TEST(hmac, agrees_with_the_test_vectors_of_rfc_4231) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(hmac, takes_an_empty_key_and_does_not_mistake_it_for_the_last_one) {
  static_cast<void>(hmac_sha256("key", "message"));
  EXPECT_EQ(hex(hmac_sha256("", "")), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_EQ(hex(hmac_sha256({}, {})), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(hmac, compares_whole_digests_only) {
  auto digest = hmac_sha256("key", "message");
  std::string same{digest.data(), digest.size()};
  EXPECT_TRUE(same_digest(digest, same));
  EXPECT_FALSE(same_digest(digest, same.substr(1)));
  EXPECT_FALSE(same_digest(digest, ""));
  same.back() ^= 1;
  EXPECT_FALSE(same_digest(digest, same));
}

TEST(hmac, random_bytes_do_not_repeat) { EXPECT_NE(random_bytes(16), random_bytes(16)); }
