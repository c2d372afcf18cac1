// See column_sample.h. At most so many values of each kind are tried, in one expression state and a memory context of their own; the context of
// the planner grows by nothing. The functions that are called raise errors for values at the ends of their types only, but a table may have such
// values, which the query would never have met: then there is no answer.
#include "pg/pg.h"

#include "pg/cost/column_sample.h"

#include <algorithm>
#include <cmath>

#include "engine/cost/sample_share.hpp"
#include "pg/attempt.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

constexpr double nearly_all = 0.9, golden_section = 0.6180339887498949;
constexpr int most_values = 100; // of the most common ones, and as many steps in the histogram

struct Trial {
    const Var *column;
    Expr *condition;
    HeapTuple statistics;
    double distinct; // values
    SampledShares shares;
};

// What the condition is evaluated with.
struct Evaluation {
    ExprState *state;
    ExprContext *context;
    TupleTableSlot *slot;
};

Evaluation prepare(const Trial *trial) {
    int32 typmod = trial->column->vartypmod;
    const Oid type = getBaseTypeAndTypmod(trial->column->vartype, &typmod);
    TupleDesc descriptor = CreateTemplateTupleDesc(1);
    TupleDescInitEntry(descriptor, 1, nullptr, type, typmod, 0);
    Node *condition = over_one_value(trial->condition);
    fix_opfuncids(condition);
    Evaluation evaluation{};
    evaluation.slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
    evaluation.context = CreateStandaloneExprContext();
    evaluation.context->ecxt_scantuple = evaluation.slot;
    evaluation.state = ExecInitExpr(reinterpret_cast<Expr *>(condition), nullptr);
    return evaluation;
}

bool passes(const Evaluation *evaluation, Datum value, bool is_null) {
    bool null_result;
    CHECK_FOR_INTERRUPTS();
    ExecClearTuple(evaluation->slot);
    evaluation->slot->tts_values[0] = value;
    evaluation->slot->tts_isnull[0] = is_null;
    ExecStoreVirtualTuple(evaluation->slot);
    ResetExprContext(evaluation->context);
    const Datum result = ExecEvalExprSwitchContext(evaluation->state, evaluation->context, &null_result);
    return !null_result && DatumGetBool(result);
}

// (An index may keep its values as another type.)
bool has_column_type(const Trial *trial, const AttStatsSlot *slot) {
    return getBaseType(slot->valuetype) == getBaseType(trial->column->vartype);
}

void try_common(Trial *trial, const Evaluation *evaluation) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, trial->statistics, STATISTIC_KIND_MCV, InvalidOid,
                          ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
        return;
    for (int i = 0; i < std::min(slot.nvalues, most_values) && has_column_type(trial, &slot); ++i) {
        trial->shares.common += slot.numbers[i];
        if (passes(evaluation, slot.values[i], false))
            trial->shares.common_passing += slot.numbers[i];
    }
    free_attstatsslot(&slot);
}

// ---- whole numbers without gaps ----

Datum whole_datum(Oid type, int64 number) {
    switch (type) {
    case INT2OID:
        return Int16GetDatum(static_cast<int16>(number));
    case INT4OID:
        return Int32GetDatum(static_cast<int32>(number));
    default:
        return Int64GetDatum(number);
    }
}

// Bounds of serial numbers may lie at equal distances, and then all of them, or none, have the same rest when divided. But where nearly all
// numbers between the first and the last are there, any number from between two bounds will do instead of them.
bool has_no_gaps(const Trial *trial, const AttStatsSlot *slot) {
    int64 first = 0, last = 0;
    if (!integer_of(slot->valuetype, slot->values[0], &first) ||
        !integer_of(slot->valuetype, slot->values[slot->nvalues - 1], &last))
        return false;
    return trial->distinct >= nearly_all * (static_cast<double>(last) - static_cast<double>(first) + 1);
}

// At multiples of the golden section, which leave no clusters (Knuth, TAOCP 3, section 6.4, theorem S).
Datum number_between(const AttStatsSlot *slot, int from, int to) {
    int64 low = 0, high = 0;
    integer_of(slot->valuetype, slot->values[from], &low);
    integer_of(slot->valuetype, slot->values[to], &high);
    const double part = std::fmod(golden_section * (from + 1), 1);
    return whole_datum(slot->valuetype,
                       low + static_cast<int64>(part * (static_cast<double>(high) - static_cast<double>(low))));
}

void try_histogram(Trial *trial, const Evaluation *evaluation) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, trial->statistics, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
        return;
    const int steps = has_column_type(trial, &slot) ? std::min(slot.nvalues - 1, most_values) : 0;
    const bool between = steps > 0 && has_no_gaps(trial, &slot);
    const auto bound = [&](int step) { return static_cast<int>(static_cast<int64>(slot.nvalues - 1) * step / steps); };
    for (int i = 0; between && i < steps; ++i)
        trial->shares.bounds_passing +=
            passes(evaluation, number_between(&slot, bound(i), bound(i + 1)), false) ? 1 : 0;
    for (int i = 0; !between && i <= steps && steps > 0; ++i)
        if (passes(evaluation, slot.values[bound(i)], false))
            trial->shares.bounds_passing += i == 0 || i == steps ? 0.5 : 1;
    trial->shares.bounds = steps > 0 ? steps + 1 : 0;
    free_attstatsslot(&slot);
}

void try_values(void *argument) {
    Trial *trial = static_cast<Trial *>(argument);
    const Evaluation evaluation = prepare(trial);
    trial->shares.null = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(trial->statistics))->stanullfrac;
    if (passes(&evaluation, Datum(0), true))
        trial->shares.null_passing = trial->shares.null;
    try_common(trial, &evaluation);
    try_histogram(trial, &evaluation);
    FreeExprContext(evaluation.context, true);
}

} // namespace

bool share_by_sample(PlannerInfo *root, const Var *column, Expr *condition, Selectivity expected, Selectivity *share) {
    VariableStatData statistics;
    examine_variable(root, reinterpret_cast<Node *>(const_cast<Var *>(column)), 0, &statistics);
    Attempt outcome = Attempt::Impossible;
    Trial trial{column, condition, statistics.statsTuple, 0, {}};
    if (HeapTupleIsValid(statistics.statsTuple) && statistics.acl_ok && !IsParallelWorker()) {
        bool is_default;
        trial.distinct = get_variable_numdistinct(&statistics, &is_default);
        MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "gpuscan sample", ALLOCSET_SMALL_SIZES);
        MemoryContext before = MemoryContextSwitchTo(own);
        outcome = attempt(try_values, &trial, nullptr);
        MemoryContextSwitchTo(before);
        MemoryContextDelete(own);
    }
    ReleaseVariableStats(statistics);
    return outcome == Attempt::Done && share_of_rows(trial.shares, expected, share);
}

} // namespace gpuscan
