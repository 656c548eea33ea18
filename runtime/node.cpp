#include <troupe/runtime/node.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <caf/exit_reason.hpp>
#include <caf/proxy_registry.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/listener.hpp>
#include <troupe/actors/loop_module.hpp>
#include <troupe/actors/node_identity.hpp>
#include <troupe/actors/peer_table.hpp>
#include <troupe/actors/worker_pool.hpp>
#include <troupe/runtime/host_port.hpp>
#include <troupe/runtime/log.hpp>
#include <troupe/runtime/names.hpp>
#include <troupe/runtime/peers.hpp>
#include <troupe/runtime/signals.hpp>
#include <troupe/transport/hmac.hpp>
#include <troupe/transport/link_service.hpp>

namespace troupe {

namespace {

/// Beyond the goodbye's own limit, for the answers to come through.
constexpr std::chrono::milliseconds goodbye_grace{500};
/// connect() finds the link of a session that was just closed for about as long.
constexpr std::chrono::milliseconds reconnect_pause{1};
/// A listener answers when its loop gets to it.
constexpr std::chrono::seconds listener_patience{1};

std::uint64_t random_incarnation() {
  std::uint64_t x = 0;
  while (x == 0)
    transport::fill_random(std::as_writable_bytes(std::span{&x, 1}));
  return x;
}

std::chrono::milliseconds to_ms(std::chrono::nanoseconds x) {
  return std::chrono::ceil<std::chrono::milliseconds>(x);
}

/// A counter that moves when every loop has moved since the last look: one hung loop makes it stand still.
class progress_probe {
public:
  explicit progress_probe(loop_module& module) : module_(module), seen_(module.loops()) {}

  std::uint64_t operator()() {
    auto all = true;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      auto turns = module_.loop(i).probe();
      all = all && turns != seen_[i];
    }
    if (!all)
      return moves_;
    for (std::size_t i = 0; i < seen_.size(); ++i)
      seen_[i] = module_.loop(i).turns();
    return ++moves_;
  }

private:
  loop_module& module_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t moves_ = 0;
};

transport::link_limits told_limits(const session_limits& x) {
  return {x.window_messages,        x.window_bytes,        x.bulk_window_messages, x.bulk_window_bytes,
          x.target_window_messages, x.target_window_bytes, x.max_message_bytes};
}

transport::transport_policy policy_of(transport_choice x) {
  switch (x) {
    case transport_choice::shm:
      return transport::transport_policy::shm;
    case transport_choice::tcp:
      return transport::transport_policy::tcp;
    default:
      return transport::transport_policy::automatic;
  }
}

caf::error on_loop_error(const char* what) {
  return make_error(errc::would_deadlock, std::string{what}
                                            + " waits, and this is a loop's thread: call it from another thread or "
                                              "from an actor that is not pinned");
}

} // namespace

// In the order of construction; shutdown() and the destructor undo it in the order that the comments there give.
struct node::parts {
  explicit parts(node_config x) : config(std::move(x)), incarnation(random_incarnation()) {}

  node_config config;
  const std::uint64_t incarnation;
  std::unique_ptr<caf::actor_system> system;
  loop_module* loops = nullptr;
  std::unique_ptr<type_table> types;
  std::unique_ptr<codec> encoder;
  std::unique_ptr<peer_table> table;
  std::unique_ptr<caf::proxy_registry> proxies;
  std::unique_ptr<worker_pool> workers;
  std::shared_ptr<name_table> names = std::make_shared<name_table>();
  session_environment sessions;
  caf::actor peers;
  std::shared_ptr<transport::link_service> links;

  std::mutex mutex; // the members up to the next one
  std::vector<caf::actor> listeners;
  std::vector<caf::weak_actor_ptr> actors;
  std::size_t prune_at = 64;
  stop_signals* waiting = nullptr; // of run()
  bool stop_requested = false;

  std::mutex shutdown_mutex;
  bool shut_down = false;
};

