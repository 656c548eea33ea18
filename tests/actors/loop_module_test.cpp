#include <troupe/actors/loop_module.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <caf/defaults.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/pinned.hpp>

#include <tests/support/loops.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

caf::behavior idle(pinned_actor*) {
  return {[](int) {}};
}

TEST(LoopModule, GivesTheSystemAndItsActorsTheNodeId) {
  test::loop_system a, b{[] {
    loop_module_options options;
    options.node = node_id_of("other", 7);
    return options;
  }()};
  EXPECT_EQ(a.system->node(), node_id_of("test", 1));
  EXPECT_EQ(b.system->node(), node_id_of("other", 7));
  EXPECT_NE(a.system->node(), b.system->node());
  auto x = a.loop().spawn_functor(idle);
  EXPECT_EQ(x.node(), a.system->node());
  caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
}

TEST(LoopModule, RefusesOptionsOutOfRange) {
  caf::actor_system_config config;
  loop_module_options options;
  EXPECT_THROW(loop_module::load(config, options), std::invalid_argument);
  options.node = node_id_of("test", 1);
  options.loops = 0;
  EXPECT_THROW(loop_module::load(config, options), std::invalid_argument);
  options.loops = loop_module::max_loops + 1;
  EXPECT_THROW(loop_module::load(config, options), std::invalid_argument);
}

TEST(LoopModule, IsMissedWithAWordWhenItWasNotLoaded) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  EXPECT_THROW(static_cast<void>(loop_module::of(system)), std::logic_error);
}

TEST(LoopModule, UsesTheSharingSchedulerUnlessTheUserChoseOne) {
  auto policy = [](caf::actor_system_config& config) {
    loop_module::load(config, test::options_for_tests());
    return caf::get_or(config, "scheduler.policy", caf::atom("none"));
  };
  caf::actor_system_config untouched, chosen;
  chosen.set("scheduler.policy", caf::atom("stealing"));
  EXPECT_EQ(policy(untouched), caf::atom("sharing"));
  EXPECT_EQ(policy(chosen), caf::atom("stealing"));
}

TEST(LoopModule, TeachesTheSystemToRenderErrors) {
  test::loop_system node;
  EXPECT_EQ(node.system->render(make_error(errc::busy, "no credit")), "troupe(busy: no credit)");
}

TEST(LoopModule, RunsEachLoopOnAThreadOfItsOwn) {
  auto options = test::options_for_tests();
  options.loops = 3;
  test::loop_system node{options};
  ASSERT_EQ(node.module().loops(), 3u);
  std::set<std::thread::id> threads;
  for (std::size_t i = 0; i < 3; ++i)
    threads.insert(test::on_loop(node.loop(i), [] { return std::this_thread::get_id(); }));
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

TEST(LoopModule, RunsBlockingJobsOffTheLoopsAndTheyCanHandTheirResultOver) {
  bool off_loop = false, on_loop = false;
  test::event done;
  test::loop_system node;
  ASSERT_FALSE(node.module().run_blocking([&] {
    off_loop = progress_loop::current() == nullptr;
    node.loop().post([&] {
      on_loop = node.loop().on_thread();
      done.set();
    });
  }));
  ASSERT_TRUE(done.wait());
  EXPECT_TRUE(off_loop);
  EXPECT_TRUE(on_loop);
}

TEST(LoopModule, TheEndOfTheSystemWaitsForVisibleActorsWhileTheLoopsRun) {
  std::atomic<int> sum{0};
  {
    test::loop_system node;
    auto x = node.loop().spawn_functor([&](pinned_actor* self) -> caf::behavior {
      return {[&, self](int x) {
        sum += x;
        if (x == 9)
          self->quit();
      }};
    });
    caf::anon_send(x, 1);
    caf::anon_send(x, 9);
  }
  EXPECT_EQ(sum, 10);
}

TEST(LoopModule, TheEndOfTheSystemTellsActorsToQuitHiddenOnesToo) {
  std::vector<caf::error> reasons;
  std::mutex mutex;
  auto note = [&](const caf::error& why) {
    std::lock_guard guard{mutex};
    reasons.push_back(why);
  };
  {
    test::loop_system node;
    node.loop().spawn_functor<caf::hidden>(idle)->attach_functor(note);
  }
  {
    test::loop_system node;
    node.system->await_actors_before_shutdown(false);
    node.loop().spawn_functor(idle)->attach_functor(note);
  }
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0], caf::exit_reason::user_shutdown);
  EXPECT_EQ(reasons[1], caf::exit_reason::user_shutdown);
}

TEST(LoopModule, AnActorThatTrapsItsExitIsKilledAfterTheQuitLimit) {
  caf::error reason;
  auto options = test::options_for_tests();
  options.quit_limit = 50ms;
  const auto start = std::chrono::steady_clock::now();
  {
    test::loop_system node{options};
    auto x = node.loop().spawn_functor<caf::hidden>([](pinned_actor* self) -> caf::behavior {
      self->set_exit_handler([](caf::exit_msg&) {});
      return {[](int) {}};
    });
    x->attach_functor([&](const caf::error& why) { reason = why; });
    test::on_loop(node.loop(), [] {});
  }
  EXPECT_EQ(reason, caf::exit_reason::kill);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

TEST(LoopModule, TheStopHookRunsFirstWithActorsAndLoopsAlive) {
  bool alive = false;
  {
    test::loop_system node;
    auto& loop = node.loop();
    loop.spawn_functor<caf::hidden>(idle);
    node.module().set_stop_hook([&] {
      alive = loop.actors() == 1 && test::on_loop(loop, [] { return true; })
              && !node.module().run_blocking([] {});
    });
  }
  EXPECT_TRUE(alive);
}

TEST(LoopModule, AHandleOfAnEndedActorMayOutliveTheSystem) {
  caf::actor leftover;
  {
    test::loop_system node;
    leftover = node.loop().spawn_functor<caf::hidden>(idle);
  }
  caf::anon_send(leftover, 1);
  leftover = nullptr;
}

TEST(LoopModule, ABlockingJobThatIsStillRunningAtTheEndIsWaitedFor) {
  std::atomic<bool> posted{false}, done{false};
  {
    test::event started;
    test::loop_system node;
    auto& loop = node.loop();
    ASSERT_FALSE(node.module().run_blocking([&] {
      started.set();
      std::this_thread::sleep_for(20ms);
      posted = loop.post([] {}); // the loops are still there
      done = true;
    }));
    ASSERT_TRUE(started.wait());
  }
  EXPECT_TRUE(done);
  EXPECT_TRUE(posted);
}

} // namespace
} // namespace troupe
