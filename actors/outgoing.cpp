#include <troupe/actors/outgoing.hpp>

namespace troupe {

void chunk::on_complete(errc) noexcept {
  // An error here is the lane's end, which is reported by the lane; the journal still has the messages.
  auto& progress = pool.progress();
  --in_flight;
  --progress.batches;
  pool.release_if_done(*this);
  progress.loop.call_at_turn_end(progress.hook);
}

chunk_pool::~chunk_pool() = default;

chunk* chunk_pool::take() {
  chunk* x = nullptr;
  if (!spare_.empty()) {
    x = spare_.back();
    spare_.pop_back();
  } else {
    all_.push_back(std::make_unique<chunk>(*this));
    // Taking one back happens inside UCP callbacks and must not allocate.
    spare_.reserve(all_.size());
    x = all_.back().get();
  }
  x->used = 0;
  x->current = true;
  return x;
}

void chunk_pool::release_if_done(chunk& x) noexcept {
  if (x.current || x.entries != 0 || x.in_flight != 0)
    return;
  spare_.push_back(&x);
}

void bulk_send::on_complete(errc) noexcept {
  auto& progress = pool.progress();
  --progress.bulk;
  pool.release(*this);
  progress.loop.call_at_turn_end(progress.hook);
}

bulk_send* bulk_pool::take() {
  if (!spare_.empty()) {
    auto* x = spare_.back();
    spare_.pop_back();
    return x;
  }
  all_.push_back(std::make_unique<bulk_send>(*this));
  spare_.reserve(all_.size());
  return all_.back().get();
}

void bulk_pool::release(bulk_send& x) noexcept {
  x.header.clear();
  x.body = {};
  x.attachments.clear();
  x.slices.clear();
  spare_.push_back(&x);
}

} // namespace troupe