node::node(node_config config) : parts_(std::make_unique<parts>(std::move(config))) {
  auto& p = *parts_;
  p.config.prepare();
  configure_log(p.config.log);
  name_log_process(p.config.name);
  signal_shield shield; // our threads take no signals
  loop_module_options options;
  options.node = node_id_of(p.config.name, p.incarnation);
  options.loops = p.config.loops;
  options.loop.spin = p.config.spin;
  loop_module::load(p.config.system_config(), options);
  p.system = std::make_unique<caf::actor_system>(p.config.system_config());
  p.system->await_actors_before_shutdown(false); // shutdown() has ended what is ours; nothing else may hang the process
  p.loops = &loop_module::of(*p.system);
  p.types = std::make_unique<type_table>(*p.system);
  p.encoder = std::make_unique<codec>(*p.system, *p.types);
  p.table = std::make_unique<peer_table>(*p.system);
  p.proxies = std::make_unique<caf::proxy_registry>(*p.system, *p.table);
  p.workers = std::make_unique<worker_pool>(*p.loops, p.config.net_device);
  for (std::size_t i = 0; i < p.loops->loops(); ++i) {
    auto& loop = p.loops->loop(i);
    auto* proxies = p.proxies.get();
    loop.post([&loop, proxies, name = p.config.name] {
      loop.proxy_registry_ptr(proxies);
      name_log_thread(name);
    });
  }
  p.sessions.system = p.system.get();
  p.sessions.encoder = p.encoder.get();
  p.sessions.proxies = p.proxies.get();
  p.sessions.limits = p.config.limits();
  p.sessions.node_service = caf::actor_cast<caf::strong_actor_ptr>(
    p.system->spawn<caf::hidden>(name_service, std::shared_ptr<const name_table>{p.names}));
  p.sessions.log = [](int level, const std::string& text) {
    constexpr log_level levels[] = {log_level::debug, log_level::info, log_level::warn};
    log_limited(log_component::session, levels[std::clamp(level, 0, 2)], "{}", text);
  };
  p.peers = p.loops->loop().spawn_functor<caf::hidden>(
    peers_actor, peers_environment{p.loops, p.table.get(), &p.sessions, p.workers.get(), p.encoder.get()});
  transport::link_config link;
  link.identity = {p.config.name, p.incarnation};
  link.secret = p.config.secret;
  link.handshake_deadline = to_ms(p.config.handshake_timeout);
  link.down_after = to_ms(p.config.down_after);
  link.heartbeat = to_ms(p.config.heartbeat_interval());
  link.transport = policy_of(p.config.transport);
  link.limits = told_limits(p.sessions.limits);
  link.max_links = p.config.max_peers;
  link.max_pending_handshakes = p.config.max_pending_handshakes;
  link.progress = [probe = std::make_shared<progress_probe>(*p.loops)] { return (*probe)(); };
  link.observer = [name = p.config.name](const transport::link_event& x) {
    using kind = transport::link_event::kind;
    switch (x.what) {
      case kind::link_up:
        log_debug(log_component::link, "link with {} is up", x.remote);
        break;
      case kind::link_down:
        log_limited(log_component::link, log_level::info, "link with {} is down: {}: {}", x.remote, to_string(x.code),
                    x.text);
        break;
      case kind::refused:
        log_limited(log_component::link, log_level::warn, "refused {}: {}: {}", x.remote, to_string(x.code), x.text);
        break;
      case kind::dial_failed:
        log_limited(log_component::link, log_level::info, "could not connect to {}: {}: {}", x.remote,
                    to_string(x.code), x.text);
        break;
      case kind::accept_failed:
        log_limited(log_component::link, log_level::error, "cannot accept connections: {}: {}", to_string(x.code),
                    x.text);
        break;
    }
  };
  p.links = std::make_shared<transport::link_service>(std::move(link));
  p.links->set_accept_handler([peers = p.peers](std::shared_ptr<transport::link> x) {
    caf::anon_send(peers, link_arrived{std::move(x)});
  });
  if (p.config.transport != transport_choice::tcp)
    p.workers->warm_up();
}

node::~node() {
  shutdown();
  auto& p = *parts_;
  p.peers = nullptr;
  p.sessions.node_service = nullptr;
  p.names->clear();
  p.proxies->clear();
  p.system.reset(); // stops the module: pinned actors, slots, loops
  p.workers.reset(); // the last UCX contexts
  flush_log();
}

// -- properties ---------------------------------------------------------------

caf::actor_system& node::system() noexcept {
  return *parts_->system;
}

const node_config& node::config() const noexcept {
  return parts_->config;
}

const std::string& node::name() const noexcept {
  return parts_->config.name;
}

std::uint64_t node::incarnation() const noexcept {
  return parts_->incarnation;
}

