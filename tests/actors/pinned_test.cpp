#include <troupe/actors/pinned.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <caf/after.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>

#include <tests/support/loops.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::on_loop;

using add_atom = caf::atom_constant<caf::atom("add")>;
using sum_atom = caf::atom_constant<caf::atom("sum")>;
using throw_atom = caf::atom_constant<caf::atom("throw")>;
using quit_atom = caf::atom_constant<caf::atom("quit")>;
using later_atom = caf::atom_constant<caf::atom("later")>;
using mute_atom = caf::atom_constant<caf::atom("mute")>;

/// Counts what happens on another thread than the one loop of these tests.
std::atomic<int> strays{0};
std::atomic<progress_loop*> home{nullptr};

void expect_home() {
  if (progress_loop::current() != home.load())
    ++strays;
}

std::atomic<int> live_states{0};

/// The state of the actors here; its death on a stranger's thread is what must never happen.
struct counter_state {
  counter_state() { ++live_states; }
  ~counter_state() {
    --live_states;
    expect_home();
  }
  static inline const char* name = "counter";
  int sum = 0;
};

using counter_actor = caf::stateful_actor<counter_state, pinned_actor>;

caf::behavior counter(counter_actor* self) {
  expect_home();
  return {
    [=](add_atom, int x) {
      expect_home();
      self->state.sum += x;
    },
    [=](sum_atom) {
      expect_home();
      return self->state.sum;
    },
    [=](throw_atom) -> int { throw std::runtime_error("told to"); },
    [=](quit_atom) {
      self->quit(caf::exit_reason::user_shutdown);
      return self->state.sum;
    },
    [=](mute_atom) { return self->make_response_promise<int>(); },
    [=](later_atom) { // answers when a delayed message and a request to itself came back
      auto promise = self->make_response_promise<int>();
      self->delayed_send(self, 5ms, add_atom::value, 1000);
      self->request(caf::actor{self}, caf::infinite, sum_atom::value).then([=](int sum) mutable {
        expect_home();
        promise.deliver(sum);
      });
      return promise;
    },
  };
}

class Pinned : public testing::Test {
protected:
  Pinned() {
    strays = 0;
    live_states = 0;
    home = &loop_;
  }

  ~Pinned() override {
    loop_.quit_actors(caf::exit_reason::user_shutdown);
    EXPECT_TRUE(loop_.await_actors(test::deadline)) << loop_.actors();
    EXPECT_EQ(strays, 0);
    EXPECT_EQ(live_states, 0);
  }

  /// Asks `who` for an int; -1 and error_ if that failed.
  template <class... Ts>
  int ask(const caf::actor& who, Ts... xs) {
    int result = -1;
    error_ = {};
    self_->request(who, std::chrono::duration_cast<std::chrono::seconds>(test::deadline), xs...)
      .receive([&](int x) { result = x; }, [&](caf::error& why) { error_ = std::move(why); });
    return result;
  }

  /// Waits for the down message of `who`, monitored before, and returns its reason.
  caf::error await_down(const caf::actor& who) {
    caf::error result;
    self_->receive(
      [&](caf::down_msg& down) {
        EXPECT_EQ(down.source, who.address());
        result = down.reason;
      },
      caf::after(test::deadline) >> [] { ADD_FAILURE() << "no down message"; });
    return result;
  }

  /// Whether a further message is in the mailbox now.
  bool has_mail() {
    bool result = false;
    self_->receive([&](caf::down_msg&) { result = true; }, caf::after(std::chrono::milliseconds{20}) >> [] {});
    return result;
  }

  test::loop_system node_;
  progress_loop& loop_ = node_.loop();
  caf::scoped_actor self_{*node_.system};
  caf::error error_;
};

// -- messages -----------------------------------------------------------------------

TEST_F(Pinned, HandlesMessagesAndRequestsOfOtherThreadsOnItsLoop) {
  auto x = loop_.spawn_functor(counter);
  for (int i = 0; i < 1000; ++i)
    self_->send(x, add_atom::value, 1);
  EXPECT_EQ(ask(x, sum_atom::value), 1000);
}

TEST_F(Pinned, DelayedMessagesAndResponsesArriveOnItsLoop) {
  auto x = loop_.spawn_functor(counter);
  EXPECT_EQ(ask(x, later_atom::value), 0);
  EXPECT_TRUE(eventually([&] { return ask(x, sum_atom::value) == 1000; }));
}

