#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace chat {

/// Standard input and output as a person uses them. On a terminal there is a prompt, and a line that arrives while
/// something is being typed moves out of its way.
class console {
public:
  console();
  ~console();
  console(const console&) = delete;
  console& operator=(const console&) = delete;

  /// Shows one line. @threadsafe
  void show(const std::string& line);

  /// Calls `typed` with each line that is entered, and `ended` once at the end of the input, both on a thread of the
  /// console's. A line longer than max_text is not handed on; the person is told.
  void listen(const std::string& prompt, std::function<void(std::string)> typed, std::function<void()> ended);

  /// Ends listening: afterwards neither function is called any more. Once, or by the destructor.
  void close();

private:
  void read_lines();
  void show_prompt();

  std::mutex output_;
  const bool terminal_;
  std::string prompt_;
  std::function<void(std::string)> typed_;
  std::function<void()> ended_;
  int wakeup_ = -1;
  std::thread reader_;
};

} // namespace chat
