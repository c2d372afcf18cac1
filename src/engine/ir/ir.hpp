// The intermediate representation of a query fragment: expressions, pipelines, and the program they form.
//
// A program is a list of pipelines in the order in which they run. Every pipeline but the last ends in a Build sink
// (the hash table of one join); the last one ends in an Aggregate sink or delivers its rows (Rows). A pipeline reads one
// source row by row:
//
//     scan source -> conjuncts -> { probe join k -> conjuncts }* -> sink
//
// Filters that belong to an outer, semi or anti join decide what is a partner (Join::filters); conjuncts decide which rows
// go on, and see what the joins before them have made of a row.
//
// Everything is plain old data in flat arrays that refer to each other by index, so that a backend can fill them in
// palloc'ed memory and send them through shared memory as they are; program.cpp checks every index before use.
//
// Constants stand outside the expressions: the same program with other constants is the same generated kernel.
// SQL semantics (AND, OR and NOT of NULL, the order of NaN, overflow) are those of device/semantics.cuh; all else that is strict is NULL where an
// argument is, by host/evaluator.cpp and codegen/codegen_expression.cpp.
#pragma once

#include "device/window_frame.cuh"
#include "engine/ir/functions.hpp"
#include "engine/ir/types.hpp"

namespace gpuscan::ir {

using Index = uint32_t;
constexpr Index none = 0xffffffffu;

// A slice of one of the program's arrays.
struct Range {
    Index first = 0;
    Index count = 0;
};

// X(operator, function in sem), of two values of one type.
#define GPUSCAN_ARITHMETIC(X) X(Add, add) X(Sub, sub) X(Mul, mul) X(Div, div) X(Mod, mod)
#define GPUSCAN_COMPARISONS(X) X(Eq, eq) X(Ne, ne) X(Lt, lt) X(Le, le) X(Gt, gt) X(Ge, ge)
#define GPUSCAN_OP(name, function) name,

enum class Op : uint8_t {
    Column, // a = step (0: the pipeline's source; k >= 1: the payload of the pipeline's join k-1), b = column;
            // in an expression over groups a = group_keys, group_values or group_counts
    Const,  // a = index into constants
    // a, b of the node's own type, I16..I128, F32, F64; overflow is a row error. Div: integers truncate toward zero; division
    // by zero is a row error. Mod: integers only
    GPUSCAN_ARITHMETIC(GPUSCAN_OP) //
    Neg,                           // a
    // a, b of one type (of any kind), result Bool; Code compares codes (equality only)
    GPUSCAN_COMPARISONS(GPUSCAN_OP) //
    And,                            // a, b Bool, SQL three-valued
    Or,                             //
    Not,                            // a Bool
    IsNull,                         // a, never NULL
    IsNotNull,                      //
    IsTrue,   // a Bool: true when a is true (not NULL), never NULL. NOT, IS FALSE, IS UNKNOWN follow from these
    Case,     // a Bool condition, b when true, c otherwise (NULL and false); only the taken arm may raise
    Coalesce, // a, or b where a is NULL; b may raise only where it is taken
    Cast,     // a to the node's type: widening integers; narrowing checks (row error); integer -> float as C does;
              // float -> integer rounds half to even and checks, as PostgreSQL's rint does
    Lookup,   // a of type Code, b = index into lookups: the table's entry, its NULL entry where a is NULL
    Search, // a I64, b = index into lookups (I64, ascending, never empty): the code of the last entry that is not above a,
            // of the first if there is none
    Call, // c = Function, of a or of a and b
};
#undef GPUSCAN_OP

constexpr bool is_arithmetic(Op op) { return op >= Op::Add && op <= Op::Mod; }
constexpr bool is_comparison(Op op) { return op >= Op::Eq && op <= Op::Ge; }

// The function in sem of an operator of two.
constexpr const char *operator_name(Op op) {
    switch (op) {
#define GPUSCAN_OP(name, function)                                                                                     \
    case Op::name:                                                                                                     \
        return #function;
        GPUSCAN_ARITHMETIC(GPUSCAN_OP)
        GPUSCAN_COMPARISONS(GPUSCAN_OP)
#undef GPUSCAN_OP
    default:
        return nullptr;
    }
}

// One node; operands are indexes into the program's expressions and always smaller than the node's own index.
struct Expr {
    Op op;
    Type type; // of the result
    uint16_t unused = 0;
    Index a = none;
    Index b = none;
    Index c = none;
};

// How many of a, b, c are operands.
constexpr int operand_count(const Expr &e) {
    switch (e.op) {
    case Op::Column:
    case Op::Const:
        return 0;
    case Op::Neg:
    case Op::Not:
    case Op::IsNull:
    case Op::IsNotNull:
    case Op::IsTrue:
    case Op::Cast:
    case Op::Lookup:
    case Op::Search:
        return 1;
    case Op::Call:
        return function_info(static_cast<Function>(e.c)).arguments;
    case Op::Case:
        return 3;
    default:
        return 2;
    }
}

template <class Visit> void for_each_operand(const Expr &e, Visit visit) {
    const int count = operand_count(e);
    if (count >= 1)
        visit(e.a);
    if (count >= 2)
        visit(e.b);
    if (count >= 3)
        visit(e.c);
}

// The comparison that says of (b, a) what `op` says of (a, b).
constexpr Op mirrored(Op op) {
    switch (op) {
    case Op::Lt:
        return Op::Gt;
    case Op::Le:
        return Op::Ge;
    case Op::Gt:
        return Op::Lt;
    case Op::Ge:
        return Op::Le;
    default:
        return op;
    }
}

// Is a comparison of these numbers true?
constexpr bool holds(Op op, int64_t a, int64_t b) {
    switch (op) {
    case Op::Eq:
        return a == b;
    case Op::Ne:
        return a != b;
    case Op::Lt:
        return a < b;
    case Op::Le:
        return a <= b;
    case Op::Gt:
        return a > b;
    default:
        return a >= b;
    }
}

// Can a value of one type lie outside of what the other holds?
constexpr bool cast_may_raise(Type from, Type to) {
    if (from == Type::Bool)
        return false;
    if (is_integer(from))
        return is_integer(to) && type_width(to) < type_width(from);
    return !is_float(to) || type_width(to) < type_width(from);
}

// Can the node itself raise an error, whatever its operands do? `exprs`: the array that its operands are in.
inline bool raises_itself(const Expr *exprs, const Expr &e) {
    switch (e.op) {
    case Op::Neg:
        return true;
    case Op::Cast:
        return cast_may_raise(exprs[e.a].type, e.type);
    case Op::Call:
        return function_info(static_cast<Function>(e.c)).raises;
    default:
        return is_arithmetic(e.op);
    }
}

// Steps of Op::Column in an expression over the groups of a result (Pipeline::having, Pipeline::order):
constexpr Index group_keys = 0x10000; // key b
constexpr Index group_values =
    0x10001; // what aggregate b is: a sum, an extremum, bits; NULL where it has counted no row
constexpr Index group_counts = 0x10002; // how many rows aggregate b has counted: I64, never NULL
constexpr bool is_group_step(Index step) { return step >= group_keys; }

// A typed constant; bits as in a column of that type (F64: its bit pattern in the low word).
struct Constant {
    Type type;
    uint8_t null = 0;
    uint8_t unused[14] = {};
    uint64_t low = 0; // the value, sign-extended to 128 bits
    int64_t high = 0;
};

// A table over the codes of one dictionary column, evaluated by PostgreSQL: entries 0..n-1 for the codes, n for NULL. One
// without a source is over the codes that a Search gives.
struct Lookup {
    Type type;            // of the entries: Bool, I32, I64, F64 (Code: maps to another code space, e.g. ranks)
    uint8_t deferred = 0; // 1: it may be evaluated for those codes only that will be looked up
    uint8_t unused[2] = {};
    Index source = none; // the dictionary of this source's (none: of nothing) ...
    Index column = none; // ... column
};

// One relation or one CPU plan that feeds rows.
struct Source {
    Range columns; // into source_columns
    // What is read of it shows in no counter: how much that is may tell of rows that the query's user may not see.
    uint8_t uncounted = 0;
    uint8_t unused[3] = {};
};

struct SourceColumn {
    Type type;
    uint8_t nullable = 1; // 0: no NULL can occur
    uint8_t unused[2] = {};
};

// A filter; runs as soon as its inputs exist.
struct Conjunct {
    Index expr = none;
    Index after = 0; // 0: right after the scan; k: after join k-1
    // It may be asked of rows alone that have passed everything before it, so it rules out no chunks and zones: how many it
    // rules out would tell of rows that something before it hides.
    uint8_t guarded = 0;
    uint8_t unused[3] = {};
};

// What a join does with a row. Its partners are the rows of the table that have its keys and pass the join's filters.
enum class JoinKind : uint8_t {
    Inner, // goes on once per partner
    Left,  // the same, and without a partner once with NULL in every column of the payload
    Semi,  // goes on, once, if it has a partner
    Anti,  // goes on if it has none
    Right, // goes on once per partner; and when all rows are through, a row of the table that was no row's partner goes on
           // once, with NULL in every column that stands before it (unmatched.hpp)
    Full, // Left and Right
};

// Does a row that goes on have a partner's columns?
constexpr bool delivers_payload(JoinKind kind) { return kind != JoinKind::Semi && kind != JoinKind::Anti; }
// How many pairs so many rows have with a table that has several rows of a key, if each of its rows is one's partner.
constexpr double pairs_of_join(double rows, uint64_t table_rows, bool has_keys) {
    const double partners = static_cast<double>(table_rows);
    return !has_keys ? rows * partners : rows > partners ? rows : partners;
}
// Does a row without a partner go on, with NULL for the partner?
constexpr bool keeps_rows(JoinKind kind) { return kind == JoinKind::Left || kind == JoinKind::Full; }
// Does a row of the table go on that was no row's partner?
constexpr bool keeps_table(JoinKind kind) { return kind == JoinKind::Right || kind == JoinKind::Full; }

// A join with the table built by an earlier pipeline, by equalities. Without a key every row of the table is looked at.
struct Join {
    Index build = none; // index of the pipeline that builds the table
    Range keys;         // into lists: probe expressions, one per key of the build, of the same types
    JoinKind kind = JoinKind::Inner;
    uint8_t guarded = 0; // its keys may be asked of such rows alone, as in Conjunct
    uint8_t unused[2] = {};
    Range filters =
        {}; // into lists: Bool, all of them true of a row and its partner, whose columns they see; none where
            // Inner (conjuncts say the same), and none that may raise an error where Semi or Anti (how many
            // pairs are looked at is not told)
};

enum class SinkKind : uint8_t { Build, Aggregate, Rows };

enum class AggregateKind : uint8_t {
    CountRows, // count(*)
    Count,     // rows where the argument is not NULL
    Sum,       // I16, I32, I64, I128: exact in 128 bits; F64: in double
    LongSum, // F64: in twice its precision, the state being a double (low) and what it lacks (high), two patterns of bits
    Min,     // by the type's order; F64 with NaN above all
    Max,
    BitAnd, // I16, I32, I64
    BitOr,
    BitXor,
};

constexpr bool is_bitwise(AggregateKind kind) { return kind >= AggregateKind::BitAnd; }

struct Aggregate {
    AggregateKind kind;
    // Sum of integers: its result has so many bytes (8, 4), and a larger one is a row error of its group; 0: any
    uint8_t narrow = 0;
    uint8_t unused[2] = {};
    Index arg = none; // into exprs; none for CountRows
};

// A second grouping, of the groups that an Aggregate sink made: one grouping set, as bits of the keys that its groups
// differ in. The keys that are left out are NULL in its groups.
struct GroupingSet {
    uint32_t keys = 0;
};

// An aggregate of the second grouping, over the values of a key of the first one, each counted once in a group and NULL not at
// all: how many there are and, of integers, their sum.
struct Distinct {
    Index key = none;        // which of the pipeline's keys
    uint8_t narrow = 0;      // as in Aggregate
    uint8_t counts_only = 0; // 1: nobody asks for the sum, which of values like uuids has no bounds
    uint8_t unused[2] = {};
};

// One of the expressions by which groups or rows are ordered, most significant first.
struct OrderKey {
    Index expr = none; // over groups, or of a row's payload; of any type but Code
    uint8_t descending = 0;
    uint8_t nulls_first = 0;
    uint8_t unused[2] = {};
};

using gpuscan::FrameBound;
using gpuscan::FrameExclusion;
using gpuscan::FrameUnit;
using gpuscan::WindowKind;

// A window of rows that are delivered: its partitions, their order, and of each row the frame.
struct Window {
    Range keys;          // into orders: what partitions differ in, then their order
    Index partition = 0; // so many of the keys are the former
    FrameBound start = FrameBound::UnboundedPreceding, end = FrameBound::CurrentRow;
    uint8_t peers = 1; // CurrentRow is of peers (RANGE, GROUPS); not where offsets count rows
    FrameUnit unit = FrameUnit::Rows;
    FrameExclusion exclusion = FrameExclusion::None;
    Index start_offset = none; // Preceding, Following: constant, I64, of Floats F64; NULL and less than 0 are an error
    Index end_offset = none;
};

struct WindowFunction {
    WindowKind kind = WindowKind::RowNumber;
    uint8_t narrow = 0;
    uint8_t tested = 0; // 1: only rows are delivered whose result compares with `bound` ...
    Op test = Op::Le;   // ... as this says; results of type I64
    Index window = 0;   // of the pipeline's windows
    Index arg = none;   // a column of the payload; none: it has no argument
    Index other =
        none; // Lag, Lead: a column for rows that have no such row (none: NULL). Min, Max: what is shown of the row that has
              // the value, codes (none: that)
    Index number = none; // Lag, Lead, Ntile, NthValue: constant, I64; of NULL the result is NULL
    Index bound = none;  // constant, I64
};

// An aggregate of the values of one argument that are not NULL, in their order (result/ordered_sets.hpp); of none it is NULL.
enum class OrderedSetKind : uint8_t {
    Discrete,   // the first value up to which at least the fraction of them lies; the argument's type
    Continuous, // F64: between the two values at the fraction, in proportion
    Mode,       // the value that is there most often, of several the first one
};

constexpr int64_t several_spellings = 2;

struct OrderedSet {
    OrderedSetKind kind = OrderedSetKind::Mode;
    uint8_t descending = 0;
    // So many of the lowest bits of a value (I64, I128) do not say what it is but how it is written. Where values that are equal to the
    // result are written in several ways, its state's count is several_spellings, not 1.
    uint8_t spelling = 0;
    uint8_t unused = 0;
    Index argument = none; // which of the pipeline's arguments
    Index fraction = none; // constant, F64, of which NULL makes the result NULL; Mode: none
};

struct Pipeline {
    Index source = none;
    SinkKind sink = SinkKind::Aggregate;
    uint8_t unused[3] = {};
    Range conjuncts; // into conjuncts, in the order in which they should run
    Range joins;     // into joins, in the order in which they should run
    Range keys;      // into lists. Build: the join keys (integer, Bool or Code types). Aggregate: the group keys
    // into lists. Build: what later steps read as Column{step, i}. Rows: what is delivered, of any type. Where rows have an
    // order or windows, all of them come in order (row_sort.hpp), and what stands behind the first `result_keys` is for these only.
    Range payload;
    Range aggregates; // into aggregates
    // Aggregate: where there are sets, the groups are grouped again (second_aggregation.hpp). The result has the first `result_keys` of
    // the keys, then, if there are several sets, the number of the group's set; the aggregates, then the distincts.
    Range sets;            // into sets
    Range distincts;       // into distincts
    Index result_keys = 0; // the other keys are there for the distincts
    // Which groups of the result are wanted (host/group_filter.hpp): those of which all of `having` is true; of these the
    // first ones in the order of `order` (as of rows, first_rows.hpp): as many as top and top_offset say (NULL: all). `ties`:
    // and those that are equal to the last of them. `sorted`: all that are wanted come in the order (host/group_sort.hpp).
    uint8_t ties = 0;
    uint8_t sorted = 0;
    uint8_t unused2[2] = {};
    Range having;            // into lists: Bool, over groups, in the order in which they are to be tested
    Range order;             // into orders
    Index top = none;        // into constants, I64; none: all
    Index top_offset = none; // into constants, I64; none: 0
    uint64_t limit = 0;      // Rows: how many are wanted at most, whichever they are; 0: all
    // Rows: behind the first `result_keys` columns of the payload the rows have one for each function (result/window.hpp), and they come
    // in the order of the last window.
    Range windows;          // into windows
    Range window_functions; // into window_functions
    // Aggregate: behind the aggregates and the distincts a group of the result has its ordered sets.
    Range arguments;    // into lists, of any type but Code
    Range ordered_sets; // into ordered_sets
};

// What a group key or the argument of Min/Max looks like in a result: NULL flag and 128-bit value.
struct Value {
    uint64_t low = 0;
    int64_t high = 0;
};

// The state of one aggregate of one group. SQL NULL iff count == 0 (for all but counts).
struct AggregateState {
    int64_t count = 0; // rows that were not NULL (CountRows: all)
    uint64_t low = 0;  // all but counts: 128-bit integer, or a double's bits in low
    int64_t high = 0;
};

// What of a group, or of a row, becomes a column of the rows that the program of the next stage reads (engine/result/stage_rows.hpp).
enum class GroupField : uint8_t {
    Key,     // key `index`, of the column's type
    Count,   // how many rows aggregate `index` has counted: I64
    Value,   // what aggregate `index` is; NULL where it has counted none
    Average, // F64: the sum that aggregate `index` is, by its count; NULL where that is 0
    Cell,    // of a row: its column `index`
};

// Values of floats that only the CPU plan can tell, as bits: an infinite sum may be an overflow, and of two zeros, of different
// signs, PostgreSQL shows the one that it met first.
constexpr uint8_t refuse_infinite = 1, refuse_zero = 2;

struct StageColumn {
    GroupField field = GroupField::Key;
    Type type = Type::I64; // of the column. An integer that it cannot hold is an error
    uint8_t digits = 0;    // integers: a value with more decimal digits is an error, too; 0: any
    uint8_t refused = 0;   // Value, Average
    Index index = 0;
};

constexpr int max_group_keys = 16;
constexpr int max_grouping_sets = 4096; // PostgreSQL's own limit
constexpr int max_join_keys = 4;
constexpr int max_joins = 16;
constexpr int max_windows = 64;
constexpr int max_ordered_sets = 4096;
constexpr int max_row_outputs = 1664; // PostgreSQL's MaxTupleAttributeNumber
// What a program may have of expressions. An expression beyond is PostgreSQL's: devices walk expressions by recursion, keep a
// vector of values for each node, and compile each of them. The second is far below what the smallest stack can hold.
constexpr Index max_exprs = 8192;
constexpr Index max_expr_depth = 512; // nodes from a root to a leaf

} // namespace gpuscan::ir
