// Aggregates and group keys -> states and outputs.
//
// A state is what the device keeps per group; several aggregates can share one: avg(x) and sum(x) need the same Sum, and
// every state counts its non-NULL arguments, and a variance is made of the sums of x and of x * x, as PostgreSQL keeps them for
// integers and numerics. FILTER (WHERE f) becomes CASE WHEN f THEN x END around the argument.
#include "pg/pg.h"

#include "pg/catalog/type_operators.h"
#include "pg/guc.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

constexpr int digits_of_double = 15;     // of any number of so many digits there is a double of its own
constexpr int32 max_scale_of_sums = 12;  // in 128 bits, of values of different scales
constexpr int max_scale_of_squares = 30; // a numeric of 128 bits is made with up to 60 decimals (catalog/encode.h)
constexpr int max_scale_of_whole_squares =
    15; // eight digits are left for the sum before the point; with more it is kept in parts

// What a built-in aggregate is on the device. true is above false, so bool_and is a minimum and bool_or a maximum.
struct KnownAggregate {
    Oid aggfnoid;
    ir::AggregateKind kind; // of its (first) state
    OutputKind output;
};

static const KnownAggregate known_aggregates[] = {
    {F_COUNT_, ir::AggregateKind::CountRows, OutputKind::Count},
    {F_COUNT_ANY, ir::AggregateKind::Count, OutputKind::Count},
    {F_SUM_INT2, ir::AggregateKind::Sum, OutputKind::SumInt8},
    {F_SUM_INT4, ir::AggregateKind::Sum, OutputKind::SumInt8},
    {F_SUM_INT8, ir::AggregateKind::Sum, OutputKind::SumNumeric},
    {F_SUM_MONEY, ir::AggregateKind::Sum, OutputKind::SumInt8},
    {F_SUM_NUMERIC, ir::AggregateKind::Sum, OutputKind::SumNumeric},
    {F_SUM_FLOAT8, ir::AggregateKind::Sum, OutputKind::SumFloat8},
    {F_AVG_INT2, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_INT4, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_INT8, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_NUMERIC, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_SUM_INTERVAL, ir::AggregateKind::Sum, OutputKind::SumInterval},
    {F_AVG_INTERVAL, ir::AggregateKind::Sum, OutputKind::AvgInterval},
    {F_MIN_INTERVAL, ir::AggregateKind::Min, OutputKind::EndInterval},
    {F_MAX_INTERVAL, ir::AggregateKind::Max, OutputKind::EndInterval},
    {F_AVG_FLOAT4, ir::AggregateKind::Sum, OutputKind::AvgFloat8},
    {F_AVG_FLOAT8, ir::AggregateKind::Sum, OutputKind::AvgFloat8},
    {F_MIN_INT2, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_INT4, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_INT8, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_FLOAT4, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_FLOAT8, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_NUMERIC, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_MONEY, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_TIME, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MAX_MONEY, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_TIME, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MIN_OID, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MAX_OID, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MIN_ANYENUM, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MAX_ANYENUM, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MIN_DATE, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_TIMESTAMP, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_TIMESTAMPTZ, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_TEXT, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_BPCHAR, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_INET, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MIN_TIMETZ, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_MAX_INT2, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_INT4, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_INT8, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_FLOAT4, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_FLOAT8, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_NUMERIC, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_DATE, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_TIMESTAMP, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_TIMESTAMPTZ, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_TEXT, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_BPCHAR, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_INET, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_MAX_TIMETZ, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_BOOL_AND, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_EVERY, ir::AggregateKind::Min, OutputKind::StateValue},
    {F_BOOL_OR, ir::AggregateKind::Max, OutputKind::StateValue},
    {F_BIT_AND_INT2, ir::AggregateKind::BitAnd, OutputKind::StateValue},
    {F_BIT_AND_INT4, ir::AggregateKind::BitAnd, OutputKind::StateValue},
    {F_BIT_AND_INT8, ir::AggregateKind::BitAnd, OutputKind::StateValue},
    {F_BIT_OR_INT2, ir::AggregateKind::BitOr, OutputKind::StateValue},
    {F_BIT_OR_INT4, ir::AggregateKind::BitOr, OutputKind::StateValue},
    {F_BIT_OR_INT8, ir::AggregateKind::BitOr, OutputKind::StateValue},
    {F_BIT_XOR_INT2, ir::AggregateKind::BitXor, OutputKind::StateValue},
    {F_BIT_XOR_INT4, ir::AggregateKind::BitXor, OutputKind::StateValue},
    {F_BIT_XOR_INT8, ir::AggregateKind::BitXor, OutputKind::StateValue},
    {F_VARIANCE_INT2, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VARIANCE_INT4, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VARIANCE_INT8, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VARIANCE_NUMERIC, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VAR_SAMP_INT2, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VAR_SAMP_INT4, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VAR_SAMP_INT8, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VAR_SAMP_NUMERIC, ir::AggregateKind::Sum, OutputKind::VarSamp},
    {F_VAR_POP_INT2, ir::AggregateKind::Sum, OutputKind::VarPop},
    {F_VAR_POP_INT4, ir::AggregateKind::Sum, OutputKind::VarPop},
    {F_VAR_POP_INT8, ir::AggregateKind::Sum, OutputKind::VarPop},
    {F_VAR_POP_NUMERIC, ir::AggregateKind::Sum, OutputKind::VarPop},
    {F_STDDEV_INT2, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_INT4, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_INT8, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_NUMERIC, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_SAMP_INT2, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_SAMP_INT4, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_SAMP_INT8, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_SAMP_NUMERIC, ir::AggregateKind::Sum, OutputKind::StddevSamp},
    {F_STDDEV_POP_INT2, ir::AggregateKind::Sum, OutputKind::StddevPop},
    {F_STDDEV_POP_INT4, ir::AggregateKind::Sum, OutputKind::StddevPop},
    {F_STDDEV_POP_INT8, ir::AggregateKind::Sum, OutputKind::StddevPop},
    {F_STDDEV_POP_NUMERIC, ir::AggregateKind::Sum, OutputKind::StddevPop},
};

