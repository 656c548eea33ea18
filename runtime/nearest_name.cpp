#include <troupe/runtime/nearest_name.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace troupe {

namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

} // namespace

std::string nearest_name(const std::string& wrong, const std::vector<std::string>& names) {
  std::string best;
  auto least = std::max<std::size_t>(wrong.size() / 3, 2) + 1;
  for (const auto& name : names)
    if (const auto distance = edit_distance(wrong, name); distance < least) {
      least = distance;
      best = name;
    }
  return best;
}

} // namespace troupe
