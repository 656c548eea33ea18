#include <troupe/actors/builtin_codecs.hpp>

#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/atom.hpp>
#include <caf/duration.hpp>
#include <caf/error.hpp>
#include <caf/message.hpp>
#include <caf/system_messages.hpp>
#include <caf/timespan.hpp>
#include <caf/timestamp.hpp>
#include <caf/unit.hpp>

#include <troupe/actors/local_types.hpp>
#include <troupe/actors/scalar_formats.hpp>

namespace troupe {

namespace {

struct unit_format {
  static bool write(body_writer&, const caf::unit_t&) { return true; }
  static bool read(body_reader&, caf::unit_t&) { return true; }
};

/// caf::actor, actor_addr, strong and weak pointers: all name an actor.
struct handle_format {
  template <class T>
  static bool write(body_writer& out, const T& x) {
    return out.write_handle(caf::actor_cast<caf::actor_control_block*>(x));
  }
  template <class T>
  static bool read(body_reader& in, T& x) {
    caf::strong_actor_ptr ptr;
    if (!in.read_handle(ptr))
      return false;
    x = caf::actor_cast<T>(std::move(ptr));
    return true;
  }
};

struct weak_ptr_format {
  static bool write(body_writer& out, const caf::weak_actor_ptr& x) { return out.write_handle(x.get()); }
  static bool read(body_reader& in, caf::weak_actor_ptr& x) {
    caf::strong_actor_ptr ptr;
    if (!in.read_handle(ptr))
      return false;
    x.reset(ptr.get());
    return true;
  }
};

/// The unit, which CAF trusts when it prints one, then the count.
struct duration_format {
  static bool write(body_writer& out, const caf::duration& x) { return out.write(x.unit) && out.write(x.count); }
  static bool read(body_reader& in, caf::duration& x) {
    if (!in.read(x.unit) || !in.read(x.count))
      return false;
    return is_time_unit(x.unit) || in.malformed("a duration in a unit that does not exist");
  }
};

struct error_format {
  static bool write(body_writer& out, const caf::error& x) { return out.write_error(x); }
  static bool read(body_reader& in, caf::error& x) { return in.read_error(x); }
};

struct message_format {
  static bool write(body_writer& out, const caf::message& x) { return out.write_tuple(x); }
  static bool read(body_reader& in, caf::message& x) { return in.read_message(x); }
};

/// exit_msg and down_msg: who ended, and why.
struct end_format {
  template <class T>
  static bool write(body_writer& out, const T& x) {
    return handle_format::write(out, x.source) && out.write_error(x.reason);
  }
  template <class T>
  static bool read(body_reader& in, T& x) {
    return handle_format::read(in, x.source) && in.read_error(x.reason);
  }
};

/// A u32 number of elements, then each in its own format. `LeastSize`: the fewest bytes one can have.
template <class Format, std::size_t LeastSize>
struct sequence_format {
  template <class T>
  static bool write(body_writer& out, const std::vector<T>& xs) {
    if (!out.write_size(xs.size()))
      return false;
    for (auto& x : xs)
      if (!Format::write(out, x))
        return false;
    return true;
  }
  template <class T>
  static bool read(body_reader& in, std::vector<T>& xs) {
    std::size_t size = 0;
    if (!in.read_size(size, LeastSize))
      return false;
    xs.resize(size);
    for (auto& x : xs)
      if (!Format::read(in, x))
        return false;
    return true;
  }
};

/// For the types that do not travel.
class local_codec final : public element_codec {
public:
  explicit local_codec(std::uint16_t type_nr) : element_codec({type_nr, nullptr}, 0, 1) {}

  bool encode(const caf::type_erased_tuple&, std::size_t, body_writer& out) const override {
    return out.fail(errc::unsupported, "a type that never leaves its node");
  }
  void* decode(void*, body_reader& in) const override {
    in.malformed("a type that never leaves its node");
    return nullptr;
  }

  // Never reached: no element was ever decoded.
  void* copy(void* place, const void*) const override { return place; }
  void destroy(void*) const noexcept override {}
  std::string stringify(const void*) const override { return {}; }
  caf::type_erased_value_ptr value_of(const void*) const override { return nullptr; }
  caf::error save(const void*, caf::serializer&) const override { return make_error(errc::unsupported); }
  caf::error load(void*, caf::deserializer&) const override { return make_error(errc::unsupported); }
};

template <class T, class Format>
struct entry {
  static constexpr auto type_nr = caf::type_nr<T>::value;
  static_assert(type_nr != 0);
  static std::shared_ptr<const element_codec> make() { return std::make_shared<direct_codec<T, Format>>(); }
};

template <class... Entries>
std::shared_ptr<const element_codec> make_one_of(std::uint16_t type_nr) {
  std::shared_ptr<const element_codec> result;
  ((type_nr == Entries::type_nr && (result = Entries::make(), true)) || ...);
  return result;
}

} // namespace

std::shared_ptr<const element_codec> make_builtin_codec(std::uint16_t type_nr) {
  if (is_local_type(type_nr))
    return std::make_shared<local_codec>(type_nr);
  return make_one_of<
    entry<std::int8_t, scalar_format>, entry<std::uint8_t, scalar_format>, entry<std::int16_t, scalar_format>,
    entry<std::uint16_t, scalar_format>, entry<std::int32_t, scalar_format>, entry<std::uint32_t, scalar_format>,
    entry<std::int64_t, scalar_format>, entry<std::uint64_t, scalar_format>, entry<float, scalar_format>,
    entry<double, scalar_format>, entry<long double, long_double_format>, entry<bool, bool_format>,
    entry<caf::atom_value, scalar_format>, entry<caf::timespan, scalar_format>, entry<caf::timestamp, scalar_format>,
    entry<caf::duration, duration_format>, entry<caf::unit_t, unit_format>,
    entry<std::string, string_format<std::string>>,
    entry<std::u16string, string_format<std::u16string>>, entry<std::u32string, string_format<std::u32string>>,
    entry<std::vector<char>, string_format<std::vector<char>>>,
    entry<std::vector<std::string>, sequence_format<string_format<std::string>, 4>>,
    entry<caf::actor, handle_format>, entry<caf::actor_addr, handle_format>,
    entry<caf::strong_actor_ptr, handle_format>, entry<caf::weak_actor_ptr, weak_ptr_format>,
    entry<std::vector<caf::actor>, sequence_format<handle_format, 1>>,
    entry<std::vector<caf::actor_addr>, sequence_format<handle_format, 1>>, entry<caf::error, error_format>,
    entry<caf::message, message_format>, entry<caf::exit_msg, end_format>, entry<caf::down_msg, end_format>>(type_nr);
}

} // namespace troupe
