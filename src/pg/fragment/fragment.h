// A bound fragment: what the executor needs to know about a planned GpuScan node.
//
// The planner's side (candidates.h) decides which part of a query becomes one fragment and stores it in a CustomScan:
//   custom_scan_tlist  every Aggref and group key, or column of a row, that the node delivers, every Var that the fragment reads, and per
//                      source one Var of tableoid as an anchor (setrefs.c renumbers varno there, not in custom_private)
//   custom_exprs       everything the device evaluates: quals, join clauses, group keys, aggregate arguments
//   custom_private     plain integers that say how the lists hang together
//   custom_plans       [0] the CPU plan of the same rows (the fallback); [1..] CPU plans that feed sources
// fragment_bind() turns that back into this structure and into the engine's program, at executor start: the one
// translator serves the planner's question "may a device run this" and this one. All memory is palloc'ed in the
// current context; nothing here needs a destructor, so ereport may jump out at any point.
#pragma once

#include "pg/pg.h"

#include "engine/ir/ir.hpp"
#include "engine/store/decode.hpp"
#include "pg/catalog/sql_type.h"

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
    int32 scale; // numeric: digits after the point; else 0
    Rounding rounding;
    bool nullable; // false: NOT NULL is declared (and no outer join nulls it)
};

struct FragmentSource {
    bool is_relation;
    Index rti;     // range table index (relation)
    Oid relid;     // relation
    List *leaves;  // a parent: range table indexes of the relations that hold its rows; NIL: the relation itself does
    bool is_empty; // no row of it is asked for: it is not opened
    int child;     // CPU plan: index into custom_plans / custom_ps; else -1
    const char *alias; // for EXPLAIN
    int ncolumns;
    FragmentColumn *columns;
    List *quals; // EXPLAIN: filters of this source, in order
    double rows; // planner's estimate after the filters
};

// A join, for EXPLAIN; the engine's program says the same in IR.
struct FragmentJoin {
    int source; // the build side
    int into;   // the source whose rows probe: 0, or a build side itself
    ir::JoinKind kind;
    List *clauses;         // EXPLAIN: the equi-join clauses
    List *partner_filters; // EXPLAIN: what else makes a row of the build side a partner (not Inner)
    List *filters;         // EXPLAIN: quals that run after this join
};

// A constant that is known only at execution: Params and stable expressions.
struct FragmentConstant {
    int index; // into the program's constants
    Expr *expr;
    Oid typid;
    Type type;
    int32 scale;
    Rounding rounding;
    int space;      // Code: the space in which the text has a code
    bool is_bpchar; // Code: trailing blanks do not count
};

enum class LookupKind {
    Function, // PostgreSQL evaluates `expr` once per entry and once for NULL
    Rank,     // the entry's position in the order of `collation` (min/max, order comparisons)
    Text,     // the text that `expr` makes of the entry, as a code of `space`
    Table,    // of no dictionary, but of what a search in it finds: `values`
};

// A table over a dictionary column's codes. `expr` reads the column as Var(1, 1) of ecxt_scantuple.
struct FragmentLookup {
    LookupKind kind;
    int source, column; // whose dictionary
    Expr *expr;         // Function; may hold Params and stable expressions (has_params): then per execution only
    bool has_params;
    bool demanded;  // Function, Text: may see only what will be looked up (exec/demand.cpp); for one execution
    Oid typid;      // type of expr's result
    Type type;      // of the entries (Bool, I32, I64, F64, Code)
    Oid collation;  // Rank
    bool is_bpchar; // Rank: compare as bpchar; Text: trailing blanks do not count
    int space;      // Text; Rank: 0, or of the texts that `expr` makes of the entries
    int64 *values;  // Table: so many, and one of NULL behind them
    uint32 nvalues;
};

enum class OutputKind {
    GroupKey,    // key
    Grouping,    // GROUPING(): which of `arguments` the group's set lacks
    Count,       // count of state `agg` as int8
    SumInt8,     // sum(int2), sum(int4): state `agg` as int8
    SumNumeric,  // sum(int8), sum(numeric): state `agg` as numeric with `scale`
    SumFloat8,   // sum(float8)
    AvgNumeric,  // avg(int2/4/8), avg(numeric): numeric_div(sum as numeric with `scale`, count)
    AvgFloat8,   // avg(float4/8): sum / count
    SumInterval, // sum(interval): states `agg`, `days` and `months`
    AvgInterval, // avg(interval): interval_div(sum, count)
    EndInterval, // min, max of intervals: what state `agg` is the rank of, if `largest` says the same
    VarPop,      // var_pop and so on of integers and numerics: from the sum, the sum `squares` and the count
    VarSamp,     //
    StddevPop,   //
    StddevSamp,  //
    Moments,     // var_pop and so on of floats, covariances, regressions: `final` of what follows from `moments`
    StateValue, // min, max, bool_and, bit_and and their like: state `agg` as a value of typid (see type and scale; Code: see
                // rank_lookup)
    OrderValue, // min, max of oids and enums: the same, as an unsigned number
    Row,        // column `key` of a delivered row
};

