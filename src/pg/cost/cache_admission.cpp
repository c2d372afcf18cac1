// Credits of one statement (engine/store/admission_credits.hpp tells the idea).
//
// Each device path is a request: with everything in the cache it would cost less by what its missing columns are charged. Where it is
// no part of the plan, the difference to what is done instead is the credit, shared by the relations as their prices are; of several
// requests for one relation the largest counts, and none can have saved more than the whole plan costs. The device nodes of the plan
// spend what the credits have paid of what they bring, and nothing is owed to that.
//
// Plans that are only explained leave no credit. A plan that is kept adds credit when it is planned, and then whenever it runs
// (cached_plan_credits.h).
#include "pg/pg.h"

#include "pg/cost/cache_admission.h"

#include <algorithm>
#include <utility>

#include "pg/cost/cached_plan_credits.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/planning_inputs.h"
#include "pg/service/area.h"

namespace gpuscan {

constexpr int max_requests = 256; // of one statement; later ones are not noted
constexpr int max_missing = 12;   // of one request, the same
constexpr int max_bought = 128;   // of one statement, the same
constexpr int credit_unit = 17;   // credits are looked at in units of 2^17 ns

struct AdmissionRequest {
    Cost otherwise, cost;
    int nmissing;
    MissingColumns missing_columns[max_missing];
};

struct Bought {
    unsigned attempt;
    MissingColumns columns;
};

static AdmissionRequest requests[max_requests];
static Bought bought[max_bought];
static AdmissionNotes noted{0, 0};
static unsigned current_attempt = 0;
static int paused = 0;
static ProcessUtility_hook_type previous_utility_hook = nullptr;

static AdmissionCredits *admission_credits() {
    protocol::Area *area = service_area();
    return area != nullptr ? &area->admission_credits[device_is_gpu() ? 1 : 0] : nullptr;
}

static uint64 credit_of(Oid relid) {
    const AdmissionCredits *all = admission_credits();
    return all != nullptr ? all->of(MyDatabaseId, relid) : 0;
}

// A kept plan's own executions add credit; it is made anew whenever that has doubled.
static uint64 rounded_credit(const FigureKey &key) {
    return uint64{1} << std::min(pg_leftmost_one_pos64(credit_of(key.words[0]) >> credit_unit | 1), 62);
}

Cost admission_credit(Oid relid) {
    planning_input(rounded_credit, FigureKey{{relid}, 0});
    return device_units(static_cast<double>(credit_of(relid)));
}

void forget_admission_credit(Oid relid) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    for (AdmissionCredits &of_device : area->admission_credits) {
        if (OidIsValid(relid))
            of_device.forget(MyDatabaseId, relid);
        else
            of_device.forget_all();
    }
}

// ---- requests ----

void request_admission(Cost otherwise, Cost cost, const List *missing_columns) {
    if (missing_columns == NIL || noted.requests == max_requests)
        return;
    AdmissionRequest *request = &requests[noted.requests++];
    *request = AdmissionRequest{otherwise, cost, 0, {}};
    ListCell *cell;
    foreach (cell, missing_columns)
        if (request->nmissing < max_missing)
            request->missing_columns[request->nmissing++] = *static_cast<const MissingColumns *>(lfirst(cell));
}

void note_bought(const List *missing_columns) {
    ListCell *cell;
    foreach (cell, missing_columns) {
        if (noted.bought < max_bought)
            bought[noted.bought++] = Bought{current_attempt, *static_cast<const MissingColumns *>(lfirst(cell))};
    }
}

AdmissionNotes begin_admission(bool outermost) {
    if (outermost)
        noted = {0, 0};
    return noted;
}

OuterAttempt begin_attempt(unsigned attempt) { return {std::exchange(current_attempt, attempt), noted}; }

void end_attempt(OuterAttempt outer, bool planned) {
    current_attempt = outer.attempt;
    if (!planned)
        noted = outer.notes;
}

static uint64 nanoseconds(Cost cost) { return static_cast<uint64>(std::clamp(device_ns(cost), 0.0, 1e18)); }

