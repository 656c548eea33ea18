#include <troupe/actors/worker_slot.hpp>

#include <algorithm>

#include <troupe/actors/lanes.hpp>
#include <troupe/actors/progress_loop.hpp>

namespace troupe {

worker_slot::worker_slot(progress_loop& loop, std::unique_ptr<transport::worker> worker)
  : loop_(loop), worker_(std::move(worker)) {
  loop_.add_poller(*this, transport() == transport::lane_transport::shm ? poll_class::shared_memory
                                                                         : poll_class::network);
}

worker_slot::~worker_slot() {
  loop_.remove_poller(*this);
  listener_.reset();
  unclaimed_.clear();
  closing_.clear();
  worker_->abandon();
}

void worker_slot::add(lanes& who, std::uint64_t key) {
  lanes_[key] = &who;
}

void worker_slot::remove(lanes& who) {
  std::erase_if(lanes_, [&](auto& kv) { return kv.second == &who; });
  last_ = nullptr;
  stop_expecting(who);
}

result<transport::socket_address> worker_slot::expect(lanes& who, const std::string& host) {
  if (!listener_) {
    auto address = transport::socket_address::from(host, 0);
    if (!address)
      return address.error();
    auto opened = worker_->listen(*address);
    if (!opened)
      return opened.error();
    listener_ = std::move(*opened);
  }
  expected_.push_back(&who);
  return listener_->address();
}

void worker_slot::stop_expecting(lanes& who) {
  std::erase(expected_, &who);
  if (!expected_.empty() || !listener_)
    return;
  // UCX aborts on hostile bytes at this port: it stays open only while someone we know is on the way.
  listener_.reset();
  for (auto& x : unclaimed_) {
    x.endpoint->close(transport::close_mode::force);
    closing_.push_back(std::move(x.endpoint));
  }
  unclaimed_.clear();
}

unsigned worker_slot::pump() {
  auto n = worker_->progress();
  if (worker_->has_inbound()) {
    worker_->drain([this](transport::inbound& message) { take(message); });
    // By value: an owner that ends its session here removes its lanes from the table.
    if (lanes_.size() == 1) {
      lanes_.begin()->second->on_drained();
    } else {
      std::vector<lanes*> all;
      all.reserve(lanes_.size());
      for (auto& [key, who] : lanes_)
        all.push_back(who);
      for (auto* who : all)
        if (std::any_of(lanes_.begin(), lanes_.end(), [&](auto& kv) { return kv.second == who; }))
          who->on_drained();
    }
    ++n;
  }
  if (listener_)
    accept_pending();
  worker_->drain_failures([this](transport::endpoint& failed, errc why) {
    for (auto& [key, who] : lanes_) {
      if (who->owns(failed)) {
        who->on_endpoint_failed(why);
        return;
      }
    }
    for (auto it = unclaimed_.begin(); it != unclaimed_.end(); ++it) {
      if (it->endpoint.get() == &failed) {
        failed.close(transport::close_mode::force);
        closing_.push_back(std::move(it->endpoint));
        unclaimed_.erase(it);
        return;
      }
    }
    failed.close(transport::close_mode::force);
  });
  if (!closing_.empty())
    std::erase_if(closing_, [](auto& x) { return x->settled(); });
  return n;
}

bool worker_slot::arm() {
  return !worker_->has_inbound() && worker_->arm();
}

void worker_slot::take(transport::inbound& message) {
  // A batch is all data; a bulk message has its header apart.
  auto bytes = message.id == transport::am_id::bulk && message.header_size != 0 ? message.header_bytes()
                                                                                 : message.data_bytes();
  proto::frame_reader in{bytes};
  proto::lane_header header;
  if (!in.read(header)) {
    ++foreign_frames_;
    return;
  }
  lanes* who = nullptr;
  if (last_ != nullptr && header.epoch_key == last_key_) [[likely]] {
    who = last_;
  } else if (auto it = lanes_.find(header.epoch_key); it != lanes_.end()) {
    who = last_ = it->second;
    last_key_ = header.epoch_key;
  }
  if (who == nullptr) {
    ++foreign_frames_;
    return;
  }
  if (header.kind == proto::lane_frame::ticket)
    take_ticket(*who, message, in.rest());
  else
    who->on_frame(message, header);
}

void worker_slot::take_ticket(lanes& who, transport::inbound& message, std::span<const std::byte> ticket) {
  std::unique_ptr<transport::endpoint> connection;
  if (message.reply_ep != nullptr) {
    auto it = std::find_if(unclaimed_.begin(), unclaimed_.end(),
                           [&](auto& x) { return x.endpoint->handle() == message.reply_ep; });
    if (it != unclaimed_.end()) {
      connection = std::move(it->endpoint);
      unclaimed_.erase(it);
    }
  }
  auto* raw = connection.get();
  if (!who.claim(message.id, ticket, std::move(connection)))
    ++foreign_frames_;
  else if (raw != nullptr && who.reached())
    stop_expecting(who);
}

void worker_slot::accept_pending() {
  while (auto request = listener_->next()) {
    if (unclaimed_.size() >= max_unclaimed) {
      request->reject();
      continue;
    }
    if (auto accepted = worker_->accept(std::move(*request)))
      unclaimed_.push_back({std::move(*accepted), std::chrono::steady_clock::now()});
  }
  expire_unclaimed();
}

void worker_slot::expire_unclaimed() {
  if (unclaimed_.empty())
    return;
  auto limit = std::chrono::steady_clock::now() - unclaimed_deadline;
  std::erase_if(unclaimed_, [&](auto& x) {
    if (x.since > limit)
      return false;
    x.endpoint->close(transport::close_mode::force);
    closing_.push_back(std::move(x.endpoint));
    return true;
  });
}

void worker_slot::begin_close() {
  listener_.reset();
  for (auto& x : unclaimed_) {
    x.endpoint->close(transport::close_mode::force);
    closing_.push_back(std::move(x.endpoint));
  }
  unclaimed_.clear();
}

bool worker_slot::settled() {
  return closing_.empty() || worker_->settled(); // the lanes hold leases: none of them is left
}

} // namespace troupe
