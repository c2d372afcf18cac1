// Credits of one statement (engine/store/admission_credits.hpp tells the idea).
//
// Each device path is a request: with everything in the cache it would cost less by what its missing columns are charged. Where
// PostgreSQL's plan is taken, the difference to that is the credit, shared by the relations as their prices are; of several requests for
// one relation the largest counts, and none can have saved more than the whole plan costs. Where the device's plan is taken, what the
// credits have paid of it is spent, and no credit is owed to what it brings.
//
// Plans that are only explained leave no credit. A cached plan adds credit when it is planned, and then whenever it runs
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

struct AdmissionRequest {
    unsigned attempt;
    bool forced;
    Cost otherwise, cost;
    int nmissing;
    MissingColumns missing_columns[max_missing];
};

static AdmissionRequest requests[max_requests];
static int nrequests = 0;
static unsigned current_attempt = 0;
static int paused = 0;
static ProcessUtility_hook_type previous_utility_hook = nullptr;

static AdmissionCredits *admission_credits() {
    protocol::Area *area = service_area();
    return area != nullptr ? &area->admission_credits[device_is_gpu() ? 1 : 0] : nullptr;
}

static uint64 credit_now(const FigureKey &key) {
    const AdmissionCredits *all = admission_credits();
    return all != nullptr ? all->of(MyDatabaseId, key.words[0]) : 0;
}

Cost admission_credit(Oid relid) {
    return device_units(static_cast<double>(planning_input(credit_now, FigureKey{{relid}, 0})));
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

void request_admission(Cost otherwise, Cost cost, bool forced, const List *missing_columns) {
    if (missing_columns == NIL || nrequests == max_requests)
        return;
    AdmissionRequest *request = &requests[nrequests++];
    *request = AdmissionRequest{current_attempt, forced, otherwise, cost, 0, {}};
    ListCell *cell;
    foreach (cell, missing_columns)
        if (request->nmissing < max_missing)
            request->missing_columns[request->nmissing++] = *static_cast<const MissingColumns *>(lfirst(cell));
}

int begin_admission(bool outermost) {
    if (outermost)
        nrequests = 0;
    return nrequests;
}

OuterAttempt begin_attempt(unsigned attempt) { return {std::exchange(current_attempt, attempt), nrequests}; }

void end_attempt(OuterAttempt outer, bool planned) {
    current_attempt = outer.attempt;
    if (!planned)
        nrequests = outer.requests;
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

static bool lacks_columns_of(const AdmissionRequest *request, Oid relid) {
    return std::any_of(request->missing_columns, request->missing_columns + request->nmissing,
                       [relid](const MissingColumns &missing) { return missing.relid == relid; });
}

void add_admission_credit(Oid relid, Cost credit) {
    if (AdmissionCredits *all = admission_credits())
        all->add(MyDatabaseId, relid, nanoseconds(credit));
}

bool decide_admission(int first, unsigned attempt, const PlannedStmt *plan, bool on_device, Cost cost) {
    const AdmissionRequest *const begin = &requests[first], *const end = &requests[nrequests];
    nrequests = first;
    AdmissionCredits *all = admission_credits();
    if (all == nullptr || begin == end)
        return false;
    const auto is_taken = [=](const AdmissionRequest &request) {
        return on_device && request.attempt == attempt && (request.forced || request.cost < request.otherwise);
    };
    const auto is_bought = [=](Oid relid) {
        return std::any_of(begin, end, [=](const AdmissionRequest &request) {
            return is_taken(request) && lacks_columns_of(&request, relid);
        });
    };
    AdmissionCredit *credits =
        static_cast<AdmissionCredit *>(palloc(sizeof(AdmissionCredit) * static_cast<Size>(end - begin) * max_missing));
    int ncredits = 0;
    Cost shortfall = HUGE_VAL;
    for (const AdmissionRequest *request = begin; request < end; ++request) {
        Cost price = 0, charged = 0;
        for (int i = 0; i < request->nmissing; ++i) {
            price += request->missing_columns[i].price;
            charged += request->missing_columns[i].price - request->missing_columns[i].saved;
        }
        if (is_taken(*request)) {
            for (int i = 0; paused == 0 && i < request->nmissing; ++i)
                all->spend(MyDatabaseId, request->missing_columns[i].relid,
                           nanoseconds(request->missing_columns[i].saved));
            continue;
        }
        const Cost without = std::min(request->otherwise, cost), credit = without - (request->cost - charged);
        if (credit > 0)
            shortfall = std::min(shortfall, request->cost - without);
        for (int i = 0; credit > 0 && i < request->nmissing; ++i)
            add_credit(credits, &ncredits, request->missing_columns[i].relid,
                       credit * request->missing_columns[i].price / price);
    }
    bool owed = false;
    for (int i = 0; i < ncredits; ++i) {
        if (is_bought(credits[i].relid))
            continue;
        owed = true;
        if (paused == 0)
            add_admission_credit(credits[i].relid, credits[i].cost);
    }
    if (!on_device && ncredits > 0)
        remember_credits(plan, credits, ncredits, shortfall);
    pfree(credits);
    return owed;
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
