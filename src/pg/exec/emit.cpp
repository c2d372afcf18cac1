// The groups of a finished run as tuples.
//
// Sums are exact 128-bit integers with a scale; the final steps (numeric division of avg) are PostgreSQL's functions.
// What cannot be told from a state is left to the CPU plan, before anything was shown: an infinite float sum (did it
// overflow, which is an error, or was infinity among the inputs?) and the sign of a zero that a float min or max
// found (0 and -0 are equal, and PostgreSQL keeps the one it met first).
#include "pg/exec/emit.h"

#include <cmath>

#include "pg/exec/encode.h"
#include "pg/exec/variance.h"

namespace gpuscan {
namespace {

const ir::AggregateState *state_of(const FragmentRun *run, int agg) {
    const GroupPage *page = &run->groups.current;
    return &page->states[page->next * run->fragment->naggregates + agg];
}

ir::Value value_of(const ir::AggregateState *state) {
    ir::Value value;
    value.low = state->low;
    value.high = state->high;
    return value;
}

// A sum of floats.
double float_of(const ir::AggregateState *state) {
    ir::Value value = value_of(state);
    return float_of_value(Type::F64, &value);
}

bool can_be_shown(FragmentRun *run, const FragmentOutput *output) {
    if (output->kind == OutputKind::GroupKey || output->kind == OutputKind::Grouping)
        return true;
    const ir::AggregateState *state = state_of(run, output->agg);
    ir::Value value = value_of(state);
    if (state->count == 0)
        return true;
    switch (output->kind) {
    case OutputKind::SumInt8:
        return wide(&value) == static_cast<int64>(wide(&value)) || give_up(run, "a sum is out of bigint's range");
    case OutputKind::SumFloat8:
    case OutputKind::AvgFloat8:
        return !std::isinf(float_of(state)) || give_up(run, "a sum of floats is infinite");
    case OutputKind::StateValue:
        return !is_float(output->type) || float_of_value(output->type, &value) != 0 ||
               give_up(run, "a minimum or maximum of floats is zero");
    default:
        return true;
    }
}

Datum show_text(const FragmentRun *run, const FragmentOutput *output, uint32 code) {
    struct varlena *entry = output->space ? space_entry(run, output->space, code)
                                          : dictionary_entry(run, output->source, output->column, code);
    if (!entry)
        elog(ERROR, "gpuscan: code %u is not in its dictionary", code);
    return entry_datum(entry, output->fixed_length);
}

Datum show_key(const FragmentRun *run, const FragmentOutput *output, bool *null) {
    const GroupPage *page = &run->groups.current;
    uint64 at = page->next * run->fragment->nkeys + output->key;
    *null = page->key_nulls[at] != 0;
    if (*null)
        return 0;
    if (output->type == Type::Code)
        return show_text(run, output, static_cast<uint32>(page->keys[at].low));
    return make_value(output->typid, output->type, output->scale, &page->keys[at]);
}

// The bits of the arguments that the group's set does not group by.
Datum show_grouping(const FragmentRun *run, const FragmentOutput *output) {
    const Fragment *fragment = run->fragment;
    const GroupPage *page = &run->groups.current;
    uint64 set = 0;
    if (list_length(fragment->sets) > 1)
        set = page->keys[(page->next + 1) * fragment->nkeys - 1].low;
    const int members = list_nth_int(fragment->sets, static_cast<int>(set));
    int32 bits = 0;
    ListCell *cell;
    foreach (cell, output->arguments)
        bits = bits << 1 | (members >> lfirst_int(cell) & 1 ? 0 : 1);
    return Int32GetDatum(bits);
}

Datum show_value(const FragmentRun *run, const FragmentOutput *output, const ir::AggregateState *state) {
    ir::Value value = value_of(state);
    if (output->rank_lookup < 0)
        return make_value(output->typid, output->type, output->scale, &value);
    const LookupRun *lookup = &run->lookups[output->rank_lookup];
    if (value.low >= lookup->ranks)
        elog(ERROR, "gpuscan: rank " UINT64_FORMAT " is not in its dictionary", value.low);
    return show_text(run, output, lookup->by_rank[value.low]);
}

// A sum of values that PostgreSQL would show with different scales has the largest of them.
Datum show_sum(const FragmentRun *run, const FragmentOutput *output, int128 sum) {
    int32 scale = output->scale;
    if (output->scale_agg >= 0) {
        const int32 shown = static_cast<int32>(state_of(run, output->scale_agg)->low);
        for (; scale > shown; --scale)
            sum /= 10;
    }
    return make_numeric(sum, scale);
}

Datum show_aggregate(const FragmentRun *run, const FragmentOutput *output, bool *null) {
    const ir::AggregateState *state = state_of(run, output->agg);
    ir::Value value = value_of(state);
    *null = false;
    if (output->kind == OutputKind::Count)
        return Int64GetDatum(state->count);
    *null = state->count == 0;
    if (*null)
        return 0;
    switch (output->kind) {
    case OutputKind::SumInt8:
        return Int64GetDatum(static_cast<int64>(value.low));
    case OutputKind::SumNumeric:
        return show_sum(run, output, wide(&value));
    case OutputKind::SumFloat8:
        return Float8GetDatum(float_of(state));
    case OutputKind::AvgNumeric:
        return DirectFunctionCall2(numeric_div, show_sum(run, output, wide(&value)),
                                   NumericGetDatum(int64_to_numeric(state->count)));
    case OutputKind::VarPop:
    case OutputKind::VarSamp:
    case OutputKind::StddevPop:
    case OutputKind::StddevSamp: {
        const ir::Value squares = value_of(state_of(run, output->squares));
        return variance_of(output->kind, state->count, wide(&value), wide(&squares), output->scale, null);
    }
    case OutputKind::AvgFloat8:
        // PostgreSQL's avg, unlike its sum, begins with 0.0.
        return Float8GetDatum((float_of(state) + 0.0) / static_cast<double>(state->count));
    default:
        return show_value(run, output, state);
    }
}

} // namespace

bool group_can_be_shown(FragmentRun *run) {
    for (int i = 0; i < run->fragment->noutputs; ++i)
        if (!can_be_shown(run, &run->fragment->outputs[i]))
            return false;
    return true;
}

void show_group(const FragmentRun *run, TupleTableSlot *slot) {
    int natts = slot->tts_tupleDescriptor->natts;
    for (int i = 0; i < natts; ++i) {
        slot->tts_values[i] = 0;
        slot->tts_isnull[i] = true;
    }
    for (int i = 0; i < run->fragment->noutputs; ++i) {
        const FragmentOutput *output = &run->fragment->outputs[i];
        int at = output->attno - 1;
        if (output->kind == OutputKind::Grouping) {
            slot->tts_values[at] = show_grouping(run, output);
            slot->tts_isnull[at] = false;
            continue;
        }
        slot->tts_values[at] = output->kind == OutputKind::GroupKey
                                   ? show_key(run, output, &slot->tts_isnull[at])
                                   : show_aggregate(run, output, &slot->tts_isnull[at]);
    }
    ExecStoreVirtualTuple(slot);
}

} // namespace gpuscan
