// Datums to the engine's values and back.
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// A value in the width of its type, sign-extended to 128 bits; floats as their bits in the low word.
bool encode_value(Datum value, Oid typid, Type type, int32 scale, bool exact_scale, ir::Value *to, const char **reason);

// A value that is not NULL of a column of a relation or of a CPU plan.
bool encode_column(Datum value, const FragmentColumn *column, ir::Value *to, const char **reason);

// Writes an encoded value as one element of a column.
void store_value(char *to, Type type, const ir::Value *value);

// A numeric as an integer scaled by 10^scale. exact_scale: its display scale must be `scale` (values that may be
// shown); else only its value must fit. False with the reason.
bool encode_numeric(Datum value, int32 scale, bool exact_scale, int128 *to, const char **reason);

// How many decimal digits a numeric has before the point and is shown with after it; false for NaN and infinities.
bool digits_of_numeric(Datum value, int *whole, int *scale);

// A numeric for a comparison with numbers of type I64 (at most 18 digits) or I128 (at most 38) and this scale.
bool encode_rounded(Datum value, Type type, int32 scale, Rounding rounding, ir::Value *to, const char **reason);

// A numeric of exactly this value and display scale.
Datum make_numeric(int128 value, int32 scale);
// The numeric of `scale` digits after the point with `shown` of them; what goes away are zeros.
Datum with_scale(Datum numeric, int32 scale, int32 shown);

// The numeric value / 10^scale, shown with `shown` digits after the point (what fewer of them leave out must be zeros), into `to`, which
// has room for numeric_room bytes: the very bytes that numeric.c would store. Scale 0 to 60.
constexpr Size numeric_room = 40;
void write_numeric(int128 value, int32 scale, int32 shown, char *to);

// A value of type F32 or F64.
double float_of_value(Type type, const ir::Value *value);

// The engine's value as a Datum of a type that is not text.
Datum make_value(Oid typid, Type type, int32 scale, const ir::Value *value);

inline int128 wide(const ir::Value *value) {
    return static_cast<int128>((static_cast<uint128>(static_cast<uint64>(value->high)) << 64) | value->low);
}

inline void set_wide(ir::Value *to, int128 value) {
    to->low = static_cast<uint64>(value);
    to->high = static_cast<int64>(value >> 64);
}

// A uuid as an integer of the same order, and back (16 bytes).
int128 uuid_value(Datum value);
void write_uuid(int128 value, char *to);

// An interval's fields, each at its place (device/semantics.cuh), and back (16 bytes).
int128 interval_value(Datum value);
void write_interval(int128 value, char *to);

} // namespace gpuscan
