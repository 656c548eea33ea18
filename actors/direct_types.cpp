// CAF's fill_range declares a std::byte without a value and reads into it; the compiler cannot see that a failed read
// ends the loop. It takes the setting from where CAF's header is included.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <troupe/actors/direct_types.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <caf/message.hpp>

#include <troupe/actors/payload_inspect.hpp>
#include <troupe/actors/scalar_formats.hpp>

namespace troupe {

namespace {

struct payload_format {
  static bool write(body_writer& out, const payload& x) { return out.write_payload(x); }
  static bool read(body_reader& in, payload& x) { return in.read_payload(x); }
};

/// CAF's own code for it, which is compiled into its library, loses the errors of the messages.
struct messages_format {
  static bool write(body_writer& out, const std::vector<caf::message>& xs) {
    if (!out.write_size(xs.size()))
      return false;
    for (auto& x : xs)
      if (!out.write_tuple(x))
        return false;
    return true;
  }
  static bool read(body_reader& in, std::vector<caf::message>& xs) {
    std::size_t size = 0;
    if (!in.read_size(size, 1))
      return false;
    xs.resize(size);
    for (auto& x : xs)
      if (!in.read_message(x))
        return false;
    return true;
  }
};

struct registry {
  std::mutex mutex;
  std::unordered_map<std::type_index, direct_type> types;

  registry() {
    add<payload, payload_format>();
    add<std::vector<caf::message>, messages_format>();
    add_bytes<std::byte>();
    add_bytes<signed char>();
    add_bytes<unsigned char>();
  }

  template <class T, class Format>
  void add() {
    types.emplace(typeid(T), direct_type{std::make_shared<direct_codec<T, Format>>(), ""});
  }

  template <class T>
  void add_bytes() {
    add<std::vector<T>, string_format<std::vector<T>>>();
  }
};

registry& known_types() {
  static registry instance;
  return instance;
}

} // namespace

void register_direct_type(std::type_index type, direct_type how) {
  auto& known = known_types();
  std::lock_guard guard{known.mutex};
  known.types.emplace(type, std::move(how));
}

direct_type find_direct_type(std::type_index type) {
  auto& known = known_types();
  std::lock_guard guard{known.mutex};
  auto i = known.types.find(type);
  return i != known.types.end() ? i->second : direct_type{};
}

} // namespace troupe
