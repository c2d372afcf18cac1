// A fragment that has been translated: its description (fragment_spec.h), the engine's program, and what the executor needs to know
// beside that. The planner makes one on trial, the executor binds one to the planned node; the one translator serves both. All
// memory is palloc'ed in the current context; nothing here needs a destructor, so ereport may jump out at any point.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment_spec.h"

namespace gpuscan {

// A constant that is known only at execution: Params and stable expressions.
struct FragmentConstant {
    int index; // into the program's constants
    Expr *expr;
    Oid typid;
    Type type;
    int32 scale;
    Rounding rounding;
    int unified;    // Code: the unified dictionary in which the text has a code
    bool is_bpchar; // Code: trailing blanks do not count
};

enum class LookupKind {
    Function, // PostgreSQL evaluates `expr` once per entry and once for NULL
    Rank,     // the entry's position in the order of `collation` (min/max, order comparisons)
    Text,     // the text that `expr` makes of the entry, as a code of `unified`
    Table,    // of no dictionary, but of what a search in it finds: `values`
};

// A table over a dictionary column's codes. `expr` reads the column as Var(1, 1) of ecxt_scantuple.
struct FragmentLookup {
    LookupKind kind;
    int source, column; // whose dictionary
    Expr *expr;         // Function; may hold Params and stable expressions (has_params): then per execution only
    bool has_params;
    bool
        deferred; // Function, Text: may see only what will be looked up (exec/deferred_evaluation.cpp); for one execution
    Oid typid;    // type of expr's result
    Type type;    // of the entries (Bool, I32, I64, F64, Code)
    Oid collation;  // Rank
    Oid ordered;    // Rank: of values of this type, by its default order; InvalidOid: of texts
    bool is_bpchar; // Rank: compare as bpchar; Text: trailing blanks do not count
    int unified;    // Text; Rank: 0, or of the texts that `expr` makes of the entries
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
    EndInterval, // min, max of intervals: what state `agg` is the rank of, if `largest` says the same; percentile_disc, mode: if its
                 // count is not several_spellings
    EndNumeric, // of numerics of mixed scale: likewise
    VarPop,     // var_pop and so on of integers and numerics: from the sum, the sum `squares` and the count
    VarSamp,    //
    StddevPop,  //
    StddevSamp, //
    Moments,    // var_pop and so on of floats, covariances, regressions: `final` of what follows from `moments`
    StateValue, // min, max, bool_and, bit_and and their like: state `agg` as a value of typid (see type and scale; Code: see
                // rank_lookup)
    OrderValue,  // min, max of oids and enums: the same, as an unsigned number
    Percentiles, // an array of values as `element` shows them, of the states from `agg` on
    Row,         // column `key` of a delivered row
};

// Which sums a Moments output is made of: the states of those of x, y, x * x, y * y and x * y, and beside each of the
// products what rounding has taken of it.
constexpr uint8 MomentSquaresX = 1, MomentSquaresY = 2, MomentProducts = 4;
// The lowest bits of a numeric's rank (numeric_rank()), which tell with how many digits it is shown.
constexpr int numeric_spelling_bits = 6;
// How many sums of products make the sum of squares of values in parts.
constexpr int square_sums = 5;

struct MomentStates {
    int x, y; // y: -1 if there is one variable only
    int xx, lost_of_xx, yy, lost_of_yy, xy, lost_of_xy;
};

// One of the first columns of the scan tuple, which the node fills (the others stay NULL: they are inputs only).
struct FragmentOutput {
    OutputKind kind;
    int key;         // GroupKey: which
    int agg;         // state that holds sum, min, max, bits or count; those of DISTINCT aggregates follow all others
    bool distinct;   // of a DISTINCT aggregate
    bool ordered;    // of an ordered-set aggregate, whose states follow those
    List *arguments; // Grouping: numbers of keys
    const FragmentOutput *element; // Percentiles: of the first state, but for `agg` ...
    const Const *fractions;        // ... and the array that has as many elements
    int squares;                   // state that holds the sum of squares
    int square_parts[square_sums] = {
        -1, -1, -1, -1,
        -1}; // or, of x = a * 2^62 + b * 2^31 + c: those of a * a, a * b, 2 * a * c + b * b, b * c, c * c; else -1
    int days, months; // SumInterval, AvgInterval: states that hold the sums of days and of months
    int largest =
        -1; // GroupKey of numerics of mixed scale: the same of digits after the point. Of intervals, whose key is their length: the state with the largest of those of one length,
            // as they are written, where `agg` has the smallest. EndInterval: that of the other rank. Others: -1
    MomentStates moments;
    uint8 sums;       // Moments: which of them
    PGFunction final; // Moments: PostgreSQL's final function
    Oid typid;        // SQL type of the output
    int32 typmod;
    Type type; // engine type of the key or state
    SqlKind value_kind;
    bool fixed_length; // Code: no varlena but so many bytes
    bool by_bytes; // GroupKey: the device groups by the values' bytes, PostgreSQL by the default equality of the type
    int32 scale;
    int scale_agg = -1; // SumNumeric, AvgNumeric: the state that has the display scale; -1: it is `scale`
    int low_agg =
        -1; // SumNumeric, AvgNumeric: the state that has the lower 62 bits, where `agg` has what is above; else -1
    int source, column; // Code: whose dictionary
    int unified;        // Code: not of a dictionary but of this unified dictionary (from 1); else 0
    // Of rows: columns of I64 that are no outputs.
    int count_column = -1;   // AvgNumeric: the count
    int scale_column = -1;   // numerics: with how many digits after the point it is shown; -1: with `scale`
    int default_column = -1; // 1: this constant is shown, 0: the value; -1: always the value
    const Const *shown_default;
    int rank_lookup = -1; // StateValue of text: the Rank lookup whose inverse gives the entry; else -1
};

// Of what the device was asked to drop, the base has what it can decide: conditions and sort keys from the first on.
struct Fragment : FragmentSpec {
    bool
        having_exact; // all groups (rows) that pass `having` (window_tests) are such that PostgreSQL would let pass, too
    int nconstants;
    FragmentConstant *constants;
    int nlookups;
    FragmentLookup *lookups; // in the program's order
    int nunified;            // numberings of texts that exist for one execution (exec/unified_dictionary.cpp)
    int noutputs;
    FragmentOutput *outputs; // in the order of output_count()
    int nrow_columns;        // delivers_rows: of the device's rows: those of outputs (`key`), and others of I64
    int nkeys,
        naggregates; // of the groups that the device process delivers; of several sets, a group's number is its last key
    int narguments;  // of ordered-set aggregates
    // The engine's program in its wire format (engine/ir/program.hpp): header and arrays; FragmentConstants are filled in
    // by the executor directly in the copy it sends (program_constants points into `program`). NULL: no device can run it any more.
    char *program;
    Size program_size;
    ir::Constant *program_constants;
};

// Where a device may not run it: the planner (binding = false) gets NULL, and the reason has been told; binding never gives NULL but a
// fragment without a program, of which only the CPU plan can be executed.
Fragment *assemble(const FragmentSpec *spec, bool binding);

// count(*) of one relation of which these columns are asked for, whether they are needed or not.
Fragment *assemble_count(FragmentSource *source);

// Pipelines run in the order of the sources whose rows they read, the main one last.
inline int source_of_pipeline(const Fragment *fragment, int pipeline) { return (pipeline + 1) % fragment->nsources; }

// The methods with which pg/fragment makes the node; defined in exec/node.cpp.
extern const CustomScanMethods gpuscan_scan_methods;

} // namespace gpuscan
