// See executions.h. Those of plans that owe credit (cost/cached_plan_credits.h), and of plans for any values of parameters
// (generic_plans.h), are looked at. What waits for a client, a disk or other processes is no time that another plan would save, so it does
// not count; what an execution has taken that an error has ended (a timeout, mostly) does.
#include "pg/pg.h"

#include "pg/planner/executions.h"

#include "engine/util/core_time.hpp"
#include "pg/cost/cached_plan_credits.h"
#include "pg/cost/device_cost.h"
#include "pg/guc.h"
#include "pg/planner/generic_plans.h"

namespace gpuscan {

static ExecutorStart_hook_type previous_start_hook = nullptr;
static ExecutorRun_hook_type previous_run_hook = nullptr;

static bool counts() { return guc_offload == OFFLOAD_AUTO && !IsParallelWorker(); }

extern "C" {

static void watch_start(QueryDesc *query, int flags) {
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && counts()) {
        credit_execution(query->plannedstmt);
        begin_generic_execution(query);
    }
    if (previous_start_hook != nullptr)
        previous_start_hook(query, flags);
    else
        standard_ExecutorStart(query, flags);
}

} // extern "C"

// (Functions that run meanwhile may displace what is known of the plan, so it is looked for again. Up to 17 there is another argument.)
template <class... More> static void watch_run(QueryDesc *query, ScanDirection direction, uint64 count, More... more) {
    const auto run = previous_run_hook != nullptr ? previous_run_hook : standard_ExecutorRun;
    if (!counts() || !(owes_credit(query->plannedstmt) || is_generic_execution(query)))
        return run(query, direction, count, more...);
    const uint32 first = first_executions();
    const uint64 begin = core_ns();
    PG_TRY();
    { run(query, direction, count, more...); }
    PG_FINALLY();
    {
        const double ns = static_cast<double>(core_ns() - begin);
        if (first_executions() == first) {
            credit_taken(query->plannedstmt, device_units(ns));
            add_generic_execution(query, ns);
        }
    }
    PG_END_TRY();
}

void executions_init() {
    previous_start_hook = ExecutorStart_hook;
    ExecutorStart_hook = watch_start;
    previous_run_hook = ExecutorRun_hook;
    ExecutorRun_hook = watch_run;
}

} // namespace gpuscan
