// See tried_time.h. The first time the values are evaluated does not count: it compiles a regular expression and unpacks constants, and
// meets cold caches. Of the times after that the shortest does, since interrupts and other processes can only make it longer.
//
// What it may take: 32 values, or as many as are evaluated in a tenth of a millisecond, but at least 4. The rules of what may be evaluated
// are those of expression_values.cpp.
#include "pg/pg.h"

#include "pg/cost/tried_time.h"

#include <algorithm>

#include "engine/util/core_time.hpp"
#include "pg/attempt.h"
#include "pg/cost/column_draws.h"
#include "pg/cost/expression_values.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

constexpr int max_sampled = 32, min_sampled = 4, times = 3;
constexpr double enough_ns = 100e3;

struct Trial {
    PlannerInfo *root;
    Node *expression;
    const List *vars;
    ColumnDraws *columns;
    int ncolumns;
    Datum *values; // row by row
    bool *nulls;
    ExprState *state;
    ExprContext *context;
    TupleTableSlot *slot;
    double ns; // the result
};

void prepare(Trial *trial) {
    Node *initialized = over_slot(reinterpret_cast<Expr *>(trial->expression), trial->vars);
    fix_opfuncids(initialized);
    trial->state = ExecInitExpr(reinterpret_cast<Expr *>(initialized), nullptr);
    trial->slot = MakeSingleTupleTableSlot(row_of(trial->columns, trial->ncolumns), &TTSOpsVirtual);
    trial->context = CreateStandaloneExprContext();
    trial->context->ecxt_scantuple = trial->slot;
}

// How many rows there are.
int draw_rows(Trial *trial) {
    pg_prng_state random;
    pg_prng_seed(&random, 0);
    for (int i = 0; i < trial->ncolumns; ++i) {
        read_statistics(&trial->columns[i]);
        if (!trial->columns[i].has_values)
            return 0;
    }
    for (int row = 0; row < max_sampled; ++row)
        for (int i = 0; i < trial->ncolumns; ++i) {
            const int at = row * trial->ncolumns + i;
            double place = -1;
            if (!draw_value(&trial->columns[i], &random, &place, &trial->values[at], &trial->nulls[at]))
                return row;
        }
    return max_sampled;
}

void evaluate_row(const Trial *trial, int row) {
    const size_t first = static_cast<size_t>(row) * static_cast<size_t>(trial->ncolumns),
                 count = static_cast<size_t>(trial->ncolumns);
    bool is_null;
    ExecClearTuple(trial->slot);
    memcpy(trial->slot->tts_values, trial->values + first, count * sizeof(Datum));
    memcpy(trial->slot->tts_isnull, trial->nulls + first, count * sizeof(bool));
    ExecStoreVirtualTuple(trial->slot);
    ExecEvalExprSwitchContext(trial->state, trial->context, &is_null);
    ResetExprContext(trial->context);
}

// Of the first rows, as many as there is time for.
int rows_in_time(const Trial *trial, int rows) {
    const uint64 begin = core_ns();
    for (int row = 0, next_look = min_sampled; row < rows; ++row) {
        evaluate_row(trial, row);
        if (row + 1 < next_look)
            continue;
        CHECK_FOR_INTERRUPTS();
        if (static_cast<double>(core_ns() - begin) > enough_ns)
            return row + 1;
        next_look *= 2; // (asking takes as long as evaluating some expressions)
    }
    return rows;
}

double ns_of_rows(const Trial *trial, int rows) {
    const uint64 begin = core_ns();
    for (int row = 0; row < rows; ++row)
        evaluate_row(trial, row);
    return static_cast<double>(core_ns() - begin) / rows;
}

void try_rows(void *argument) {
    Trial *trial = static_cast<Trial *>(argument);
    const int rows = draw_rows(trial);
    if (rows < min_sampled)
        return;
    prepare(trial);
    const int tried = rows_in_time(trial, rows);
    trial->ns = ns_of_rows(trial, tried);
    for (int again = 1; again < times; ++again)
        trial->ns = std::min(trial->ns, ns_of_rows(trial, tried));
    FreeExprContext(trial->context, true);
}

// In a memory context of its own.
void try_expression(Trial *trial) {
    trial->columns = static_cast<ColumnDraws *>(palloc0(sizeof(ColumnDraws) * list_length(trial->vars)));
    trial->values = static_cast<Datum *>(palloc0(sizeof(Datum) * list_length(trial->vars) * max_sampled));
    trial->nulls = static_cast<bool *>(palloc0(sizeof(bool) * list_length(trial->vars) * max_sampled));
    bool all = true;
    ListCell *cell;
    foreach (cell, trial->vars)
        all = examine_column(trial->root, lfirst_node(Var, cell), &trial->columns[trial->ncolumns++]) && all;
    if (!all || attempt(try_rows, trial, nullptr) != Attempt::Done)
        trial->ns = 0;
    for (int i = 0; i < trial->ncolumns; ++i)
        ReleaseVariableStats(trial->columns[i].statistics);
}

} // namespace

double tried_ns(PlannerInfo *root, Node *expression) {
    // (A conflict with a standby's recovery would end the session: pg/attempt.h.)
    if (IsParallelWorker() || RecoveryInProgress())
        return 0;
    MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "gpuscan trial", ALLOCSET_SMALL_SIZES);
    MemoryContext before = MemoryContextSwitchTo(own);
    Trial *trial = static_cast<Trial *>(palloc0(sizeof(Trial)));
    trial->root = root;
    trial->expression = expression;
    trial->vars = columns_of_expression(expression);
    if (trial->vars != NIL)
        try_expression(trial);
    const double ns = trial->ns;
    MemoryContextSwitchTo(before);
    MemoryContextDelete(own);
    return ns;
}

} // namespace gpuscan
