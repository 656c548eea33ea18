#include <troupe/runtime/peers.hpp>

#include <algorithm>

#include <troupe/actors/error.hpp>
#include <troupe/actors/node_identity.hpp>
#include <troupe/runtime/log.hpp>

namespace troupe {

namespace {

/// What this node may have at the peer: what the peer said it takes in, within what this node is able to count.
session_limits sending_limits(const session_limits& ours, const transport::link_limits& theirs) {
  auto x = ours;
  auto take = [](std::uint64_t& mine, std::uint64_t told, std::uint64_t most) {
    if (told != 0)
      mine = std::min(told, most);
  };
  constexpr std::uint64_t most_messages = transport::default_window / 4; // two windows and their reserves fit
  constexpr std::uint64_t most_bytes = transport::max_credit_bytes / 2;
  take(x.window_messages, theirs.window_messages, most_messages);
  take(x.window_bytes, theirs.window_bytes, most_bytes);
  take(x.bulk_window_messages, theirs.bulk_window_messages, most_messages);
  take(x.bulk_window_bytes, theirs.bulk_window_bytes, most_bytes);
  take(x.target_window_messages, theirs.target_window_messages, most_messages);
  take(x.target_window_bytes, theirs.target_window_bytes, most_bytes);
  take(x.max_message_bytes, theirs.max_message_bytes, ours.max_message_bytes);
  return x;
}

} // namespace

void peers_state::add(const std::shared_ptr<transport::link>& link) {
  auto id = link->session().low;
  auto& who = link->peer();
  if (closed_) {
    link->close(errc::peer_closing, "this node is shutting down");
    return;
  }
  auto& loop = environment_.loops->loop(next_loop_++ % environment_.loops->loops());
  auto box = std::make_shared<outbox>(loop, *environment_.encoder, node_id_of(who.name, who.incarnation), who.name,
                                      sending_limits(environment_.sessions->limits, who.limits));
  // References that were made while there was no session with this node are dead and stay so: new ones come now.
  environment_.sessions->proxies->erase(box->peer());
  environment_.table->add(box);
  session_seed seed{environment_.sessions, environment_.workers, link, box, caf::actor_cast<caf::actor>(self_)};
  auto session = loop.spawn_functor<caf::hidden>(session_actor, std::move(seed));
  self_->monitor(session);
  entry x{std::move(box), std::move(session), {who.name, who.incarnation, id, link->transport()}, false, false, {}};
  if (auto early = early_.find(id); early != early_.end()) {
    x.waiting = std::move(early->second);
    early_.erase(early);
  }
  sessions_.emplace(id, std::move(x));
}

void peers_state::up(const peer& who) {
  auto it = sessions_.find(who.session);
  if (it == sessions_.end())
    return;
  it->second.is_up = true;
  log_info(log_component::session, "{} is up over {}", who.name, who.transport);
  for (auto& x : subscribers_)
    self_->send(x, node_up{who});
  for (auto& promise : it->second.waiting)
    promise.deliver(who);
  it->second.waiting.clear();
}

void peers_state::lost(const peer& who, const caf::error& why) {
  auto it = sessions_.find(who.session);
  if (it == sessions_.end())
    return;
  auto x = std::move(it->second);
  sessions_.erase(it);
  environment_.table->remove(x.box);
  if (x.is_up)
    for (auto& subscriber : subscribers_)
      self_->send(subscriber, node_down{who, why});
  for (auto& promise : x.waiting)
    promise.deliver(why);
  if (ended_order_.size() >= max_ended) {
    ended_.erase(ended_order_.front());
    ended_order_.erase(ended_order_.begin());
  }
  ended_.emplace(who.session, why);
  ended_order_.push_back(who.session);
  closed_one();
}

void peers_state::died(const caf::actor_addr& who) {
  auto it = std::find_if(sessions_.begin(), sessions_.end(),
                         [&](auto& kv) { return kv.second.actor.address() == who; });
  if (it != sessions_.end()) // it did not say goodbye: killed
    lost(it->second.who, make_error(errc::peer_closing, "the session's actor ended"));
  subscribers_.erase(std::remove_if(subscribers_.begin(), subscribers_.end(),
                                    [&](auto& x) { return x.address() == who; }),
                     subscribers_.end());
}

void peers_state::subscribe(const caf::actor& who) {
  if (!who || std::find(subscribers_.begin(), subscribers_.end(), who) != subscribers_.end())
    return;
  self_->monitor(who);
  subscribers_.push_back(who);
  for (auto& [id, x] : sessions_)
    if (x.is_up)
      self_->send(who, node_up{x.who});
}

void peers_state::await(std::uint64_t session, caf::response_promise promise) {
  if (auto it = sessions_.find(session); it != sessions_.end()) {
    if (it->second.is_up && !it->second.closing)
      promise.deliver(it->second.who);
    else
      it->second.waiting.push_back(std::move(promise));
  } else if (auto ended = ended_.find(session); ended != ended_.end()) {
    promise.deliver(ended->second);
  } else if (early_.size() < max_early) {
    early_[session].push_back(std::move(promise));
  } else {
    promise.deliver(make_error(errc::busy, "too many connections at once"));
  }
}

caf::expected<caf::actor> peers_state::find(std::uint64_t session) const {
  auto it = sessions_.find(session);
  if (it == sessions_.end())
    return make_error(errc::unknown_session, "no session " + std::to_string(session));
  return it->second.actor;
}

bool peers_state::close(std::uint64_t session) {
  auto it = sessions_.find(session);
  if (it == sessions_.end())
    return false;
  it->second.closing = true;
  self_->send(it->second.actor, close_session{});
  return true;
}

void peers_state::close_all(caf::response_promise promise) {
  closed_ = true;
  closing_.push_back(std::move(promise));
  for (auto& [id, x] : sessions_)
    self_->send(x.actor, close_session{});
  closed_one();
}

void peers_state::closed_one() {
  if (!sessions_.empty())
    return;
  for (auto& promise : closing_)
    promise.deliver(caf::unit);
  closing_.clear();
}

caf::behavior peers_actor(peers_pinned* self, peers_environment environment) {
  self->state.begin(environment);
  self->set_down_handler([self](const caf::down_msg& x) { self->state.died(x.source); });
  return {
    [self](const link_arrived& x) { self->state.add(x.link); },
    [self](const session_up& x) { self->state.up(x.who); },
    [self](const session_lost& x) { self->state.lost(x.who, x.reason); },
    [](const worker_stalled& x) {
      log_warn(log_component::session, "the loop of {} {}", x.who.name,
               x.stalled ? "does not move although its process answers" : "moves again");
    },
    [self](const await_session& x) {
      auto promise = self->make_response_promise();
      self->state.await(x.session, promise);
      return promise;
    },
    [self](const subscribe_events& x) { self->state.subscribe(x.who); },
    [self](count_sessions) { return static_cast<std::uint64_t>(self->state.count()); },
    [self](const find_session& x) -> caf::result<caf::actor> {
      auto found = self->state.find(x.session);
      if (!found)
        return found.error();
      return *found;
    },
    [self](const close_peer& x) -> caf::result<void> {
      if (!self->state.close(x.session))
        return make_error(errc::unknown_session, "no session " + std::to_string(x.session));
      return caf::unit;
    },
    [self](close_sessions) {
      auto promise = self->make_response_promise();
      self->state.close_all(promise);
      return promise;
    },
  };
}

} // namespace troupe
