// Troupe's failures as CAF errors, and any CAF error as a line a person can act on.
#pragma once

#include <string>

#include <caf/atom.hpp>
#include <caf/error.hpp>
#include <caf/fwd.hpp>

#include <troupe/transport/errc.hpp>
#include <troupe/transport/result.hpp>

namespace troupe {

/// The category of a caf::error that holds a troupe::errc.
inline constexpr caf::atom_value error_category = caf::atom("troupe");

/// Makes a caf::error of `code`; `text` names what failed and the cause or limit: "cannot X: Y", or, with a next step
/// that is better than next_step(code), "cannot X: Y; do Z". Errors compare by code, not by text. errc::ok makes the
/// empty error. CAF finds this function when an errc converts to a caf::error. @threadsafe
[[nodiscard]] caf::error make_error(errc code, std::string text = "");

/// Makes a caf::error of a failure from the layers below. @threadsafe
[[nodiscard]] caf::error make_error(const failure& why);

/// The closest errc: exact for Troupe's own errors, mapped for caf::sec and caf::exit_reason, errc::ok for the empty
/// error and errc::internal for a category nobody knows. @threadsafe
[[nodiscard]] errc code_of(const caf::error& why) noexcept;

/// The text an error was made with, or "" if it has none or is not one of Troupe's. @threadsafe
[[nodiscard]] std::string text_of(const caf::error& why);

/// One line for a person: what failed, the cause, and the next step. Knows Troupe's errors, caf::sec and
/// caf::exit_reason; others are rendered by number. @threadsafe
[[nodiscard]] std::string explain(const caf::error& why);

/// Teaches a system to render Troupe's errors, so that actor_system::render() gives "troupe(busy: text)". (The free
/// caf::to_string(error) knows no registered category and prints the number: use explain().) loop_module::load() does
/// it. Before the actor_system is made.
void register_error_category(caf::actor_system_config& config);

} // namespace troupe
