// See expression_values.h. Steps:
//
//   common values   each once: a result of theirs is certain
//   the histogram   numbers and times are drawn at random between its bounds; of other types the bounds themselves are the sample
//   the estimate    of what was drawn (engine/cost/distinct_count.hpp), and the common values' results that are not among it
//
// Random draws, since the bounds of a column without gaps lie at equal distances, and a step function of them may be all different, or
// all the same. The sequence is the same each time, and so is the plan.
//
// What it may take: one evaluation for each hundred rows that the query is expected to evaluate them for, and 10 ms, 10 times what usual
// functions take (a value that the query would never have met can be a text of a gigabyte): what has been drawn by then is the sample.
// The functions are PostgreSQL's own, read nothing and change nothing (what is parallel safe and not volatile), and meet no type of
// users, whose input, output and checks would be called. An error only means that there is no answer.
#include "pg/pg.h"

#include "pg/cost/expression_values.h"

#include <algorithm>
#include <cmath>

#include "engine/cost/distinct_count.hpp"
#include "pg/attempt.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

constexpr int most_common_values = 100, max_draws = 1000, min_draws = 100;
constexpr double rows_per_evaluation = 100, longest_ms = 10;

// ---- which expressions ----

bool is_untryable_function(Oid function, void *) {
    return function >= FirstNormalObjectId || func_volatile(function) == PROVOLATILE_VOLATILE ||
           func_parallel(function) != PROPARALLEL_SAFE || get_func_retset(function);
}

bool is_another_column(const Var **column, const Var *found) {
    if (found->varlevelsup != 0 || found->varattno <= 0)
        return true;
    if (*column == nullptr)
        *column = found;
    return found->varno != (*column)->varno || found->varattno != (*column)->varattno;
}

// (A domain of a built-in type is read as that; what checks it has been asked when the row was written.)
bool is_of_users_type(const Node *node) {
    if (IsA(node, List) || IsA(node, CaseWhen))
        return false;
    const Oid type = exprType(node);
    return (IsA(node, Var) ? getBaseType(type) : type) >= FirstNormalObjectId;
}

// `context`: const Var **, the column found so far.
bool finds_untryable(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var:
        return is_of_users_type(node) ||
               is_another_column(static_cast<const Var **>(context), reinterpret_cast<const Var *>(node));
    case T_Const:
    case T_List:
    case T_FuncExpr:
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
    case T_ScalarArrayOpExpr:
    case T_BoolExpr:
    case T_RelabelType:
    case T_CoerceViaIO:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_CoalesceExpr:
    case T_MinMaxExpr:
    case T_NullTest:
    case T_BooleanTest:
    case T_SQLValueFunction:
        break;
    default:
        return true;
    }
    return is_of_users_type(node) || check_functions_in_node(node, is_untryable_function, nullptr) ||
           walk_expression(node, finds_untryable, context);
}

// ---- values ----

struct Sample {
    const Var *column;
    const List *expressions;
    HeapTuple statistics;
    double rows;     // of the table
    double distinct; // values of the column
    int draws;       // at most
    instr_time begin;
    uint32_t common[most_common_values]; // results, hashed
    uint32_t drawn[max_draws];
    int ncommon, ndrawn;
    double null_share;
    bool is_whole; // neither part was left for want of time
};

struct EvaluatedExpression {
    ExprState *state;
    int16 length; // of its type
    bool by_value;
};

struct Evaluation {
    List *expressions; // of EvaluatedExpression *
    ExprContext *context;
    TupleTableSlot *slot;
};

Evaluation prepare(const Sample *sample) {
    int32 typmod = sample->column->vartypmod;
    const Oid type = getBaseTypeAndTypmod(sample->column->vartype, &typmod);
    TupleDesc descriptor = CreateTemplateTupleDesc(1);
    TupleDescInitEntry(descriptor, 1, nullptr, type, typmod, 0);
    Evaluation evaluation{};
    evaluation.slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
    evaluation.context = CreateStandaloneExprContext();
    evaluation.context->ecxt_scantuple = evaluation.slot;
    ListCell *cell;
    foreach (cell, sample->expressions) {
        Node *expression = over_one_value(static_cast<Expr *>(lfirst(cell)));
        fix_opfuncids(expression);
        EvaluatedExpression *evaluated = static_cast<EvaluatedExpression *>(palloc(sizeof(EvaluatedExpression)));
        evaluated->state = ExecInitExpr(reinterpret_cast<Expr *>(expression), nullptr);
        get_typlenbyval(exprType(expression), &evaluated->length, &evaluated->by_value);
        evaluation.expressions = lappend(evaluation.expressions, evaluated);
    }
    return evaluation;
}

