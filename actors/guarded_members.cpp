#include <troupe/actors/guarded_members.hpp>

#include <stdexcept>
#include <string>

#include <caf/actor_system.hpp>
#include <caf/deserializer.hpp>
#include <caf/duration.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>
#include <caf/uniform_type_info_map.hpp>

#include <troupe/actors/body_deserializer.hpp>
#include <troupe/actors/body_serializer.hpp>
#include <troupe/actors/local_types.hpp>
#include <troupe/actors/type_name.hpp>

namespace {

/// CAF asks of serialize that it throws when it fails, and goes on with the next member otherwise. The codec catches it
/// and answers with the failure that was recorded before.
[[noreturn]] void stop() {
  throw std::runtime_error("a member could not be serialized");
}

/// Whether CAF can write the message. If not CAF would say so on stderr, without a name that a person knows; and of the
/// messages inside this one some are written by code in CAF's library, which loses the error.
bool all_registered(const caf::message& x, troupe::body_writer& out) {
  if (!out.deepen())
    return false;
  auto& types = out.system().types();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (types.portable_name(x.type(i)) == types.default_type_name())
      return out.fail(troupe::errc::unknown_type, "a message inside it: " + troupe::type_name(x.type(i))
                                                    + " is not a registered message type");
    if (x.match_element<caf::message>(i) && !all_registered(x.get_as<caf::message>(i), out))
      return false;
    if (x.match_element<caf::error>(i) && x.get_as<caf::error>(i)
        && !all_registered(x.get_as<caf::error>(i).context(), out))
      return false;
  }
  return true;
}

} // namespace

namespace caf {

void serialize(serializer& sink, message& x) {
  auto* body = dynamic_cast<troupe::body_serializer*>(&sink);
  if (body == nullptr) {
    x.save(sink); // as CAF does
    return;
  }
  if (!all_registered(x, body->out()))
    stop();
  if (auto err = x.save(sink)) {
    body->out().fail(std::move(err));
    stop();
  }
}

void serialize(deserializer& source, message& x) {
  auto err = x.load(source);
  auto* body = dynamic_cast<troupe::body_deserializer*>(&source);
  if (!err || body == nullptr)
    return;
  if (err == sec::unknown_type)
    err = troupe::make_error(troupe::errc::unknown_type,
                             "a message inside it holds a type that is not registered: " + to_string(err.context()));
  body->in().fail(std::move(err));
  stop();
}

void serialize(serializer& sink, duration& x) {
  auto err = inspect(sink, x);
  if (err && dynamic_cast<troupe::body_serializer*>(&sink) != nullptr)
    stop(); // the body has the failure
}

void serialize(deserializer& source, duration& x) {
  auto err = inspect(source, x);
  auto* body = dynamic_cast<troupe::body_deserializer*>(&source);
  if (body == nullptr)
    return;
  if (!err && !troupe::is_time_unit(x.unit))
    body->in().malformed("a duration in a unit that does not exist");
  if (!body->in().ok())
    stop();
}

} // namespace caf