static const KnownAggregate *find_aggregate(const Aggref *aggref) {
    if (aggref->aggfnoid == F_SUM_FLOAT4) {
        refuse("sum(real), whose running sum is rounded to single precision after every row");
        return nullptr;
    }
    for (const KnownAggregate &known : known_aggregates)
        if (known.aggfnoid == aggref->aggfnoid)
            return &known;
    refuse("aggregate %s", format_procedure(aggref->aggfnoid));
    return nullptr;
}

static bool is_plain(const Aggref *aggref) {
    if (aggref->aggorder != NIL || aggref->aggdirectargs != NIL || aggref->aggkind != AGGKIND_NORMAL)
        return refuse("an aggregate with ORDER BY, or WITHIN GROUP other than percentiles and mode");
    if (aggref->aggvariadic || aggref->agglevelsup != 0)
        return refuse("a variadic aggregate or one of an outer query");
    ListCell *cell;
    foreach (cell, aggref->aggdistinct) {
        SortGroupClause *clause = lfirst_node(SortGroupClause, cell);
        const Oid type = exprType(get_sortgroupclause_expr(clause, aggref->args));
        if (!is_device_equality(clause->eqop, type))
            return refuse("DISTINCT values of %s that are equal by operator %s", format_type_be(type),
                          format_operator(clause->eqop));
    }
    return true;
}

static Expr *argument_of(const Aggref *aggref) {
    return aggref->args == NIL ? nullptr : static_cast<TargetEntry *>(linitial(aggref->args))->expr;
}

static bool same_input(const Aggref *a, const Aggref *b) {
    if (list_length(a->args) != list_length(b->args) || !equal(a->aggfilter, b->aggfilter))
        return false;
    for (int i = 0; i < list_length(a->args); ++i)
        if (!equal(static_cast<TargetEntry *>(list_nth(a->args, i))->expr,
                   static_cast<TargetEntry *>(list_nth(b->args, i))->expr))
            return false;
    return true;
}

