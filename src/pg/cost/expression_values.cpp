// See expression_values.h. Steps:
//
//   common values   of one column: each once, so that a result of theirs is certain
//   draws           of one column from its histogram; of several, each as often NULL or a common value as it is one (column_draws.h)
//   the estimate    of what was drawn (engine/cost/distinct_count.hpp), and the common values' results that are not among it
//
// The draws are the same each time, and so is the plan. What does not pass the query's conditions on these columns is drawn anew, unless hardly
// anything passes, or a condition raises an error: then the conditions are not asked.
//
// What it may take: 300 evaluations, or one for each hundred rows if these do not show all results, and 10 ms of CPU, 10 times what
// usual functions take (a value that the query would never have met can be a text of a gigabyte): what has been drawn by then is the sample.
// The functions are PostgreSQL's own, read nothing and change nothing (what is parallel safe and not volatile), and meet no type of
// users, whose input, output and checks would be called. An error only means that there is no answer.
#include "pg/pg.h"

#include "pg/cost/expression_values.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "engine/cost/distinct_count.hpp"
#include "pg/attempt.h"
#include "pg/cost/column_draws.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

constexpr int max_draws = 1000, usual_draws = 300, min_draws = 100, draws_per_result = 4, min_passing = 30,
              max_conditions = 8;
constexpr size_t max_singles = 3;
constexpr double min_rows = 1000, rows_per_evaluation = 100, longest_ms = 10;

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
    case T_SubscriptingRef:
    case T_ArrayExpr:
        break;
    default:
        return true;
    }
    return is_of_users_type(node) || check_functions_in_node(node, is_untryable_function, nullptr) ||
           walk_expression(node, finds_untryable, context);
}

// ---- values ----

struct Sample {
    PlannerInfo *root;
    ColumnDraws *columns;
    int ncolumns;
    int *sequence;    // in which they are drawn: the one first of which the least may be
    int *tables;      // the number of the first column of each one's table
    double *places;   // ... at which is the row's place in that table (column_draws.h)
    const List *vars; // the columns
    const List *expressions;
    double rows; // of the largest table
    int draws;   // at most
    instr_time begin;
    std::clock_t begin_clock;
    pg_prng_state random;
    uint32_t common[max_draws + 1]; // results, hashed, of one column's most common values and NULL
    uint32_t drawn[max_draws];
    int ncommon, ndrawn;
    bool with_conditions;
    bool is_whole; // enough has been drawn
};

struct EvaluatedExpression {
    ExprState *state;
    int16 length; // of its type
    bool by_value;
};

// One that the query's rows pass.
struct Condition {
    ExprState *state;
    int column; // the only one that it asks; -1: there are more
};

struct Evaluation {
    List *expressions; // of EvaluatedExpression *
    List *conditions;  // of Condition *
    ExprContext *context;
    TupleTableSlot *slot;
};

int number_of(const List *columns, const Var *column) {
    ListCell *cell;
    foreach (cell, columns)
        if (is_same_column(static_cast<const Var *>(lfirst(cell)), column))
            return foreach_current_index(cell);
    return -1;
}

// The query's conditions on these columns alone, each an expression.
List *conditions_on(const Sample *sample) {
    List *conditions = NIL;
    Relids seen = nullptr;
    ListCell *cell, *of_table;
    foreach (cell, sample->vars) {
        const int relid = static_cast<int>(static_cast<const Var *>(lfirst(cell))->varno);
        if (bms_is_member(relid, seen))
            continue;
        seen = bms_add_member(seen, relid);
        foreach (of_table, sample->root->simple_rel_array[relid]->baserestrictinfo) {
            Node *condition = reinterpret_cast<Node *>(lfirst_node(RestrictInfo, of_table)->clause);
            if (!are_among(columns_of_expression(condition), sample->vars))
                continue;
            condition = estimate_expression_value(sample->root, condition); // now() - interval '1 day'
            if (are_among(columns_of_expression(condition), sample->vars))
                conditions = lappend(conditions, condition);
        }
    }
    return list_truncate(conditions, max_conditions);
}

