// The message element types that a node knows, and those that its peer knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include <caf/error.hpp>
#include <caf/expected.hpp>
#include <caf/fwd.hpp>
#include <caf/rtti_pair.hpp>
#include <caf/type_nr.hpp>

#include <troupe/actors/codec_limits.hpp>

namespace troupe {

class element_codec;

/// Which types the elements of messages may have on this node: CAF's own and everything added to the configuration of
/// the actor system. Fixed when the system starts. The index of a name is the type's id on the wire. The names are the
/// same on every node with the same types, because a name whose encoding depends on more than the name says so:
/// "chat.point#raw24" is a trivial message type of 24 bytes.
class type_table {
public:
  /// Throws std::runtime_error for more than max_type_names types or a name that is longer than max_type_name: that is
  /// a mistake in the configuration. The table must not outlive `system`.
  explicit type_table(const caf::actor_system& system);
  type_table(const type_table&) = delete;
  type_table& operator=(const type_table&) = delete;
  ~type_table();

  // All of the following are @threadsafe: the table never changes.

  /// What the peer is told, in the order of the ids.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// The id of a type; no_type when it is not registered.
  [[nodiscard]] std::uint16_t id_of(caf::rtti_pair type) const noexcept {
    return type.first != 0 ? static_cast<std::uint16_t>(type.first - 1) : id_of_custom(type.second);
  }

  /// How elements of the type with this id travel. `id` must be one of this table.
  [[nodiscard]] const element_codec& at(std::uint16_t id) const noexcept { return *codecs_[id]; }

  /// The id of a name; no_type when this node does not know it.
  [[nodiscard]] std::uint16_t id_of(const std::string& name) const noexcept;

  static constexpr std::uint16_t no_type = 0xffff;

private:
  struct bucket {
    const std::type_info* type = nullptr;
    std::uint16_t id = no_type;
  };

  void add_builtin_types(const caf::actor_system& system);
  void add_custom_types(const caf::actor_system& system);
  void add(std::string name, std::shared_ptr<const element_codec> codec);
  std::uint16_t id_of_custom(const std::type_info* type) const noexcept;

  std::vector<std::string> names_;
  std::vector<std::shared_ptr<const element_codec>> codecs_;
  std::unordered_map<std::string, std::uint16_t> ids_;
  std::unordered_map<std::type_index, std::uint16_t> by_type_;
  std::vector<bucket> buckets_; // the same by address: one probe where by_type_ hashes a name
};

/// What a peer calls its types, matched by name with ours.
class peer_types {
public:
  /// Knows no type: every message with an element fails to decode.
  peer_types() = default;

  /// Checks the names that the peer sent. errc::exceeds_limit for too many or too long names, errc::protocol_error for
  /// an empty or repeated one. Types that this node does not know are no error until a message has one. @threadsafe
  [[nodiscard]] static caf::expected<peer_types> match(const type_table& ours, std::vector<std::string> theirs);

  /// Our id for the peer's id, or type_table::no_type.
  [[nodiscard]] std::uint16_t ours(std::uint16_t theirs) const noexcept {
    return theirs < ids_.size() ? ids_[theirs] : type_table::no_type;
  }

  /// The peer's name for its id; empty when it has none.
  [[nodiscard]] std::string_view name(std::uint16_t theirs) const noexcept;

private:
  std::vector<std::string> names_;
  std::vector<std::uint16_t> ids_;
};

} // namespace troupe
