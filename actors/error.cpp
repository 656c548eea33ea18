#include <troupe/actors/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>

namespace troupe {

namespace {

constexpr auto sec_category = caf::atom("system");
constexpr auto exit_category = caf::atom("exit");

struct row {
  std::uint8_t code;
  errc nearest;
  std::string_view what;
  std::string_view next; // empty: that of the nearest errc
};

constexpr row of(caf::sec code, errc nearest, std::string_view what, std::string_view next = "") {
  return {static_cast<std::uint8_t>(code), nearest, what, next};
}

constexpr row of(caf::exit_reason code, errc nearest, std::string_view what, std::string_view next = "") {
  return {static_cast<std::uint8_t>(code), nearest, what, next};
}

using caf::sec;

/// What an application meets without CAF's own network; the others are internal and keep CAF's name for them.
constexpr auto sec_rows = std::to_array<row>({
  of(sec::unexpected_message, errc::unsupported, "the actor has no handler for this message",
     "Send what its behavior accepts, or add a handler."),
  of(sec::unexpected_response, errc::unsupported, "the response has another type than the requester's handler",
     "Let both sides agree on the type of the response."),
  of(sec::request_receiver_down, errc::unknown_target, "the receiver of the request has ended",
     "Look the actor up again, or have it supervised."),
  of(sec::request_timeout, errc::timed_out, "no response came within the request's timeout",
     "Check that the receiver answers, or raise the timeout of the request."),
  of(sec::invalid_argument, errc::invalid_param, "an argument is invalid"),
  of(sec::end_of_stream, errc::decode_failed, "the message ends too early"),
  of(sec::unknown_type, errc::unknown_type, "the message holds a type that is not registered"),
  of(sec::no_proxy_registry, errc::decode_failed, "a remote handle was decoded outside of a node"),
  of(sec::no_context, errc::decode_failed, "a handle was decoded outside of a node"),
  of(sec::runtime_error, errc::internal, "a message handler threw an exception",
     "Look at the actor's log, and catch the exception in the handler."),
  of(sec::remote_linking_failed, errc::unknown_target, "the actor to link to has ended"),
  of(sec::bad_function_call, errc::invalid_param, "a function view has no actor", "Assign an actor to it first."),
  of(sec::feature_disabled, errc::unsupported, "the feature is disabled in the configuration"),
  of(sec::cannot_open_file, errc::not_found, "a file cannot be opened", "Check that it exists and may be read."),
  of(sec::no_route_to_receiving_node, errc::unreachable, "there is no way to the node"),
  of(sec::cannot_connect_to_node, errc::unreachable, "the node cannot be reached"),
  of(sec::connection_timeout, errc::timed_out, "the connection gave no sign of life in time"),
  of(sec::socket_disconnected, errc::peer_reset, "the connection was closed"),
  of(sec::unavailable_or_would_block, errc::busy, "the resource is not available now"),
});

constexpr auto exit_rows = std::to_array<row>({
  of(caf::exit_reason::unhandled_exception, errc::internal, "an actor ended by an exception",
     "Look at the actor's log, and catch the exception."),
  of(caf::exit_reason::unknown, errc::internal, "an actor ended for an unknown reason"),
  of(caf::exit_reason::out_of_workers, errc::no_resource, "an actor pool has no worker left",
     "Add workers to the pool."),
  of(caf::exit_reason::user_shutdown, errc::canceled, "the actor was told to shut down",
     "Nothing, unless it should have gone on: then look for who told it."),
  of(caf::exit_reason::kill, errc::canceled, "the actor was killed",
     "Nothing, unless it should have gone on: then look for who killed it."),
  of(caf::exit_reason::remote_link_unreachable, errc::peer_dead, "the node of the actor is gone"),
  of(caf::exit_reason::unreachable, errc::abandoned, "nobody could send to the actor any more, so it ended",
     "Keep a handle to the actor as long as it is needed."),
});

const row* find(const caf::error& why) noexcept {
  auto in = [&why](const auto& rows) -> const row* {
    auto i = std::find_if(rows.begin(), rows.end(), [&why](const row& x) { return x.code == why.code(); });
    return i != rows.end() ? &*i : nullptr;
  };
  switch (static_cast<std::uint64_t>(why.category())) {
    case static_cast<std::uint64_t>(sec_category):
      return in(sec_rows);
    case static_cast<std::uint64_t>(exit_category):
      return in(exit_rows);
    default:
      return nullptr;
  }
}

/// Texts may come from a peer: nothing in them may start a new line or steer a terminal.
std::string one_line(std::string text) {
  auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::replace_if(text.begin(), text.end(), is_control, ' ');
  return text;
}

std::string text_in(const caf::message& context) {
  if (context.match_elements<std::string>())
    return context.get_as<std::string>(0);
  return context.empty() ? std::string{} : to_string(context);
}

std::string render(std::uint8_t value, const caf::message& context) {
  std::string result{to_string(static_cast<errc>(value))};
  if (auto text = text_in(context); !text.empty())
    result += ": " + one_line(std::move(text));
  return result;
}

/// A text of Troupe's that has a next step of its own separates it with a semicolon.
bool is_complete(std::string_view text) noexcept {
  return text.find("; ") != std::string_view::npos;
}

std::string explain_own(const caf::error& why) {
  auto code = static_cast<errc>(why.code());
  auto text = one_line(text_in(why.context()));
  if (text.empty())
    return std::string{to_string(code)} + ". " + std::string{next_step(code)};
  auto result = text + " (" + std::string{to_string(code)} + ')';
  if (!is_complete(text))
    result += ". " + std::string{next_step(code)};
  return result;
}

} // namespace

caf::error make_error(errc code, std::string text) {
  if (code == errc::ok)
    return {};
  auto value = static_cast<std::uint8_t>(code);
  if (text.empty())
    return {value, error_category};
  return {value, error_category, caf::make_message(std::move(text))};
}

caf::error make_error(const failure& why) {
  return make_error(why.code, why.text);
}

errc code_of(const caf::error& why) noexcept {
  if (!why)
    return errc::ok;
  if (why.category() == error_category)
    return is_errc(why.code()) ? static_cast<errc>(why.code()) : errc::internal;
  auto known = find(why);
  return known != nullptr ? known->nearest : errc::internal;
}

std::string text_of(const caf::error& why) {
  if (!why || why.category() != error_category)
    return {};
  return text_in(why.context());
}

std::string explain(const caf::error& why) {
  if (!why)
    return "ok";
  if (why.category() == error_category)
    return explain_own(why);
  auto known = find(why);
  if (known == nullptr)
    return one_line(caf::actor_system_config::render(why)) + ". " + std::string{next_step(errc::internal)};
  std::string result{known->what};
  if (auto text = one_line(text_in(why.context())); !text.empty())
    result += ": " + text;
  result += " (" + caf::actor_system_config::render(caf::error{why.code(), why.category()}) + "). "; // its name in CAF
  result += known->next.empty() ? next_step(known->nearest) : known->next;
  return result;
}

void register_error_category(caf::actor_system_config& config) {
  config.add_error_category(error_category, [](std::uint8_t value, caf::atom_value, const caf::message& context) {
    return "troupe(" + render(value, context) + ')';
  });
}

} // namespace troupe
