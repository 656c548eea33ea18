// A program with bugs, to see whether the sanitizers it was compiled with report them.
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <thread>

namespace {

int use_after_free(int n) {
  auto owner = std::make_unique<int>(n);
  int* stale = owner.get();
  owner.reset();
  return *const_cast<volatile int*>(stale);
}

int leak(int n) {
  // Written through a volatile pointer so that the allocation is not optimised away.
  int* volatile lost = new int(n);
  lost = nullptr;
  return lost == nullptr ? 0 : n;
}

int signed_overflow(int n) {
  volatile int sum = std::numeric_limits<int>::max();
  return sum + n;
}

int data_race(int n) {
  int shared = 0;
  std::thread other{[&] { shared += n; }};
  shared += n;
  other.join();
  return shared;
}

} // namespace

int main(int argc, char** argv) {
  std::string_view bug = argc > 1 ? argv[1] : "";
  int result = 0;
  if (bug == "use_after_free") {
    result = use_after_free(argc);
  } else if (bug == "leak") {
    result = leak(argc);
  } else if (bug == "signed_overflow") {
    result = signed_overflow(argc);
  } else if (bug == "data_race") {
    result = data_race(argc);
  } else {
    std::fprintf(stderr, "usage: planted_bug use_after_free|leak|signed_overflow|data_race\n");
    return 2;
  }
  std::printf("nothing noticed the %s (%d)\n", argv[1], result);
  return 0;
}
