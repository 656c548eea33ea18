#include "text.hpp"

#include <algorithm>

namespace chat {

bool valid_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= max_name && std::ranges::all_of(name, allowed);
}

std::string printable(const std::string& text) {
  std::string result = text;
  for (std::size_t at = 0; at < result.size(); ++at) {
    const auto byte = static_cast<unsigned char>(result[at]);
    // U+0080 to U+009F, two bytes in UTF-8, are control characters as well.
    const bool long_control =
        byte == 0xc2 && at + 1 < result.size() && (static_cast<unsigned char>(result[at + 1]) & 0xe0) == 0x80;
    if (byte < 0x20 || byte == 0x7f)
      result[at] = '?';
    else if (long_control)
      result.replace(at, 2, "?");
  }
  return result;
}

std::string to_text(const Line& line) {
  const auto author = printable(line.author());
  switch (line.kind()) {
  case Line::SAID:
    return author + ": " + printable(line.text());
  case Line::JOINED:
    return "* " + author + " has joined";
  case Line::LEFT:
    return "* " + author + " has left";
  case Line::LOST:
    return "* " + author + "'s connection was lost";
  default: // proto3 hands unknown values through
    return "* " + author + " did something this program does not know";
  }
}

} // namespace chat
