// percentile_cont, percentile_disc and mode -> ordered sets of the program (engine/result/ordered_sets.hpp).
//
// Their values are what min() shows: texts by their ranks, enums by their numbers. NULLs do not count, so FILTER makes NULLs. What is equal
// must look the same, since PostgreSQL's sort has equal values in any order: the device gives up where the answer is a zero and floats have
// both of them. Numerics of several scales and intervals come as ranks, which tell how they are written, too (ir::OrderedSet::spelling).
//
// The fraction must be known when the plan starts. PostgreSQL raises an error for one that is not between 0 and 1 where it shows a
// group, so such a plan is PostgreSQL's; a parameter's value is seen by the device, which gives up.
#include "pg/pg.h"

#include <cmath>

#include "device/semantics.cuh"
#include "pg/catalog/type_operators.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

constexpr int max_fractions = 64; // of one aggregate

struct KnownOrderedSet {
    Oid aggfnoid;
    ir::OrderedSetKind kind;
    bool array; // of fractions
};

static const KnownOrderedSet known_ordered_sets[] = {
    {F_PERCENTILE_CONT_FLOAT8_FLOAT8, ir::OrderedSetKind::Continuous, false},
    {F_PERCENTILE_CONT__FLOAT8_FLOAT8, ir::OrderedSetKind::Continuous, true},
    {F_PERCENTILE_DISC_FLOAT8_ANYELEMENT, ir::OrderedSetKind::Discrete, false},
    {F_PERCENTILE_DISC__FLOAT8_ANYELEMENT, ir::OrderedSetKind::Discrete, true},
    {F_MODE, ir::OrderedSetKind::Mode, false},
};

static const KnownOrderedSet *find_ordered_set(const Aggref *aggref) {
    for (const KnownOrderedSet &known : known_ordered_sets)
        if (known.aggfnoid == aggref->aggfnoid)
            return &known;
    return nullptr;
}

bool is_ordered_set(const Aggref *aggref) { return find_ordered_set(aggref) != nullptr; }

// ---- the values ----

static bool is_descending(const Aggref *aggref, bool *descending) {
    const SortGroupClause *clause = linitial_node(SortGroupClause, aggref->aggorder);
    const Oid type = exprType(get_sortgroupclause_expr(const_cast<SortGroupClause *>(clause), aggref->args));
    return (is_device_order(clause->sortop, type, descending) && is_device_equality(clause->eqop, type)) ||
           refuse("%s of values of %s that no device orders", format_procedure(aggref->aggfnoid), format_type_be(type));
}

static void add_argument(AggregateStates *states, ir::Index node, ir::OrderedSet *set) {
    int number = 0;
    while (number < states->arguments.count && states->arguments[number] != node)
        ++number;
    if (number == states->arguments.count)
        append(&states->arguments, node);
    set->argument = static_cast<ir::Index>(number);
}

// Values of which equal ones may be written in different ways.
static bool add_ranks(Translation *t, Aggref *aggref, const TypedExpr &value, AggregateStates *states,
                      FragmentOutput *out, ir::OrderedSet *set) {
    constexpr int digits_of_narrow = 16; // times 2^numeric_spelling_bits
    const bool numeric = value.kind == SqlKind::Numeric;
    ir::Index node;
    if (numeric && value.scale_node != scale_of_column)
        return refuse("%s of numeric values of different scales", format_procedure(aggref->aggfnoid));
    if (value.tied)
        return refuse("%s of numerics, of which equal ones are written in different ways",
                      format_procedure(aggref->aggfnoid));
    out->kind = numeric ? OutputKind::EndNumeric : OutputKind::EndInterval;
    out->type = numeric && value.type == Type::I64 && value.precision > 0 && value.precision <= digits_of_narrow
                    ? Type::I64
                    : Type::I128;
    if (!as_node(t, value, out->type, value.scale, &node))
        return false;
    node = numeric ? numeric_rank(t, out->type, node, display_scale(t, value))
                   : add_call(t, ir::Function::IntervalRank, node);
    if (!filter_argument(t, aggref, out->type, &node))
        return false;
    set->spelling = numeric ? numeric_spelling_bits : sem::interval_rank_bits;
    add_argument(states, node, set);
    return true;
}

// As an argument of the pipeline; `out` shows them.
static bool add_values(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out,
                       ir::OrderedSet *set) {
    TypedExpr value;
    ir::Index node;
    if (!translate(t, linitial_node(TargetEntry, aggref->args)->expr, &value))
        return false;
    if (value.kind == SqlKind::Opaque)
        return refuse_with("declare the column as numeric(precision, scale)",
                           "%s of values that a device can only store and deliver", format_procedure(aggref->aggfnoid));
    out->kind = OutputKind::StateValue;
    out->scale = value.scale;
    out->source = value.source;
    out->column = value.column;
    if (value.mixed_scale || value.kind == SqlKind::Interval)
        return add_ranks(t, aggref, value, states, out, set);
    if (!translate_ordered_value(t, aggref, &value, out))
        return false;
    if (value.kind == SqlKind::Uuid || (out->rank_lookup < 0 && !is_in_order(value.kind)))
        return refuse("%s of values in an order that is not that of the device's", format_procedure(aggref->aggfnoid));
    const Type type = value.kind == SqlKind::Numeric && value.type != Type::I128 ? Type::I64 : value.type;
    if (out->rank_lookup < 0)
        out->type = type;
    if (!as_node(t, value, type, value.scale, &node) || !filter_argument(t, aggref, type, &node))
        return false;
    add_argument(states, node, set);
    return true;
}