// The number of a state of this kind over what is made of the same argument under the same filter, or -1.
static int find_state(const AggregateStates *states, ir::AggregateKind kind, StateOf of, const Aggref *aggref) {
    for (int i = 0; i < states->states.count; ++i) {
        const StateOwner &owner = states->owners[i];
        if (states->states[i].kind == kind && owner.of == of &&
            (kind == ir::AggregateKind::CountRows || same_input(owner.aggref, aggref)))
            return i;
    }
    return -1;
}

int add_state(AggregateStates *states, ir::AggregateKind kind, StateOf of, Aggref *aggref, ir::Index arg) {
    const int found = find_state(states, kind, of, aggref);
    if (found >= 0)
        return found;
    ir::Aggregate state{};
    state.kind = kind;
    state.arg = arg;
    append(&states->owners, StateOwner{aggref, of});
    return append(&states->states, state);
}

bool filter_argument(Translation *t, const Aggref *aggref, Type type, ir::Index *node) {
    ir::Index condition;
    if (aggref->aggfilter == nullptr)
        return true;
    if (!translate_condition(t, aggref->aggfilter, &condition))
        return false;
    *node = add_expr(t, ir::Op::Case, type, condition, *node, add_constant(t, type, 0, true));
    return true;
}

// count(*), count(x) where x is never NULL and never an error: rows; else the argument matters.
static bool translate_count(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out) {
    Expr *argument = argument_of(aggref);
    ir::Index node = ir::none;
    Type type = Type::Bool;
    if (argument != nullptr) {
        TypedExpr value;
        if (!translate(t, argument, &value) && !translate_presence(t, argument, &value))
            return false;
        if ((value.nullable || !value.literal) && !as_own_node(t, value, &node))
            return false;
        if (!value.nullable && !value.literal && !may_raise(t, node))
            node = ir::none;
        if (node != ir::none)
            type = value.type;
    }
    out->type = Type::I64;
    if (node == ir::none && aggref->aggfilter == nullptr) {
        out->agg = add_state(states, ir::AggregateKind::CountRows, StateOf::Argument, aggref, ir::none);
        return true;
    }
    if (node == ir::none)
        node = add_constant(t, Type::Bool, 1, false);
    if (!filter_argument(t, aggref, type, &node))
        return false;
    out->agg = add_state(states, ir::AggregateKind::Count, StateOf::Argument, aggref, node);
    return true;
}

static bool is_variance(OutputKind kind) {
    return kind == OutputKind::VarPop || kind == OutputKind::VarSamp || kind == OutputKind::StddevPop ||
           kind == OutputKind::StddevSamp;
}

// Do values that come again change nothing? Then DISTINCT does not either.
static bool ignores_repetition(ir::AggregateKind kind) {
    return kind == ir::AggregateKind::Min || kind == ir::AggregateKind::Max || kind == ir::AggregateKind::BitAnd ||
           kind == ir::AggregateKind::BitOr;
}

