#include <troupe/transport/context.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <troupe/transport/shm_space.hpp>
#include <troupe/transport/ucx_options.hpp>
#include <troupe/transport/worker.hpp>

namespace troupe::transport {
namespace {

/// What `f` throws, or "".
template <class F>
std::string thrown_by(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& x) {
    return x.what();
  }
  return "";
}

class variable {
public:
  variable(const char* name, const char* value) : name_{name} {
    if (const char* before = std::getenv(name)) {
      had_ = true;
      before_ = before;
    }
    ::setenv(name, value, 1);
  }
  ~variable() {
    if (had_)
      ::setenv(name_, before_.c_str(), 1);
    else
      ::unsetenv(name_);
  }

private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

/// Runs this program again as `what`, after `prepare`; returns its exit status, or 1000 + the signal that ended it.
template <class F>
int in_a_child(const char* what, F&& prepare) {
  std::fflush(nullptr);
  auto pid = ::fork();
  if (pid == 0) {
    if (!prepare())
      ::_exit(77);
    ::setenv("TROUPE_TEST_CHILD", what, 1);
    ::execl("/proc/self/exe", "context_test", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(Context, OpensPosixSharedMemoryAndNothingElse) {
  context c{lane_transport::shm};
  EXPECT_EQ(c.transports(), std::vector<std::string>{"posix/memory"});
  EXPECT_TRUE(c.notices().empty());
}

TEST(Context, OpensTcpOnItsDeviceOnly) {
  context c{lane_transport::tcp, "lo"};
  EXPECT_EQ(c.transports(), std::vector<std::string>{"tcp/lo"});
  EXPECT_EQ(c.net_device(), "lo");
  EXPECT_TRUE(c.notices().empty());
}

TEST(Context, NamesADeviceThatDoesNotExistAndThoseThatDo) {
  auto text = thrown_by([] { context c{lane_transport::tcp, "nosuch0"}; });
  EXPECT_NE(text.find("nosuch0"), std::string::npos) << text;
  EXPECT_NE(text.find("it has: "), std::string::npos) << text;
}

// Whatever UCX_TLS says, a lane uses its transport, and the difference is reported.
TEST(Context, KeepsItsTransportWhateverTheEnvironmentSays) {
  for (const char* tls : {"posix,self", "sm", "tcp", "rc", "nonsense"}) {
    variable set{"UCX_TLS", tls};
    context shm{lane_transport::shm};
    EXPECT_EQ(shm.transports(), std::vector<std::string>{"posix/memory"}) << tls;
    ASSERT_EQ(shm.notices().size(), 1u);
    EXPECT_NE(shm.notices()[0].find(std::string{"UCX_TLS="} + tls), std::string::npos) << shm.notices()[0];
    context tcp{lane_transport::tcp};
    EXPECT_EQ(tcp.transports(), std::vector<std::string>{"tcp/lo"}) << tls;
    EXPECT_EQ(tcp.notices().size(), 1u);
  }
}

TEST(Context, ReportsThatItsDeviceWinsOverTheEnvironment) {
  variable set{"UCX_NET_DEVICES", "nosuch0"};
  context c{lane_transport::tcp, "lo"};
  EXPECT_EQ(c.transports(), std::vector<std::string>{"tcp/lo"});
  ASSERT_EQ(c.notices().size(), 1u);
  EXPECT_NE(c.notices()[0].find("UCX_NET_DEVICES=nosuch0"), std::string::npos);
  EXPECT_TRUE(context{lane_transport::shm}.notices().empty());
}

TEST(Context, NamesTheSettingThatKeepsSharedMemoryFromReportingFailures) {
  variable set{"UCX_POSIX_ERROR_HANDLING", "n"};
  auto text = thrown_by([] { context c{lane_transport::shm}; });
  EXPECT_NE(text.find("UCX_POSIX_ERROR_HANDLING=y"), std::string::npos) << text;
}

TEST(Context, RefusesSettingsThatWouldAbortTheProcess) {
  variable set{"UCX_SOCKADDR_TLS_PRIORITY", "rdmacm"};
  EXPECT_NE(thrown_by([] { context c{lane_transport::tcp}; }).find("UCX_SOCKADDR_TLS_PRIORITY=tcp"),
            std::string::npos);
}

TEST(Context, LivesAsLongAsItsWorkers) {
  auto c = std::make_shared<context>(lane_transport::shm);
  worker w{c};
  c.reset();
  EXPECT_FALSE(w.address().empty());
}

TEST(UcxOptions, AreInTheEnvironmentOnceAContextExists) {
  context c{lane_transport::shm};
  EXPECT_FALSE(ucx_options().empty());
  for (const auto& option : ucx_options()) {
    ASSERT_NE(std::getenv(option.name), nullptr) << option.name;
    EXPECT_STREQ(std::getenv(option.name), option.value) << option.name;
    EXPECT_STRNE(option.reason, "");
  }
}

TEST(UcxOptions, LeaveAloneWhatTheUserSet) {
  EXPECT_EQ(in_a_child("options", [] { return ::setenv("UCX_TCP_KEEPIDLE", "77s", 1) == 0; }), 0);
}

TEST(ShmSpace, IsEnoughForAWorkerHere) {
  EXPECT_EQ(thrown_by([] { require_shm_space(shm_bytes_per_worker()); }), "");
}

TEST(ShmSpace, SaysHowMuchIsMissingAndWhatToDo) {
  auto text = thrown_by([] { require_shm_space(std::size_t{1} << 60); });
  EXPECT_NE(text.find("/dev/shm"), std::string::npos) << text;
  EXPECT_NE(text.find("KiB free"), std::string::npos) << text;
  EXPECT_NE(text.find("size="), std::string::npos) << text;
}

TEST(ShmSpace, NamesADirectoryThatIsNotThere) {
  auto text = thrown_by([] { require_shm_space(1, "/nosuch/place"); });
  EXPECT_NE(text.find("/nosuch/place"), std::string::npos) << text;
}

// In a mount namespace of the child's own, with a /dev/shm of 1 MiB.
TEST(ShmSpace, TooLittleForAWorkerIsAnErrorNotASignal) {
  auto status = in_a_child("small_shm", [] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
           && ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") == 0;
  });
  if (status == 77)
    GTEST_SKIP() << "needs the right to mount a tmpfs";
  EXPECT_EQ(status, 0);
}

int run_child(const std::string& what) {
  if (what == "options") {
    context c{lane_transport::tcp};
    return std::string{std::getenv("UCX_TCP_KEEPIDLE")} == "77s" ? 0 : 1;
  }
  auto text = thrown_by([] { worker w{std::make_shared<context>(lane_transport::shm)}; });
  return text.find("/dev/shm has") != std::string::npos ? 0 : 1;
}

} // namespace
} // namespace troupe::transport

int main(int argc, char** argv) {
  if (const char* what = std::getenv("TROUPE_TEST_CHILD"))
    return troupe::transport::run_child(what);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