static void add_credit(AdmissionCredit *credits, int *ncredits, Oid relid, Cost cost) {
    for (int i = 0; i < *ncredits; ++i)
        if (credits[i].relid == relid) {
            credits[i].cost = std::max(credits[i].cost, cost);
            return;
        }
    credits[(*ncredits)++] = AdmissionCredit{relid, cost};
}

void add_admission_credit(Oid relid, Cost credit) {
    if (AdmissionCredits *all = admission_credits())
        all->add(MyDatabaseId, relid, nanoseconds(credit));
}

void decide_admission(AdmissionNotes first, unsigned attempt, const PlannedStmt *plan, Cost cost) {
    const AdmissionNotes end = std::exchange(noted, first);
    AdmissionCredits *all = admission_credits();
    if (all == nullptr)
        return;
    const auto is_bought = [=](const MissingColumns &missing) {
        return std::any_of(&bought[first.bought], &bought[end.bought], [&](const Bought &one) {
            return one.attempt == attempt && one.columns.relid == missing.relid && one.columns.price >= missing.price &&
                   bms_is_subset(missing.columns, one.columns.columns);
        });
    };
    AdmissionCredit *credits = static_cast<AdmissionCredit *>(
        palloc(sizeof(AdmissionCredit) * static_cast<Size>(end.requests - first.requests) * max_missing + 1));
    int ncredits = 0;
    Cost shortfall = HUGE_VAL;
    for (const AdmissionRequest *request = &requests[first.requests]; request < &requests[end.requests]; ++request) {
        const MissingColumns *const wanted = request->missing_columns, *const behind = wanted + request->nmissing;
        Cost price = 0, charged = 0;
        for (const MissingColumns *missing = wanted; missing < behind; ++missing) {
            price += missing->price;
            charged += missing->price - missing->saved;
        }
        const Cost without = std::min(request->otherwise, cost), credit = without - (request->cost - charged);
        if (credit <= 0 || std::all_of(wanted, behind, is_bought))
            continue;
        shortfall = std::min(shortfall, request->cost - without);
        for (const MissingColumns *missing = wanted; missing < behind; ++missing)
            if (!is_bought(*missing))
                add_credit(credits, &ncredits, missing->relid, credit * missing->price / price);
    }
    if (paused == 0) {
        for (const Bought *one = &bought[first.bought]; one < &bought[end.bought]; ++one)
            if (one->attempt == attempt)
                all->spend(MyDatabaseId, one->columns.relid, nanoseconds(one->columns.saved));
        for (int i = 0; i < ncredits; ++i)
            add_admission_credit(credits[i].relid, credits[i].cost);
    }
    if (ncredits > 0)
        remember_credits(plan, cost, credits, ncredits, shortfall);
    pfree(credits);
}

// ---- plans that are only explained ----

void cache_admission_pause() { ++paused; }

void cache_admission_resume() { --paused; }

static bool only_explains(const Node *statement) {
    if (!IsA(statement, ExplainStmt))
        return false;
    ListCell *cell;
    bool analyze = false;
    foreach (cell, reinterpret_cast<const ExplainStmt *>(statement)->options) {
        DefElem *option = lfirst_node(DefElem, cell);
        if (strcmp(option->defname, "analyze") == 0)
            analyze = defGetBoolean(option);
    }
    return !analyze;
}

extern "C" {

static void watch_utility(PlannedStmt *statement, const char *query_string, bool read_only_tree,
                          ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                          DestReceiver *destination, QueryCompletion *completion) {
    const ProcessUtility_hook_type run =
        previous_utility_hook != nullptr ? previous_utility_hook : standard_ProcessUtility;
    if (!only_explains(statement->utilityStmt))
        return run(statement, query_string, read_only_tree, context, params, environment, destination, completion);
    cache_admission_pause();
    PG_TRY();
    { run(statement, query_string, read_only_tree, context, params, environment, destination, completion); }
    PG_FINALLY();
    { cache_admission_resume(); }
    PG_END_TRY();
}

} // extern "C"

void cache_admission_init() {
    previous_utility_hook = ProcessUtility_hook;
    ProcessUtility_hook = watch_utility;
}

} // namespace gpuscan
