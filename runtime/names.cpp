#include <troupe/runtime/names.hpp>

#include <caf/result.hpp>

#include <troupe/actors/error.hpp>

namespace troupe {

caf::error name_table::publish(const std::string& name, caf::actor who) {
  if (name.empty() || name.size() > max_name_bytes)
    return make_error(errc::invalid_param, "a name has 1 to " + std::to_string(max_name_bytes) + " bytes, this one has "
                                             + std::to_string(name.size()));
  if (!who)
    return make_error(errc::invalid_param, "cannot publish '" + name + "': the handle is empty");
  std::lock_guard guard{mutex_};
  if (names_.size() >= max_names)
    return make_error(errc::exceeds_limit, "cannot publish '" + name + "': " + std::to_string(max_names)
                                             + " names are published already");
  if (!names_.emplace(name, std::move(who)).second)
    return make_error(errc::already_exists, "cannot publish '" + name + "': the name is taken; unpublish it first");
  return {};
}

caf::error name_table::unpublish(const std::string& name) {
  caf::actor old; // released without the lock: its end may run code
  std::lock_guard guard{mutex_};
  auto it = names_.find(name);
  if (it == names_.end())
    return make_error(errc::not_found, "cannot unpublish '" + name + "': no such name");
  old = std::move(it->second);
  names_.erase(it);
  return {};
}

caf::expected<caf::actor> name_table::find(const std::string& name) const {
  std::lock_guard guard{mutex_};
  auto it = names_.find(name);
  if (it == names_.end())
    return make_error(errc::not_found, "no actor is published as '" + name + "'");
  return it->second;
}

void name_table::clear() {
  std::map<std::string, caf::actor> old;
  std::lock_guard guard{mutex_};
  old.swap(names_);
}

caf::behavior name_service(caf::event_based_actor*, std::shared_ptr<const name_table> names) {
  return {
    [names](lookup_atom, const std::string& name) -> caf::result<caf::actor> {
      auto found = names->find(name);
      if (!found)
        return found.error();
      return *found;
    },
  };
}

} // namespace troupe
