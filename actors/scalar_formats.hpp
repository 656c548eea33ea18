// How single values and strings are written: by direct codecs and by the serializers of structs alike.
#pragma once

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <troupe/actors/body_reader.hpp>
#include <troupe/actors/body_writer.hpp>

namespace troupe {

/// The bytes of a number, an enum, a time.
struct scalar_format {
  template <class T>
  static bool write(body_writer& out, const T& x) {
    return out.write(x);
  }
  template <class T>
  static bool read(body_reader& in, T& x) {
    return in.read(x);
  }
};

/// 0 or 1.
struct bool_format {
  static bool write(body_writer& out, bool x) { return out.write(static_cast<std::uint8_t>(x ? 1 : 0)); }
  static bool read(body_reader& in, bool& x) {
    std::uint8_t byte = 0;
    if (!in.read(byte))
      return false;
    x = byte != 0;
    return byte <= 1 || in.malformed("a bool that is neither true nor false");
  }
};

/// The bits of the mantissa, since they tell the machine's format, then the value without its padding.
struct long_double_format {
  static constexpr std::uint8_t mantissa = LDBL_MANT_DIG;
  static constexpr std::size_t bytes = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

  static bool write(body_writer& out, const long double& x) {
    out.write(mantissa);
    return out.write(&x, bytes);
  }
  static bool read(body_reader& in, long double& x) {
    std::uint8_t theirs = 0;
    if (!in.read(theirs))
      return false;
    if (theirs != mantissa)
      return in.malformed("a long double of a machine with another format");
    auto data = in.take(bytes);
    if (!in.ok())
      return false;
    x = 0;
    std::memcpy(&x, data.data(), bytes);
    return true;
  }
};

/// A u32 number of elements, then their bytes. For strings and vectors of numbers.
template <class T>
struct string_format {
  using element = typename T::value_type;
  static_assert(std::is_trivially_copyable_v<element>);

  static bool write(body_writer& out, const T& xs) {
    return out.write_size(xs.size()) && out.write(xs.data(), xs.size() * sizeof(element));
  }
  static bool read(body_reader& in, T& xs) {
    std::size_t size = 0;
    if (!in.read_size(size, sizeof(element)))
      return false;
    auto data = in.take(size * sizeof(element));
    if constexpr (sizeof(element) == 1) {
      auto* first = reinterpret_cast<const element*>(data.data());
      xs.assign(first, first + size);
    } else {
      xs.resize(size);
      if (size != 0)
        std::memcpy(xs.data(), data.data(), data.size());
    }
    return in.ok();
  }
};

} // namespace troupe
