// Credits of plans that are executed; see cached_plan_credits.h.
//
// A prepared statement, or one in a function, is planned once, mostly when nothing is cached, and PostgreSQL keeps that plan. Each further
// execution is one that a device would have answered sooner, so it adds what planning it again would have added, and when the credits of
// this plan's executions have paid for what the device lacks, PostgreSQL is told to plan anew (ResetPlanCache: only this session's plans,
// each when it is next needed).
//
// Planning credits what the plan is expected to take. Where an execution takes more of this backend's processor than that, the rest is
// credited, too: a plan is often taken because few rows are expected, and then the rent is far more than it seems.
//
// Where planning anew comes to the same plan, it takes twice as much credit the next time.
//
// PostgreSQL copies a plan into its cache, so a plan is known by its costs and tables. Two that are alike in these owe about the same.
#include "pg/pg.h"

#include "pg/cost/cached_plan_credits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/util/core_time.hpp"
#include "pg/cost/cache_admission.h"
#include "pg/cost/device_cost.h"
#include "pg/guc.h"

namespace gpuscan {

constexpr int plans_known = 128; // of a session
constexpr int max_relations = 12, max_plannings = 30;

struct KnownPlan {
    uint64 fingerprint; // 0: none
    bool has_run;       // it was planned for its first execution, which has added its credit
    Cost cost;          // as planned
    Cost taken;         // by its current execution so far
    Cost added, needed;
    bool has_told; // its current execution, that it is to be planned anew: a loop over its rows may go on for long
    int plannings; // for the sake of credits, that came to this plan again
    int ncredits;
    AdmissionCredit credits[max_relations];
};

static KnownPlan plans[plans_known];
static bool any_known = false;
static uint32 first = 0; // executions that have brought something

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

void note_first_execution() { ++first; }

uint32 first_executions() { return first; }

static KnownPlan *known_plan(const PlannedStmt *plan) {
    const uint64 fingerprint = fingerprint_of(plan);
    KnownPlan *known = &plans[fingerprint % plans_known];
    return known->fingerprint == fingerprint ? known : nullptr;
}

void remember_credits(const PlannedStmt *plan, Cost cost, const AdmissionCredit *credits, int ncredits,
                      Cost shortfall) {
    const KnownPlan *before = known_plan(plan);
    const int plannings = before != nullptr ? std::min(before->plannings, max_plannings) : 0;
    const uint64 fingerprint = fingerprint_of(plan);
    KnownPlan *known = &plans[fingerprint % plans_known];
    *known =
        KnownPlan{fingerprint, false, cost, 0, 0, shortfall, false, plannings, std::min(ncredits, max_relations), {}};
    std::copy_n(credits, known->ncredits, known->credits);
    for (int i = 0; i < known->ncredits; ++i) // one execution's at least
        known->needed = std::max(known->needed, credits[i].cost);
    known->needed = std::ldexp(known->needed, plannings);
    any_known = true;
}

// `times` what one execution is expected to owe.
static void add_credits(KnownPlan *known, double times) {
    for (int i = 0; i < known->ncredits; ++i) {
        add_admission_credit(known->credits[i].relid, known->credits[i].cost * times);
        known->added += known->credits[i].cost * times;
    }
    if (known->has_told || known->added <= known->needed)
        return;
    known->has_told = true;
    known->added = 0;
    ++known->plannings;
    ResetPlanCache();
}

bool owes_credit(const PlannedStmt *plan) { return any_known && known_plan(plan) != nullptr; }

void credit_execution(const PlannedStmt *plan) {
    KnownPlan *known = any_known ? known_plan(plan) : nullptr;
    if (known == nullptr)
        return;
    known->taken = 0;
    known->has_told = false;
    if (std::exchange(known->has_run, true))
        add_credits(known, 1);
}

void credit_taken(const PlannedStmt *plan, Cost taken) {
    KnownPlan *known = any_known ? known_plan(plan) : nullptr;
    if (known == nullptr)
        return;
    const Cost expected = std::max(known->taken, known->cost);
    known->taken += taken;
    Cost owed = 0;
    for (int i = 0; i < known->ncredits; ++i)
        owed += known->credits[i].cost;
    if (known->taken > expected && owed > 0)
        add_credits(known, (known->taken - expected) / owed);
}

} // namespace gpuscan
