#include <troupe/actors/fallback_codec.hpp>

#include <exception>
#include <new>

#include <caf/actor_system.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <troupe/actors/body_deserializer.hpp>
#include <troupe/actors/body_serializer.hpp>

namespace troupe {

namespace {

/// What CAF's inspect functions say about bytes that they cannot read is a number without a text; ours says more.
caf::error decode_error_of(caf::error why) {
  if (why.category() == error_category)
    return why;
  auto code = why == caf::sec::unknown_type ? errc::unknown_type : errc::decode_failed;
  return make_error(code, "its inspect function failed: " + to_string(why));
}

} // namespace

fallback_codec::fallback_codec(std::function<caf::type_erased_value_ptr()> make)
  : element_codec(make()->type(), sizeof(caf::type_erased_value_ptr), alignof(caf::type_erased_value_ptr)),
    make_(std::move(make)) {
  // nop
}

bool fallback_codec::encode(const caf::type_erased_tuple& content, std::size_t pos, body_writer& out) const {
  // Without a context CAF refuses handles and messages, and threads outside the actor system have none.
  caf::scoped_execution_unit own_ctx{&out.system()};
  body_serializer sink{out, out.context() != nullptr ? out.context() : &own_ctx};
  try {
    if (auto err = content.save(pos, sink))
      return out.fail(std::move(err));
  } catch (const std::exception& x) {
    return out.fail(errc::internal, std::string{"its inspect function threw: "} + x.what());
  }
  return sink.finish();
}

void* fallback_codec::decode(void* place, body_reader& in) const {
  caf::scoped_execution_unit own_ctx{&in.system()};
  body_deserializer source{in, in.context() != nullptr ? in.context() : &own_ctx};
  auto value = make_();
  try {
    if (auto err = value->load(source))
      in.fail(decode_error_of(std::move(err)));
  } catch (const std::exception& x) {
    in.malformed(std::string{"its inspect function threw: "} + x.what());
  }
  if (!in.ok())
    return nullptr;
  auto* held = new (place) caf::type_erased_value_ptr{std::move(value)};
  return (*held)->get_mutable();
}

void* fallback_codec::copy(void* place, const void* from) const {
  auto* held = new (place) caf::type_erased_value_ptr{at(from)->copy()};
  return (*held)->get_mutable();
}

void fallback_codec::destroy(void* place) const noexcept {
  using caf::type_erased_value_ptr;
  static_cast<type_erased_value_ptr*>(place)->~type_erased_value_ptr();
}

std::string fallback_codec::stringify(const void* place) const {
  return at(place)->stringify();
}

caf::type_erased_value_ptr fallback_codec::value_of(const void* place) const {
  return at(place)->copy();
}

caf::error fallback_codec::save(const void* place, caf::serializer& sink) const {
  return at(place)->save(sink);
}

caf::error fallback_codec::load(void* place, caf::deserializer& source) const {
  return at(place)->load(source);
}

const caf::type_erased_value_ptr& fallback_codec::at(const void* place) noexcept {
  return *static_cast<const caf::type_erased_value_ptr*>(place);
}

} // namespace troupe
