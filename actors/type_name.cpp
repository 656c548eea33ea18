#include <troupe/actors/type_name.hpp>

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include <troupe/actors/error.hpp>

namespace troupe {

std::string type_name(caf::rtti_pair type) {
  if (type.first != 0)
    return caf::numbered_type_names[type.first - 1];
  if (type.second == nullptr)
    return "a type without a name";
  auto status = 0;
  std::unique_ptr<char, void (*)(void*)> name{abi::__cxa_demangle(type.second->name(), nullptr, nullptr, &status),
                                              std::free};
  return name ? name.get() : type.second->name();
}

caf::error annotate(caf::error why, std::size_t pos, const std::string& type) {
  if (!why || why.category() != error_category)
    return why;
  return make_error(code_of(why), "element " + std::to_string(pos) + " (" + type + "): " + text_of(why));
}

} // namespace troupe
