#pragma once

#include <algorithm>

#include <sys/types.h>

namespace troupe::bench {

/// CPU time of all threads of a process so far; 0 if it is gone.
double cpu_seconds(pid_t process);

/// Resident memory of a process, shared memory included; 0 if it is gone.
double resident_mib(pid_t process);

/// Sleeps.
void wait(double seconds);

/// Resident memory over a run, early and late.
struct memory_use {
  double first = 0;
  double early_peak = 0;
  double late_peak = 0;

  void add(double mib, bool early) {
    if (first == 0)
      first = mib;
    auto& peak = early ? early_peak : late_peak;
    peak = std::max(peak, mib);
  }
  double growth() const { return std::max(0.0, late_peak - early_peak); }
};

} // namespace troupe::bench
