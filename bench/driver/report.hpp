#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace troupe::bench {

enum class contestant { troupe, raw_ucx, caf_io };

/// The runs of one contestant, of which the median counts.
class series {
public:
  void add(double value) { values_.push_back(value); }
  std::optional<double> median() const;
  bool empty() const { return values_.empty(); }

private:
  std::vector<double> values_;
};

/// One line of the table: a metric of a case over a transport.
struct row {
  std::string case_name;
  std::string transport;
  std::string metric;
  std::string unit;
  series troupe;
  series raw_ucx;
  series caf_io;

  series& of(contestant who);
  bool lower_is_better() const { return metric != "throughput"; }
};

/// What must hold, and whether it does.
struct bar {
  std::string text;
  std::optional<double> found; ///< none: it could not be measured
  double limit = 0;
  bool at_most = true;

  bool met() const { return found && (at_most ? *found <= limit : *found >= limit); }
};

/// Everything measured, in the order in which it was added.
class report {
public:
  /// The row of this key, made on first use.
  row& at(const std::string& case_name, const std::string& transport, const std::string& metric,
          const std::string& unit);

  /// Adds a bar that no row tells.
  void add(bar what) { extra_.push_back(std::move(what)); }

  /// Notes a run that gave no figure. Told at the end; the figures of the other runs count.
  void failed(const std::string& what) { failures_.push_back(what); }
  bool complete() const { return failures_.empty(); }

  void print(std::ostream& out) const;

  /// The array [{case, transport, metric, unit, troupe, raw_ucx, caf_io}]; null where nothing was measured.
  nlohmann::json to_json() const;

private:
  std::vector<bar> bars() const;
  const row* find(const std::string& case_name, const std::string& transport, const std::string& metric) const;

  std::vector<row> rows_;
  std::vector<bar> extra_;
  std::vector<std::string> failures_;
};

} // namespace troupe::bench
