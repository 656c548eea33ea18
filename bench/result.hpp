#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// How a peer tells the driver what it found: one JSON object per line on standard output, nothing else.

namespace troupe::bench {

/// Prints `object` as one line and flushes.
inline void print_result(const nlohmann::json& object) { std::cout << object.dump() << std::endl; }

/// The value below which `rank` per cent of `values` lie (nearest rank); 0 when there are none. Reorders `values`.
inline double percentile(std::vector<double>& values, double rank) {
  if (values.empty())
    return 0;
  const auto last = static_cast<double>(values.size()) - 1;
  const auto index = static_cast<std::size_t>(std::clamp(std::ceil(rank / 100 * last), 0.0, last));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

/// {"p50": ..., "p99": ..., "samples": ...} of `values`.
inline nlohmann::json percentiles(std::vector<double> values) {
  return {{"samples", values.size()}, {"p50", percentile(values, 50)}, {"p99", percentile(values, 99)}};
}

} // namespace troupe::bench
