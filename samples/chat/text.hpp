#pragma once

#include <cstddef>
#include <string>

#include "chat.pb.h"

namespace chat {

/// The longest text a member may say, in bytes.
inline constexpr std::size_t max_text = 4096;

/// The longest name of a member, in bytes.
inline constexpr std::size_t max_name = 32;

/// Whether `name` may be a member's: 1 to max_name letters, digits, '-', '_' or '.'.
bool valid_name(const std::string& name);

/// `text` without anything a terminal would take for a command: control characters become '?'.
std::string printable(const std::string& text);

/// A line as a person reads it: "ada: hello", "* ben has joined".
std::string to_text(const Line& line);

} // namespace chat