uint32_t hash_of(const EvaluatedExpression *expression, ExprContext *context) {
    bool is_null;
    const Datum value = ExecEvalExprSwitchContext(expression->state, context, &is_null);
    if (is_null)
        return 1;
    MemoryContext before = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    const uint32_t hash = datum_image_hash(value, expression->by_value, expression->length);
    MemoryContextSwitchTo(before);
    return hash;
}

bool is_out_of_time(const Sample *sample) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, sample->begin);
    return INSTR_TIME_GET_MILLISEC(now) > longest_ms;
}

uint32_t results_of(const Evaluation *evaluation, Datum value) {
    CHECK_FOR_INTERRUPTS();
    ExecClearTuple(evaluation->slot);
    evaluation->slot->tts_values[0] = value;
    evaluation->slot->tts_isnull[0] = false;
    ExecStoreVirtualTuple(evaluation->slot);
    ResetExprContext(evaluation->context);
    uint32_t all = 0;
    ListCell *cell;
    foreach (cell, evaluation->expressions)
        all = hash_combine(all, hash_of(static_cast<const EvaluatedExpression *>(lfirst(cell)), evaluation->context));
    return all;
}

// (An index may keep its values as another type.)
bool has_column_type(const Sample *sample, const AttStatsSlot *slot) {
    return getBaseType(slot->valuetype) == getBaseType(sample->column->vartype);
}

// False: not all of them, for want of time.
bool try_common(Sample *sample, const Evaluation *evaluation) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, sample->statistics, STATISTIC_KIND_MCV, InvalidOid, ATTSTATSSLOT_VALUES))
        return true;
    const int wanted = has_column_type(sample, &slot) ? std::min(slot.nvalues, most_common_values) : 0;
    while (sample->ncommon < wanted && !is_out_of_time(sample)) {
        sample->common[sample->ncommon] = results_of(evaluation, slot.values[sample->ncommon]);
        ++sample->ncommon;
    }
    free_attstatsslot(&slot);
    return sample->ncommon == wanted;
}

// A time is a whole number, too: of days, or of microseconds.
bool whole_number(Oid type, Datum value, int64 *number) {
    if (type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID)
        return integer_of(type, value, number);
    *number = type == DATEOID ? DatumGetDateADT(value) : DatumGetTimestamp(value);
    return true;
}

// With as many digits after the point as the bounds have.
Datum numeric_between(Datum from, Datum to, double part) {
    const int32 digits = std::max(DatumGetInt32(DirectFunctionCall1(numeric_scale, from)),
                                  DatumGetInt32(DirectFunctionCall1(numeric_scale, to)));
    const Datum whole = DirectFunctionCall2(numeric_sub, to, from),
                distance =
                    DirectFunctionCall2(numeric_mul, whole, DirectFunctionCall1(float8_numeric, Float8GetDatum(part)));
    return DirectFunctionCall2(numeric_round, DirectFunctionCall2(numeric_add, from, distance), Int32GetDatum(digits));
}

// Between two bounds, so far from the first one, 0 to 1. False: not of this type.
bool value_between(Oid type, Datum from, Datum to, double part, Datum *value) {
    int64 low = 0, high = 0;
    if (type == FLOAT8OID) {
        *value = Float8GetDatum(DatumGetFloat8(from) * (1 - part) + DatumGetFloat8(to) * part);
        return true;
    }
    if (type == NUMERICOID) {
        *value = numeric_between(from, to, part);
        return true;
    }
    if (!whole_number(type, from, &low) || !whole_number(type, to, &high))
        return false;
    const __int128 wide = low + static_cast<__int128>(part * (static_cast<double>(high) - static_cast<double>(low)));
    const int64 between = static_cast<int64>(std::min<__int128>(wide, high));
    if (get_typlen(type) == sizeof(int64))
        *value = Int64GetDatum(between);
    else
        *value = get_typlen(type) == sizeof(int32) ? Int32GetDatum(static_cast<int32>(between))
                                                   : Int16GetDatum(static_cast<int16>(between));
    return true;
}

