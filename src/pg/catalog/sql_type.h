// Which SQL types the device knows, and as what (see engine/ir/types.hpp).
#pragma once

#include "pg/pg.h"

#include "engine/ir/types.hpp"

namespace gpuscan {

enum class SqlKind {
    None,
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Date,
    Timestamp,
    Timestamptz,
    Text,
    Bpchar,
    Money,
    Time,
    Oid,  // the order of unsigned numbers
    Enum, // the order of unsigned numbers, where they tell it (translate_comparison.cpp: has_plain_order)
    Uuid,
    Interval, // 128 bits that say how it is written; compared by its length
    Bytes,    // equal if every byte is: bytea, inet, cidr, macaddr, timetz; by a dictionary
    Opaque    // only delivered and tested for NULL: jsonb, arrays, ...; by a dictionary
};

// The kind of a type, domains looked through; None for one that the device does not know.
SqlKind sql_kind(Oid typid);

// The engine's type of every kind but Numeric, whose type depends on its precision.
Type engine_type(SqlKind kind);

// The narrowest integer for so many decimal digits: I64 up to 18, else I128 (more than 38 may overflow: a row error).
inline Type numeric_type(int precision) { return precision <= 18 ? Type::I64 : Type::I128; }

// Decimal digits that a value of an integer kind may have.
int integer_digits(SqlKind kind);

inline bool is_integer_kind(SqlKind kind) {
    return kind == SqlKind::Int2 || kind == SqlKind::Int4 || kind == SqlKind::Int8;
}
inline bool is_float_kind(SqlKind kind) { return kind == SqlKind::Float4 || kind == SqlKind::Float8; }
inline bool is_text_kind(SqlKind kind) { return kind == SqlKind::Text || kind == SqlKind::Bpchar; }

// Values are codes of a dictionary.
inline bool is_coded_kind(SqlKind kind) {
    return is_text_kind(kind) || kind == SqlKind::Bytes || kind == SqlKind::Opaque;
}
inline bool is_unsigned_kind(SqlKind kind) { return kind == SqlKind::Oid || kind == SqlKind::Enum; }
// Are the engine's values in the order of the type? (Of others see order_node(); texts have ranks.)
inline bool is_in_order(SqlKind kind) {
    return !is_coded_kind(kind) && !is_unsigned_kind(kind) && kind != SqlKind::Interval;
}

// The value of an int2, int4 or int8; false for any other type.
bool integer_of(Oid type, Datum value, int64 *number);

// Precision and scale of numeric(p,s); false without typmod.
bool numeric_typmod(int32 typmod, int *precision, int *scale);
int32 numeric_typmod_of(int precision, int scale);

// Without the casts on top that change nothing but the type.
Expr *strip_relabels(Expr *expr);

} // namespace gpuscan
