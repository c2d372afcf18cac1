// Aggregates and group keys -> states and outputs.
//
// A state is what the device keeps per group; several aggregates can share one: avg(x) and sum(x) need the same Sum, and
// every state counts its non-NULL arguments. FILTER (WHERE f) becomes CASE WHEN f THEN x END around the argument.
#include "pg/pg.h"

#include "pg/guc.h"
#include "pg/plan/refusal.h"
#include "pg/plan/translate.h"

namespace gpuscan {

// What a built-in aggregate is on the device.
struct KnownAggregate {
    Oid aggfnoid;
    ir::AggregateKind kind;
    OutputKind output;
};

static const KnownAggregate known_aggregates[] = {
    {F_COUNT_, ir::AggregateKind::CountRows, OutputKind::Count},
    {F_COUNT_ANY, ir::AggregateKind::Count, OutputKind::Count},
    {F_SUM_INT2, ir::AggregateKind::Sum, OutputKind::SumInt8},
    {F_SUM_INT4, ir::AggregateKind::Sum, OutputKind::SumInt8},
    {F_SUM_INT8, ir::AggregateKind::Sum, OutputKind::SumNumeric},
    {F_SUM_NUMERIC, ir::AggregateKind::Sum, OutputKind::SumNumeric},
    {F_SUM_FLOAT8, ir::AggregateKind::Sum, OutputKind::SumFloat8},
    {F_AVG_INT2, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_INT4, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_INT8, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_NUMERIC, ir::AggregateKind::Sum, OutputKind::AvgNumeric},
    {F_AVG_FLOAT4, ir::AggregateKind::Sum, OutputKind::AvgFloat8},
    {F_AVG_FLOAT8, ir::AggregateKind::Sum, OutputKind::AvgFloat8},
    {F_MIN_INT2, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_INT4, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_INT8, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_FLOAT4, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_FLOAT8, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_NUMERIC, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_DATE, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_TIMESTAMP, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_TIMESTAMPTZ, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_TEXT, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MIN_BPCHAR, ir::AggregateKind::Min, OutputKind::MinMax},
    {F_MAX_INT2, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_INT4, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_INT8, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_FLOAT4, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_FLOAT8, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_NUMERIC, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_DATE, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_TIMESTAMP, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_TIMESTAMPTZ, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_TEXT, ir::AggregateKind::Max, OutputKind::MinMax},
    {F_MAX_BPCHAR, ir::AggregateKind::Max, OutputKind::MinMax},
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
    if (aggref->aggdistinct != NIL)
        return refuse("an aggregate with DISTINCT");
    if (aggref->aggorder != NIL || aggref->aggdirectargs != NIL || aggref->aggkind != AGGKIND_NORMAL)
        return refuse("an aggregate with ORDER BY or WITHIN GROUP");
    if (aggref->aggvariadic || aggref->agglevelsup != 0)
        return refuse("a variadic aggregate or one of an outer query");
    return true;
}

static Expr *argument_of(const Aggref *aggref) {
    return aggref->args == NIL ? nullptr : static_cast<TargetEntry *>(linitial(aggref->args))->expr;
}

// A state of this kind over the same argument and filter, or -1.
static int find_state(const AggregateStates *states, ir::AggregateKind kind, const Aggref *aggref, bool bounded) {
    for (int i = 0; i < states->states.count; ++i) {
        const Aggref *owner = states->owners[i];
        if (states->states[i].kind == kind && equal(argument_of(owner), argument_of(aggref)) &&
            equal(owner->aggfilter, aggref->aggfilter) && bounded == (owner->aggfnoid == F_AVG_FLOAT8))
            return i;
    }
    return -1;
}

static bool filtered(Translation *t, Expr *filter, Type type, ir::Index *node) {
    ir::Index condition;
    if (!translate_condition(t, filter, &condition))
        return false;
    *node = add_expr(t, ir::Op::Case, type, condition, *node, add_constant(t, type, 0, true));
    return true;
}

// count(*), count(x) where x is never NULL and never an error: rows; else the argument matters.
static bool translate_count(Translation *t, Aggref *aggref, ir::Aggregate *state) {
    Expr *argument = argument_of(aggref);
    ir::Index node = ir::none;
    Type type = Type::Bool;
    if (argument != nullptr) {
        Value value;
        if (!translate(t, argument, &value))
            return false;
        if ((value.nullable || !value.literal) && !as_own_node(t, value, &node))
            return false;
        if (!value.nullable && !value.literal && !may_raise(t, node))
            node = ir::none;
        if (node != ir::none)
            type = value.type;
    }
    if (node == ir::none && aggref->aggfilter == nullptr) {
        state->kind = ir::AggregateKind::CountRows;
        return true;
    }
    state->kind = ir::AggregateKind::Count;
    if (node == ir::none)
        node = add_constant(t, Type::Bool, 1, false);
    if (aggref->aggfilter != nullptr && !filtered(t, aggref->aggfilter, type, &node))
        return false;
    state->arg = node;
    return true;
}

static void add_state(AggregateStates *states, const ir::Aggregate &state, Aggref *aggref, FragmentOutput *out) {
    out->agg = append(&states->states, state);
    append(&states->owners, aggref);
}

bool translate_aggregate(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out) {
    if (!is_plain(aggref))
        return false;
    const KnownAggregate *known = find_aggregate(aggref);
    if (known == nullptr || !may_execute(t, aggref->aggfnoid))
        return false;
    *out = FragmentOutput{};
    out->kind = known->output;
    out->typid = aggref->aggtype;
    out->typmod = -1;
    out->rank_lookup = -1;
    out->key = -1;
    ir::Aggregate state{};
    state.kind = known->kind;

    if (known->output == OutputKind::Count) {
        out->type = Type::I64;
        if (!translate_count(t, aggref, &state))
            return false;
        if (state.kind == ir::AggregateKind::CountRows) {
            for (int i = 0; i < states->states.count; ++i)
                if (states->states[i].kind == ir::AggregateKind::CountRows) {
                    out->agg = i;
                    return true;
                }
        } else if ((out->agg = find_state(states, state.kind, aggref, false)) >= 0) {
            return true;
        }
        add_state(states, state, aggref, out);
        return true;
    }

    Value value;
    Expr *argument = argument_of(aggref);
    if (argument == nullptr || !translate(t, argument, &value))
        return false;
    if (value.mixed_scale)
        return refuse("an aggregate over numeric values of different scales");
    bool sum = known->kind == ir::AggregateKind::Sum;
    if (sum && is_float_kind(value.kind) && guc_exact_float && !t->binding)
        return refuse("a sum of floating-point numbers (gpuscan.exact_float is on)");
    out->type = value.type;
    out->scale = value.scale;
    out->source = value.source;
    out->column = value.column;
    if (is_text_kind(value.kind)) {
        Value rank;
        if (!translate_rank(t, value, aggref->inputcollid, &out->rank_lookup, &rank))
            return false;
        out->type = Type::Code;
        value = rank;
    }
    Type type = value.type;
    if (value.kind == SqlKind::Float4 && sum) // PostgreSQL's avg(real) adds in double precision, too
        type = Type::F64;
    if (value.kind == SqlKind::Numeric && type != Type::I128)
        type = Type::I64;
    if (out->rank_lookup < 0)
        out->type = type;

    ir::Index node;
    if (!as_node(t, value, type, value.scale, &node))
        return false;
    bool bounded = aggref->aggfnoid == F_AVG_FLOAT8;
    if (bounded)
        node = add_expr(t, ir::Op::Bounded, Type::F64, node);
    if (aggref->aggfilter != nullptr && !filtered(t, aggref->aggfilter, type, &node))
        return false;
    state.arg = node;
    if ((out->agg = find_state(states, state.kind, aggref, bounded)) < 0)
        add_state(states, state, aggref, out);
    return true;
}

bool translate_group_key(Translation *t, Expr *key, ir::Index *node, FragmentOutput *out) {
    Value value;
    if (!translate(t, key, &value))
        return false;
    Oid typid = exprType(reinterpret_cast<Node *>(key));
    if (is_float_kind(value.kind))
        return refuse("GROUP BY a floating-point number");
    if (value.kind == SqlKind::Numeric && (value.mixed_scale || value.precision > 18))
        return refuse("GROUP BY a numeric of more than 18 digits or of different scales");
    // PostgreSQL asks for the privilege to compare keys, too (ExecBuildGroupingEqual).
    if (!may_execute(t, get_opcode(lookup_type_cache(typid, TYPECACHE_EQ_OPR)->eq_opr)))
        return false;
    Type type = value.kind == SqlKind::Numeric ? Type::I64 : value.type;
    if (!as_node(t, value, type, value.scale, node))
        return false;
    *out = FragmentOutput{};
    out->kind = OutputKind::GroupKey;
    out->agg = -1;
    out->typid = typid;
    out->typmod = exprTypmod(reinterpret_cast<Node *>(key));
    out->type = type;
    out->scale = value.scale;
    out->source = value.source;
    out->column = value.column;
    out->rank_lookup = -1;
    return true;
}

} // namespace gpuscan
