// In which form does a device hold the values of a column?
//
// The planner, which makes fragments, and gpuscan.prewarm, which brings columns before a query asks for them, must say the same.
#pragma once

#include "pg/pg.h"

#include "pg/catalog/sql_type.h"
#include "pg/cost/numeric_form.h"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// Of a numeric in 64 and in 128 bits: decimal digits, all together.
constexpr int short_precision = 18, max_precision = 36;
// The typmod of numeric(precision, scale).
int32 typmod_of_numeric(int precision, int32 scale);

// The form of a type (domains looked through) in *column, but for its number and whether it may be NULL, and its kind, which is Opaque for
// a numeric that is only handed through, and for character without a length. False for what no device holds; the reason has been told.
bool describe_column(Oid type, int32 typmod, Oid collation, const TableColumn &place, FragmentColumn *column,
                     SqlKind *kind);

// Of numerics of mixed scales: with how many digits each is shown.
FragmentColumn scale_of(const FragmentColumn &column);

// Under which number the cache has it: of the attribute, or of the expression.
uint32 column_number(const FragmentColumn *column);

} // namespace gpuscan
