// What CAF's types must not do on the wire.
#pragma once

#include <cstdint>
#include <string_view>

#include <caf/downstream_msg.hpp>
#include <caf/duration.hpp>
#include <caf/system_messages.hpp>
#include <caf/type_nr.hpp>
#include <caf/upstream_msg.hpp>

namespace troupe {

/// Types that never leave their node: groups live in one process (and reading one from bytes that nobody checked can
/// crash CAF), a timeout is an actor's message to itself, and the messages of CAF's streams trust their sender.
[[nodiscard]] constexpr bool is_local_type(std::uint16_t type_nr) noexcept {
  return type_nr == caf::type_nr<caf::group>::value || type_nr == caf::type_nr<caf::group_down_msg>::value
         || type_nr == caf::type_nr<caf::timeout_msg>::value || type_nr == caf::type_nr<caf::open_stream_msg>::value
         || type_nr == caf::type_nr<caf::upstream_msg>::value || type_nr == caf::type_nr<caf::downstream_msg>::value;
}

/// Whether the name of a message's type, "@<>+type+type...", has one of them, or one with which CAF is careless when it
/// knows only the name: a duration's unit is not checked, errors of a vector's messages are lost.
[[nodiscard]] inline bool names_local_type(std::string_view name) noexcept {
  for (auto type : {"+@group", "+@timeout", "+@open_stream", "+@upstream", "+@downstream", "+@duration",
                    "+std::vector<@message>"})
    if (name.find(type) != std::string_view::npos)
      return true;
  return false;
}

[[nodiscard]] constexpr bool is_time_unit(caf::time_unit x) noexcept {
  return x <= caf::time_unit::nanoseconds;
}

} // namespace troupe
