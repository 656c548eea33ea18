// The UCX workers of a node: one for the network on each loop, and fresh ones for shared memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/fwd.hpp>

#include <troupe/actors/slot.hpp>
#include <troupe/actors/worker_slot.hpp>
#include <troupe/transport/context.hpp>

namespace troupe {

class loop_module;

/// Makes workers on the background thread, since that takes tens of milliseconds, and keeps one for shared memory in
/// reserve. Its members belong to the thread of the loop that they name; it outlives the loops' actors.
class worker_pool {
public:
  using receiver = std::function<void(lease<worker_slot>, failure)>;

  worker_pool(loop_module& module, std::string net_device);
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// Begins to make the spare shared-memory worker. @threadsafe
  void warm_up();

  /// Calls `f` on `loop` with a worker for one peer's epoch, or with the reason why there is none.
  void take_shm(progress_loop& loop, receiver f);

  /// Calls `f` on `loop` with a further lease on the loop's network worker, which a permanent worker actor holds.
  void take_network(progress_loop& loop, receiver f);

private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

} // namespace troupe
