// Handles across a session: references to the peer's actors, exports of ours, and who watches whom.
#include <troupe/actors/session_slot.hpp>

#include <array>
#include <cstring>

#include <caf/actor_config.hpp>
#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/make_message.hpp>

#include <troupe/actors/error.hpp>
#include <troupe/actors/progress_loop.hpp>
#include <troupe/actors/remote_ref.hpp>

namespace troupe {

namespace {

/// Predecessors that a down names; more make it wait for everything before it.
constexpr std::size_t max_down_predecessors = 16;

} // namespace

// -- references -------------------------------------------------------------------------

const caf::strong_actor_ptr& session_slot::reference(caf::actor_id id) {
  auto& x = references_[id];
  if (!x)
    x = environment_.proxies->get_or_put(box_->peer(), id);
  return x;
}

void session_slot::monitor_remote(caf::actor_id id) {
  if (over_ || id == 0)
    return;
  reference(id); // credit and downs find it here
  post_control(proto::message_kind::monitor, 0, id, 0, {});
}

void session_slot::take_down(const incoming& x) {
  auto id = x.header.sender;
  caf::error why = caf::exit_reason::unknown;
  auto skip = x.header.aux * sizeof(std::uint64_t);
  if (skip <= x.body.size())
    if (auto err = box_->encoder().decode_error(x.body.subspan(skip), types_, *this, &loop_, why))
      why = caf::exit_reason::unknown;
  if (id == last_sender_id_) {
    last_sender_id_ = 0;
    last_sender_ = nullptr;
  }
  auto it = references_.find(id);
  if (it == references_.end())
    return;
  auto ref = std::move(it->second);
  references_.erase(it);
  // First the reference, without the registry's lock: what its end sets off may come back to the registry.
  if (ref)
    static_cast<remote_ref*>(ref->get())->kill_proxy(&loop_, why);
  environment_.proxies->erase(box_->peer(), id, why);
}

void session_slot::take_nack(const incoming& x) {
  caf::error why;
  if (auto err = box_->encoder().decode_error(x.body, types_, *this, &loop_, why))
    why = err;
  auto node = pending_.extract({x.header.target, x.header.message_id});
  if (node.empty())
    return; // answered already
  node.mapped()->enqueue(x.header.sender != 0 ? reference(x.header.sender) : nullptr,
                         caf::message_id{x.header.message_id}, caf::make_message(std::move(why)), &loop_);
}

// -- exports ----------------------------------------------------------------------------

void session_slot::export_actor(const caf::strong_actor_ptr& x) {
  if (!x || x->node() != environment_.system->node())
    return; // of a third node: the peer has to know that node itself
  auto id = x->id();
  if (exports_.find(id) != exports_.end())
    return;
  if (exports_.size() >= limits_.max_exports) {
    log(2, "max-exports reached: " + who_.name + " cannot answer to actor " + std::to_string(id));
    return;
  }
  exports_.emplace(id, exported{x, credit_cell_ptr{new credit_cell(returns_, id), false}});
  environment_.exported.add(x);
}

session_slot::exported* session_slot::find_export(caf::actor_id id) {
  if (auto it = exports_.find(id); it != exports_.end())
    return &it->second;
  auto ptr = id == 0 ? environment_.node_service : environment_.exported.find(id);
  if (!ptr)
    ptr = environment_.system->registry().get(id);
  if (!ptr || exports_.size() >= limits_.max_exports)
    return nullptr;
  return &exports_.emplace(id, exported{std::move(ptr), credit_cell_ptr{new credit_cell(returns_, id), false}})
            .first->second;
}

caf::strong_actor_ptr session_slot::local(caf::actor_id id) {
  if (auto* x = id == 0 ? nullptr : find_export(id))
    return x->actor;
  // An actor that is gone is still a handle, as it is for those who kept theirs: monitors of it hear at once, and no
  // behaviour that takes a handle finds an invalid one.
  auto& system = *environment_.system;
  caf::actor_config config;
  auto gone = caf::make_actor<remote_ref, caf::strong_actor_ptr>(id, system.node(), &system, config, nullptr);
  static_cast<remote_ref*>(gone->get())->kill_proxy(&loop_, caf::exit_reason::unknown);
  return gone;
}

caf::strong_actor_ptr session_slot::remote(const caf::node_id& node, caf::actor_id id) {
  if (node == box_->peer())
    return reference(id);
  return environment_.proxies->get_or_put(node, id);
}

void session_slot::take_monitor(const proto::message_header& header) {
  auto id = header.target;
  auto* x = id == 0 ? nullptr : find_export(id);
  if (x == nullptr) {
    send_down(id, caf::exit_reason::unknown);
    return;
  }
  if (std::exchange(x->monitored, true))
    return;
  // Runs on the thread on which the actor dies; at once if it is dead.
  x->actor->get()->attach_functor([box = std::weak_ptr<outbox>{box_}, id](const caf::error& why) {
    auto strong = box.lock();
    if (!strong || strong->closed())
      return;
    strong->loop().post([strong, id, why] {
      if (auto* slot = strong->slot())
        slot->on_local_down(id, why);
    });
  });
}

void session_slot::on_local_down(caf::actor_id id, const caf::error& why) {
  take_outbox(); // its last messages may still be there
  exports_.erase(id);
  environment_.exported.remove(id);
  send_down(id, why);
}

void session_slot::send_down(caf::actor_id id, const caf::error& why) {
  std::array<std::uint64_t, max_down_predecessors> predecessors;
  auto n = pairs_.predecessors_of(id, predecessors);
  std::uint8_t flags = 0;
  if (n > predecessors.size()) {
    flags = proto::barrier;
    n = 0;
  }
  std::array<std::byte, sizeof(predecessors) + max_error_context + 64> memory;
  std::memcpy(memory.data(), predecessors.data(), n * sizeof(std::uint64_t));
  proto::byte_writer out{std::span{memory}.subspan(n * sizeof(std::uint64_t))};
  box_->encoder().encode_error(why, out, &loop_);
  auto size = out.overflown() ? 0 : out.needed();
  post_control(proto::message_kind::down, id, 0, 0, std::span{memory}.first(n * sizeof(std::uint64_t) + size),
               static_cast<std::uint16_t>(n), flags);
}

// -- links --------------------------------------------------------------------------------

void session_slot::take_link(const proto::message_header& header) {
  auto from = reference(header.sender);
  if (!from)
    return;
  auto* target = header.target == 0 ? nullptr : find_export(header.target);
  auto dead = target == nullptr || target->actor->get()->getf(caf::abstract_actor::is_terminated_flag);
  if (!dead) {
    from->get()->add_link(target->actor->get());
    return;
  }
  // Linking to the dead: the other side hears of it from the monitor that came with its reference.
}

void session_slot::take_unlink(const proto::message_header& header) {
  auto it = references_.find(header.sender);
  auto* target = find_export(header.target);
  if (it != references_.end() && it->second && target != nullptr)
    static_cast<remote_ref*>(it->second->get())->forget_link(target->actor->get());
}

} // namespace troupe
