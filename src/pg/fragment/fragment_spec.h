// A fragment as the planner thinks of it: which relations, which expressions, in which order.
//
// The hooks make a FragmentSpec out of candidates (candidates.h); path.cpp stores it in a CustomScan; bind.cpp reads it back
// at executor start. assemble() turns a FragmentSpec into the engine's program, for the planner as a trial and for the
// executor in earnest, so the two cannot disagree about what a device may run.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

struct SpecSource {
    bool is_relation;
    Index rti;
    Oid relid;     // InvalidOid for a CPU plan
    List *leaves;  // a parent: range table indexes of the relations that hold its rows; NIL: the relation itself does
    bool is_empty; // PostgreSQL has proven that no row of it is asked for: it is not opened
    const char *alias;
    int child;          // CPU plan: index into the custom plans (from 1); else -1
    List *child_attnos; // CPU plan, once planned: attribute numbers of the child's target list, in order (0: other)
    List *quals;        // implicitly ANDed expressions, in the order in which they should run
    double rows;        // after the quals
    // Row-level security applies to the query's user: the first `policy_quals` quals are the policies' and what may stand before these,
    // all others that are not leakproof are asked of the policies' rows alone (hidden_rows.h).
    bool hides_rows;
    int policy_quals;
};

// Join i - 1 probes the table that is built from source i (from 1) and from what has been joined to that before.
struct SpecJoin {
    ir::JoinKind kind;
    int into;              // the source whose rows probe: 0 (the main one), or a later one, whose table is built then
    List *clauses;         // equalities between expressions of the table's sources and of others
    List *partner_filters; // not Inner: what else must hold of a row of the table for it to be a partner
    List *filters;         // what must hold of a row that comes out of the join
};

struct FragmentSpec {
    int nsources;
    SpecSource *sources; // [0] is the main one
    SpecJoin *joins;     // [nsources - 1]
    List *keys;          // group key expressions
    List *aggrefs;
    List *
        sets; // GROUPING SETS and the like: integers, each with a bit per key that the set's groups differ in; NIL: one
              // set of all keys
    List *groupings; // GROUPING(), of the sets
    List *asked;     // and for each of them the numbers of the keys that it asks for
    bool has_group_by;
    // What the device need not deliver (fragment/wanted_groups.cpp). PostgreSQL tests and sorts what it gets all the same.
    List *having;       // groups of which one of these is not true
    List *order;        // beyond the first ones in the order of these; delivers_rows: all rows come in it
    List *order_flags;  // per expression: OrderFlag
    Expr *top;          // that so many are wanted (NULL: all of them)
    Expr *top_offset;   // and so many more; or NULL
    bool ties;          // and those that are equal to the last of them
    bool sorted;        // of groups, top being NULL: all of them come in the order of `order`
    bool delivers_rows; // no aggregation: keys and aggrefs are empty
    List *columns;      // delivers_rows: the expressions of a row
    List *
        checks; // delivers_rows: expressions whose errors are the query's, in whichever row; nobody asks for their values
    int limit;         // delivers_rows: rows that are wanted at most, whichever they are; 0: all
    bool hides_counts; // how much it has read is shown to nobody who may not see all of its rows (hidden_rows.h)
};

// The scan tuple's first columns are the outputs: keys, aggregates, GROUPING(), or a row's columns; the fallback plan delivers
// just these.
inline int output_count(const FragmentSpec *spec) {
    return list_length(spec->keys) + list_length(spec->aggrefs) + list_length(spec->groupings) +
           list_length(spec->columns);
}

inline bool reads_relation(const FragmentSpec *spec) {
    for (int i = 0; i < spec->nsources; ++i)
        if (spec->sources[i].is_relation)
            return true;
    return false;
}

// Builds program and description. Planner (binding = false): NULL where a device may not run it, the reason has been
// told. Binding: never NULL.
Fragment *assemble(const FragmentSpec *spec, bool binding);

} // namespace gpuscan