TEST_F(Pinned, AReceiveTimeoutFiresOnItsLoop) {
  std::atomic<bool> fired{false};
  auto x = loop_.spawn_functor([&](pinned_actor* self) -> caf::behavior {
    return {[](int) {}, caf::after(5ms) >> [=, &fired] {
              expect_home();
              fired = true;
              self->quit();
            }};
  });
  self_->wait_for(x);
  EXPECT_TRUE(fired);
}

TEST_F(Pinned, ARequestTimeoutFiresOnItsLoop) {
  auto mute = loop_.spawn_functor(counter);
  caf::error got;
  auto x = loop_.spawn_functor([&](pinned_actor* self) {
    self->request(mute, 10ms, mute_atom::value).then([](int) { ADD_FAILURE(); }, [&, self](caf::error& why) {
      expect_home();
      got = why;
      self->quit();
    });
  });
  self_->wait_for(x);
  EXPECT_EQ(got, caf::sec::request_timeout);
}

TEST_F(Pinned, TypedActorsBehaveAsDynamicOnesDo) {
  using adder = caf::typed_actor<caf::replies_to<int, int>::with<int>>;
  auto x = loop_.spawn_functor([](typed_pinned_actor<caf::replies_to<int, int>::with<int>>*) -> adder::behavior_type {
    return {[](int a, int b) {
      expect_home();
      return a + b;
    }};
  });
  static_assert(std::is_same_v<decltype(x), adder>);
  int sum = 0;
  self_->request(x, caf::infinite, 3, 4).receive([&](int s) { sum = s; }, [](caf::error&) { ADD_FAILURE(); });
  EXPECT_EQ(sum, 7);
}

TEST_F(Pinned, ClassBasedActorsGetTheirArgumentsAndKnowTheirLoop) {
  struct impl : pinned_actor {
    impl(caf::actor_config& config, int x) : pinned_actor(config), x(x) {}
    caf::behavior make_behavior() override {
      expect_home();
      return {[this](sum_atom) { return &loop() == home.load() ? x : -2; }};
    }
    int x;
  };
  auto x = loop_.spawn<impl>(7);
  EXPECT_EQ(ask(x, sum_atom::value), 7);
}

TEST_F(Pinned, EightThreadsAtOnceGetEachOfTheirMessagesHandledInOrderOnTheLoop) {
  constexpr int threads = 8, each = 5000;
  std::array<int, threads> next{};
  std::atomic<int> disorder{0}, handled{0};
  auto x = loop_.spawn_functor([&](pinned_actor*) -> caf::behavior {
    return {[&](int thread, int n) {
      expect_home();
      disorder += next[static_cast<std::size_t>(thread)]++ != n;
      ++handled;
    }};
  });
  {
    std::latch start{threads};
    std::vector<std::jthread> senders;
    for (int t = 0; t < threads; ++t)
      senders.emplace_back([&, t] {
        start.arrive_and_wait();
        for (int i = 0; i < each; ++i)
          caf::anon_send(x, t, i);
      });
  }
  EXPECT_TRUE(eventually([&] { return handled == threads * each; }));
  EXPECT_EQ(disorder, 0);
}

TEST_F(Pinned, AnActorThatKeepsItselfBusyDoesNotStopTheOthersNorTheTimers) {
  auto busy = loop_.spawn_functor([](pinned_actor* self) -> caf::behavior {
    self->send(self, add_atom::value);
    return {[=](add_atom) { self->send(self, add_atom::value); }};
  });
  auto x = loop_.spawn_functor(counter);
  test::event timer;
  on_loop(loop_, [&] { loop_.after(1ms, [&] { timer.set(); }); });
  EXPECT_EQ(ask(x, sum_atom::value), 0);
  EXPECT_TRUE(timer.wait());
  caf::anon_send_exit(busy, caf::exit_reason::kill);
}

// -- how it ends: one down message per way, each with its reason ------------------------

TEST_F(Pinned, QuitInAHandlerAnswersTheRequestAndTellsTheReasonOnce) {
  auto x = loop_.spawn_functor(counter);
  self_->monitor(x);
  EXPECT_EQ(ask(x, quit_atom::value), 0);
  EXPECT_EQ(await_down(x), caf::exit_reason::user_shutdown);
  EXPECT_FALSE(has_mail());
}

TEST_F(Pinned, AnExceptionInAHandlerAnswersTheRequestAndEndsTheActorOnce) {
  auto x = loop_.spawn_functor(counter);
  self_->monitor(x);
  EXPECT_EQ(ask(x, throw_atom::value), -1);
  EXPECT_EQ(error_, caf::sec::runtime_error);
  EXPECT_EQ(await_down(x), caf::sec::runtime_error);
  EXPECT_FALSE(has_mail());
}

