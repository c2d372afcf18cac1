// The groups of a finished run as tuples.
//
// Sums are exact 128-bit integers with a scale; the final steps (numeric division of avg) are PostgreSQL's functions.
// What cannot be told from a state is left to the CPU plan, before anything was shown: an infinite float sum (did it
// overflow, which is an error, or was infinity among the inputs?) and the sign of a zero that a float min or max
// found (0 and -0 are equal, and PostgreSQL keeps the one it met first).
#include "pg/exec/emit.h"

#include <cmath>

#include "device/semantics.cuh"
#include "pg/catalog/encode.h"
#include "pg/exec/moments.h"
#include "pg/exec/variance.h"
#include "pg/fragment/column_form.h"

namespace gpuscan {
namespace {

const ir::AggregateState *states_of(const FragmentRun *run, const GroupPage *page, uint64 group) {
    return &page->states[group * run->fragment->naggregates];
}

const ir::AggregateState *state_of(const FragmentRun *run, const GroupPage *page, uint64 group, int agg) {
    return states_of(run, page, group) + agg;
}

ir::Value value_of(const ir::AggregateState *state) {
    ir::Value value;
    value.low = state->low;
    value.high = state->high;
    return value;
}

int128 wide_of(const ir::AggregateState *state) {
    const ir::Value value = value_of(state);
    return wide(&value);
}

// A sum of floats.
double float_of(const ir::AggregateState *state) {
    ir::Value value = value_of(state);
    return float_of_value(Type::F64, &value);
}

bool is_null_key(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group) {
    return page->key_nulls[group * run->fragment->nkeys + output->key] != 0;
}

// Which of several equal values that are written in different ways PostgreSQL shows depends on its plan.
bool give_up_tied(FragmentRun *run, const FragmentOutput *output) {
    if (getBaseType(output->typid) != NUMERICOID)
        return give_up(run, "equal intervals of a group are written in different ways");
    const FragmentSource *source = &run->fragment->sources[output->source];
    note_tied_values({source->relid, column_number(&source->columns[output->column]), source->leaves != NIL});
    return give_up(run, "equal numerics of a group are written in different ways");
}

// The rank of the smallest or largest numeric; by both ranks.
int128 end_numeric(const ir::AggregateState *states, const FragmentOutput *output, bool back) {
    constexpr int128 spellings = (1 << numeric_spelling_bits) - 1;
    return back ? wide_of(&states[output->largest]) ^ spellings : wide_of(&states[output->agg]);
}

Size count_of_fractions(const FragmentOutput *output) {
    ArrayType *shape = DatumGetArrayTypeP(output->fractions->constvalue);
    return static_cast<Size>(ArrayGetNItems(ARR_NDIM(shape), ARR_DIMS(shape)));
}

bool key_can_be_shown(FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group) {
    if (is_null_key(run, page, output, group))
        return true;
    const ir::Value first = value_of(state_of(run, page, group, output->agg)),
                    last = value_of(state_of(run, page, group, output->largest));
    return wide(&first) == wide(&last) || give_up_tied(run, output);
}

// The sum's fields; false if they are too large for an interval, or would be infinity.
bool sum_interval(const ir::AggregateState *states, const FragmentOutput *output, Interval *sum) {
    const ir::Value micros = value_of(&states[output->agg]), days = value_of(&states[output->days]),
                    months = value_of(&states[output->months]);
    sum->time = static_cast<int64>(wide(&micros));
    sum->day = static_cast<int32>(wide(&days));
    sum->month = static_cast<int32>(wide(&months));
    return sum->time == wide(&micros) && sum->day == wide(&days) && sum->month == wide(&months) &&
           sum->day != PG_INT32_MIN && sum->day != PG_INT32_MAX;
}

// The rank of the smallest or largest interval, by both ranks.
int128 end_interval(const ir::AggregateState *states, const FragmentOutput *output, bool back) {
    const int128 spellings = (static_cast<int128>(1) << sem::interval_rank_bits) - 1;
    return back ? wide_of(&states[output->largest]) ^ spellings : wide_of(&states[output->agg]);
}

// Of EndInterval and EndNumeric.
Datum show_rank(const FragmentOutput *output, int128 rank) {
    if (output->kind == OutputKind::EndNumeric)
        return with_scale(make_numeric(rank >> numeric_spelling_bits, output->scale), output->scale,
                          static_cast<int32>(rank & ((1 << numeric_spelling_bits) - 1)));
    const int128 interval = sem::interval_of_rank(rank);
    const ir::Value value = {static_cast<uint64_t>(interval), static_cast<int64_t>(interval >> 64)};
    return make_value(INTERVALOID, Type::I128, 0, &value);
}

// Of several fractions.
bool percentiles_can_be_shown(FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group) {
    const Size count = count_of_fractions(output);
    for (Size i = 0; i < count; ++i)
        if (state_of(run, page, group, output->agg + static_cast<int>(i))->count == ir::several_spellings)
            return give_up_tied(run, output->element);
    return true;
}

// Of an output with values that may be unfit.
bool can_be_shown(FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group) {
    if (output->kind == OutputKind::GroupKey)
        return key_can_be_shown(run, page, output, group);
    if (output->kind == OutputKind::Percentiles)
        return percentiles_can_be_shown(run, page, output, group);
    const ir::AggregateState *state = state_of(run, page, group, output->agg);
    ir::Value value = value_of(state);
    if (state->count == 0)
        return true;
    if (output->ordered)
        return state->count != ir::several_spellings || give_up_tied(run, output);
    switch (output->kind) {
    case OutputKind::SumInt8:
        return wide(&value) == static_cast<int64>(wide(&value)) || give_up(run, "a sum is out of bigint's range");
    case OutputKind::SumFloat8:
    case OutputKind::AvgFloat8:
        return !std::isinf(float_of(state)) || give_up(run, "a sum of floats is infinite");
    case OutputKind::SumInterval:
    case OutputKind::AvgInterval: {
        Interval sum;
        return sum_interval(states_of(run, page, group), output, &sum) ||
               give_up(run, "a sum of intervals is out of range");
    }
    case OutputKind::EndInterval:
        return end_interval(states_of(run, page, group), output, false) ==
                   end_interval(states_of(run, page, group), output, true) ||
               give_up_tied(run, output);
    case OutputKind::EndNumeric:
        return end_numeric(states_of(run, page, group), output, false) ==
                   end_numeric(states_of(run, page, group), output, true) ||
               give_up_tied(run, output);
    case OutputKind::Moments: {
        Moments moments;
        const char *reason;
        return moments_of(output, states_of(run, page, group), &moments, &reason) || give_up(run, "%s", reason);
    }
    default:
        return float_of_value(output->type, &value) != 0 || give_up(run, "a minimum or maximum of floats is zero");
    }
}

Datum show_text(const FragmentRun *run, const FragmentOutput *output, uint32 code) {
    struct varlena *entry = output->unified ? unified_entry(run, output->unified, code)
                                            : dictionary_entry(run, output->source, output->column, code);
    if (!entry)
        elog(ERROR, "gpuscan: code %u is not in its dictionary", code);
    return entry_datum(entry, output->fixed_length);
}

// The bits of the arguments that the group's set does not group by.
Datum show_grouping(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group) {
    const Fragment *fragment = run->fragment;
    uint64 set = 0;
    if (list_length(fragment->sets) > 1)
        set = page->keys[(group + 1) * fragment->nkeys - 1].low;
    const int members = list_nth_int(fragment->sets, static_cast<int>(set));
    int32 bits = 0;
    ListCell *cell;
    foreach (cell, output->arguments)
        bits = bits << 1 | (members >> lfirst_int(cell) & 1 ? 0 : 1);
    return Int32GetDatum(bits);
}

uint32 code_of_rank(const FragmentRun *run, const FragmentOutput *output, uint64 rank) {
    const LookupRun *lookup = &run->lookups[output->rank_lookup];
    if (rank >= lookup->ranks)
        elog(ERROR, "gpuscan: rank " UINT64_FORMAT " is not in its dictionary", rank);
    return lookup->by_rank[rank];
}

// high * 2^bits + low
Datum join_parts(Datum high, int bits, int128 low) {
    const Datum above = NumericGetDatum(int64_to_numeric(INT64CONST(1) << bits));
    return DirectFunctionCall2(numeric_add, DirectFunctionCall2(numeric_mul, high, above), make_numeric(low, 0));
}

// sum * 10^-scale, where the sum is high * 2^62 + low, which may take more than 128 bits.
Datum make_long_numeric(int128 high, int128 low, int32 scale) {
    int128 sum;
    if (!__builtin_mul_overflow(high, static_cast<int128>(1) << 62, &sum) && !__builtin_add_overflow(sum, low, &sum))
        return make_numeric(sum, scale);
    return DirectFunctionCall2(numeric_mul, join_parts(make_numeric(high, 0), 62, low), make_numeric(1, scale));
}

// The sum of squares, of which twice as many decimals are shown.
Datum sum_of_squares(const ir::AggregateState *states, const FragmentOutput *output) {
    constexpr int bits[] = {30, 32, 30, 32}; // from one part to the next
    const int *parts = output->square_parts;
    if (parts[0] < 0)
        return make_numeric(wide_of(&states[output->squares]), 2 * output->scale);
    Datum sum = make_numeric(wide_of(&states[parts[0]]), 0);
    for (int i = 1; i < square_sums; ++i)
        sum = join_parts(sum, bits[i - 1], wide_of(&states[parts[i]]));
    return DirectFunctionCall2(numeric_mul, sum, make_numeric(1, 2 * output->scale));
}

// A sum of values that PostgreSQL would show with different scales has the largest of them.
Datum show_sum(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group, int128 sum) {
    const int32 scale = output->scale;
    if (output->scale_agg < 0)
        return make_numeric(sum, scale);
    const Datum value = output->low_agg < 0
                            ? make_numeric(sum, scale)
                            : make_long_numeric(sum, wide_of(state_of(run, page, group, output->low_agg)), scale);
    const int32 shown = static_cast<int32>(state_of(run, page, group, output->scale_agg)->low);
    return with_scale(value, scale, shown);
}

// Of a state that has counted something.
Datum show_aggregate(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group,
                     bool *null) {
    const ir::AggregateState *state = state_of(run, page, group, output->agg);
    ir::Value value = value_of(state);
    switch (output->kind) {
    case OutputKind::SumNumeric:
        return show_sum(run, page, output, group, wide(&value));
    case OutputKind::SumFloat8:
        return Float8GetDatum(float_of(state));
    case OutputKind::AvgNumeric:
        return DirectFunctionCall2(numeric_div, show_sum(run, page, output, group, wide(&value)),
                                   NumericGetDatum(int64_to_numeric(state->count)));
    case OutputKind::AvgFloat8:
        // PostgreSQL's avg, unlike its sum, begins with 0.0.
        return Float8GetDatum((float_of(state) + 0.0) / static_cast<double>(state->count));
    case OutputKind::SumInterval:
    case OutputKind::AvgInterval: {
        Interval *sum = static_cast<Interval *>(palloc(sizeof(Interval)));
        sum_interval(states_of(run, page, group), output, sum);
        if (output->kind == OutputKind::SumInterval)
            return IntervalPGetDatum(sum);
        return DirectFunctionCall2(interval_div, IntervalPGetDatum(sum),
                                   Float8GetDatum(static_cast<double>(state->count)));
    }
    case OutputKind::EndInterval:
    case OutputKind::EndNumeric:
        return show_rank(output, wide(&value));
    case OutputKind::Moments: {
        Moments moments;
        const char *reason;
        moments_of(output, states_of(run, page, group), &moments, &reason);
        return show_moments(output, &moments, null);
    }
    default: {
        const int32 shown = output->scale_agg < 0
                                ? output->scale
                                : static_cast<int32>(state_of(run, page, group, output->scale_agg)->low);
        return variance_of(output->kind, state->count, show_sum(run, page, output, group, wide(&value)),
                           sum_of_squares(states_of(run, page, group), output), output->scale, shown, null);
    }
    }
}

// ---- one output of many groups ----

// Where an output's values lie: an ir::Value every `step` bytes.
struct Values {
    const char *at;
    Size step;
    uint64 count;

