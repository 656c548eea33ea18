#include <troupe/transport/process_watch.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace troupe::transport;

namespace {

/// A child that sleeps until it is killed.
class sleeper {
public:
  sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      ::alarm(60);
      for (;;)
        ::pause();
    }
  }
  ~sleeper() {
    kill();
    reap();
  }
  [[nodiscard]] process_id id() const {
    // Its start time, read as any observer would: by trying those since our own start.
    auto out = this_process();
    out.pid = static_cast<std::uint64_t>(pid_);
    for (auto limit = out.start_time + 1000000; out.start_time < limit; ++out.start_time)
      if (runs(out) == true)
        return out;
    return {};
  }
  void kill() const {
    if (pid_ > 0) // -1 would mean everyone
      ::kill(pid_, SIGKILL);
  }
  void reap() {
    if (pid_ > 0)
      ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

private:
  pid_t pid_;
};

bool readable_within(int fd, int milliseconds) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, milliseconds) == 1;
}

} // namespace

TEST(process_watch, this_process_runs) {
  auto self = this_process();
  EXPECT_EQ(self.pid, static_cast<std::uint64_t>(::getpid()));
  EXPECT_NE(self.start_time, 0u);
  EXPECT_NE(self.pid_namespace, 0u);
  EXPECT_EQ(runs(self), true);
  EXPECT_EQ(self, this_process());
}

TEST(process_watch, tells_of_a_killed_process_though_nobody_reaped_it) {
  sleeper child;
  auto id = child.id();
  ASSERT_NE(id.pid, 0u);
  auto watch = process_watch::open(id);
  ASSERT_TRUE(watch);
  EXPECT_FALSE(watch->ended());
  EXPECT_FALSE(exiting(id));
  child.kill();
  EXPECT_TRUE(readable_within(watch->fd(), 5000));
  EXPECT_TRUE(watch->ended());
  EXPECT_EQ(runs(id), false) << "a zombie does not run";
  EXPECT_TRUE(exiting(id));
  EXPECT_FALSE(process_watch::open(id));
  child.reap();
  EXPECT_EQ(runs(id), false);
}

TEST(process_watch, does_not_mistake_another_process_of_the_same_pid) {
  auto other = this_process();
  other.start_time -= 1;
  EXPECT_EQ(runs(other), false);
  EXPECT_FALSE(process_watch::open(other));
}

TEST(process_watch, concludes_nothing_about_another_pid_namespace) {
  auto other = this_process();
  other.pid_namespace += 1;
  EXPECT_EQ(runs(other), std::nullopt);
  EXPECT_FALSE(process_watch::open(other));
}

TEST(process_watch, concludes_nothing_from_numbers_that_are_no_process) {
  auto self = this_process();
  for (std::uint64_t pid :
       {std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 32 | self.pid, ~std::uint64_t{0}}) {
    process_id id{pid, self.start_time, self.pid_namespace};
    EXPECT_EQ(runs(id), std::nullopt);
    EXPECT_FALSE(process_watch::open(id));
  }
  EXPECT_EQ(runs({self.pid, 0, self.pid_namespace}), std::nullopt);
}
