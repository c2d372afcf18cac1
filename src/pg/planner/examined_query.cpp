#include "pg/pg.h"

#include "pg/planner/examined_query.h"

#include "pg/cost/cache_admission.h"
#include "pg/fragment/fragment.h"
#include "pg/service/area.h"

namespace gpuscan {

static RawStmt *parse_one(const ExaminedQuery *query) {
    List *statements = pg_parse_query(query->text);
    if (list_length(statements) != 1)
        ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
                        errmsg("%s takes one statement, not %d", query->function, list_length(statements))));
    return linitial_node(RawStmt, statements);
}

static void point_into_query(void *context) {
    const ExaminedQuery *query = static_cast<const ExaminedQuery *>(context);
    const int position = geterrposition();
    if (position > 0) {
        errposition(0);
        internalerrposition(position);
        internalerrquery(query->text);
    }
    errcontext("query given to %s", query->function);
}

void examine(ExaminedQuery *query, const char *function, const char *text, void (*work)(void *context), void *context) {
    query->function = function;
    query->text = text;
    ErrorContextCallback callback = {};
    callback.previous = error_context_stack;
    callback.callback = point_into_query;
    callback.arg = query;
    error_context_stack = &callback;
    query->statement = parse_one(query);
    work(context);
    error_context_stack = callback.previous;
}

// Parsed anew for each plan, as planning changes it.
static Query *analyzed(const ExaminedQuery *examined) {
    RawStmt *copy = static_cast<RawStmt *>(copyObject(examined->statement));
    List *queries = pg_analyze_and_rewrite_fixedparams(copy, examined->text, nullptr, 0, nullptr);
    Query *query = list_length(queries) == 1 ? linitial_node(Query, queries) : nullptr;
    if (query == nullptr || query->commandType != CMD_SELECT || query->utilityStmt != nullptr || query->hasModifyingCTE)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s takes a query that only reads", examined->function),
                 errhint("SELECT, VALUES and TABLE do, with or without WITH.")));
    return query;
}

PlannedStmt *plan_examined(const ExaminedQuery *query) {
    PlannedStmt *volatile plan = nullptr;
    cache_admission_pause();
    PlannedTime *before = tell_planned_time(&query->time);
    query->time = {};
    PG_TRY();
    { plan = pg_plan_query(analyzed(query), query->text, CURSOR_OPT_PARALLEL_OK, nullptr); }
    PG_FINALLY();
    {
        cache_admission_resume();
        tell_planned_time(before);
    }
    PG_END_TRY();
    return plan;
}

void check_examined_privileges(const ExaminedQuery *query, PlannedStmt *plan) {
    PushActiveSnapshot(GetTransactionSnapshot());
    QueryDesc *desc =
        CreateQueryDesc(plan, query->text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, nullptr, nullptr, 0);
    ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY);
    ExecutorEnd(desc);
    FreeQueryDesc(desc);
    PopActiveSnapshot();
}

static void collect_scans(const Plan *plan, List **scans);

static void collect_list(const List *plans, List **scans) {
    ListCell *cell;
    foreach (cell, plans)
        collect_scans(static_cast<const Plan *>(lfirst(cell)), scans);
}

static void collect_scans(const Plan *plan, List **scans) {
    if (plan == nullptr)
        return;
    switch (nodeTag(plan)) {
    case T_CustomScan: {
        CustomScan *scan = reinterpret_cast<CustomScan *>(const_cast<Plan *>(plan));
        const bool ours = scan->methods == &gpuscan_scan_methods;
        if (ours)
            *scans = lappend(*scans, scan);
        // The first one of ours is what would take over.
        collect_list(ours ? list_copy_tail(scan->custom_plans, 1) : scan->custom_plans, scans);
        break;
    }
    case T_Append:
        collect_list(reinterpret_cast<const Append *>(plan)->appendplans, scans);
        break;
    case T_MergeAppend:
        collect_list(reinterpret_cast<const MergeAppend *>(plan)->mergeplans, scans);
        break;
    case T_SubqueryScan:
        collect_scans(reinterpret_cast<const SubqueryScan *>(plan)->subplan, scans);
        break;
    default:
        break;
    }
    collect_scans(plan->lefttree, scans);
    collect_scans(plan->righttree, scans);
}

List *device_scans_of(const PlannedStmt *plan) {
    List *scans = NIL;
    collect_scans(plan->planTree, &scans);
    collect_list(plan->subplans, &scans);
    return scans;
}

bool is_device_ready(int device) {
    const protocol::Area *area = service_area();
    return area != nullptr && area->devices[device].state == static_cast<uint32>(protocol::ServiceState::Ready);
}

} // namespace gpuscan
