#include "script.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>

#include <troupe/runtime/config.hpp>

namespace chat {

namespace {

struct grammar {
  const char* word;
  script::command what;
  bool argument;
};

constexpr std::array commands{
    grammar{"say", script::command::say, true},           grammar{"wait-for", script::command::wait_for, true},
    grammar{"deadline", script::command::deadline, true}, grammar{"members", script::command::members, false},
    grammar{"stay", script::command::stay, false},        grammar{"leave", script::command::leave, false},
};

// The longest deadline: a day.
constexpr double max_seconds = 86'400;

std::optional<std::chrono::milliseconds> seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) || value > max_seconds)
    return std::nullopt;
  return std::chrono::milliseconds{static_cast<std::int64_t>(value * 1000)};
}

const script::step the_end{script::command::leave, {}, {}, 0};

} // namespace

script script::read(std::istream& in, const std::string& name) {
  script result;
  std::string text;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    const auto complain = [&](const std::string& why) {
      return troupe::usage_error(name + ":" + std::to_string(line) + ": " + why);
    };
    if (text.empty() || text.front() == '#')
      continue;
    const auto space = text.find(' ');
    const auto word = text.substr(0, space);
    const auto argument = space == std::string::npos ? std::string{} : text.substr(space + 1);
    const grammar* known = nullptr;
    for (const auto& candidate : commands)
      if (word == candidate.word)
        known = &candidate;
    if (known == nullptr)
      throw complain("there is no command '" + word + "'; use say, wait-for, deadline, members, stay or leave");
    if (known->argument == argument.empty())
      throw complain("'" + word + (known->argument ? "' needs something after it" : "' takes nothing after it"));
    step next{known->what, argument, {}, line};
    if (known->what == command::deadline) {
      const auto time = seconds(argument);
      if (!time)
        throw complain("'" + argument + "' is no number of seconds from 0.001 to 86400");
      next.time = *time;
    }
    if (result.steps_.size() == max_steps)
      throw complain("a script has at most " + std::to_string(max_steps) + " commands; make several of it");
    result.steps_.push_back(std::move(next));
  }
  result.take_deadlines();
  return result;
}

script script::read_file(const std::string& path) {
  std::ifstream in{path};
  if (!in)
    throw troupe::usage_error("cannot read the script " + path + ": name a file that exists and may be read");
  return read(in, path);
}

const script::step& script::current() const { return at_ < steps_.size() ? steps_[at_] : the_end; }

void script::advance() {
  if (at_ < steps_.size())
    ++at_;
  take_deadlines();
}

void script::take_deadlines() {
  while (at_ < steps_.size() && steps_[at_].what == command::deadline)
    patience_ = steps_[at_++].time;
}

void script::shown(const std::string& line) {
  unseen_.push_back(line);
  if (unseen_.size() > max_unseen_lines)
    unseen_.pop_front();
}

bool script::found() {
  for (std::size_t index = 0; index < unseen_.size(); ++index)
    if (unseen_[index].find(current().text) != std::string::npos) {
      unseen_.erase(unseen_.begin(), unseen_.begin() + static_cast<std::ptrdiff_t>(index) + 1);
      return true;
    }
  return false;
}

} // namespace chat
