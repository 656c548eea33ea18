// What the tests and the actors of peer_node say to each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/atom.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/error.hpp>
#include <caf/meta/type_name.hpp>

#include <troupe/actors/payload_inspect.hpp>

namespace troupe::test {

// -- to the actors of peer_node -----------------------------------------------

using add_atom = caf::atom_constant<caf::atom("add")>;         ///< counter: a number is added
using get_atom = caf::atom_constant<caf::atom("get")>;         ///< counter: the sum; sink: a sink_report
using put_atom = caf::atom_constant<caf::atom("put")>;         ///< sink: the next numbered message of a stream
using die_atom = caf::atom_constant<caf::atom("die")>;         ///< mortal: ends in the given way
using spawn_atom = caf::atom_constant<caf::atom("spawn")>;     ///< spawner: a new actor of the given kind
using watch_atom = caf::atom_constant<caf::atom("watch")>;     ///< watcher: monitors, and prints "saw-down REASON"
using link_atom = caf::atom_constant<caf::atom("tie")>;        ///< watcher: links, and prints "saw-exit REASON"
using unlink_atom = caf::atom_constant<caf::atom("untie")>;    ///< watcher: ends the link
using forward_atom = caf::atom_constant<caf::atom("forward")>; ///< forwarder: delegates a text to the given actor
using tell_atom = caf::atom_constant<caf::atom("tell")>;       ///< forwarder: sends the given actor a text
using burst_atom = caf::atom_constant<caf::atom("burst")>;     ///< forwarder: sends the given actor that many numbers

/// How a mortal ends.
enum class ending : std::int32_t { normally = 0, with_error = 1, by_exception = 2, with_its_process = 3 };

/// The error with which a mortal quits.
inline constexpr std::uint8_t mortal_error_code = 77;
inline constexpr caf::atom_value mortal_error_category = caf::atom("mortal");

// -- streams of numbered messages --------------------------------------------------

/// Bytes that only message `n` of stream `stream` has.
inline void fill_numbered(std::byte* data, std::size_t size, std::uint64_t stream, std::uint64_t n) {
  auto value = (stream * 0x9E3779B97F4A7C15ull) ^ (n * 0xC2B2AE3D27D4EB4Full);
  std::size_t at = 0;
  for (; at + sizeof(value) <= size; at += sizeof(value), value = value * 6364136223846793005ull + 1)
    std::memcpy(data + at, &value, sizeof(value));
  for (; at < size; ++at)
    data[at] = static_cast<std::byte>(value >> (8 * (at % 8)));
}

inline bool is_numbered(const std::byte* data, std::size_t size, std::uint64_t stream, std::uint64_t n) {
  std::vector<std::byte> wanted(size);
  fill_numbered(wanted.data(), size, stream, n);
  return size == 0 || std::memcmp(wanted.data(), data, size) == 0;
}

inline payload numbered_payload(std::uint64_t stream, std::uint64_t n, std::size_t size) {
  auto memory = payload_buffer::allocate(size);
  fill_numbered(memory.data(), size, stream, n);
  return std::move(memory).freeze(size);
}

inline std::string numbered_text(std::uint64_t stream, std::uint64_t n, std::size_t size) {
  std::string text(size, '\0');
  fill_numbered(reinterpret_cast<std::byte*>(text.data()), size, stream, n);
  return text;
}

/// Sizes from nothing to `most`, every order of magnitude as often as the next.
class sizes {
public:
  sizes(std::uint32_t seed, std::size_t most) : engine_(seed), most_(most) {}

  std::size_t operator()() {
    std::uniform_int_distribution<int> bits{0, 24};
    auto x = std::uniform_int_distribution<std::size_t>{0, std::size_t{1} << bits(engine_)}(engine_);
    return std::min(x == 1 ? 0 : x, most_);
  }

private:
  std::mt19937 engine_;
  std::size_t most_;
};

/// One message of a stream, in one of the two forms that take different ways.
inline void put(caf::blocking_actor& from, const caf::actor& sink, std::uint64_t stream, std::uint64_t n, std::size_t size) {
  if (n % 2 == 0)
    from.send(sink, put_atom::value, stream, n, numbered_payload(stream, n, size));
  else
    from.send(sink, put_atom::value, stream, n, numbered_text(stream, n, size));
}

/// What a sink has seen. Every stream starts with number 0.
struct sink_report {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t damaged = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, sink_report& x) {
  return f(caf::meta::type_name("test.sink_report"), x.messages, x.bytes, x.out_of_order, x.damaged);
}

// -- two versions of one type: a node knows one of them, under the same name --------------

struct note_v1 {
  std::uint64_t id = 0;
  std::string text;
};

struct note_v2 {
  std::uint64_t id = 0;
  std::string text;
  std::vector<std::string> labels;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, note_v1& x) {
  return f(caf::meta::type_name("test.note"), x.id, x.text);
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, note_v2& x) {
  return f(caf::meta::type_name("test.note"), x.id, x.text, x.labels);
}

inline bool operator==(const note_v1& a, const note_v1& b) {
  return a.id == b.id && a.text == b.text;
}

/// Only the tests' own node knows it.
struct private_note {
  std::uint64_t id = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, private_note& x) {
  return f(caf::meta::type_name("test.private_note"), x.id);
}

} // namespace troupe::test