// count, sum and avg of DISTINCT values: the device groups by the argument as well, and the second grouping counts and adds
// up its values (engine/result/second_aggregation.cpp).
static bool translate_distinct_values(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out) {
    const bool counts = out->kind == OutputKind::Count;
    if (!counts && out->kind != OutputKind::SumInt8 && out->kind != OutputKind::SumNumeric &&
        out->kind != OutputKind::AvgNumeric)
        return refuse("DISTINCT in %s", format_procedure(aggref->aggfnoid));
    TypedExpr value;
    Expr *argument = argument_of(aggref);
    if (argument == nullptr || !translate(t, argument, &value))
        return false;
    if (value.kind == SqlKind::Opaque)
        return refuse("DISTINCT values that a device can only store and deliver");
    if (!counts && value.mixed_scale)
        return refuse("an aggregate over numeric values of different scales");
    if (is_text_kind(value.kind) && !is_sound_collation(aggref->inputcollid))
        return refuse("DISTINCT under a nondeterministic collation");
    out->distinct = true;
    out->type = counts ? Type::I64 : value.type;
    out->scale = value.scale;
    for (int i = 0; i < states->distincts.count; ++i)
        if (same_input(states->distinct_owners[i], aggref)) {
            out->agg = i;
            states->distincts[i].counts_only &= counts;
            return true;
        }
    ir::Index node;
    if (!as_own_node(t, value, &node) || !filter_argument(t, aggref, value.type, &node))
        return false;
    node = value.kind == SqlKind::Interval ? order_node(t, value.kind, node) : node;
    int key = 0;
    while (key < states->keys.count && states->keys[key] != node)
        ++key;
    if (key == states->keys.count)
        append(&states->keys, node);
    append(&states->distinct_owners, aggref);
    ir::Distinct distinct{};
    distinct.key = static_cast<ir::Index>(key);
    distinct.counts_only = counts;
    out->agg = append(&states->distincts, distinct);
    return true;
}

// A sum is shown with as many digits as the value that is shown with most; NULLs do not count.
static bool add_scale_state(Translation *t, const TypedExpr &value, ir::Index node, Aggref *aggref,
                            AggregateStates *states, FragmentOutput *out) {
    ir::Index scale = add_expr(t, ir::Op::Case, Type::I32, add_expr(t, ir::Op::IsNotNull, Type::Bool, node),
                               display_scale(t, value), add_constant(t, Type::I32, 0, true));
    if (!filter_argument(t, aggref, Type::I32, &scale))
        return false;
    out->scale_agg = add_state(states, ir::AggregateKind::Max, StateOf::Scale, aggref, scale);
    return true;
}

// The sum (or end) of what is made of the argument, and NULL where the filter is not true.
static bool add_node(Translation *t, StateOf of, Type type, ir::Index node, Aggref *aggref, AggregateStates *states,
                     int *state, ir::AggregateKind kind = ir::AggregateKind::Sum) {
    if (!filter_argument(t, aggref, type, &node))
        return false;
    *state = add_state(states, kind, of, aggref, node);
    return true;
}

static bool add_part(Translation *t, ir::Function part, StateOf of, ir::Index node, Aggref *aggref,
                     AggregateStates *states, int *state, ir::AggregateKind kind = ir::AggregateKind::Sum) {
    return add_node(t, of, ir::function_info(part).result, add_call(t, part, node), aggref, states, state, kind);
}

// The smallest or largest of the intervals by both ranks: if these are of two intervals, PostgreSQL shows that which came first.
static bool translate_interval_end(Translation *t, const TypedExpr &value, Aggref *aggref, ir::AggregateKind kind,
                                   AggregateStates *states, FragmentOutput *out) {
    ir::Index node;
    return as_own_node(t, value, &node) &&
           add_part(t, ir::Function::IntervalRank, StateOf::Rank, node, aggref, states, &out->agg, kind) &&
           add_part(t, ir::Function::IntervalRankBack, StateOf::RankBack, node, aggref, states, &out->largest, kind);
}

// Few rows' values with that many decimals add up in 128 bits, so halves of them are added up.
static bool add_long_sum(Translation *t, const TypedExpr &value, Aggref *aggref, AggregateStates *states,
                         FragmentOutput *out) {
    ir::Index node;
    return as_node(t, value, Type::I128, value.scale, &node) &&
           add_part(t, ir::Function::HighPart, StateOf::High, node, aggref, states, &out->agg) &&
           add_part(t, ir::Function::LowPart, StateOf::Low, node, aggref, states, &out->low_agg) &&
           add_scale_state(t, value, node, aggref, states, out);
}

