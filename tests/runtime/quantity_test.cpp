#include <troupe/runtime/quantity.hpp>

#include <stdexcept>

#include <gtest/gtest.h>

#include <troupe/runtime/host_port.hpp>

using namespace std::chrono_literals;

namespace troupe {
namespace {

TEST(Quantity, DurationsTakeEveryUnit) {
  EXPECT_EQ(parse_duration("7ns"), 7ns);
  EXPECT_EQ(parse_duration("50us"), 50us);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("4s"), 4s);
  EXPECT_EQ(parse_duration("5min"), 5min);
  EXPECT_EQ(parse_duration("24h"), 24h);
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_duration("0s"), 0ns);
}

TEST(Quantity, WhatIsNoDurationIsRefusedWithAnExample) {
  for (const auto* text : {"", " ", "s", "4", "-4s", "+4s", "4 parsecs", "4.5s", "4S", "0x10s", "0b1s", "010o", "4s4s",
                           "1e3s", "10000000h", "99999999999999999999s", "4s\n4s", "nan"}) {
    try {
      (void)parse_duration(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const std::invalid_argument& why) {
      EXPECT_NE(std::string{why.what()}.find("such as 4s"), std::string::npos) << why.what();
    }
  }
}

TEST(Quantity, SizesTakeEveryUnitOrNone) {
  EXPECT_EQ(parse_size("1"), 1u);
  EXPECT_EQ(parse_size("12B"), 12u);
  EXPECT_EQ(parse_size("64KiB"), 64u << 10);
  EXPECT_EQ(parse_size("64MiB"), 64u << 20);
  EXPECT_EQ(parse_size("1GiB"), 1u << 30);
  EXPECT_EQ(parse_size("2TiB"), std::uint64_t{2} << 40);
}

TEST(Quantity, WhatIsNoSizeIsRefused) {
  for (const auto* text : {"", "MiB", "64MB", "64K", "64kib", "-1", "1.5GiB", "0x10", "16777216TiB", "1 000", "64MiB "})
    EXPECT_THROW((void)parse_size(text), std::invalid_argument) << text;
}

TEST(Quantity, CountsAreWholeNumbers) {
  EXPECT_EQ(parse_count("8192"), 8192u);
  for (const auto* text : {"", "-1", "+1", "1.0", "0x1", "8k", " 1", "18446744073709551616"})
    EXPECT_THROW((void)parse_count(text), std::invalid_argument) << text;
}

TEST(Quantity, WhatIsWrittenIsReadBack) {
  for (const std::chrono::nanoseconds value :
       std::initializer_list<std::chrono::nanoseconds>{0ns, 1ns, 1500ns, 50us, 500ms, 1500ms, 4s, 90s, 5min, 1h, 24h})
    EXPECT_EQ(parse_duration(format_duration(value)), value) << format_duration(value);
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  for (const std::uint64_t value : {0ull, 1ull, 1023ull, 65536ull, 1ull << 30, (1ull << 40) + 1, ~0ull})
    EXPECT_EQ(parse_size(format_size(value)), value) << format_size(value);
  EXPECT_EQ(format_size(64u << 20), "64MiB");
}

TEST(HostPort, TakesNamesAndNumbersAndFillsInTheHost) {
  EXPECT_EQ(parse_host_port("example.org:7000"), (host_port{"example.org", 7000}));
  EXPECT_EQ(parse_host_port("[::1]:7000"), (host_port{"::1", 7000}));
  EXPECT_EQ(parse_host_port(":0"), (host_port{"127.0.0.1", 0}));
  EXPECT_EQ(parse_host_port("65535"), (host_port{"127.0.0.1", 65535}));
}

TEST(HostPort, RefusesWhatIsNoAddress) {
  for (const auto* text : {"", ":", "host", "host:", "host:65536", "host:-1", "host:7 ", "::1:7000", "[]:1", "[::1]",
                           "a b:1", "http://host:1", "host:0x10", "[host:1"})
    EXPECT_THROW((void)parse_host_port(text), std::invalid_argument) << text;
}

TEST(HostPort, WhatIsWrittenIsReadBack) {
  for (const auto* text : {"127.0.0.1:7000", "[::1]:7000", "localhost:1"})
    EXPECT_EQ(to_string(parse_host_port(text)), text);
}

} // namespace
} // namespace troupe
