// PostgreSQL expressions -> IR. The one place that decides what a device may evaluate.
//
// translate() walks an expression tree and appends nodes to the program under construction. It serves three callers:
// a hook that asks whether a qual is shippable (`probing`: any base relation's column will do), assemble() as a trial
// at plan time, and assemble() at executor start (`binding`: a failure there means the CPU plan, and privileges are enforced).
//
// Integers and numerics that are constants stay literals until their consumer says in which type and scale it wants them.
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "pg/catalog/sql_type.h"
#include "pg/fragment/array.h"
#include "pg/fragment/fragment.h"

namespace gpuscan {

// A column that a table carries: of the source it is built from, or of one that was joined to that.
struct PayloadSource {
    int source, column;
};

// A source as the translator fills it.
struct TranslatedSource : FragmentSource {
    int step;                    // in which of their joins the rows that it is joined into probe its table, from 1
    bool joined;                 // its join and the filters of that have been translated
    Array<AttrNumber> varattnos; // per column: the attribute number in Vars
    Bitmapset *computed; // a stage: attribute numbers of what it computes of its outputs, as far as somebody has asked
    Array<PayloadSource> payload; // build sides: what later steps read
};

// In an expression over groups: what stands for a group key or an aggregate.
struct GroupScope {
    const FragmentSpec *spec;
    const FragmentOutput *outputs; // of the keys, then of the aggregates
    const bool *narrow;            // per aggregate of the device's groups: ir::Aggregate::narrow
};

// A time zone in tables (translate_time_zone.cpp): lookups of its transitions, as instants and as its clocks show them after
// each, and of the offsets from there on.
struct TimeZoneTables {
    pg_tz *zone;
    bool usable; // else every timestamp is a row error
    bool ends;   // later ones are
    int instants, clocks, offsets;
};

// What is known of a node from its operands, which precede it.
struct NodeFacts {
    ir::Index depth; // of its longest way to a leaf, in nodes
    bool raises;     // evaluating it may be a row error, or call a function that may fail
    bool deferred;   // evaluating it may call one
    bool looks_up;   // evaluating it looks into a table of results
    ir::Index steps; // at most, to find out when it does (deferred_evaluation.hpp): the tree above the calls
};

struct Translation {
    PlannerInfo *probing; // NULL: no probe
    bool binding;
    int nsources;
    TranslatedSource *sources;
    int pipeline;             // whose rows are looked at: 0 the main pipeline, i the one that builds source i
    const GroupScope *groups; // expressions are over groups, not rows
    bool of_policy;           // the expression is a policy's: its author may see all rows
    int stage;                // whose outputs Vars of OUTER_VAR are: a source
    Array<ir::Expr> exprs;
    Array<NodeFacts> facts; // per node
    Array<int> same_hash;   // per node: the next one in its bucket, -1: none
    Array<int> buckets;     // of nodes that may be shared, by hash: the first node, -1: none; a power of two of them
    ir::Index deepest;      // of the nodes
    ir::Index max_steps;    // ... of the nodes
    int calls;              // of translate()
    int nesting;            // ... of which so many are at work
    bool reads_entries;     // the outermost one's expression does, see below
    Array<ir::Constant> constants;
    Array<FragmentConstant> late_constants;
    Array<FragmentLookup> lookups;
    Array<const TimeZoneTables *> time_zones;
    List *probed; // probing: the columns that were met, Vars and expressions
    Array<int>
        unified_dictionaries; // of texts: the unified dictionary that each is a part of, from 1; 0: it stands for itself
};

// 128 bits that palloc can hold: it aligns to 8 bytes only, as PostgreSQL does with its own int128.
using AlignedInt128 [[gnu::aligned(8)]] = int128;

struct TypedExpr {
    ir::Index expr; // none for a literal
    Type type;
    SqlKind kind;
    int32 scale;      // Numeric: digits after the point of the representation
    int precision;    // Numeric, integers, floats that are made of them: decimal digits at most; else 0
    bool mixed_scale; // Numeric: not every value is shown with `scale` digits in PostgreSQL
    bool tied;        // ... and equal ones have been met that are shown in different ways
    bool alike;       // ... but equal ones are shown in one way
    bool nullable;
    bool literal;
    bool literal_null;
    AlignedInt128 literal_value;
    ir::Index scale_node; // mixed_scale: how many digits PostgreSQL shows; none: nobody knows
    int source, column;   // Code: whose dictionary
    int unified;          // Code: not of a dictionary but of this unified dictionary; else 0
    Expr *text;           // a text that is known when the plan starts (also `literal`)
};

bool translate(Translation *t, Expr *expr, TypedExpr *out);

// A translation that asks what a device could do, as if every column were there. `any` is to be zeroed, and to live as long.
Translation probe_of(PlannerInfo *root, TranslatedSource *any);

// Which columns does the value need, if there is a device that has them: Vars, and expressions over one row that the cache holds as
// columns. False, without a reason: no device knows it.
enum class ValueUse { Any, Grouped, Counted }; // a group key may be only handed through; counted is whether it is NULL
bool columns_of_value(PlannerInfo *root, Expr *value, ValueUse use, List **columns);

// Can a device compute the expression of what a stage hands on (pg/fragment/stage.h)? Texts have a dictionary, or are none of a column's.
bool can_compute(PlannerInfo *root, Expr *expr);

// Is it an expression over the columns of one relation, which it tells, that PostgreSQL may evaluate for any row, at any time?
bool is_column_expression(Expr *expr, Index *relation);

// translate() to a boolean that is a node.
bool translate_condition(Translation *t, Expr *expr, ir::Index *out);

// Does the condition of a relation or a join look at no row? PostgreSQL evaluates it once, before it asks for the first row
// (EXPLAIN's One-Time Filter; get_gating_quals() in createplan.c), so its error is raised even if no row comes.
bool is_one_time_filter(Expr *qual);

// A condition of a relation or a join. A one-time filter becomes a constant of the execution.
bool translate_qual(Translation *t, Expr *qual, ir::Index *out);

// Makes a node of a value, of type `type` and, for numerics, with `scale`; widening only.
bool as_node(Translation *t, const TypedExpr &value, Type type, int32 scale, ir::Index *out);

// The value in its own type and scale.
bool as_own_node(Translation *t, const TypedExpr &value, ir::Index *out);

// False with a reason where the expressions so far are more than a device takes (ir::max_exprs, ir::max_expr_depth).
bool within_budget(const Translation *t);
// ... where they are whole: those that call functions of texts on demand are too long to say when (deferred_evaluation.hpp).
bool within_deferral_budget(const Translation *t);

ir::Index add_expr(Translation *t, ir::Op op, Type type, ir::Index a, ir::Index b = ir::none, ir::Index c = ir::none);
// Of one argument or two.
ir::Index add_call(Translation *t, ir::Function function, ir::Index a, ir::Index b = ir::none);
ir::Index add_constant(Translation *t, Type type, int128 value, bool null);

// A CASE with this location has arms that are hardly ever taken, in which a subquery stands that PostgreSQL evaluates per row
// (pg/rewrite/decorrelate_guarded.cpp). For a device they are row errors, so that PostgreSQL's plan runs. (The
// planner copies locations, and nobody compares or shows them. A tree that is read from its text has lost them, and with them the device's
// plan, never an answer.)
constexpr int location_of_guard = -0x6a5d;

// Could evaluating the node be a row error, or call a function that may fail?
bool may_raise(const Translation *t, ir::Index node);
bool looks_up(const Translation *t, ir::Index node);
// Does it call one?
bool is_deferred(const Translation *t, ir::Index node);

// a <op> b for any two values of comparable kinds.
bool translate_comparison(Translation *t, ir::Op op, const TypedExpr &a, const TypedExpr &b, TypedExpr *out);

// What a value of this kind is compared by, as a node of the node; it may be one of another type.
ir::Index order_node(Translation *t, SqlKind kind, ir::Index node);
// Do the values of an enum type have an order that their oids tell? Else a reason.
bool has_plain_order(Oid typid);

// Calls of built-in functions that the device evaluates itself (translate_function.cpp). False with a reason.
bool translate_function(Translation *t, Oid funcid, List *args, Expr *node, TypedExpr *out);

bool is_device_function(Oid funcid);

// How many values beside NULL a call of it has at most, whatever its arguments are; HUGE_VAL: not known.
double values_of_call(Oid funcid, const List *args);

// Comparisons by one of the built-in functions; false without a reason for any other function.
bool comparison_operator(Oid funcid, ir::Op *op);

// = and <> of texts.
bool text_operator(Oid funcid, ir::Op *op);

// Equality whose both sides the engine can hash as integers: texts by their codes, floats by their bits.
bool is_hashable_equality(Oid funcid);

// The dictionary side (lookup.cpp): expressions over one text column and constants.
// A copy of an expression over columns, to be evaluated for a slot of one value of each, of its base type: they become Var(1, 1) and so on, in
// the order of `columns` (of Var *); without these there is but one.
Node *over_slot(Expr *expr, const List *columns = NIL);
bool is_dictionary_expression(const Translation *t, Expr *expr);
bool translate_lookup(Translation *t, Expr *expr, TypedExpr *out);
// Of which type are the results in its table? False: none that a table has.
bool lookup_type(Expr *expr, Type *type);
// What a call of this function may see of a dictionary: every entry.
bool is_dictionary_function(Oid funcid, Oid collation, List *args);
// Of one column as well, but only for what will be looked up (deferred_lookup.cpp).
bool is_deferrable(const Translation *t, Expr *expr);
// Is there a column whose values have a dictionary? Without one no part of the expression is a lookup, which each part would be looked
// through for.
bool reads_entries(Node *node);
bool translate_deferred(Translation *t, Expr *expr, TypedExpr *out);
// The table of `expr` over the entries of `column`. What it reads of the column becomes Var(1, 1).
bool add_function_lookup(Translation *t, const TypedExpr &column, Expr *expr, bool has_params, bool deferred,
                         TypedExpr *out);
bool translate_rank(Translation *t, const TypedExpr &column, Oid collation, Oid type, int *lookup, TypedExpr *out);

// A table of ascending values, and what stands beside them (translate_table.cpp). Both are kept as they are.
int add_table(Translation *t, int64 *values, uint32 count);
// Whether the node (I64) is one of so many values in any order, which are sorted here. Not for none of them.
ir::Index is_one_of(Translation *t, ir::Index node, int64 *values, uint32 count);
// What of `results` stands where the node's value falls among the ascending values: from one of them to the next.
ir::Index step_function(Translation *t, ir::Index node, int table, int results);

// Texts in unified dictionaries (translate_text.cpp).
bool is_sound_collation(Oid collation);
int new_unified_dictionary(Translation *t);
int unified_root(const Translation *t, int unified);
// The text as a code of `unified`, which joins the one that it is in.
bool as_unified_node(Translation *t, const TypedExpr &value, int unified, bool is_bpchar, ir::Index *out);
// A text that is known when the plan starts, NULL among them, becomes a node.
bool make_text_node(Translation *t, TypedExpr *value);
// a = b, a <> b.
bool translate_text_comparison(Translation *t, ir::Op op, const TypedExpr &a, const TypedExpr &b, TypedExpr *out);
// The entries of `column` as `expr` makes them (which reads it as Var(1, 1)), as codes of `unified`.
void add_text_lookup(Translation *t, const TypedExpr &column, Expr *expr, bool is_bpchar, int unified, TypedExpr *out);

// Aggregates (translate_aggregate.cpp).
enum class StateOf { // what of the argument goes into a state
    Argument,
    Bounded,
    Square,
    SquareParts, // of values in parts: the first sum, and the others
    LastOfSquareParts = SquareParts + square_sums - 1,
    Scale,
    High, // the lower 62 bits, and what is above them
    Low,
    X, // of moments: see MomentStates
    Y,
    XX,
    LostOfXX,
    YY,
    LostOfYY,
    XY,
    LostOfXY,
    Rank, // of an interval: see IntervalRank
    RankBack,
    Days, // of an interval; the argument's own state has the microseconds
    Months,
    Key, // not of an aggregate's argument, but of a group key
};
struct StateOwner {
    Aggref *aggref; // the first that asked for the state; argument and filter decide sharing (Key: none)
    StateOf of;
};
struct AggregateStates {
    Array<ir::Aggregate> states;
    Array<StateOwner> owners; // per state
    // By what the device groups: the query's group keys, then the arguments of DISTINCT aggregates that are none of them.
    Array<ir::Index> keys;
    Array<ir::Distinct> distincts;
    Array<Aggref *> distinct_owners; // per distinct: the first aggregate that asked for it
    // Ordered-set aggregates, and what they are of (translate_ordered_set.cpp).
    Array<ir::OrderedSet> ordered_sets;
    Array<ir::Index> arguments;
};
bool translate_aggregate(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out);
// The state of this kind over `arg`, which is made of the aggregate's arguments under its filter; one that is there is shared.
int add_state(AggregateStates *states, ir::AggregateKind kind, StateOf of, Aggref *aggref, ir::Index arg);
// A value of which the device finds the smallest, or another one in their order: as a number of that order, which the output shows as the
// value. The value may be of a numeric's scale only.
bool translate_ordered_value(Translation *t, const Aggref *aggref, TypedExpr *value, FragmentOutput *out);
// A number that orders numerics of mixed scale, equal ones by the digits that are shown (a node of I32), and tells these.
ir::Index numeric_rank(Translation *t, Type type, ir::Index value, ir::Index shown);
// percentile_cont, percentile_disc, mode.
bool is_ordered_set(const Aggref *aggref);
bool translate_ordered_set(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out);
// The node, or NULL where the aggregate's filter is not true.
bool filter_argument(Translation *t, const Aggref *aggref, Type type, ir::Index *node);

// Aggregates of floats that are made of squares and products (translate_moments.cpp).
struct FloatMoments {
    Oid aggfnoid;
    PGFunction final; // nullptr: regr_count
    bool pair;        // of two variables, the dependent one first
    uint8 sums;
};
const FloatMoments *find_moments(Oid aggfnoid); // nullptr: none of them
bool translate_moments(Translation *t, Aggref *aggref, const FloatMoments *known, AggregateStates *states,
                       FragmentOutput *out);

// The output that shows a value as it is; of `type`, in which the device has it.
FragmentOutput output_of_value(OutputKind kind, const TypedExpr &value, Type type, Oid typid, int32 typmod);
bool translate_group_key(Translation *t, Expr *key, AggregateStates *states, ir::Index *node, FragmentOutput *out);

// Expressions over groups (translate_group.cpp), with t->groups set.
// False: neither a group key nor an aggregate, nor a part of one.
bool translate_of_group(Translation *t, Expr *expr, TypedExpr *out, bool *translated);
// A condition; not *exact: the node is true for some groups more.
bool translate_group_condition(Translation *t, Expr *expr, ir::Index *out, bool *exact);

// A sort key over groups. `exactly`: groups are to come in PostgreSQL's order; else the first ones are to be found, and a text
// is no key.
bool translate_group_order(Translation *t, Expr *expr, bool exactly, ir::Index *out);

// The column that a Var means; also adds it to the source (and to the payload where needed). `as_stored`: a numeric whose type does not
// say its scale is only handed through.
bool translate_column(Translation *t, Var *var, TypedExpr *out, bool as_stored = false);

// Where the column stands in the payload of the table; it is added if it is not there.
int payload_position(TranslatedSource *table, int source, int column);

// The table in which rows of pipeline `pipeline` meet columns of `source`; -1: they do not.
int table_of_source(const Translation *t, int pipeline, int source);

// May the current user call it? At plan time a refusal, at execution PostgreSQL's error.
bool may_execute(const Translation *t, Oid funcid);

} // namespace gpuscan