// The square of a value with many decimals takes more than 128 bits. Of x = a * 2^62 + b * 2^31 + c the products are added up.
static bool add_long_squares(Translation *t, const TypedExpr &value, Aggref *aggref, AggregateStates *states,
                             FragmentOutput *out) {
    const auto wide = [t](ir::Op op, ir::Index x, ir::Index y) { return add_expr(t, op, Type::I128, x, y); };
    const auto narrow = [t](ir::Op op, ir::Index x, ir::Index y) { return add_expr(t, op, Type::I64, x, y); };
    ir::Index node;
    if (!as_node(t, value, Type::I128, value.scale, &node))
        return false;
    const ir::Index a = add_expr(t, ir::Op::Cast, Type::I128, add_call(t, ir::Function::HighPart, node));
    const ir::Index low = add_call(t, ir::Function::LowPart, node);
    const ir::Index step = add_constant(t, Type::I64, INT64CONST(1) << 31, false);
    const ir::Index b = narrow(ir::Op::Div, low, step), c = narrow(ir::Op::Mod, low, step);
    const ir::Index wide_b = add_expr(t, ir::Op::Cast, Type::I128, b),
                    wide_c = add_expr(t, ir::Op::Cast, Type::I128, c);
    const ir::Index twice = wide(ir::Op::Mul, a, wide(ir::Op::Add, wide_c, wide_c));
    const ir::Index parts[] = {wide(ir::Op::Mul, a, a), wide(ir::Op::Mul, a, wide_b),
                               wide(ir::Op::Add, twice, wide(ir::Op::Mul, wide_b, wide_b)),
                               wide(ir::Op::Mul, wide_b, wide_c), wide(ir::Op::Mul, wide_c, wide_c)};
    static_assert(lengthof(parts) == square_sums);
    for (int i = 0; i < square_sums; ++i)
        if (!add_node(t, static_cast<StateOf>(static_cast<int>(StateOf::SquareParts) + i), Type::I128, parts[i], aggref,
                      states, &out->square_parts[i]))
            return false;
    return true;
}

// The sum of the squares beside the sum. Squares have twice the digits, so that only 128 bits may overflow (a row error).
static bool add_squares(Translation *t, const TypedExpr &value, Aggref *aggref, AggregateStates *states,
                        FragmentOutput *out) {
    if (value.scale > max_scale_of_squares)
        return refuse("a variance of numeric values with more than %d decimals", max_scale_of_squares);
    if (value.scale > max_scale_of_whole_squares && (value.mixed_scale || value.type == Type::I128))
        return add_long_squares(t, value, aggref, states, out);
    Type type = value.precision > 0 && value.precision * 2 <= 18 ? Type::I64 : Type::I128;
    if (value.kind == SqlKind::Int4) // ten digits, but 32 bits
        type = Type::I64;
    ir::Index node;
    if (!as_node(t, value, type, value.scale, &node))
        return false;
    return add_node(t, StateOf::Square, type, add_expr(t, ir::Op::Mul, type, node, node), aggref, states,
                    &out->squares);
}

ir::Index numeric_rank(Translation *t, Type type, ir::Index value, ir::Index shown) {
    const ir::Index first = add_expr(t, ir::Op::Mul, type, value,
                                     add_constant(t, type, static_cast<int128>(1) << numeric_spelling_bits, false));
    return add_expr(t, ir::Op::Add, type, first, add_expr(t, ir::Op::Cast, type, shown));
}

// The smallest or largest of the numerics, and of those that are equal the ones that are shown with fewest and with most digits: if there
// are several, PostgreSQL shows the one that it met first or last.
static bool translate_numeric_end(Translation *t, const TypedExpr &value, Aggref *aggref, ir::AggregateKind kind,
                                  AggregateStates *states, FragmentOutput *out) {
    ir::Index node;
    // (Of CASE with a constant, zero say, most executions would end in the CPU plan.)
    if (value.scale_node != scale_of_column && (value.scale_node == ir::none || !value.alike))
        return refuse("a minimum or maximum of numeric values of different scales");
    if (value.tied)
        return refuse("a minimum or maximum of numerics, of which equal ones are written in different ways");
    if (!as_node(t, value, Type::I128, value.scale, &node))
        return false;
    const ir::Index scale = display_scale(t, value);
    ir::Index rank = numeric_rank(t, Type::I128, node, scale);
    ir::Index back = numeric_rank(t, Type::I128, node,
                                  add_expr(t, ir::Op::Sub, Type::I32,
                                           add_constant(t, Type::I32, (1 << numeric_spelling_bits) - 1, false), scale));
    if (!filter_argument(t, aggref, Type::I128, &rank) || !filter_argument(t, aggref, Type::I128, &back))
        return false;
    out->kind = OutputKind::EndNumeric;
    out->type = Type::I128;
    out->agg = add_state(states, kind, StateOf::Rank, aggref, rank);
    out->largest = add_state(states, kind, StateOf::RankBack, aggref, back);
    return true;
}