// ---- the fractions ----

static bool is_fraction(float8 value) {
    return (value >= 0 && value <= 1) || refuse("a percentile that is not between 0 and 1");
}

static ir::Index add_fraction(Translation *t, float8 value) {
    int64 bits;
    memcpy(&bits, &value, sizeof bits);
    return t->exprs[static_cast<int>(add_constant(t, Type::F64, bits, false))].a;
}

static bool find_fraction(Translation *t, Expr *fraction, ir::Index *constant) {
    const Const *known = reinterpret_cast<const Const *>(fraction);
    TypedExpr value;
    ir::Index node;
    if (IsA(fraction, Const) && known->constisnull) {
        *constant = t->exprs[static_cast<int>(add_constant(t, Type::F64, 0, true))].a;
        return true;
    }
    if (IsA(fraction, Const)) {
        if (!is_fraction(DatumGetFloat8(known->constvalue)))
            return false;
        *constant = add_fraction(t, DatumGetFloat8(known->constvalue));
        return true;
    }
    if (!is_late_constant(fraction))
        return refuse("a percentile that is not known beforehand");
    if (!translate_late_constant(t, fraction, &value) || value.kind != SqlKind::Float8 ||
        !as_node(t, value, Type::F64, 0, &node))
        return false;
    *constant = t->exprs[static_cast<int>(node)].a;
    return t->exprs[static_cast<int>(node)].op == ir::Op::Const || refuse("a percentile that is not known beforehand");
}

// Of an array, none of which is NULL: then its result is NULL where there is no value.
static bool find_fractions(Translation *t, Expr *fractions, Array<ir::Index> *constants) {
    const Const *known = reinterpret_cast<const Const *>(fractions);
    if (!IsA(fractions, Const) || known->constisnull)
        return refuse("percentiles that are not known beforehand");
    const ArrayType *array = DatumGetArrayTypeP(known->constvalue);
    Datum *elements;
    bool *nulls;
    int count;
    deconstruct_array(const_cast<ArrayType *>(array), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
                      &elements, &nulls, &count);
    if (count == 0 || count > max_fractions)
        return refuse("percentiles of no or of more than %d fractions", max_fractions);
    for (int i = 0; i < count; ++i) {
        if (nulls[i])
            return refuse("a percentile that is NULL among others");
        if (!is_fraction(DatumGetFloat8(elements[i])))
            return false;
        append(constants, add_fraction(t, DatumGetFloat8(elements[i])));
    }
    return true;
}

// ---- the aggregate ----

static int add_ordered_set(AggregateStates *states, const ir::OrderedSet &set) {
    for (int i = 0; i < states->ordered_sets.count; ++i)
        if (memcmp(&states->ordered_sets[i], &set, sizeof set) == 0)
            return i;
    return append(&states->ordered_sets, set);
}

// The values of several fractions, as the array that PostgreSQL makes of them.
static bool add_array(Translation *t, Aggref *aggref, AggregateStates *states, ir::OrderedSet set,
                      FragmentOutput *out) {
    Array<ir::Index> fractions{};
    Expr *array = static_cast<Expr *>(linitial(aggref->aggdirectargs));
    if (out->rank_lookup >= 0)
        return refuse("an array of percentiles of texts");
    if (!find_fractions(t, array, &fractions))
        return false;
    FragmentOutput *element = static_cast<FragmentOutput *>(palloc(sizeof(FragmentOutput)));
    *element = *out;
    element->typid = getBaseType(get_element_type(aggref->aggtype));
    out->kind = OutputKind::Percentiles;
    out->element = element;
    out->fractions = reinterpret_cast<Const *>(array);
    out->agg = states->ordered_sets.count;
    for (int i = 0; i < fractions.count; ++i) { // (beside each other)
        set.fraction = fractions[i];
        append(&states->ordered_sets, set);
    }
    return true;
}

bool translate_ordered_set(Translation *t, Aggref *aggref, AggregateStates *states, FragmentOutput *out) {
    const KnownOrderedSet *known = find_ordered_set(aggref);
    if (list_length(aggref->args) != 1 || list_length(aggref->aggorder) != 1 || aggref->aggdistinct != NIL ||
        aggref->aggvariadic || aggref->agglevelsup != 0)
        return refuse("an aggregate with ORDER BY, or WITHIN GROUP other than percentiles and mode");
    if (!may_execute(t, aggref->aggfnoid))
        return false;
    *out = FragmentOutput{};
    out->typid = aggref->aggtype;
    out->typmod = -1;
    out->key = -1;
    out->ordered = true;
    ir::OrderedSet set{};
    set.kind = known->kind;
    bool descending;
    if (!is_descending(aggref, &descending) || !add_values(t, aggref, states, out, &set))
        return false;
    set.descending = descending ? 1 : 0;
    if (known->array)
        return add_array(t, aggref, states, set, out);
    if (known->kind != ir::OrderedSetKind::Mode &&
        !find_fraction(t, static_cast<Expr *>(linitial(aggref->aggdirectargs)), &set.fraction))
        return false;
    out->agg = add_ordered_set(states, set);
    return states->ordered_sets.count <= ir::max_ordered_sets || refuse("too many ordered-set aggregates");
}

} // namespace gpuscan
