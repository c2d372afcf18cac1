// See expression_values.h. Steps:
//
//   common values   of one column: each once, so that a result of theirs is certain
//   draws           of one column from its histogram; of several, each as often NULL or a common value as it is one
//   the estimate    of what was drawn (engine/cost/distinct_count.hpp), and the common values' results that are not among it
//
// Between two bounds of a histogram, numbers and times are drawn at random; of other types the bounds themselves are the sample, in random
// order. Random draws, since the bounds of a column without gaps lie at equal distances, and a step function of them may be all different, or
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

bool is_same_column(const Var *a, const Var *b) { return a->varno == b->varno && a->varattno == b->varattno; }

// False: not a column of this level.
bool add_column(List **columns, Var *found) {
    ListCell *cell;
    foreach (cell, *columns)
        if (is_same_column(static_cast<const Var *>(lfirst(cell)), found))
            return true;
    *columns = lappend(*columns, found);
    return found->varlevelsup == 0 && found->varattno > 0;
}

// (A domain of a built-in type is read as that; what checks it has been asked when the row was written.)
bool is_of_users_type(const Node *node) {
    if (IsA(node, List) || IsA(node, CaseWhen))
        return false;
    const Oid type = exprType(node);
    return (IsA(node, Var) ? getBaseType(type) : type) >= FirstNormalObjectId;
}