// Months, days and microseconds are added up each for itself.
static bool translate_interval_sum(Translation *t, const TypedExpr &value, Aggref *aggref, OutputKind kind,
                                   AggregateStates *states, FragmentOutput *out) {
    static const struct {
        ir::Function function;
        StateOf of;
        int FragmentOutput::*state;
    } fields[] = {{ir::Function::IntervalMicros, StateOf::Argument, &FragmentOutput::agg},
                  {ir::Function::IntervalDays, StateOf::Days, &FragmentOutput::days},
                  {ir::Function::IntervalMonths, StateOf::Months, &FragmentOutput::months}};
    if (kind != OutputKind::SumInterval && kind != OutputKind::AvgInterval)
        return refuse("%s of intervals", format_procedure(aggref->aggfnoid));
    ir::Index node;
    if (!as_own_node(t, value, &node))
        return false;
    node = add_call(t, ir::Function::FiniteInterval, node);
    for (const auto &field : fields)
        if (!add_part(t, field.function, field.of, node, aggref, states, &(out->*field.state)))
            return false;
    return true;
}

// Texts by their ranks; oids and enums by their numbers.
bool translate_ordered_value(Translation *t, const Aggref *aggref, TypedExpr *value, FragmentOutput *out) {
    if (is_text_kind(value->kind) || value->kind == SqlKind::Bytes) {
        TypedExpr rank;
        if (!make_text_node(t, value) ||
            !translate_rank(t, *value, aggref->inputcollid, aggref->aggtype, &out->rank_lookup, &rank))
            return false;
        out->fixed_length = get_typlen(aggref->aggtype) > 0;
        out->source = t->lookups[out->rank_lookup].source;
        out->column = t->lookups[out->rank_lookup].column;
        out->unified = value->unified;
        out->type = Type::Code;
        *value = rank;
    }
    if (value->kind == SqlKind::Enum && !t->binding && !has_plain_order(aggref->aggtype))
        return false;
    if (is_unsigned_kind(value->kind)) {
        ir::Index node;
        if (!as_own_node(t, *value, &node))
            return false;
        value->literal = false;
        value->expr = order_node(t, value->kind, node);
        value->type = Type::I64;
        out->kind = OutputKind::OrderValue;
    }
    return true;
}

