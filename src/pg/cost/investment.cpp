// Rents and purchases of one statement (engine/store/savings.hpp tells the idea).
//
// Each device path is an offer: with everything in the cache it would cost less by what its loads are charged. Where PostgreSQL's
// plan is taken, the difference to that is the rent, shared by the relations as their prices are; of several offers for one relation
// the largest counts, and none can have saved more than the whole plan costs. Where the device's plan is taken, what the savings have paid of it is spent,
// and no rent is owed to what it brings.
//
// Plans that are only explained leave no trace. A generic plan pays rent once, when it is planned.
#include "pg/pg.h"

#include "pg/cost/investment.h"

#include <algorithm>
#include <utility>

#include "pg/cost/device_cost.h"
#include "pg/service/area.h"

namespace gpuscan {

constexpr int most_offers = 256; // of one statement; later ones are not noted
constexpr int most_loads = 12;   // of one offer, the same

struct Offer {
    unsigned attempt;
    bool forced;
    Cost otherwise, cost;
    int nloads;
    Load loads[most_loads];
};

static Offer offers[most_offers];
static int noffers = 0;
static unsigned current_attempt = 0;
static int paused = 0;
static ProcessUtility_hook_type previous_utility_hook = nullptr;

static Savings *savings() {
    protocol::Area *area = service_area();
    return area != nullptr ? &area->savings[device_is_gpu() ? 1 : 0] : nullptr;
}

Cost saved_on(Oid relid) {
    const Savings *all = savings();
    return all != nullptr ? device_units(static_cast<double>(all->of(MyDatabaseId, relid))) : 0;
}

void forget_savings(Oid relid) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    for (Savings &of_device : area->savings) {
        if (OidIsValid(relid))
            of_device.forget(MyDatabaseId, relid);
        else
            of_device.forget_all();
    }
}

// ---- offers ----

void note_offer(Cost otherwise, Cost cost, bool forced, const List *loads) {
    if (loads == NIL || noffers == most_offers || paused > 0)
        return;
    Offer *offer = &offers[noffers++];
    *offer = Offer{current_attempt, forced, otherwise, cost, 0, {}};
    ListCell *cell;
    foreach (cell, loads)
        if (offer->nloads < most_loads)
            offer->loads[offer->nloads++] = *static_cast<const Load *>(lfirst(cell));
}

int begin_offers(bool outermost) {
    if (outermost)
        noffers = 0;
    return noffers;
}

OuterAttempt begin_attempt(unsigned attempt) { return {std::exchange(current_attempt, attempt), noffers}; }

void end_attempt(OuterAttempt outer, bool planned) {
    current_attempt = outer.attempt;
    if (!planned)
        noffers = outer.offers;
}

static uint64 nanoseconds(Cost cost) { return static_cast<uint64>(std::clamp(device_ns(cost), 0.0, 1e18)); }

// The rent that the statement owes to a relation.
struct Rent {
    Oid relid;
    Cost cost;
};

static void owe(Rent *rents, int *nrents, Oid relid, Cost cost) {
    for (int i = 0; i < *nrents; ++i)
        if (rents[i].relid == relid) {
            rents[i].cost = std::max(rents[i].cost, cost);
            return;
        }
    rents[(*nrents)++] = Rent{relid, cost};
}

static bool is_loaded(const Offer *offer, Oid relid) {
    return std::any_of(offer->loads, offer->loads + offer->nloads,
                       [relid](const Load &load) { return load.relid == relid; });
}

void settle_offers(int first, unsigned attempt, bool on_device, Cost cost) {
    const Offer *const begin = &offers[first], *const end = &offers[noffers];
    noffers = first;
    Savings *all = savings();
    if (all == nullptr || begin == end)
        return;
    const auto is_taken = [=](const Offer &offer) {
        return on_device && offer.attempt == attempt && (offer.forced || offer.cost < offer.otherwise);
    };
    const auto is_bought = [=](Oid relid) {
        return std::any_of(begin, end, [=](const Offer &offer) { return is_taken(offer) && is_loaded(&offer, relid); });
    };
    Rent *rents = static_cast<Rent *>(palloc(sizeof(Rent) * static_cast<Size>(end - begin) * most_loads));
    int nrents = 0;
    for (const Offer *offer = begin; offer < end; ++offer) {
        Cost price = 0, charged = 0;
        for (int i = 0; i < offer->nloads; ++i) {
            price += offer->loads[i].price;
            charged += offer->loads[i].price - offer->loads[i].saved;
        }
        if (is_taken(*offer)) {
            for (int i = 0; i < offer->nloads; ++i)
                all->spend(MyDatabaseId, offer->loads[i].relid, nanoseconds(offer->loads[i].saved));
            continue;
        }
        const Cost rent = std::min(offer->otherwise, cost) - (offer->cost - charged);
        for (int i = 0; rent > 0 && i < offer->nloads; ++i)
            owe(rents, &nrents, offer->loads[i].relid, rent * offer->loads[i].price / price);
    }
    for (int i = 0; i < nrents; ++i)
        if (!is_bought(rents[i].relid))
            all->add(MyDatabaseId, rents[i].relid, nanoseconds(rents[i].cost));
    pfree(rents);
}

// ---- plans that are only explained ----

void investment_pause() { ++paused; }

void investment_resume() { --paused; }

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
    investment_pause();
    PG_TRY();
    { run(statement, query_string, read_only_tree, context, params, environment, destination, completion); }
    PG_FINALLY();
    { investment_resume(); }
    PG_END_TRY();
}

} // extern "C"

void investment_init() {
    previous_utility_hook = ProcessUtility_hook;
    ProcessUtility_hook = watch_utility;
}

} // namespace gpuscan