    ir::Value operator[](uint64 i) const {
        ir::Value value;
        memcpy(&value, at + i * step, sizeof value);
        return value;
    }
};

// Where they go: every `stride`th of an array.
struct Places {
    Datum *datums;
    bool *nulls;
    int stride;

    Datum &operator[](uint64 i) const { return datums[i * static_cast<uint64>(stride)]; }
    bool &null(uint64 i) const { return nulls[i * static_cast<uint64>(stride)]; }
};

// The Datums of the values that are not NULL (`to` has the flags).
template <class Make> void make_each(const Values &from, const Places &to, Make make) {
    for (uint64 i = 0; i < from.count; ++i)
        to[i] = to.null(i) ? 0 : make(from[i], i);
}

void make_values(const FragmentRun *run, const FragmentOutput *output, const Values &from, const Places &to,
                 char *numerics) {
    const Oid typid = getBaseType(output->typid);
    if (output->kind == OutputKind::EndNumeric || output->kind == OutputKind::EndInterval)
        return make_each(from, to, [&](const ir::Value &v, uint64) { return show_rank(output, wide(&v)); });
    if (output->rank_lookup >= 0)
        return make_each(from, to, [&](const ir::Value &v, uint64) {
            return show_text(run, output, code_of_rank(run, output, v.low));
        });
    if (output->type == Type::Code)
        return make_each(
            from, to, [&](const ir::Value &v, uint64) { return show_text(run, output, static_cast<uint32>(v.low)); });
    if (numerics)
        return make_each(from, to, [&](const ir::Value &v, uint64 i) {
            char *room = numerics + i * numeric_room;
            write_numeric(wide(&v), output->scale, output->scale, room);
            return PointerGetDatum(room);
        });
    switch (typid) {
    case INT4OID:
    case DATEOID:
        return make_each(from, to, [](const ir::Value &v, uint64) { return Int32GetDatum(static_cast<int32>(v.low)); });
    case INT8OID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return make_each(from, to, [](const ir::Value &v, uint64) { return Int64GetDatum(static_cast<int64>(v.low)); });
    default:
        if (type_is_enum(typid))
            return make_each(from, to,
                             [](const ir::Value &v, uint64) { return ObjectIdGetDatum(static_cast<Oid>(v.low)); });
        make_each(from, to,
                  [&](const ir::Value &v, uint64) { return make_value(typid, output->type, output->scale, &v); });
    }
}

// One array of each group.
void show_percentiles(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, const Places &to) {
    const FragmentOutput *element = output->element;
    ArrayType *shape = DatumGetArrayTypeP(output->fractions->constvalue);
    const Size count = count_of_fractions(output);
    int16 length;
    bool by_value;
    char align;
    get_typlenbyvalalign(element->typid, &length, &by_value, &align);
    Datum *values = static_cast<Datum *>(palloc(count * page->ngroups * sizeof(Datum) + 1));
    bool *nulls = static_cast<bool *>(palloc0(count * page->ngroups + 1));
    for (uint64 g = 0; g < page->ngroups; ++g)
        memset(nulls + g * count, to.null(g), count);
    for (Size i = 0; i < count; ++i)
        make_values(run, element,
                    {reinterpret_cast<const char *>(&page->states[output->agg + i].low),
                     run->fragment->naggregates * sizeof(ir::AggregateState), page->ngroups},
                    {values + i, nulls + i, static_cast<int>(count)}, nullptr);
    for (uint64 g = 0; g < page->ngroups; ++g)
        to[g] = to.null(g) ? 0
                           : PointerGetDatum(construct_md_array(values + g * count, nulls + g * count, ARR_NDIM(shape),
                                                                ARR_DIMS(shape), ARR_LBOUND(shape), element->typid,
                                                                length, by_value, align));
}

} // namespace

bool has_unfit_values(const FragmentOutput *output) {
    switch (output->kind) {
    case OutputKind::SumInt8:
    case OutputKind::SumFloat8:
    case OutputKind::AvgFloat8:
    case OutputKind::SumInterval:
    case OutputKind::AvgInterval:
    case OutputKind::EndInterval:
    case OutputKind::EndNumeric:
    case OutputKind::Moments:
        return true;
    case OutputKind::Percentiles:
        return has_unfit_values(output->element);
    case OutputKind::StateValue:
        return output->rank_lookup < 0 && is_float(output->type) && !output->ordered;
    case OutputKind::GroupKey:
        return output->largest >= 0;
    default:
        return false;
    }
}

bool groups_can_be_shown(FragmentRun *run, const GroupPage *page) {
    for (int i = 0; i < run->fragment->noutputs; ++i) {
        const FragmentOutput *output = &run->fragment->outputs[i];
        if (!has_unfit_values(output))
            continue;
        for (uint64 g = 0; g < page->ngroups; ++g)
            if (!can_be_shown(run, page, output, g))
                return false;
    }
    return true;
}

bool shows_plain_numeric(const FragmentOutput *output) {
    return (output->kind == OutputKind::GroupKey || output->kind == OutputKind::StateValue ||
            output->kind == OutputKind::SumNumeric) &&
           output->rank_lookup < 0 && output->largest < 0 &&
           (output->kind == OutputKind::GroupKey || output->scale_agg < 0) && getBaseType(output->typid) == NUMERICOID;
}

bool rank_of_group(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group,
                   uint32 *rank) {
    const ir::AggregateState *state = state_of(run, page, group, output->agg);
    *rank = static_cast<uint32>(state->low);
    return state->count != 0;
}

bool code_of_group(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group,
                   uint32 *code) {
    if (output->kind == OutputKind::GroupKey) {
        const uint64 at = group * run->fragment->nkeys + output->key;
        *code = static_cast<uint32>(page->keys[at].low);
        return page->key_nulls[at] == 0;
    }
    const ir::AggregateState *state = state_of(run, page, group, output->agg);
    if (state->count == 0)
        return false;
    *code = output->rank_lookup >= 0 ? code_of_rank(run, output, state->low) : static_cast<uint32>(state->low);
    return true;
}

void show_groups(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, int stride, Datum *datums,
                 bool *nulls, char *numerics) {
    const Fragment *fragment = run->fragment;
    const Places to{datums, nulls, stride};
    if (output->kind == OutputKind::Grouping) {
        for (uint64 g = 0; g < page->ngroups; ++g) {
            to[g] = show_grouping(run, page, output, g);
            to.null(g) = false;
        }
        return;
    }
    const Values states{reinterpret_cast<const char *>(&page->states[output->agg].low),
                        fragment->naggregates * sizeof(ir::AggregateState), page->ngroups};
    if (output->kind == OutputKind::GroupKey) {
        for (uint64 g = 0; g < page->ngroups; ++g)
            to.null(g) = is_null_key(run, page, output, g);
        const Values keys{reinterpret_cast<const char *>(page->keys + output->key), fragment->nkeys * sizeof(ir::Value),
                          page->ngroups};
        if (output->largest >= 0 && getBaseType(output->typid) == NUMERICOID)
            return make_each(keys, to, [&](const ir::Value &v, uint64 g) {
                return with_scale(make_numeric(wide(&v), output->scale), output->scale,
                                  static_cast<int32>(wide_of(state_of(run, page, g, output->agg))));
            });
        if (output->largest >= 0) // intervals, whose keys are their lengths
            return make_values(run, output, states, to, numerics);
        make_values(run, output, keys, to, numerics);
        return;
    }
    for (uint64 g = 0; g < page->ngroups; ++g)
        to.null(g) = output->kind != OutputKind::Count && state_of(run, page, g, output->agg)->count == 0;
    switch (output->kind) {
    case OutputKind::Count:
        for (uint64 g = 0; g < page->ngroups; ++g)
            to[g] = Int64GetDatum(state_of(run, page, g, output->agg)->count);
        return;
    case OutputKind::SumInt8:
        return make_each(states, to,
                         [](const ir::Value &v, uint64) { return Int64GetDatum(static_cast<int64>(v.low)); });
    case OutputKind::StateValue:
    case OutputKind::OrderValue:
        return make_values(run, output, states, to, numerics);
    case OutputKind::Percentiles:
        return show_percentiles(run, page, output, to);
    case OutputKind::SumNumeric:
        if (numerics)
            return make_values(run, output, states, to, numerics);
        break;
    default:
        break;
    }
    for (uint64 g = 0; g < page->ngroups; ++g)
        to[g] = to.null(g) ? 0 : show_aggregate(run, page, output, g, &to.null(g));
}

} // namespace gpuscan