bool translate_aggregate(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out) {
    if (is_ordered_set(aggref))
        return translate_ordered_set(t, aggref, states, out);
    if (!is_plain(aggref))
        return false;
    const FloatMoments *moments = find_moments(aggref->aggfnoid);
    const KnownAggregate *known = moments != nullptr ? nullptr : find_aggregate(aggref);
    if ((known == nullptr && moments == nullptr) || !may_execute(t, aggref->aggfnoid))
        return false;
    *out = FragmentOutput{};
    out->typid = aggref->aggtype;
    out->typmod = -1;
    out->key = -1;
    if (moments != nullptr)
        return translate_moments(t, aggref, moments, states, out);
    out->kind = known->output;
    if (aggref->aggdistinct != NIL && !ignores_repetition(known->kind))
        return translate_distinct_values(t, aggref, states, out);
    if (known->output == OutputKind::Count)
        return translate_count(t, aggref, states, out);

    TypedExpr value;
    Expr *argument = argument_of(aggref);
    if (argument == nullptr || !translate(t, argument, &value))
        return false;
    if (value.kind == SqlKind::Opaque)
        return refuse_with("declare the column as numeric(precision, scale)",
                           "an aggregate over numeric without precision and scale");
    bool sum = known->kind == ir::AggregateKind::Sum;
    if (sum && is_float_kind(value.kind) && guc_exact_float && !t->binding)
        return refuse_with("SET gpuscan.exact_float = off",
                           "a sum of floating-point numbers (gpuscan.exact_float is on)");
    out->type = value.type;
    out->scale = value.scale;
    out->source = value.source;
    out->column = value.column;
    if (value.mixed_scale && !sum)
        return translate_numeric_end(t, value, aggref, known->kind, states, out);
    if (value.mixed_scale && value.scale > max_scale_of_sums)
        return add_long_sum(t, value, aggref, states, out) &&
               (!is_variance(known->output) || add_squares(t, value, aggref, states, out));
    if (known->output == OutputKind::EndInterval)
        return translate_interval_end(t, value, aggref, known->kind, states, out);
    if (value.kind == SqlKind::Interval)
        return translate_interval_sum(t, value, aggref, known->output, states, out);
    if (!translate_ordered_value(t, aggref, &value, out))
        return false;
    Type type = value.type;
    if (value.kind == SqlKind::Float4 && sum) // PostgreSQL's avg(real) adds in double precision, too
        type = Type::F64;
    if (value.kind == SqlKind::Numeric && type != Type::I128)
        type = Type::I64;
    if (out->rank_lookup < 0)
        out->type = type;

    ir::Index node, argument_node;
    if (!as_node(t, value, type, value.scale, &node))
        return false;
    argument_node = node;
    bool bounded = aggref->aggfnoid == F_AVG_FLOAT8;
    if (bounded)
        node = add_call(t, ir::Function::Bounded, node);
    if (!filter_argument(t, aggref, type, &node))
        return false;
    out->agg = add_state(states, known->kind, bounded ? StateOf::Bounded : StateOf::Argument, aggref, node);
    return (!value.mixed_scale || add_scale_state(t, value, argument_node, aggref, states, out)) &&
           (!is_variance(known->output) || add_squares(t, value, aggref, states, out));
}

// The smallest and the largest way in which a group's key is written.
static void add_spelling_states(AggregateStates *states, ir::Index node, FragmentOutput *out) {
    ir::Aggregate state{};
    state.arg = node;
    state.kind = ir::AggregateKind::Min;
    out->agg = append(&states->states, state);
    append(&states->owners, StateOwner{nullptr, StateOf::Key});
    state.kind = ir::AggregateKind::Max;
    out->largest = append(&states->states, state);
    append(&states->owners, StateOwner{nullptr, StateOf::Key});
}

// Intervals are grouped by their length. Which of those that are as long PostgreSQL shows depends on the order of its rows: the
// smallest and the largest of the ways in which they are written tell whether there are several.
static void add_interval_states(Translation *t, AggregateStates *states, ir::Index *node, FragmentOutput *out) {
    add_spelling_states(states, *node, out);
    out->value_kind = SqlKind::Opaque; // nobody else may take the key for an interval
    *node = order_node(t, SqlKind::Interval, *node);
}

FragmentOutput output_of_value(OutputKind kind, const TypedExpr &value, Type type, Oid typid, int32 typmod) {
    FragmentOutput output{};
    output.kind = kind;
    output.agg = -1;
    output.typid = typid;
    output.typmod = typmod;
    output.type = type;
    output.value_kind = value.kind;
    output.fixed_length = type == Type::Code && get_typlen(typid) > 0;
    output.scale = value.scale;
    output.source = value.source;
    output.column = value.column;
    output.unified = value.unified;
    return output;
}