// False: there is none between two bounds, or too few for want of time.
bool draw(Sample *sample, const Evaluation *evaluation, const AttStatsSlot *slot) {
    pg_prng_state random;
    pg_prng_seed(&random, 0);
    const Oid type = getBaseType(slot->valuetype);
    while (sample->ndrawn < sample->draws && !is_out_of_time(sample)) {
        const double at = pg_prng_double(&random) * (slot->nvalues - 1);
        const int step = static_cast<int>(at);
        Datum value;
        if (!value_between(type, slot->values[step], slot->values[step + 1], at - step, &value))
            return false;
        sample->drawn[sample->ndrawn++] = results_of(evaluation, value);
    }
    return sample->ndrawn >= min_draws;
}

// (Not a part of them: they are in order.)
bool draw_bounds(Sample *sample, const Evaluation *evaluation, const AttStatsSlot *slot) {
    const int wanted = std::min(slot->nvalues, sample->draws);
    while (sample->ndrawn < wanted && !is_out_of_time(sample)) {
        const int64 bound = static_cast<int64>(sample->ndrawn) * (slot->nvalues - 1) / std::max(wanted - 1, 1);
        sample->drawn[sample->ndrawn++] = results_of(evaluation, slot->values[bound]);
    }
    return sample->ndrawn == wanted;
}

bool try_histogram(Sample *sample, const Evaluation *evaluation) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, sample->statistics, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
        return true;
    bool tried = true;
    if (has_column_type(sample, &slot) && slot.nvalues > 1)
        tried = draw(sample, evaluation, &slot) || (sample->ndrawn == 0 && draw_bounds(sample, evaluation, &slot));
    free_attstatsslot(&slot);
    return tried;
}

void try_values(void *argument) {
    Sample *sample = static_cast<Sample *>(argument);
    const Evaluation evaluation = prepare(sample);
    sample->null_share = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(sample->statistics))->stanullfrac;
    sample->is_whole = try_common(sample, &evaluation) && try_histogram(sample, &evaluation);
    FreeExprContext(evaluation.context, true);
}

// (What was drawn is a sample of the rows. There are no more results than values.)
double estimate(Sample *sample) {
    double values = std::min(distinct_count(sample->drawn, sample->ndrawn, sample->rows),
                             std::max(sample->distinct - sample->ncommon, 1.0));
    std::sort(sample->common, sample->common + sample->ncommon);
    const uint32_t *end = std::unique(sample->common, sample->common + sample->ncommon);
    for (const uint32_t *common = sample->common; common < end; ++common)
        values += std::binary_search(sample->drawn, sample->drawn + sample->ndrawn, *common) ? 0 : 1;
    if (!sample->is_whole || (values == 0 && sample->null_share < 1))
        return HUGE_VAL;
    return values + (sample->null_share > 0 ? 1 : 0);
}

} // namespace

const Var *column_of_expression(Node *expression) {
    const Var *column = nullptr;
    return finds_untryable(expression, &column) ? nullptr : column;
}

double expression_values(PlannerInfo *root, const Var *column, const List *expressions) {
    const RelOptInfo *rel = root->simple_rel_array[column->varno];
    const double draws = std::min(rel->rows / rows_per_evaluation, static_cast<double>(max_draws));
    // (A conflict with a standby's recovery would end the session: pg/attempt.h.)
    if (draws < min_draws || IsParallelWorker() || RecoveryInProgress())
        return HUGE_VAL;
    VariableStatData statistics;
    examine_variable(root, reinterpret_cast<Node *>(const_cast<Var *>(column)), 0, &statistics);
    Attempt outcome = Attempt::Impossible;
    Sample *sample = static_cast<Sample *>(palloc0(sizeof(Sample)));
    sample->column = column;
    sample->expressions = expressions;
    sample->statistics = statistics.statsTuple;
    sample->rows = std::max(rel->tuples, rel->rows);
    sample->draws = static_cast<int>(draws);
    INSTR_TIME_SET_CURRENT(sample->begin);
    if (HeapTupleIsValid(statistics.statsTuple) && statistics.acl_ok) {
        bool is_default;
        sample->distinct = get_variable_numdistinct(&statistics, &is_default);
        MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "gpuscan sample", ALLOCSET_SMALL_SIZES);
        MemoryContext before = MemoryContextSwitchTo(own);
        outcome = attempt(try_values, sample, nullptr);
        MemoryContextSwitchTo(before);
        MemoryContextDelete(own);
    }
    ReleaseVariableStats(statistics);
    const double values = outcome == Attempt::Done ? estimate(sample) : HUGE_VAL;
    pfree(sample);
    return values;
}

} // namespace gpuscan
