#pragma once

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace troupe::bench {

/// The result line of one run, or why there is none.
struct outcome {
  nlohmann::json value; ///< null: the run failed
  std::string why;

  static outcome failed(std::string why) { return {nullptr, std::move(why)}; }
  explicit operator bool() const { return !value.is_null(); }

  /// The number under `key`; 0 when it is missing.
  double number(const char* key) const {
    return value.is_object() && value.contains(key) && value.at(key).is_number() ? value.at(key).get<double>() : 0;
  }
};

} // namespace troupe::bench
