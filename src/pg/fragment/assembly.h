// What assemble.cpp has translated, and write_program.cpp writes.
#pragma once

#include "pg/pg.h"

#include "pg/translate/translate.h"

namespace gpuscan {

// What becomes of a source's rows: the main pipeline's, or those that a table is built from.
struct PipelineParts {
    Array<ir::Conjunct> conjuncts;
    Array<ir::Index> build_keys; // of the table, as expressions of this pipeline ...
    Array<ir::Index> probe_keys; // ... and of the one that probes it
    Array<ir::Index> filters;    // of the join with the table, where that is not an inner one
    bool nullable_keys;          // a build key may be NULL
};

struct Assembly {
    const FragmentSpec *spec;
    Translation t;
    PipelineParts *parts; // per source
    Array<ir::Index> row_columns;
    int delivered;          // of them: the others are there for the order, and for windows
    AggregateStates states; // and the group keys, which come first
    int group_keys;
    Array<FragmentOutput> outputs;
    // Of the groups that are wanted.
    Array<ir::Index> having;
    bool having_exact;
    Array<ir::OrderKey> order; // ... or of rows
    // Window functions over rows, which have no other order then; the windows' keys are numbered from the first of `window_keys`.
    Array<ir::OrderKey> window_keys;
    Array<ir::Window> windows;
    Array<ir::WindowFunction> window_functions; // of the outputs, then what stands beside them: counts, scales, marks
    int tests;                                  // of `window_tests`: so many the device asks
    ir::Index top, top_offset;                  // constants
};

// Would it show something of rows that a policy hides, if it were asked of them?
bool is_guarded(const Assembly *a, int pipeline, Node *clause);

// The engine's node of what the device delivers just as PostgreSQL would show it.
bool translate_row_value(Translation *t, Expr *expr, TypedExpr *value, ir::Index *node);
// The same, but a numeric of mixed scales is a number, and *scale the node that says how many digits are shown (I64; else `none`).
bool translate_row_column(Translation *t, Expr *expr, TypedExpr *value, ir::Index *node, ir::Index *scale);
// That as an output, but for where it stands.
FragmentOutput row_output(const TypedExpr &value, const Expr *expr);
// ... and of what rows are ordered by.
bool translate_sort_key(Translation *t, Expr *expr, ir::Index *node);
ir::OrderKey order_key(int flags);
// A number of type int8 that is known when the plan starts; `constant` is none where there is no number. False: it is not known then.
bool add_number(Assembly *a, Expr *number, ir::Index *constant);

// Windows over the rows, behind the columns (assemble_windows.cpp).
bool add_windows(Assembly *a);
// Is it a comparison of a window function with something? Both sides as if the function stood first.
bool compares_window(const OpExpr *test, const WindowFunc **function, ir::Op *op, Expr **bound);

// Fills the fragment's program.
void write_program(Assembly *a, Fragment *out);

} // namespace gpuscan