TEST_F(Pinned, AnExceptionWhileItStartsEndsTheActorOnce) {
  test::event monitored;
  auto x = loop_.spawn_functor([&](counter_actor*) -> caf::behavior {
    EXPECT_TRUE(monitored.wait());
    throw std::runtime_error("told to");
  });
  self_->monitor(x);
  monitored.set();
  EXPECT_EQ(await_down(x), caf::sec::runtime_error);
  EXPECT_FALSE(has_mail());
}

TEST_F(Pinned, AnExitMessageEndsItOnceWithTheReasonOfTheMessage) {
  auto x = loop_.spawn_functor(counter);
  self_->monitor(x);
  self_->send_exit(x, caf::exit_reason::out_of_workers);
  EXPECT_EQ(await_down(x), caf::exit_reason::out_of_workers);
  EXPECT_FALSE(has_mail());
}

TEST_F(Pinned, KillEndsEvenAnActorThatTrapsExits) {
  auto x = loop_.spawn_functor([](counter_actor* self) {
    self->set_exit_handler([](caf::exit_msg&) {});
    return counter(self);
  });
  self_->monitor(x);
  self_->send_exit(x, caf::exit_reason::user_shutdown);
  EXPECT_EQ(ask(x, sum_atom::value), 0);
  self_->send_exit(x, caf::exit_reason::kill);
  EXPECT_EQ(await_down(x), caf::exit_reason::kill);
  EXPECT_FALSE(has_mail());
}

TEST_F(Pinned, DroppingTheLastHandleDoesNotEndIt) {
  caf::actor_addr address;
  {
    auto x = loop_.spawn_functor(counter);
    self_->send(x, add_atom::value, 5);
    address = x.address();
  }
  on_loop(loop_, [] {});
  auto again = caf::actor_cast<caf::actor>(address);
  ASSERT_TRUE(again);
  EXPECT_EQ(ask(again, sum_atom::value), 5);
}

TEST_F(Pinned, TheEndOfTheSystemEndsItOnceWithUserShutdown) {
  std::atomic<int> downs{0};
  caf::error reason;
  {
    test::loop_system node;
    node.system->await_actors_before_shutdown(false);
    auto x = node.loop().spawn_functor([](pinned_actor*) -> caf::behavior { return {[](int) {}}; });
    x->attach_functor([&](const caf::error& why) {
      ++downs;
      reason = why;
    });
    x = nullptr;
    node.system.reset();
  }
  EXPECT_EQ(downs, 1);
  EXPECT_EQ(reason, caf::exit_reason::user_shutdown);
}

TEST_F(Pinned, WithoutABehaviorItEndsNormallyAfterItStarted) {
  auto x = loop_.spawn_functor([](counter_actor*) { expect_home(); });
  self_->wait_for(x);
}

// -- after its end ------------------------------------------------------------------------

TEST_F(Pinned, ARequestToADeadActorIsAnswered) {
  auto x = loop_.spawn_functor(counter);
  self_->send_exit(x, caf::exit_reason::user_shutdown);
  self_->wait_for(x);
  EXPECT_EQ(ask(x, sum_atom::value), -1);
  EXPECT_TRUE(error_);
}

TEST_F(Pinned, RequestsRacingWithItsEndAreAllAnswered) {
  constexpr int rounds = 200;
  for (int i = 0; i < rounds; ++i) {
    auto x = loop_.spawn_functor(counter);
    std::jthread killer{[x] { caf::anon_send_exit(x, caf::exit_reason::user_shutdown); }};
    for (int k = 0; k < 5; ++k) {
      auto answer = ask(x, sum_atom::value);
      EXPECT_TRUE(answer == 0 || error_ != caf::sec::request_timeout);
    }
  }
}

TEST_F(Pinned, AMonitorSetAfterTheEndIsToldAtOnce) {
  auto x = loop_.spawn_functor(counter);
  self_->send_exit(x, caf::exit_reason::out_of_workers);
  self_->wait_for(x);
  self_->monitor(x);
  EXPECT_EQ(await_down(x), caf::exit_reason::out_of_workers);
}

// -- links and attached functions -----------------------------------------------------------