ExprState *initialize(Expr *expression, const Sample *sample) {
    Node *initialized = over_slot(expression, sample->vars);
    fix_opfuncids(initialized);
    return ExecInitExpr(reinterpret_cast<Expr *>(initialized), nullptr);
}

Evaluation prepare(const Sample *sample) {
    Evaluation evaluation{};
    evaluation.slot = MakeSingleTupleTableSlot(row_of(sample->columns, sample->ncolumns), &TTSOpsVirtual);
    evaluation.context = CreateStandaloneExprContext();
    evaluation.context->ecxt_scantuple = evaluation.slot;
    ListCell *cell;
    foreach (cell, sample->expressions) {
        EvaluatedExpression *evaluated = static_cast<EvaluatedExpression *>(palloc(sizeof(EvaluatedExpression)));
        evaluated->state = initialize(static_cast<Expr *>(lfirst(cell)), sample);
        get_typlenbyval(exprType(static_cast<Node *>(lfirst(cell))), &evaluated->length, &evaluated->by_value);
        evaluation.expressions = lappend(evaluation.expressions, evaluated);
    }
    if (!sample->with_conditions)
        return evaluation;
    foreach (cell, conditions_on(sample)) {
        const List *columns = columns_of_expression(static_cast<Node *>(lfirst(cell)));
        Condition *condition = static_cast<Condition *>(palloc(sizeof(Condition)));
        *condition = {initialize(static_cast<Expr *>(lfirst(cell)), sample),
                      list_length(columns) == 1 ? number_of(sample->vars, linitial_node(Var, columns)) : -1};
        evaluation.conditions = lappend(evaluation.conditions, condition);
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

// (Of the process's own time, unless that does not pass: others may need the processor.)
bool is_out_of_time(const Sample *sample) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, sample->begin);
    const double ms = INSTR_TIME_GET_MILLISEC(now);
    return ms > longest_ms &&
           (ms > 100 * longest_ms ||
            static_cast<double>(std::clock() - sample->begin_clock) * 1000 / CLOCKS_PER_SEC > longest_ms);
}

TupleTableSlot *empty_row(const Evaluation *evaluation) {
    CHECK_FOR_INTERRUPTS();
    ResetExprContext(evaluation->context);
    return ExecClearTuple(evaluation->slot);
}

bool holds(const Condition *condition, ExprContext *context) {
    bool is_null;
    const Datum result = ExecEvalExprSwitchContext(condition->state, context, &is_null);
    return !is_null && DatumGetBool(result);
}

// Of the row in the slot. False: the query does not ask for them.
bool results_of(const Evaluation *evaluation, uint32_t *all) {
    ExecStoreVirtualTuple(evaluation->slot);
    ListCell *cell;
    foreach (cell, evaluation->conditions)
        if (!holds(static_cast<const Condition *>(lfirst(cell)), evaluation->context))
            return false;
    *all = 0;
    foreach (cell, evaluation->expressions)
        *all = hash_combine(*all, hash_of(static_cast<const EvaluatedExpression *>(lfirst(cell)), evaluation->context));
    return true;
}

// ---- trying ----

struct Narrowing {
    const Sample *sample;
    const Evaluation *evaluation;
    const Condition *condition;
};

bool may_be_drawn(void *context, Datum value) {
    const Narrowing *narrowing = static_cast<const Narrowing *>(context);
    if (is_out_of_time(narrowing->sample))
        return true;
    TupleTableSlot *row = empty_row(narrowing->evaluation);
    row->tts_values[narrowing->condition->column] = value;
    row->tts_isnull[narrowing->condition->column] = false;
    ExecStoreVirtualTuple(row);
    return holds(narrowing->condition, narrowing->evaluation->context);
}