progress_loop& node::loop(std::size_t index) {
  return parts_->loops->loop(index);
}

// -- peers --------------------------------------------------------------------

caf::expected<std::uint16_t> node::listen() {
  return listen(parts_->config.listen.value_or("127.0.0.1:0"));
}

caf::expected<std::uint16_t> node::listen(const std::string& address) {
  auto& p = *parts_;
  host_port where;
  try {
    where = parse_host_port(address);
  } catch (const std::invalid_argument& x) {
    return make_error(errc::invalid_address, x.what());
  }
  auto port = p.links->listen(where.host, where.port);
  if (!port)
    return make_error(port.error());
  auto listener = p.loops->loop().spawn_functor<caf::hidden>(listener_actor, p.links,
                                                             listener_state{where.host, *port});
  std::lock_guard guard{p.mutex};
  p.listeners.push_back(std::move(listener));
  log_info(log_component::node, "listening on {}", to_string(host_port{where.host, *port}));
  return *port;
}

void node::stop_listening() {
  auto& p = *parts_;
  std::vector<caf::actor> listeners;
  {
    std::lock_guard guard{p.mutex};
    listeners.swap(p.listeners);
  }
  // Asked to close, not told to exit: a listener that ends later closes whatever the links listen on by then.
  caf::scoped_actor self{*p.system};
  for (auto& x : listeners) {
    if (progress_loop::current() != nullptr)
      self->send(x, close_listener{});
    else
      self->request(x, listener_patience, close_listener{}).receive([] {}, [](const caf::error&) {});
  }
  p.links->stop_listening();
}

caf::expected<peer> node::connect(const std::string& address) {
  auto& p = *parts_;
  if (progress_loop::current() != nullptr)
    return on_loop_error("connect");
  host_port where;
  try {
    where = parse_host_port(address);
  } catch (const std::invalid_argument& x) {
    return make_error(errc::invalid_address, x.what());
  }
  auto deadline = std::chrono::steady_clock::now() + p.config.connect_timeout;
  auto left = [deadline] { return deadline - std::chrono::steady_clock::now(); };
  for (;;) {
    using outcome = result<std::shared_ptr<transport::link>>;
    auto dialled = std::make_shared<std::promise<outcome>>();
    auto link = dialled->get_future();
    p.links->dial(where.host, where.port, std::max(to_ms(left()), std::chrono::milliseconds{1}),
                  [dialled](outcome x) { dialled->set_value(std::move(x)); });
    auto reached = link.get(); // the service answers at its own deadline
    if (!reached)
      return make_error(reached.error());
    auto session = (*reached)->session().low;
    auto patience = std::max(left(), std::chrono::nanoseconds{std::chrono::seconds{1}});
    caf::scoped_actor self{*p.system};
    caf::expected<peer> answer = make_error(errc::timed_out, "the lanes to " + address + " did not come up within "
                                                               "connect-timeout");
    self->request(p.peers, std::chrono::duration_cast<std::chrono::microseconds>(patience), await_session{session})
      .receive([&](const peer& who) { answer = who; },
               [&](caf::error& why) {
                 if (why != caf::sec::request_timeout)
                   answer = std::move(why);
               });
    if (answer || code_of(answer.error()) != errc::peer_closing || left() < reconnect_pause)
      return answer;
    std::this_thread::sleep_for(reconnect_pause); // that was the session before, which was being closed
  }
}

caf::error node::disconnect(const peer& who) {
  auto& p = *parts_;
  if (progress_loop::current() != nullptr) {
    caf::anon_send(p.peers, close_peer{who.session});
    return {};
  }
  caf::scoped_actor self{*p.system};
  caf::error answer;
  self->request(p.peers, caf::infinite, close_peer{who.session}).receive([] {}, [&](caf::error& why) {
    answer = std::move(why);
  });
  return answer;
}

void node::subscribe(const caf::actor& who) {
  caf::anon_send(parts_->peers, subscribe_events{who});
}

caf::expected<caf::actor> node::session_of(const peer& who) {
  if (progress_loop::current() != nullptr)
    return on_loop_error("session_of");
  caf::scoped_actor self{*parts_->system};
  caf::expected<caf::actor> answer = make_error(errc::internal);
  self->request(parts_->peers, caf::infinite, find_session{who.session})
    .receive([&](const caf::actor& x) { answer = x; }, [&](caf::error& why) { answer = std::move(why); });
  return answer;
}

