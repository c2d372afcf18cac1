// Between the files that translate(): which node kinds each of them takes, and what they make values with. Everybody else
// includes translate.h only.
#pragma once

#include "pg/plan/translate.h"

namespace gpuscan {

// Does a literal fit a type?
bool fits(int128 value, Type type);

// *out = the node `expr` as a value of `kind`; without scale and precision where it is a numeric.
void node_value(Value *out, SqlKind kind, Type type, ir::Index expr, bool nullable);
void bool_value(Value *out, ir::Index expr, bool nullable);

// Leaves (translate_leaf.cpp). Late constants are built-in functions of constants and parameters, none of them volatile.
bool translate_const(Translation *t, const Const *constant, Value *out);
bool translate_late_constant(Translation *t, Expr *expr, Value *out);
bool is_late_constant(Expr *expr);

// A numeric that is encoded for one comparison: a late constant, or a column of a CPU plan.
bool add_rounded_constant(Translation *t, Expr *expr, Type type, int32 scale, Rounding rounding, ir::Index *node);
bool add_rounded_column(Translation *t, int source, const Var *var, Type type, int32 scale, Rounding rounding,
                        ir::Index *node);

// Logic (translate_logic.cpp).
bool translate_bool(Translation *t, const BoolExpr *expr, Value *out);
bool translate_null_test(Translation *t, const NullTest *test, Value *out);
bool translate_boolean_test(Translation *t, const BooleanTest *test, Value *out);

// Comparisons (translate_comparison.cpp).
bool translate_distinct(Translation *t, const DistinctExpr *expr, Value *out);
bool translate_array_comparison(Translation *t, const ScalarArrayOpExpr *expr, Value *out);

// Comparisons of a numeric with one that has no scale of its own (translate_unscaled.cpp).
bool is_unscaled(const Translation *t, Expr *expr);
bool translate_unscaled_comparison(Translation *t, ir::Op op, List *args, Value *out);

// Conditional expressions (translate_conditional.cpp).
bool translate_case(Translation *t, const CaseExpr *expr, Value *out);
bool translate_coalesce(Translation *t, const CoalesceExpr *expr, Value *out);
bool translate_nullif(Translation *t, const NullIfExpr *expr, Value *out);

} // namespace gpuscan
