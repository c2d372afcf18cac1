// What is a fragment? Which relations, which expressions, in which order: all that PostgreSQL's side says of it, from the planner to
// EXPLAIN. The engine's program (engine/ir/ir.hpp) says the same without knowing PostgreSQL.
//
// A fragment is described once. Whoever goes on with a description adds what is known then: the planner of a source what reading
// it costs (candidate_source.h), the translator which columns it needs (translate.h), assemble() the program (fragment.h). In
// between it travels in a CustomScan (plan_data.h).
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "engine/store/decode.hpp"
#include "pg/catalog/sql_type.h"
#include "pg/fragment/array.h"

namespace gpuscan {

// What becomes of a numeric that the device's type and scale cannot hold.
enum class Rounding : uint8 {
    None,        // the CPU plan
    Up,          // for one comparison: the next number above; beyond all numbers the end of the type
    Down,        //
    OrElsewhere, // for an equality: a number that the other side never is
};

// One column that a source delivers to the device.
struct FragmentColumn {
    AttrNumber attnum; // of the relation (a parent: of the parent); of a CPU plan: its target list position (from 1)
    Oid typid;
    int32 typmod;
    Oid collation;
    Type type;
    Codec codec;
    int32 scale;   // numeric: digits after the point; else 0
    bool tied;     // numeric: an answer had equal values that are shown in different ways
    uint8 digits;  // of a numeric whose type does not say it: at most, all together (pg/cost/numeric_form.h); else 0
    uint8 misfits; // ... and how often values had not fitted when this form was taken
    Rounding rounding;
    bool nullable; // false: NOT NULL is declared (and no outer join nulls it)
    Expr *
        expr; // of a relation: no attribute (attnum is 0) but an expression over them (translate/expression_column.cpp)
    AttrNumber output; // of a stage: which output of its fragment, from 1; else 0
};

// How a row's partners are found in a table.
enum class PartnersBy {
    Pair,     // every pair is looked at
    Key,      // by equalities
    Interval, // the row's value lies between bounds of theirs
};

// How rows meet the table that a source's rows, and what has been joined to them before, make.
struct FragmentJoin {
    ir::JoinKind kind;
    PartnersBy by;
    int into;              // the source whose rows probe: 0 (the main one), or a later one, whose table is built then
    List *clauses;         // equalities between expressions of the table's sources and of others
    List *partner_filters; // not Inner: what else must hold of a row of the table for it to be a partner
    List *filters;         // what must hold of a row that comes out of the join
};

// A base relation that the device reads, or the rows of a CPU plan of one.
struct FragmentSource {
    bool is_relation;
    Index rti;
    Oid relid;     // InvalidOid for a CPU plan
    List *leaves;  // a parent: range table indexes of the relations that hold its rows; NIL: the relation itself does
    bool is_empty; // PostgreSQL has proven that no row of it is asked for: it is not opened
    const char *alias;
    int child;          // CPU plan: index into the custom plans (from 1); else -1
    List *child_attnos; // CPU plan, once planned: attribute numbers of the child's target list, in order (0: other)
    // CPU plan of a subquery whose groups or rows stay in the device process (stage.h): what each of its columns is, by attribute
    // number from 1 on, over the outputs of its fragment: Var(OUTER_VAR, output from 1); NULL for one that is not handed on. Else NIL.
    List *stage_columns;
    List *quals; // implicitly ANDed expressions, in the order in which they should run
    double rows; // after the quals
    // Row-level security applies to the query's user: the first `policy_quals` quals are the policies' and what may stand before these,
    // all others that are not leakproof are asked of the policies' rows alone (hidden_rows.h).
    bool hides_rows;
    int policy_quals;
    // Of an assembled fragment with expressions among the columns: the first so many quals are asked of a row in which an expression
    // has failed. They are over this relation alone, and their functions are PostgreSQL's own.
    int asked_quals;
    FragmentJoin join; // of all but the main source
    Array<FragmentColumn>
        columns; // that it delivers to the device, in the order in which expressions have asked for them
};

// How a sort key orders.
enum OrderFlag { ORDER_DESCENDING = 1, ORDER_NULLS_FIRST = 2 };

struct FragmentSpec {
    int nsources;
    FragmentSource *sources; // [0] is the main one; a table's sources come before the one that probes it
    List *keys;              // group key expressions
    List *aggrefs;
    List *sets; // GROUPING SETS and the like: a bit per key that the set's groups differ in; NIL: one set of all keys
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
    // delivers_rows: window functions over the rows, which then have no order but that of the last window.
    List *window_functions; // of WindowFunc *: outputs behind the columns
    List *window_keys;      // what the windows partition and order by, one window's behind the other's ...
    List *window_key_flags; // ... and per key: OrderFlag
    List *windows;          // window_numbers numbers for each
    List *window_offsets;   // per window: of the start and of the end of its frame, NULL where there is none
    List *
        window_tests; // conditions (OpExpr, of a window function and a value that is known): other rows are not asked for
    List *checks;     // delivers_rows: expressions whose errors are the query's, in whichever row; their values are not
    int limit;        // delivers_rows: rows that are wanted at most, whichever they are; 0: all
    bool hides_counts; // how much it has read is shown to nobody who may not see all of its rows (hidden_rows.h)
};

// The scan tuple's first columns are the outputs: keys, aggregates, GROUPING(), or a row's columns; the fallback plan delivers
// just these.
inline int output_count(const FragmentSpec *spec) {
    return list_length(spec->keys) + list_length(spec->aggrefs) + list_length(spec->groupings) +
           list_length(spec->columns) + list_length(spec->window_functions);
}

// What is in `windows` of a window: the number by which functions refer to it, keys, keys that are of partitions, FRAMEOPTIONs.
enum WindowNumber { WINDOW_REF, WINDOW_KEYS, WINDOW_PARTITION_KEYS, WINDOW_FRAME, window_numbers };

inline bool reads_relation(const FragmentSpec *spec) {
    for (int i = 0; i < spec->nsources; ++i)
        if (spec->sources[i].is_relation)
            return true;
    return false;
}

// A relation's, or groups or rows that a device has made.
inline bool reads_own_rows(const FragmentSpec *spec) {
    for (int i = 0; i < spec->nsources; ++i)
        if (spec->sources[i].is_relation || spec->sources[i].stage_columns != NIL)
            return true;
    return false;
}

// Visits the lists of expressions by which sources are read and joined.
template <class Spec, class Visit> void for_each_condition(Spec *spec, Visit visit) {
    for (int i = 0; i < spec->nsources; ++i) {
        auto *source = &spec->sources[i];
        visit(source->quals);
        visit(source->join.clauses);
        visit(source->join.partner_filters);
        visit(source->join.filters);
    }
}

} // namespace gpuscan
