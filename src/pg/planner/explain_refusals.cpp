// EXPLAIN's property "Refused". The reasons are those of the planning that EXPLAIN itself does, so the plan beside them is the one that
// they belong to. (EXPLAIN EXECUTE shows a plan that may have been made long ago, and asks no hook.)
//
// Before 18 no hook is called where EXPLAIN writes what belongs to a whole query. But it ends the executor there, between the plan and
// the execution time, in every version and format.
#include "pg/pg.h"

#include "pg/planner/explain_refusals.h"

#include "pg/guc.h"
#include "pg/refusal.h"

namespace gpuscan {

struct ExplainedQuery {
    ExplainState *es;
    List *refusals; // of ToldRefusal *
    ExplainedQuery *outer;
};

static ExplainedQuery *explained = nullptr; // the innermost; NULL: none whose reasons are wanted
static ExplainOneQuery_hook_type previous_explain_hook = nullptr;
static ExecutorEnd_hook_type previous_end_hook = nullptr;

static void show_refusals(ExplainedQuery *query) {
    List *reasons = NIL;
    ListCell *cell;
    foreach (cell, query->refusals) {
        const char *reason = static_cast<const ToldRefusal *>(lfirst(cell))->reason;
        if (query->es->format == EXPLAIN_FORMAT_TEXT)
            ExplainPropertyText("Refused", reason, query->es);
        else
            reasons = lappend(reasons, const_cast<char *>(reason));
    }
    if (query->es->format != EXPLAIN_FORMAT_TEXT)
        ExplainPropertyList("Refused", reasons, query->es);
}

static void explain_as_before(Query *query, int options, IntoClause *into, ExplainState *es, const char *text,
                              ParamListInfo params, QueryEnvironment *environment) {
    if (previous_explain_hook != nullptr)
        previous_explain_hook(query, options, into, es, text, params, environment);
    else
        explain_query_as_usual(query, options, into, es, text, params, environment);
}

extern "C" {

static void gpuscan_explain_query(Query *query, int options, IntoClause *into, ExplainState *es, const char *text,
                                  ParamListInfo params, QueryEnvironment *environment) {
    if (!guc_explain_refusals)
        return explain_as_before(query, options, into, es, text, params, environment);
    ExplainedQuery now = {es, NIL, explained};
    List **before = listen_to_refusals(&now.refusals);
    explained = &now;
    PG_TRY();
    { explain_as_before(query, options, into, es, text, params, environment); }
    PG_FINALLY();
    {
        explained = now.outer;
        listen_to_refusals(before);
    }
    PG_END_TRY();
}

// (Functions that EXPLAIN ANALYZE runs end executors of their own.)
static void gpuscan_executor_end(QueryDesc *desc) {
    if (explained != nullptr && explained->es->pstmt == desc->plannedstmt)
        show_refusals(explained);
    if (previous_end_hook != nullptr)
        previous_end_hook(desc);
    else
        standard_ExecutorEnd(desc);
}

} // extern "C"

void explain_refusals_init() {
    previous_explain_hook = ExplainOneQuery_hook;
    ExplainOneQuery_hook = gpuscan_explain_query;
    previous_end_hook = ExecutorEnd_hook;
    ExecutorEnd_hook = gpuscan_executor_end;
}

} // namespace gpuscan