void narrow_draws(Sample *sample, const Evaluation *evaluation) {
    ListCell *cell;
    foreach (cell, evaluation->conditions) {
        Narrowing narrowing = {sample, evaluation, static_cast<const Condition *>(lfirst(cell))};
        if (narrowing.condition->column >= 0)
            narrow(&sample->columns[narrowing.condition->column], may_be_drawn, &narrowing);
    }
}

void prepare_rows(Sample *sample) {
    const ColumnDraws *columns = sample->columns;
    for (int i = 0; i < sample->ncolumns; ++i) {
        sample->sequence[i] = i;
        sample->tables[i] = 0;
        while (columns[sample->tables[i]].column->varno != columns[i].column->varno)
            ++sample->tables[i];
    }
    std::sort(sample->sequence, sample->sequence + sample->ncolumns, [columns](int a, int b) {
        const double part_of_a = drawn_part(&columns[a]), part_of_b = drawn_part(&columns[b]);
        return part_of_a < part_of_b || (part_of_a == part_of_b && a < b);
    });
}

void try_common(Sample *sample, const Evaluation *evaluation, Datum value, bool is_null) {
    TupleTableSlot *row = empty_row(evaluation);
    row->tts_values[0] = value;
    row->tts_isnull[0] = is_null;
    if (results_of(evaluation, &sample->common[sample->ncommon]))
        ++sample->ncommon;
}

// False: not all of them, for want of time.
bool try_all_common(Sample *sample, const Evaluation *evaluation) {
    const ColumnDraws *column = sample->columns;
    if (column->null_share > 0)
        try_common(sample, evaluation, 0, true);
    for (int i = 0; i < column->common.nvalues && i < max_draws; ++i) {
        if (is_out_of_time(sample))
            return false;
        try_common(sample, evaluation, column->common.values[i], false);
    }
    return true;
}

bool draw_row(Sample *sample, TupleTableSlot *row) {
    std::fill(sample->places, sample->places + sample->ncolumns, -1);
    if (sample->ncolumns == 1) { // (of which the common values have been tried)
        row->tts_isnull[0] = false;
        return draw_from_histogram(sample->columns, &sample->random, sample->places, &row->tts_values[0]);
    }
    for (int i = 0; i < sample->ncolumns; ++i)
        if (const int c = sample->sequence[i];
            !draw_value(&sample->columns[c], &sample->random, &sample->places[sample->tables[c]], &row->tts_values[c],
                        &row->tts_isnull[c]))
            return false;
    return true;
}

// False: too few, for want of time, or because hardly any passes the conditions.
bool try_draws(Sample *sample, const Evaluation *evaluation) {
    pg_prng_seed(&sample->random, 0);
    for (int i = 0; sample->ndrawn < sample->draws && i < sample->draws * draws_per_result; ++i) {
        if (is_out_of_time(sample))
            return sample->ndrawn >= min_draws;
        if (!draw_row(sample, empty_row(evaluation)))
            break;
        if (!results_of(evaluation, &sample->drawn[sample->ndrawn]))
            continue;
        if (++sample->ndrawn == usual_draws && count_singles(sample->drawn, usual_draws) <= max_singles)
            break; // hardly any is left to be found
    }
    return evaluation->conditions == NIL || sample->ndrawn >= min_passing;
}

void try_values(void *argument) {
    Sample *sample = static_cast<Sample *>(argument);
    sample->ncommon = sample->ndrawn = 0;
    sample->is_whole = false;
    for (int i = 0; i < sample->ncolumns; ++i) {
        read_statistics(&sample->columns[i]);
        if (!sample->columns[i].has_values)
            return;
    }
    const Evaluation evaluation = prepare(sample);
    sample->with_conditions = evaluation.conditions != NIL;
    narrow_draws(sample, &evaluation);
    prepare_rows(sample);
    const bool alone = sample->ncolumns == 1;
    sample->is_whole = (!alone || try_all_common(sample, &evaluation)) &&
                       ((alone && sample->columns->histogram.nvalues == 0) || try_draws(sample, &evaluation));
    FreeExprContext(evaluation.context, true);
}

