// What the tests of the codec share: message types of many shapes, and two nodes that exchange encoded messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_proxy.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/duration.hpp>
#include <caf/make_actor.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/optional.hpp>
#include <caf/proxy_registry.hpp>
#include <caf/scoped_execution_unit.hpp>
#include <caf/variant.hpp>

#include <troupe/actors/codec.hpp>
#include <troupe/actors/direct_types.hpp>
#include <troupe/actors/loop_module.hpp>
#include <troupe/actors/node_identity.hpp>

namespace troupe::test {

enum class color : std::uint8_t { red = 1, green = 200 };

struct reading {
  double ratio = 0;
  float part = 0;
  std::string name;
  std::vector<std::int32_t> values;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, reading& x) {
  return f(caf::meta::type_name("reading"), x.ratio, x.part, x.name, x.values);
}

struct report {
  reading first;
  std::map<std::string, reading> others;
  caf::optional<float> maybe;
  std::vector<bool> flags;
  std::set<std::uint64_t> ids;
  std::array<std::uint16_t, 3> triple{};
  std::pair<bool, char> both{};
  std::u16string wide;
  std::u32string wider;
  long double precise = 0;
  color paint = color::red;
  caf::variant<std::int32_t, std::string> either;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, report& x) {
  return f(caf::meta::type_name("report"), x.first, x.others, x.maybe, x.flags, x.ids, x.triple, x.both, x.wide,
           x.wider, x.precise, x.paint, x.either);
}

/// Holds a message and an error, of which CAF's serializers lose the failures.
struct envelope {
  std::int32_t id = 0;
  caf::message content;
  caf::error why;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, envelope& x) {
  return f(caf::meta::type_name("envelope"), x.id, x.content, x.why);
}

/// Holds handles where CAF writes them, not the codec.
struct contacts {
  std::uint64_t before = 0;
  caf::actor first;
  std::vector<caf::actor> others;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, contacts& x) {
  return f(caf::meta::type_name("contacts"), x.before, x.first, x.others);
}

struct chunk {
  std::uint64_t offset = 0;
  payload data;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, chunk& x) {
  return f(caf::meta::type_name("chunk"), x.offset, x.data);
}

/// Recursive.
struct tree {
  std::int32_t value = 0;
  std::vector<tree> children;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, tree& x) {
  return f(caf::meta::type_name("tree"), x.value, x.children);
}

/// Has padding between its members and at its end.
struct sample {
  std::int8_t kind;
  double value;
  float error;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, sample& x) {
  return f(caf::meta::type_name("sample"), x.kind, x.value, x.error);
}

/// Holds what CAF reads without a check.
struct pause {
  caf::duration length;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, pause& x) {
  return f(caf::meta::type_name("pause"), x.length);
}

/// Known to no node.
struct stranger {
  std::int32_t x = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, stranger& x) {
  return f(caf::meta::type_name("stranger"), x.x);
}

/// Must stay in its process.
struct stay_at_home {
  int* address = nullptr;
};

/// Fails to be written, and to be read.
struct stubborn {
  std::int32_t x = 0;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, stubborn& x) {
  if constexpr (std::is_same_v<typename Inspector::result_type, caf::error>)
    return caf::make_error(caf::sec::invalid_argument);
  else
    return f(caf::meta::type_name("stubborn"), x.x);
}

/// Stands for an actor of another node.
class stub_proxy final : public caf::actor_proxy {
public:
  explicit stub_proxy(caf::actor_config& cfg) : caf::actor_proxy(cfg) {}
  void enqueue(caf::mailbox_element_ptr, caf::execution_unit*) override {}
  void kill_proxy(caf::execution_unit*, caf::error) override {}

  static caf::strong_actor_ptr make(caf::actor_system& system, const caf::node_id& node, caf::actor_id id) {
    caf::actor_config cfg;
    return caf::make_actor<stub_proxy, caf::strong_actor_ptr>(id, node, &system, cfg);
  }
};

/// A node as far as a codec is concerned.
class codec_node final : public handle_source, public caf::proxy_registry::backend {
public:
  /// `change` may register further types.
  explicit codec_node(const std::string& name, void (*change)(caf::actor_system_config&) = nullptr) {
    loop_module_options options;
    options.node = node_id_of(name, 1);
    config.set("scheduler.max-threads", std::size_t{1});
    loop_module::load(config, options);
    add_payload_type(config);
    config.add_message_type<reading>("reading").add_message_type<report>("report");
    config.add_message_type<envelope>("envelope").add_message_type<contacts>("contacts");
    config.add_message_type<chunk>("chunk").add_message_type<tree>("tree").add_message_type<stubborn>("stubborn");
    config.add_message_type<pause>("pause");
    add_trivial_message_type<sample>(config, "sample");
    if (change != nullptr)
      change(config);
    system.emplace(config);
    types.emplace(*system);
    encoder.emplace(*system, *types);
    proxies.emplace(*system, *this);
    ctx.emplace(&*system);
    ctx->proxy_registry_ptr(&*proxies);
  }

  ~codec_node() override { proxies->clear(); }

  caf::strong_actor_ptr local(caf::actor_id id) override {
    asked_local.push_back(id);
    auto i = residents.find(id);
    return i != residents.end() ? i->second : nullptr;
  }
  caf::strong_actor_ptr remote(const caf::node_id& node, caf::actor_id id) override {
    return stub_proxy::make(*system, node, id);
  }
  caf::strong_actor_ptr make_proxy(caf::node_id node, caf::actor_id id) override {
    return stub_proxy::make(*system, node, id);
  }
  void set_last_hop(caf::node_id*) override {}

  caf::actor_system_config config;
  std::optional<caf::actor_system> system;
  std::optional<type_table> types;
  std::optional<codec> encoder;
  std::optional<caf::proxy_registry> proxies;
  std::optional<caf::scoped_execution_unit> ctx;
  std::map<caf::actor_id, caf::strong_actor_ptr> residents; ///< what local() finds
  std::vector<caf::actor_id> asked_local;
};

/// A message on the wire.
struct encoded {
  caf::error failure;
  std::vector<std::byte> body;
  encoded_extras extras;
};

inline encoded encode(codec_node& from, const caf::type_erased_tuple& content) {
  encoded result;
  for (auto size : {std::size_t{64}, std::size_t{0}}) {
    result.body.resize(size == 0 ? result.body.size() : size);
    proto::byte_writer out{result.body};
    result.failure = from.encoder->encode(content, out, result.extras, &*from.ctx);
    auto fits = !out.overflown();
    result.body.resize(out.needed());
    if (fits || result.failure)
      break;
  }
  return result;
}

inline caf::expected<caf::message> decode(codec_node& at, codec_node& from, std::span<const std::byte> body,
                                          std::span<const payload> attachments = {}) {
  auto theirs = peer_types::match(*at.types, from.types->names());
  if (!theirs)
    return theirs.error();
  return at.encoder->decode(body, attachments, *theirs, at, &*at.ctx);
}

} // namespace troupe::test

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::test::stay_at_home)