TEST_F(Pinned, LinksCarryExitsBothWaysBetweenPinnedAndScheduledActors) {
  auto x = loop_.spawn_functor(counter);
  test::event linked;
  auto scheduled = node_.system->spawn([&](caf::event_based_actor* self) -> caf::behavior {
    self->link_to(x);
    linked.set();
    return {[](int) {}};
  });
  ASSERT_TRUE(linked.wait());
  self_->monitor(scheduled);
  self_->send_exit(x, caf::exit_reason::out_of_workers);
  EXPECT_EQ(await_down(scheduled), caf::exit_reason::out_of_workers);

  test::event linked_back;
  auto other = node_.system->spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  auto y = loop_.spawn_functor([&](counter_actor* self) {
    self->link_to(other);
    linked_back.set();
    return counter(self);
  });
  ASSERT_TRUE(linked_back.wait());
  self_->monitor(y);
  self_->send_exit(other, caf::exit_reason::out_of_workers);
  EXPECT_EQ(await_down(y), caf::exit_reason::out_of_workers);
}

TEST_F(Pinned, HandlesExitAndDownMessagesOnItsLoop) {
  std::atomic<int> downs{0};
  auto x = loop_.spawn_functor(counter);
  auto watcher = loop_.spawn_functor([&](pinned_actor* self) -> caf::behavior {
    self->monitor(x);
    self->set_down_handler([&](caf::down_msg&) {
      expect_home();
      ++downs;
    });
    self->set_exit_handler([=](caf::exit_msg& why) {
      expect_home();
      self->quit(why.reason);
    });
    self->send_exit(x, caf::exit_reason::kill);
    return {[](int) {}};
  });
  EXPECT_TRUE(eventually([&] { return downs == 1; }));
  self_->send_exit(watcher, caf::exit_reason::user_shutdown);
  self_->wait_for(watcher);
}

TEST_F(Pinned, AttachedFunctionsRunOnItsLoopAfterItsStateIsGone) {
  auto x = loop_.spawn_functor(counter);
  std::atomic<int> states_then{-1};
  EXPECT_EQ(ask(x, sum_atom::value), 0);
  x->attach_functor([&](const caf::error&) {
    expect_home();
    states_then = live_states.load();
  });
  self_->send_exit(x, caf::exit_reason::user_shutdown);
  self_->wait_for(x);
  EXPECT_TRUE(eventually([&] { return states_then == 0; }));
}

// -- spawning ---------------------------------------------------------------------------------

TEST_F(Pinned, ItsPinnedChildrenShareItsLoopAndItsOrdinaryOnesRunOnTheScheduler) {
  std::atomic<progress_loop*> pinned_child{nullptr}, ordinary_child{&loop_};
  auto parent = loop_.spawn_functor([&](pinned_actor* self) {
    self->spawn([&](pinned_actor*) { pinned_child = progress_loop::current(); });
    self->spawn([&](caf::event_based_actor*) { ordinary_child = progress_loop::current(); });
  });
  EXPECT_TRUE(eventually([&] { return pinned_child == &loop_ && ordinary_child == nullptr; }));
  self_->wait_for(parent);
}

TEST_F(Pinned, ItsLinkedChildTakesItAlong) {
  caf::actor child;
  test::event spawned;
  auto parent = loop_.spawn_functor([&](counter_actor* self) {
    child = self->spawn<caf::linked>(counter);
    spawned.set();
    return counter(self);
  });
  ASSERT_TRUE(spawned.wait());
  self_->monitor(parent);
  self_->send_exit(child, caf::exit_reason::kill);
  EXPECT_EQ(await_down(parent), caf::exit_reason::kill);
}

TEST_F(Pinned, ALazyActorStartsWithItsFirstMessage) {
  std::atomic<bool> started{false};
  auto x = loop_.spawn_functor<caf::lazy_init>([&](counter_actor* self) {
    started = true;
    return counter(self);
  });
  on_loop(loop_, [] {});
  EXPECT_FALSE(started);
  EXPECT_EQ(ask(x, sum_atom::value), 0);
  EXPECT_TRUE(started);
}

TEST_F(Pinned, ALazyActorThatNeverStartedCanBeToldToQuit) {
  auto x = loop_.spawn_functor<caf::lazy_init>(counter);
  self_->send_exit(x, caf::exit_reason::user_shutdown);
  self_->wait_for(x);
}

TEST_F(Pinned, OnlyAHiddenOneDoesNotCountAsRunning) {
  const auto before = node_.system->registry().running();
  auto hidden = loop_.spawn_functor<caf::hidden>(counter);
  EXPECT_EQ(node_.system->registry().running(), before);
  auto counted = loop_.spawn_functor(counter);
  EXPECT_EQ(node_.system->registry().running(), before + 1);
  EXPECT_EQ(loop_.actors(), 2u);
}

