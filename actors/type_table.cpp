#include <troupe/actors/type_table.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_set>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/uniform_type_info_map.hpp>

#include <troupe/actors/builtin_codecs.hpp>
#include <troupe/actors/direct_types.hpp>
#include <troupe/actors/error.hpp>
#include <troupe/actors/fallback_codec.hpp>

namespace troupe {

namespace {

std::size_t hash_of(const std::type_info* type) noexcept {
  // Addresses of objects of the same size and alignment: the upper bits of the product spread them.
  return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(type) * 0x9E3779B97F4A7C15u) >> 32);
}

} // namespace

type_table::type_table(const caf::actor_system& system) {
  add_builtin_types(system);
  add_custom_types(system);
}

type_table::~type_table() {
  // nop
}

void type_table::add_builtin_types(const caf::actor_system& system) {
  // id_of() relies on their order: the id of a builtin type is its number less one.
  for (std::uint16_t nr = 1; nr < caf::type_nrs; ++nr) {
    auto codec = make_builtin_codec(nr);
    if (!codec)
      codec = std::make_shared<fallback_codec>([&types = system.types(), nr] { return types.make_value(nr); });
    add(caf::numbered_type_names[nr - 1], std::move(codec));
  }
}

void type_table::add_custom_types(const caf::actor_system& system) {
  auto& factories = system.config().value_factories_by_name;
  std::vector<std::string> names;
  for (auto& [name, factory] : factories)
    names.push_back(name);
  std::sort(names.begin(), names.end()); // the same order, whatever the order of registration
  std::vector<bucket> custom;
  for (auto& name : names) {
    auto& factory = factories.at(name);
    auto type = factory()->type();
    if (type.first != 0)
      continue; // another name for one of CAF's own types
    auto direct = find_direct_type(*type.second);
    if (!direct.codec)
      direct.codec = std::make_shared<fallback_codec>(factory);
    auto id = static_cast<std::uint16_t>(names_.size());
    add(name + direct.suffix, std::move(direct.codec));
    // Of several names for one type, the first one in the configuration is the one to send.
    if (auto i = system.config().type_names_by_rtti.find(*type.second);
        i != system.config().type_names_by_rtti.end() && i->second == name) {
      by_type_.emplace(*type.second, id);
      custom.push_back({type.second, id});
    }
  }
  buckets_.resize(std::bit_ceil(custom.size() * 2 + 1));
  for (auto& x : custom) {
    auto i = hash_of(x.type);
    while (buckets_[i & (buckets_.size() - 1)].type != nullptr)
      ++i;
    buckets_[i & (buckets_.size() - 1)] = x;
  }
}

void type_table::add(std::string name, std::shared_ptr<const element_codec> codec) {
  if (names_.size() >= max_type_names)
    throw std::runtime_error("more than " + std::to_string(max_type_names)
                             + " message types are registered: each add_message_type counts three times, for T, "
                               "std::vector<T> and stream<T>");
  if (name.empty() || name.size() > max_type_name)
    throw std::runtime_error("the name of a message type has " + std::to_string(name.size())
                             + " bytes, the limit is " + std::to_string(max_type_name) + ": register " + name
                             + " under a shorter name");
  ids_.emplace(name, static_cast<std::uint16_t>(names_.size()));
  names_.push_back(std::move(name));
  codecs_.push_back(std::move(codec));
}

std::uint16_t type_table::id_of_custom(const std::type_info* type) const noexcept {
  if (type == nullptr)
    return no_type;
  for (auto i = hash_of(type);; ++i) {
    auto& x = buckets_[i & (buckets_.size() - 1)];
    if (x.type == type)
      return x.id;
    if (x.type == nullptr)
      break;
  }
  // Each shared library may have a type_info of its own for the same type.
  auto i = by_type_.find(*type);
  return i != by_type_.end() ? i->second : no_type;
}

std::uint16_t type_table::id_of(const std::string& name) const noexcept {
  auto i = ids_.find(name);
  return i != ids_.end() ? i->second : no_type;
}

caf::expected<peer_types> peer_types::match(const type_table& ours, std::vector<std::string> theirs) {
  if (theirs.size() > max_type_names)
    return make_error(errc::exceeds_limit, "the peer announced " + std::to_string(theirs.size())
                                             + " message types: the limit is " + std::to_string(max_type_names));
  peer_types result;
  result.ids_.reserve(theirs.size());
  std::unordered_set<std::string_view> seen;
  for (auto& name : theirs) {
    if (name.size() > max_type_name)
      return make_error(errc::exceeds_limit, "the peer announced a message type with a name of "
                                               + std::to_string(name.size()) + " bytes: the limit is "
                                               + std::to_string(max_type_name));
    if (name.empty())
      return make_error(errc::protocol_error, "the peer announced a message type without a name");
    if (!seen.emplace(name).second)
      return make_error(errc::protocol_error, "the peer announced the message type " + name + " twice");
    result.ids_.push_back(ours.id_of(name));
  }
  result.names_ = std::move(theirs);
  return result;
}

std::string_view peer_types::name(std::uint16_t theirs) const noexcept {
  return theirs < names_.size() ? std::string_view{names_[theirs]} : std::string_view{};
}

} // namespace troupe
