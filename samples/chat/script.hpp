#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <istream>
#include <string>
#include <vector>

namespace chat {

/// Lines a script remembers between two of its wait-for commands.
inline constexpr std::size_t max_unseen_lines = 100'000;

/// The largest script.
inline constexpr std::size_t max_steps = 100'000;

/// What a member does without a person, one command a line:
///
///   say TEXT          says it and waits until the room has it
///   wait-for TEXT     until a line that contains TEXT is shown, after the line the last wait-for found
///   deadline SECONDS  for each following wait-for; 20 to begin with
///   members           shows who is in the room
///   stay              until the room closes or the program is ended
///   leave             leaves the room; the end of the script does so, too
///
/// Empty lines and lines that begin with # mean nothing.
class script {
public:
  enum class command { say, wait_for, deadline, members, stay, leave };

  struct step {
    command what;
    std::string text;               ///< of say and wait_for
    std::chrono::milliseconds time; ///< of deadline
    std::size_t line;               ///< in the file
  };

  /// Reads a script; `name` is told in errors. Throws troupe::usage_error.
  static script read(std::istream& in, const std::string& name);
  static script read_file(const std::string& path);

  /// What is to be done now: `leave` once the end is reached.
  const step& current() const;
  void advance();

  /// How long the current wait-for may take. Told by `deadline` steps, which advance() takes on its way.
  std::chrono::milliseconds patience() const { return patience_; }

  /// Notes a line that was shown.
  void shown(const std::string& line);

  /// Whether a line the current wait-for waits for was shown; that line and those before are then done with.
  bool found();

private:
  void take_deadlines();

  std::vector<step> steps_;
  std::size_t at_ = 0;
  std::chrono::milliseconds patience_{20'000};
  std::deque<std::string> unseen_;
};

} // namespace chat