// Of values that are only handed through the device groups those of the same bytes. Are these the groups of the type's default
// equality? They are unless equal values have different bytes (1 and 1.0 in a jsonb), which the executor finds out. A type without
// equality is no matter: such a column depends on the keys.
static bool groups_by_bytes(const Translation *t, const TypedExpr &value, const Expr *key, Oid *equality) {
    const Oid typid = exprType(reinterpret_cast<const Node *>(key)),
              collation = exprCollation(reinterpret_cast<const Node *>(key));
    const TypeCacheEntry *type = lookup_type_cache(typid, TYPECACHE_EQ_OPR | TYPECACHE_HASH_PROC);
    *equality = OidIsValid(type->eq_opr) ? get_opcode(type->eq_opr) : InvalidOid;
    if (OidIsValid(*equality) && (!OidIsValid(type->hash_proc) || is_foreign_type(typid)))
        return refuse("GROUP BY a value of type %s", format_type_be(typid));
    if (OidIsValid(collation) && !is_sound_collation(collation))
        return refuse("GROUP BY values of type %s with a nondeterministic collation", format_type_be(typid));
    if (!t->probing && !value.literal && t->sources[value.source].is_relation) {
        const TranslatedSource &source = t->sources[value.source];
        const FragmentColumn &column = source.columns[value.column];
        if (has_tied_values({source.relid, column_number(&column), source.leaves != NIL}))
            return refuse("GROUP BY values of type %s, of which equal ones are written in different ways",
                          format_type_be(typid));
    }
    return true;
}

bool translate_group_key(Translation *t, Expr *key, AggregateStates *states, ir::Index *node, FragmentOutput *out) {
    TypedExpr value;
    if (!translate(t, key, &value) && !translate_stored_expression(t, key, &value))
        return false;
    Oid typid = exprType(reinterpret_cast<Node *>(key));
    Oid equality = device_equality_function(typid);
    if (value.kind == SqlKind::Opaque && !groups_by_bytes(t, value, key, &equality))
        return false;
    if (is_coded_kind(value.kind) && !make_text_node(t, &value))
        return false;
    if (is_text_kind(value.kind) && (!is_sound_collation(exprCollation(reinterpret_cast<Node *>(key)))))
        return refuse("GROUP BY a text with a nondeterministic collation");
    // date_part() and the like: no NaN, only one zero, and no two integers that are one double.
    const bool exact = value.kind == SqlKind::Float8 && value.precision > 0 && value.precision <= digits_of_double;
    const ir::Expr *whole = exact ? &t->exprs[static_cast<int>(value.expr)] : nullptr;
    if (whole != nullptr && whole->op == ir::Op::Cast && is_integer(t->exprs[static_cast<int>(whole->a)].type)) {
        value.expr = whole->a;
        value.type = t->exprs[static_cast<int>(whole->a)].type;
    } else if (is_float_kind(value.kind)) { // 0 and -0 are one group, of which PostgreSQL shows what came first
        ir::Index number;
        if (!as_own_node(t, value, &number))
            return false;
        if (value.type != Type::F64)
            number = add_expr(t, ir::Op::Cast, Type::F64, number);
        value.literal = false;
        value.type = Type::F64;
        value.expr = add_call(t, ir::Function::PlainZero, number);
    }
    if (value.mixed_scale && value.scale_node != scale_of_column)
        return refuse("GROUP BY numeric values of different scales");
    if (value.tied)
        return refuse("GROUP BY numerics, of which equal ones are written in different ways");
    // PostgreSQL asks for the privilege to compare keys, too (ExecBuildGroupingEqual).
    if (OidIsValid(equality) && !may_execute(t, equality))
        return false;
    Type type = value.kind == SqlKind::Numeric && value.type != Type::I128 ? Type::I64 : value.type;
    if (!as_node(t, value, type, value.scale, node))
        return false;
    *out = output_of_value(OutputKind::GroupKey, value, type, typid, exprTypmod(reinterpret_cast<Node *>(key)));
    out->by_bytes = value.kind == SqlKind::Opaque && OidIsValid(equality);
    if (value.kind == SqlKind::Interval)
        add_interval_states(t, states, node, out);
    if (value.mixed_scale) // 1.5 and 1.50 are one group
        add_spelling_states(states, display_scale(t, value), out);
    return true;
}

} // namespace gpuscan