// Which sums a Moments output is made of: the states of those of x, y, x * x, y * y and x * y, and beside each of the
// products what rounding has taken of it.
constexpr uint8 MomentSquaresX = 1, MomentSquaresY = 2, MomentProducts = 4;
struct MomentStates {
    int x, y; // y: -1 if there is one variable only
    int xx, lost_of_xx, yy, lost_of_yy, xy, lost_of_xy;
};

// One column of the scan tuple that the node fills (others stay NULL: they are inputs only).
struct FragmentOutput {
    OutputKind kind;
    AttrNumber attno; // in the scan tuple (custom_scan_tlist), from 1
    int key;          // GroupKey: which
    int agg;          // state that holds sum, min, max, bits or count; those of DISTINCT aggregates follow all others
    bool distinct;    // of a DISTINCT aggregate
    List *arguments;  // Grouping: numbers of keys
    int squares;      // state that holds the sum of squares
    int days, months; // SumInterval, AvgInterval: states that hold the sums of days and of months
    int largest; // GroupKey of intervals, whose key is their length: the state with the largest of those of one length,
                 // as they are written, where `agg` has the smallest. EndInterval: that of the other rank. Others: -1
    MomentStates moments;
    uint8 sums;       // Moments: which of them
    PGFunction final; // Moments: PostgreSQL's final function
    Oid typid;        // SQL type of the output
    int32 typmod;
    Type type; // engine type of the key or state
    SqlKind value_kind;
    bool fixed_length; // Code: no varlena but so many bytes
    int32 scale;
    int scale_agg; // SumNumeric, AvgNumeric: the state that has the display scale; -1: it is `scale`
    int low_agg; // SumNumeric, AvgNumeric: the state that has the lower 62 bits, where `agg` has what is above; else -1
    int source, column; // Code: whose dictionary
    int space;          // Code: not of a dictionary but of this space (from 1); else 0
    int rank_lookup;    // StateValue of text: the Rank lookup whose inverse gives the entry; else -1
};

// How a sort key orders.
enum OrderFlag { ORDER_DESCENDING = 1, ORDER_NULLS_FIRST = 2 };

struct Fragment {
    int nsources;
    FragmentSource *sources; // in the program's order
    int main_source;
    int njoins;
    FragmentJoin *joins; // in the program's order: a table is built before it is probed
    int nconstants;
    FragmentConstant *constants;
    int nlookups;
    FragmentLookup *lookups; // in the program's order
    int nspaces;             // numberings of texts that exist for one execution (exec/text_space.cpp)
    int noutputs;
    FragmentOutput *outputs;
    // The fallback plan delivers scan tuples too, not the node's own target list: its column i (from 1) belongs into
    // column fallback_attnos[i - 1] of the scan tuple. So the node's qual (HAVING) and projection serve both ways.
    int nfallback;
    AttrNumber *fallback_attnos;
    List *group_exprs; // EXPLAIN
    bool has_group_by;
    // Of what the spec asks the device to drop, what the device can decide: conditions from the first on (`having_exact`:
    // all that pass are groups that PostgreSQL would let pass, too), and sort keys from the first on.
    List *having;
    bool having_exact;
    List *order, *order_flags;
    Expr *top, *top_offset; // EXPLAIN
    List *checks;           // as in the spec, for EXPLAIN
    List *sets;             // as in the spec; of several, a group's number is its last key
    int nkeys, naggregates; // of the groups that the device process delivers
    bool delivers_rows;     // no groups: output i is column i of the rows
    uint64 limit;           // of the rows that are wanted; 0: all
    bool hides_counts;      // as in the spec
    // The engine's program in its wire format (engine/ir/program.hpp): header and arrays; FragmentConstants are filled in
    // by the executor directly in the copy it sends (program_constants points into `program`).
    char *program;
    Size program_size;
    ir::Constant *program_constants;
};

// What every outer plan may rely on: with no GROUP BY the node delivers exactly one row, with it one per group; state
// counts are those of ir::AggregateState, and a Count output may share the state of a Sum, Min or Max.
//
// Rebuilds the fragment of a planned node. Never returns NULL; a node that cannot be bound (a bug, or a function
// redefined between planning and execution) is an ereport(ERROR).
Fragment *fragment_bind(const CustomScan *node, const List *range_table);

// The methods with which pg/fragment makes the node; defined in exec/node.cpp.
extern const CustomScanMethods gpuscan_scan_methods;

} // namespace gpuscan
