#include <troupe/actors/worker_pool.hpp>

#include <mutex>
#include <unordered_map>

#include <caf/send.hpp>

#include <troupe/actors/loop_module.hpp>
#include <troupe/actors/pinned.hpp>
#include <troupe/actors/worker.hpp>

namespace troupe {

/// Outlives the pool: jobs on the background thread and functions posted to loops hold it.
struct worker_pool::shared : std::enable_shared_from_this<shared> {
  shared(loop_module& m, std::string device) : module(m), net_device(std::move(device)) {}

  // -- the background thread --------------------------------------------------

  /// Makes a worker; null with `why` set when that failed.
  std::unique_ptr<transport::worker> make(transport::lane_transport kind, failure& why) {
    auto& context = kind == transport::lane_transport::shm ? shm_context : tcp_context;
    try {
      if (!context)
        context = std::make_shared<transport::context>(kind, net_device);
      return std::make_unique<transport::worker>(context);
    } catch (const std::exception& x) {
      why = {errc::no_resource, x.what()};
      return nullptr;
    }
  }

  void refill() {
    failure why;
    auto fresh = make(transport::lane_transport::shm, why);
    std::lock_guard guard{mutex};
    refilling = false;
    spare = std::move(fresh);
  }

  void start_refill() {
    {
      std::lock_guard guard{mutex};
      if (refilling || spare)
        return;
      refilling = true;
    }
    if (module.run_blocking([self = shared_from_this()] { self->refill(); })) {
      std::lock_guard guard{mutex};
      refilling = false;
    }
  }

  loop_module& module;
  const std::string net_device;
  std::shared_ptr<transport::context> shm_context, tcp_context; // background thread
  std::mutex mutex;
  std::unique_ptr<transport::worker> spare;
  bool refilling = false;

  // -- the loops, each its own entry ----------------------------------------------
  struct network {
    lease<worker_slot> slot;
    caf::actor owner;
    std::vector<receiver> waiting;
  };
  std::unordered_map<progress_loop*, network> networks; // entries are made in the constructor
};

worker_pool::worker_pool(loop_module& module, std::string net_device)
  : shared_(std::make_shared<shared>(module, std::move(net_device))) {
  for (std::size_t i = 0; i < module.loops(); ++i)
    shared_->networks[&module.loop(i)];
}

worker_pool::~worker_pool() = default;

void worker_pool::warm_up() {
  shared_->start_refill();
}

void worker_pool::take_shm(progress_loop& loop, receiver f) {
  std::unique_ptr<transport::worker> ready;
  {
    std::lock_guard guard{shared_->mutex};
    ready = std::move(shared_->spare);
  }
  if (ready) {
    shared_->start_refill();
    f(make_lease<worker_slot>(loop, loop, std::move(ready)), {});
    return;
  }
  auto err = shared_->module.run_blocking([self = shared_, &loop, f] {
    failure why;
    std::unique_ptr<transport::worker> fresh;
    {
      std::lock_guard guard{self->mutex};
      fresh = std::move(self->spare);
    }
    if (!fresh)
      fresh = self->make(transport::lane_transport::shm, why);
    loop.post([&loop, f, why, fresh = std::move(fresh)]() mutable {
      if (fresh)
        f(make_lease<worker_slot>(loop, loop, std::move(fresh)), {});
      else
        f({}, why);
    });
    self->start_refill();
  });
  if (err)
    f({}, {errc::busy, "too many connections at once: no thread to make a UCX worker"});
}

void worker_pool::take_network(progress_loop& loop, receiver f) {
  auto& mine = shared_->networks.at(&loop);
  if (mine.slot) {
    f(mine.slot.share(), {});
    return;
  }
  mine.waiting.push_back(std::move(f));
  if (mine.waiting.size() > 1)
    return;
  auto finish = [self = shared_, &loop](std::unique_ptr<transport::worker> fresh, const failure& why) {
    auto& entry = self->networks.at(&loop);
    if (fresh) {
      entry.slot = make_lease<worker_slot>(loop, loop, std::move(fresh));
      entry.owner = loop.spawn_functor<caf::hidden>(worker_actor,
                                                    std::make_shared<lease<worker_slot>>(entry.slot.share()));
    }
    auto waiting = std::move(entry.waiting);
    entry.waiting.clear();
    for (auto& g : waiting)
      g(entry.slot ? entry.slot.share() : lease<worker_slot>{}, why);
  };
  auto err = shared_->module.run_blocking([self = shared_, &loop, finish] {
    failure why;
    auto fresh = self->make(transport::lane_transport::tcp, why);
    loop.post([finish, why, fresh = std::move(fresh)]() mutable { finish(std::move(fresh), why); });
  });
  if (err)
    finish(nullptr, {errc::busy, "no thread to make a UCX worker"});
}

} // namespace troupe
