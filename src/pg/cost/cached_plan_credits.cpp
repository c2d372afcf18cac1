// Credits of cached plans; see cached_plan_credits.h.
//
// A prepared statement, or one in a function, is planned once, mostly when nothing is cached, and PostgreSQL keeps that plan. Each further
// execution is one that a device would have answered sooner, so it adds what planning it again would have added, and when the credits of
// this plan's executions have paid for what the device lacks, PostgreSQL is told to plan anew (ResetPlanCache: only this session's plans,
// each when it is next needed).
//
// Where planning anew comes to the same plan, it takes twice as much credit the next time.
//
// PostgreSQL copies a plan into its cache, so a plan is known by its costs and tables. Two that are alike in these owe about the same.
#include "pg/pg.h"

#include "pg/cost/cached_plan_credits.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/cache_admission.h"
#include "pg/guc.h"

namespace gpuscan {

constexpr int plans_known = 128; // of a session
constexpr int max_relations = 12, max_plannings = 30;

struct KnownPlan {
    uint64 fingerprint; // 0: none
    bool has_run;       // it was planned for its first execution, which has added its credit
    Cost added, needed;
    int plannings; // for the sake of credits, that came to this plan again
    int ncredits;
    AdmissionCredit credits[max_relations];
};

static KnownPlan plans[plans_known];
static bool any_known = false;
static ExecutorStart_hook_type previous_start_hook = nullptr;

static uint64 fingerprint_of(const PlannedStmt *plan) {
    struct {
        uint64 query;
        double startup, total, rows;
    } costs = {static_cast<uint64>(plan->queryId), plan->planTree->startup_cost, plan->planTree->total_cost,
               plan->planTree->plan_rows};
    uint64 fingerprint = hash_bytes_extended(reinterpret_cast<const unsigned char *>(&costs), sizeof costs, 0);
    ListCell *cell;
    foreach (cell, plan->relationOids)
        fingerprint = hash_combine64(fingerprint, lfirst_oid(cell));
    return std::max<uint64>(fingerprint, 1);
}

void remember_credits(const PlannedStmt *plan, const AdmissionCredit *credits, int ncredits, Cost shortfall) {
    const uint64 fingerprint = fingerprint_of(plan);
    KnownPlan *known = &plans[fingerprint % plans_known];
    const int plannings = known->fingerprint == fingerprint ? std::min(known->plannings, max_plannings) : 0;
    *known = KnownPlan{fingerprint, false, 0, shortfall, plannings, std::min(ncredits, max_relations), {}};
    std::copy_n(credits, known->ncredits, known->credits);
    for (int i = 0; i < known->ncredits; ++i) // one execution's at least
        known->needed = std::max(known->needed, credits[i].cost);
    known->needed = std::ldexp(known->needed, plannings);
    any_known = true;
}

static void add_credits_of(const PlannedStmt *plan) {
    const uint64 fingerprint = fingerprint_of(plan);
    KnownPlan *known = &plans[fingerprint % plans_known];
    if (known->fingerprint != fingerprint)
        return;
    if (!known->has_run) {
        known->has_run = true;
        return;
    }
    for (int i = 0; i < known->ncredits; ++i) {
        add_admission_credit(known->credits[i].relid, known->credits[i].cost);
        known->added += known->credits[i].cost;
    }
    if (known->added <= known->needed)
        return;
    known->added = 0;
    ++known->plannings;
    ResetPlanCache();
}

extern "C" {

static void watch_start(QueryDesc *query, int flags) {
    if (any_known && (flags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && !IsParallelWorker() && guc_offload == OFFLOAD_AUTO)
        add_credits_of(query->plannedstmt);
    if (previous_start_hook != nullptr)
        previous_start_hook(query, flags);
    else
        standard_ExecutorStart(query, flags);
}

} // extern "C"

void cached_plan_credits_init() {
    previous_start_hook = ExecutorStart_hook;
    ExecutorStart_hook = watch_start;
}

} // namespace gpuscan
