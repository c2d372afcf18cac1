// Types, and their values as SQL writes them.
#pragma once

#include "draw.hpp"

namespace fuzz {

enum Type { Bool, Int2, Int4, Int8, Float4, Float8, Numeric, Date, Timestamp, Timestamptz, Text, Bpchar, types };

extern const char *const type_names[types];

// A literal without its type; `edge` per cent of them are at the type's limits.
string literal(Type type, int edge);
string quoted(const string &text);
string constant(Type type, int edge = 12); // with its type

} // namespace fuzz
