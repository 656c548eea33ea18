#include "bench/driver/process_usage.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

namespace troupe::bench {

double cpu_seconds(pid_t process) {
  // schedstat counts nanoseconds, where stat counts ticks of 10 ms. Threads that ended are left out: an idle node has
  // none.
  double nanoseconds = 0;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    double value = 0;
    if (std::ifstream{thread.path() / "schedstat"} >> value)
      nanoseconds += value;
  }
  return nanoseconds / 1e9;
}

double resident_mib(pid_t process) {
  std::ifstream in{"/proc/" + std::to_string(process) + "/statm"};
  double pages = 0, resident = 0;
  in >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void wait(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

} // namespace troupe::bench
