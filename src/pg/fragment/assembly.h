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
    int delivered;          // of them: the others are there for the order
    AggregateStates states; // and the group keys, which come first
    int group_keys;
    Array<FragmentOutput> outputs;
    // Of the groups that are wanted.
    Array<ir::Index> having;
    bool having_exact;
    Array<ir::OrderKey> order; // ... or of rows
    ir::Index top, top_offset; // constants
};

// Would it show something of rows that a policy hides, if it were asked of them?
bool is_guarded(const Assembly *a, int pipeline, Node *clause);

// Fills the fragment's program.
void write_program(Assembly *a, Fragment *out);

} // namespace gpuscan
