// Members of structs that CAF's serializers treat carelessly.
//
// CAF serializes a caf::message member through a template that throws the resulting error away: an unregistered type
// inside would turn into missing bytes. It reads a caf::duration without a look at its unit, and crashes when it prints
// one that does not exist. These overloads are a better match than CAF's own functions wherever this header was
// included before the struct's inspect function is used, and hand the error to the codec. Other serializers behave as
// before.
#pragma once

#include <caf/fwd.hpp>

namespace caf {

void serialize(serializer& sink, message& x);
void serialize(deserializer& source, message& x);
void serialize(serializer& sink, duration& x);
void serialize(deserializer& source, duration& x);

} // namespace caf