// `context`: List **, the columns found so far.
bool finds_untryable(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var:
        return is_of_users_type(node) || !add_column(static_cast<List **>(context), reinterpret_cast<Var *>(node));
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

struct SampledColumn {
    const Var *column;
    VariableStatData statistics;
    double null_share, distinct;
    AttStatsSlot common, histogram; // without values if there are none of the column's type
    bool has_values;                // either of them has, or there are none but NULL
    int *bounds;                    // in random order: those of the histogram, where nothing can be made between them
    int taken;                      // ... of which so many have been drawn
};

struct Sample {
    SampledColumn *columns;
    int ncolumns;
    const List *vars; // the columns
    const List *expressions;
    double rows; // of the largest table
    int draws;   // at most
    instr_time begin;
    pg_prng_state random;
    uint32_t common[most_common_values]; // results, hashed
    uint32_t drawn[max_draws];
    int ncommon, ndrawn;
    bool is_whole; // nothing was left for want of time
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

TupleDesc row_of(const Sample *sample) {
    TupleDesc descriptor = CreateTemplateTupleDesc(sample->ncolumns);
    for (int i = 0; i < sample->ncolumns; ++i) {
        int32 typmod = sample->columns[i].column->vartypmod;
        const Oid type = getBaseTypeAndTypmod(sample->columns[i].column->vartype, &typmod);
        TupleDescInitEntry(descriptor, static_cast<AttrNumber>(i + 1), nullptr, type, typmod, 0);
    }
    return descriptor;
}

Evaluation prepare(const Sample *sample) {
    Evaluation evaluation{};
    evaluation.slot = MakeSingleTupleTableSlot(row_of(sample), &TTSOpsVirtual);
    evaluation.context = CreateStandaloneExprContext();
    evaluation.context->ecxt_scantuple = evaluation.slot;
    ListCell *cell;
    foreach (cell, sample->expressions) {
        Node *expression = over_slot(static_cast<Expr *>(lfirst(cell)), sample->vars);
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

TupleTableSlot *empty_row(const Evaluation *evaluation) {
    CHECK_FOR_INTERRUPTS();
    ResetExprContext(evaluation->context);
    return ExecClearTuple(evaluation->slot);
}

// Of the row in the slot.
uint32_t results_of(const Evaluation *evaluation) {
    ExecStoreVirtualTuple(evaluation->slot);
    uint32_t all = 0;
    ListCell *cell;
    foreach (cell, evaluation->expressions)
        all = hash_combine(all, hash_of(static_cast<const EvaluatedExpression *>(lfirst(cell)), evaluation->context));
    return all;
}

// (An index may keep its values as another type.)
void read_slot_of(SampledColumn *column, int kind, int flags, AttStatsSlot *slot) {
    if (get_attstatsslot(slot, column->statistics.statsTuple, kind, InvalidOid, flags) &&
        getBaseType(slot->valuetype) != getBaseType(column->column->vartype))
        slot->nvalues = 0;
}

void read_statistics(SampledColumn *column) {
    column->null_share = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(column->statistics.statsTuple))->stanullfrac;
    read_slot_of(column, STATISTIC_KIND_MCV, ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, &column->common);
    read_slot_of(column, STATISTIC_KIND_HISTOGRAM, ATTSTATSSLOT_VALUES, &column->histogram);
    if (column->histogram.nvalues < 2)
        column->histogram.nvalues = 0;
    column->has_values = column->common.nvalues > 0 || column->histogram.nvalues > 0 || column->null_share >= 1;
}

// False: not all of them, for want of time.
bool try_common(Sample *sample, const Evaluation *evaluation) {
    const AttStatsSlot *common = &sample->columns->common;
    const int wanted = std::min(common->nvalues, most_common_values);
    while (sample->ncommon < wanted && !is_out_of_time(sample)) {
        TupleTableSlot *row = empty_row(evaluation);
        row->tts_values[0] = common->values[sample->ncommon];
        row->tts_isnull[0] = false;
        sample->common[sample->ncommon++] = results_of(evaluation);
    }
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

// The next one of the histogram's bounds. False: they have all been drawn.
bool next_bound(SampledColumn *column, pg_prng_state *random, Datum *value) {
    const int n = column->histogram.nvalues;
    if (column->bounds == nullptr) {
        column->bounds = static_cast<int *>(palloc(sizeof(int) * static_cast<Size>(n)));
        for (int i = 0; i < n; ++i)
            column->bounds[i] = i;
    }
    if (column->taken == n)
        return false;
    std::swap(
        column->bounds[column->taken],
        column->bounds[pg_prng_uint64_range(random, static_cast<uint64>(column->taken), static_cast<uint64>(n - 1))]);
    *value = column->histogram.values[column->bounds[column->taken++]];
    return true;
}

bool draw_from_histogram(SampledColumn *column, pg_prng_state *random, Datum *value) {
    const AttStatsSlot *slot = &column->histogram;
    const double at = pg_prng_double(random) * (slot->nvalues - 1);
    const int step = static_cast<int>(at);
    return value_between(getBaseType(slot->valuetype), slot->values[step], slot->values[step + 1], at - step, value) ||
           next_bound(column, random, value);
}

// As often NULL, or a common value, as it is one.
bool draw_value(SampledColumn *column, pg_prng_state *random, Datum *value, bool *is_null) {
    double at = pg_prng_double(random) - column->null_share;
    *is_null = at < 0 || column->null_share >= 1;
    if (*is_null)
        return true;
    const int common = std::min(column->common.nvalues, most_common_values);
    for (int i = 0; i < common; at -= column->common.numbers[i], ++i)
        if (at < column->common.numbers[i] || (i == common - 1 && column->histogram.nvalues == 0)) {
            *value = column->common.values[i];
            return true;
        }
    return draw_from_histogram(column, random, value);
}

bool draw_row(Sample *sample, TupleTableSlot *row) {
    if (sample->ncolumns == 1) { // (of which the common values have been tried)
        row->tts_isnull[0] = false;
        return draw_from_histogram(sample->columns, &sample->random, &row->tts_values[0]);
    }
    for (int i = 0; i < sample->ncolumns; ++i)
        if (!draw_value(&sample->columns[i], &sample->random, &row->tts_values[i], &row->tts_isnull[i]))
            return false;
    return true;
}

// False: too few, for want of time.
bool try_draws(Sample *sample, const Evaluation *evaluation) {
    pg_prng_seed(&sample->random, 0);
    while (sample->ndrawn < sample->draws && !is_out_of_time(sample)) {
        if (!draw_row(sample, empty_row(evaluation)))
            return true;
        sample->drawn[sample->ndrawn++] = results_of(evaluation);
    }
    return sample->ndrawn >= min_draws;
}

void try_values(void *argument) {
    Sample *sample = static_cast<Sample *>(argument);
    for (int i = 0; i < sample->ncolumns; ++i) {
        read_statistics(&sample->columns[i]);
        if (!sample->columns[i].has_values)
            return;
    }
    const Evaluation evaluation = prepare(sample);
    const bool alone = sample->ncolumns == 1;
    sample->is_whole = (!alone || try_common(sample, &evaluation)) &&
                       ((alone && sample->columns->histogram.nvalues == 0) || try_draws(sample, &evaluation));
    FreeExprContext(evaluation.context, true);
}

// (What was drawn is a sample of the rows. There are no more results than values, or combinations of them.)
double estimate(Sample *sample) {
    double most = 1;
    for (int i = 0; i < sample->ncolumns; ++i)
        most *= sample->columns[i].distinct + (sample->ncolumns > 1 && sample->columns[i].null_share > 0 ? 1 : 0);
    double values =
        std::min(distinct_count(sample->drawn, sample->ndrawn, sample->rows), std::max(most - sample->ncommon, 1.0));
    std::sort(sample->common, sample->common + sample->ncommon);
    const uint32_t *end = std::unique(sample->common, sample->common + sample->ncommon);
    for (const uint32_t *common = sample->common; common < end; ++common)
        values += std::binary_search(sample->drawn, sample->drawn + sample->ndrawn, *common) ? 0 : 1;
    return values + (sample->ncolumns == 1 && sample->columns->null_share > 0 ? 1 : 0);
}

// False: no statistics of a column, or not for the user.
bool examine_columns(PlannerInfo *root, Sample *sample) {
    bool all = true, is_default;
    ListCell *cell;
    foreach (cell, sample->vars) {
        SampledColumn *column = &sample->columns[sample->ncolumns++];
        column->column = static_cast<const Var *>(lfirst(cell));
        examine_variable(root, static_cast<Node *>(lfirst(cell)), 0, &column->statistics);
        column->distinct = get_variable_numdistinct(&column->statistics, &is_default);
        all = all && HeapTupleIsValid(column->statistics.statsTuple) && column->statistics.acl_ok;
    }
    return all;
}

// In a memory context of its own. HUGE_VAL: see the header.
double sampled_values(PlannerInfo *root, Sample *sample) {
    INSTR_TIME_SET_CURRENT(sample->begin);
    const bool examined = examine_columns(root, sample),
               done = examined && attempt(try_values, sample, nullptr) == Attempt::Done;
    for (int i = 0; i < sample->ncolumns; ++i)
        ReleaseVariableStats(sample->columns[i].statistics);
    return done && sample->is_whole ? estimate(sample) : HUGE_VAL;
}

} // namespace

List *columns_of_expression(Node *expression) {
    List *columns = NIL;
    return finds_untryable(expression, &columns) ? NIL : columns;
}

double expression_values(PlannerInfo *root, const List *columns, const List *expressions) {
    double passing = 0, rows = 0;
    ListCell *cell;
    foreach (cell, columns) {
        const RelOptInfo *rel = root->simple_rel_array[static_cast<const Var *>(lfirst(cell))->varno];
        passing = std::max(passing, rel->rows);
        rows = std::max({rows, rel->tuples, rel->rows});
    }
    const double draws = std::min(passing / rows_per_evaluation, static_cast<double>(max_draws));
    // (A conflict with a standby's recovery would end the session: pg/attempt.h.)
    if (draws < min_draws || IsParallelWorker() || RecoveryInProgress())
        return HUGE_VAL;
    MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "gpuscan sample", ALLOCSET_SMALL_SIZES);
    MemoryContext before = MemoryContextSwitchTo(own);
    Sample *sample = static_cast<Sample *>(palloc0(sizeof(Sample)));
    sample->columns =
        static_cast<SampledColumn *>(palloc0(sizeof(SampledColumn) * static_cast<Size>(list_length(columns))));
    sample->vars = columns;
    sample->expressions = expressions;
    sample->rows = rows;
    sample->draws = static_cast<int>(draws);
    const double values = sampled_values(root, sample);
    MemoryContextSwitchTo(before);
    MemoryContextDelete(own);
    return values;
}

} // namespace gpuscan