bool has_sample(Sample *sample) { return attempt(try_values, sample, nullptr) == Attempt::Done && sample->is_whole; }

// (What was drawn is a sample of the rows. There are no more results than values, or combinations of them.)
double estimate(Sample *sample) {
    double most = 1;
    for (int i = 0; i < sample->ncolumns; ++i)
        most *= sample->columns[i].distinct + (sample->columns[i].null_share > 0 ? 1 : 0);
    double values =
        std::min(distinct_count(sample->drawn, sample->ndrawn, sample->rows), std::max(most - sample->ncommon, 1.0));
    std::sort(sample->common, sample->common + sample->ncommon);
    const uint32_t *end = std::unique(sample->common, sample->common + sample->ncommon);
    for (const uint32_t *common = sample->common; common < end; ++common)
        values += std::binary_search(sample->drawn, sample->drawn + sample->ndrawn, *common) ? 0 : 1;
    return values;
}

// In a memory context of its own. HUGE_VAL: see the header.
double sampled_values(Sample *sample) {
    INSTR_TIME_SET_CURRENT(sample->begin);
    sample->begin_clock = std::clock();
    bool all = true;
    ListCell *cell;
    foreach (cell, sample->vars)
        all = examine_column(sample->root, lfirst_node(Var, cell), &sample->columns[sample->ncolumns++]) && all;
    sample->with_conditions = true;
    all = all && (has_sample(sample) ||
                  (std::exchange(sample->with_conditions, false) && !is_out_of_time(sample) && has_sample(sample)));
    for (int i = 0; i < sample->ncolumns; ++i)
        ReleaseVariableStats(sample->columns[i].statistics);
    return all ? estimate(sample) : HUGE_VAL;
}

} // namespace

List *columns_of_expression(Node *expression) {
    List *columns = NIL;
    return finds_untryable(expression, &columns) ? NIL : columns;
}

bool are_among(const List *columns, const List *others) {
    ListCell *cell;
    foreach (cell, columns)
        if (number_of(others, static_cast<const Var *>(lfirst(cell))) < 0)
            return false;
    return columns != NIL;
}

double expression_values(PlannerInfo *root, const List *columns, const List *expressions) {
    double passing = 0, rows = 0;
    ListCell *cell;
    foreach (cell, columns) {
        const RelOptInfo *rel = root->simple_rel_array[static_cast<const Var *>(lfirst(cell))->varno];
        passing = std::max(passing, rel->rows);
        rows = std::max({rows, rel->tuples, rel->rows});
    }
    // (A conflict with a standby's recovery would end the session: pg/attempt.h.)
    if (passing < min_rows || IsParallelWorker() || RecoveryInProgress())
        return HUGE_VAL;
    MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "gpuscan sample", ALLOCSET_SMALL_SIZES);
    MemoryContext before = MemoryContextSwitchTo(own);
    Sample *sample = static_cast<Sample *>(palloc0(sizeof(Sample)));
    const Size ncolumns = static_cast<Size>(list_length(columns));
    sample->columns = static_cast<ColumnDraws *>(palloc0(sizeof(ColumnDraws) * ncolumns));
    sample->sequence = static_cast<int *>(palloc(sizeof(int) * ncolumns));
    sample->tables = static_cast<int *>(palloc(sizeof(int) * ncolumns));
    sample->places = static_cast<double *>(palloc(sizeof(double) * ncolumns));
    sample->root = root;
    sample->vars = columns;
    sample->expressions = expressions;
    sample->rows = rows;
    sample->draws = std::max(static_cast<int>(std::min(passing / rows_per_evaluation, double{max_draws})), usual_draws);
    const double values = sampled_values(sample);
    MemoryContextSwitchTo(before);
    MemoryContextDelete(own);
    return values;
}

} // namespace gpuscan