// -- names --------------------------------------------------------------------

caf::error node::publish(const std::string& name, caf::actor who) {
  return parts_->names->publish(name, std::move(who));
}

caf::error node::unpublish(const std::string& name) {
  return parts_->names->unpublish(name);
}

caf::expected<caf::actor> node::lookup(const peer& where, const std::string& name) {
  auto& p = *parts_;
  if (progress_loop::current() != nullptr)
    return on_loop_error("lookup");
  auto box = p.table->find(node_id_of(where.name, where.incarnation));
  if (!box)
    return make_error(errc::unknown_peer, "cannot look up '" + name + "': there is no session with '" + where.name
                                            + "'; connect to it first");
  auto service = caf::actor_cast<caf::actor>(make_node_reference(*p.system, box));
  caf::scoped_actor self{*p.system};
  caf::expected<caf::actor> answer = make_error(errc::timed_out, "'" + where.name + "' did not answer the lookup of '"
                                                                   + name + "' within connect-timeout");
  self->request(service, std::chrono::duration_cast<std::chrono::microseconds>(p.config.connect_timeout),
                lookup_atom::value, name)
    .receive([&](const caf::actor& x) { answer = x; },
             [&](caf::error& why) {
               if (why != caf::sec::request_timeout)
                 answer = std::move(why);
             });
  return answer;
}

// -- life ---------------------------------------------------------------------

void node::adopt(caf::strong_actor_ptr who) {
  auto& p = *parts_;
  std::lock_guard guard{p.mutex};
  p.actors.emplace_back(who.get());
  if (p.actors.size() < p.prune_at)
    return;
  std::erase_if(p.actors, [](auto& x) {
    auto strong = x.lock();
    return !strong || strong->get()->getf(caf::abstract_actor::is_terminated_flag);
  });
  p.prune_at = std::max<std::size_t>(64, 2 * p.actors.size());
}

void node::run() {
  auto& p = *parts_;
  {
    stop_signals signals; // only while somebody waits: a node that does not run() leaves Ctrl-C alone
    {
      std::lock_guard guard{p.mutex};
      p.waiting = &signals;
      if (p.stop_requested)
        signals.wake();
    }
    signals.wait();
    std::lock_guard guard{p.mutex};
    p.waiting = nullptr;
  }
  shutdown();
}

void node::stop() noexcept {
  auto& p = *parts_;
  std::lock_guard guard{p.mutex};
  p.stop_requested = true;
  if (p.waiting != nullptr)
    p.waiting->wake();
}

void node::shutdown() {
  auto& p = *parts_;
  std::lock_guard only_once{p.shutdown_mutex};
  if (std::exchange(p.shut_down, true) || !p.links)
    return;
  stop_listening();
  {
    std::vector<caf::weak_actor_ptr> actors;
    {
      std::lock_guard guard{p.mutex};
      actors.swap(p.actors);
    }
    caf::scoped_actor self{*p.system};
    std::size_t left = 0;
    for (auto& x : actors) {
      if (auto strong = x.lock()) {
        auto who = caf::actor_cast<caf::actor>(strong);
        self->monitor(who);
        self->send_exit(who, caf::exit_reason::user_shutdown);
        ++left;
      }
    }
    auto deadline = std::chrono::steady_clock::now() + p.config.shutdown_timeout;
    for (auto late = false; left != 0 && !late;) {
      auto wait = std::max(deadline - std::chrono::steady_clock::now(), std::chrono::nanoseconds{0});
      self->receive([&](const caf::down_msg&) { --left; },
                    caf::after(std::chrono::duration_cast<std::chrono::microseconds>(wait)) >> [&] { late = true; });
    }
    if (left != 0) {
      log_warn(log_component::node, "{} actors did not end within shutdown-timeout: they are killed", left);
      for (auto& x : actors)
        if (auto strong = x.lock())
          self->send_exit(caf::actor_cast<caf::actor>(strong), caf::exit_reason::kill);
    }
    auto goodbye = to_ms(p.sessions.limits.goodbye_deadline) + goodbye_grace;
    self->request(p.peers, std::chrono::duration_cast<std::chrono::microseconds>(goodbye), close_sessions{})
      .receive([] {}, [](caf::error&) { log_warn(log_component::node, "not every peer answered the goodbye"); });
  }
  p.links->shutdown();
}

} // namespace troupe
