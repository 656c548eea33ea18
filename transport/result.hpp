// A value or a failure, for the layers below CAF (actors/ and runtime/ use caf::expected).
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <troupe/transport/errc.hpp>

namespace troupe {

/// Why something failed: the code to branch on, and a text that names what failed, the cause or limit and what to do.
struct failure {
  errc code = errc::internal;
  std::string text;
};

/// Holds a `T` or a failure. Check it before you take the value; value() on a failure throws std::logic_error.
template <class T>
class [[nodiscard]] result {
public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(failure why) : state_(std::in_place_index<1>, std::move(why)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }

  T& value() & {
    check();
    return std::get<0>(state_);
  }
  T&& value() && {
    check();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  T* operator->() { return &value(); }

  const failure& error() const { return std::get<1>(state_); }

private:
  void check() const {
    if (state_.index() != 0)
      throw std::logic_error("result holds a failure: " + std::get<1>(state_).text);
  }

  std::variant<T, failure> state_;
};

} // namespace troupe