TEST_F(Pinned, CannotBeSpawnedOutsideOfALoop) {
  EXPECT_THROW(node_.system->spawn(counter), std::logic_error);
  EXPECT_EQ(live_states, 0);
  std::atomic<bool> refused{false};
  auto x = node_.system->spawn([&](caf::event_based_actor* self) {
    try {
      self->spawn(counter);
    } catch (const std::logic_error& why) {
      refused = std::string{why.what()}.find("needs a loop") != std::string::npos;
    }
  });
  self_->wait_for(x);
  EXPECT_TRUE(refused);
}

TEST_F(Pinned, CannotBeDetached) {
  std::atomic<bool> refused{false};
  auto x = loop_.spawn_functor([&](pinned_actor* self) {
    try {
      self->spawn<caf::detached>(counter);
    } catch (const std::logic_error& why) {
      refused = std::string{why.what()}.find("detached") != std::string::npos;
    }
  });
  self_->wait_for(x);
  EXPECT_TRUE(refused);
}

// -- the end of its loop -------------------------------------------------------------------------

TEST(PinnedOnAStoppingLoop, ActorsThatDoNotQuitAreKilledAndTheirStatesDestroyedThere) {
  test::loop_system node;
  progress_loop loop{*node.system};
  loop.start();
  home = &loop;
  strays = 0;
  live_states = 0;
  std::map<std::string, caf::error> reasons;
  auto watch = [&](const std::string& name, const caf::actor& x) {
    x->attach_functor([&reasons, name](const caf::error& why) { reasons[name] = why; });
  };
  auto mute = node.system->spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[=](int) { return self->make_response_promise<int>(); }};
  });
  auto stubborn = loop.spawn_functor([](counter_actor* self) {
    self->set_exit_handler([](caf::exit_msg&) {});
    return counter(self);
  });
  // Not even an exit message gets through while it awaits one response.
  auto awaiting = loop.spawn_functor([&](counter_actor* self) {
    self->request(mute, caf::infinite, 1).await([](int) {});
    return counter(self);
  });
  auto lazy = loop.spawn_functor<caf::lazy_init>(counter);
  auto obedient = loop.spawn_functor(counter);
  watch("stubborn", stubborn);
  watch("awaiting", awaiting);
  watch("lazy", lazy);
  watch("obedient", obedient);
  test::on_loop(loop, [] {});
  loop.quit_actors(caf::exit_reason::user_shutdown);
  EXPECT_FALSE(loop.await_actors(50ms));
  loop.stop();
  EXPECT_EQ(loop.actors(), 0u);
  EXPECT_EQ(reasons["stubborn"], caf::exit_reason::kill);
  EXPECT_EQ(reasons["awaiting"], caf::exit_reason::kill);
  EXPECT_EQ(reasons["lazy"], caf::exit_reason::user_shutdown);
  EXPECT_EQ(reasons["obedient"], caf::exit_reason::user_shutdown);
  EXPECT_EQ(live_states, 0);
  EXPECT_EQ(strays, 0);
  caf::anon_send_exit(mute, caf::exit_reason::kill);
}

TEST(PinnedOnAStoppingLoop, OneSpawnedTooLateEndsAtOnceAndAnswersRequests) {
  test::loop_system node;
  progress_loop loop{*node.system};
  loop.start();
  loop.stop();
  auto x = loop.spawn_functor([](pinned_actor*) -> caf::behavior { return {[](int i) { return i; }}; });
  EXPECT_EQ(loop.actors(), 0u);
  caf::scoped_actor self{*node.system};
  bool failed = false;
  self->request(x, 5s, 1).receive([](int) {}, [&](caf::error& why) { failed = why != caf::sec::request_timeout; });
  EXPECT_TRUE(failed);
}

TEST(PinnedOnAStoppingLoop, SpawnsRacingWithTheEndLeaveNobodyBehind) {
  test::loop_system node;
  for (int i = 0; i < 20; ++i) {
    progress_loop loop{*node.system};
    loop.start();
    std::atomic<bool> over{false};
    std::latch going{1};
    std::jthread spawner{[&] {
      for (int n = 0; !over; ++n) {
        auto x = loop.spawn_functor([](pinned_actor*) -> caf::behavior { return {[](int) {}}; });
        caf::anon_send(x, 1);
        if (n == 20)
          going.count_down();
      }
    }};
    going.wait();
    loop.stop();
    EXPECT_EQ(loop.actors(), 0u);
    over = true;
  }
}

} // namespace
} // namespace troupe
