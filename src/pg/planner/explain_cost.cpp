// gpuscan.explain_cost(query): what a query would cost PostgreSQL alone, on the host device and on the GPU, by tier and pattern.
//
// A device's part is in its nodes' estimates. PostgreSQL's part has to be found: a plan's cost is a sum of counts (pages, tuples,
// operators) times the settings that price them, so a count is what the cost grows by when its setting grows a little (Stark,
// pgsql-performance, March 2005, asked for these counts to calibrate settings with). The query is planned once more for each setting, a
// millionth larger, which is too little for another plan to win. Counts times settings must add up to the cost; what is missing (a
// tablespace's own page costs, a foreign table's costs, penalties) is told as "other".
//
// Times are another matter: what is compared with a device's time is not the cost but the plan's steps, each at its own rate
// (engine/cost/executor_cost.hpp). They are told beside the costs, with the component "steps".
//
// Nothing is executed. Privileges are those of EXPLAIN: the executor is started for explaining only, which checks them.
#include "pg/pg.h"

#include "pg/cost/device_cost.h"
#include "pg/cost/estimate.h"
#include "pg/cost/evaluation_times.h"
#include "pg/fragment/fragment.h"
#include "pg/guc.h"
#include "pg/planner/examined_query.h"
#include "pg/settings.h"

extern "C" {
PG_FUNCTION_INFO_V1(gpuscan_explain_cost);
}

namespace gpuscan {

constexpr double small_step = 1e-6;
constexpr double min_share = 2e-4; // of a cost, which is shown
constexpr int result_columns = 9;
constexpr double not_told = -1e300; // a cost or a time

struct PricedSetting {
    const char *setting, *tier, *pattern, *unit;
};

constexpr PricedSetting priced_settings[] = {
    {"seq_page_cost", "storage", "sequential read", "page"},
    {"random_page_cost", "storage", "random read", "page"},
    {"gpuscan.seq_read_page_cost", "storage", "sequential read", "page"},
    {"gpuscan.random_read_page_cost", "storage", "random read", "page"},
    {"gpuscan.seq_write_page_cost", "storage", "sequential write", "page"},
    {"gpuscan.random_write_page_cost", "storage", "random write", "page"},
    {"gpuscan.hashagg_write_page_cost", "storage", "random write", "page"},
    {"cpu_tuple_cost", "backend", "", "tuple"},
    {"cpu_index_tuple_cost", "backend", "", "index tuple"},
    {"cpu_operator_cost", "backend", "", "operator"},
    {"parallel_tuple_cost", "backend", "", "tuple"},
    {"parallel_setup_cost", "latency", "", "gather"},
};

struct Explained {
    ExaminedQuery query;
    ReturnSetInfo *result;
};

static PlannedStmt *planned(const Explained *explained) { return plan_examined(&explained->query); }

// ---- settings ----

static double setting_now(const char *setting) {
    const char *value = GetConfigOption(setting, true, false);
    return value != nullptr ? atof(value) : 0;
}

// ---- rows of the result ----

struct ResultRow {
    const char *alternative, *component, *work, *tier, *pattern, *unit; // NULL, or "": not told
    bool has_amount;
    double amount, cost, ns; // cost, ns: may be not_told
};

static void put(const Explained *explained, const ResultRow *row) {
    const char *texts[5] = {row->alternative, row->component, row->work, row->tier, row->pattern};
    Datum values[result_columns] = {};
    bool nulls[result_columns] = {};
    for (int i = 0; i < 5; ++i) {
        nulls[i] = texts[i] == nullptr || texts[i][0] == '\0';
        values[i] = nulls[i] ? Datum(0) : CStringGetTextDatum(texts[i]);
    }
    nulls[5] = !row->has_amount;
    values[5] = Float8GetDatum(row->amount);
    nulls[6] = row->unit == nullptr || row->unit[0] == '\0';
    values[6] = nulls[6] ? Datum(0) : CStringGetTextDatum(row->unit);
    nulls[7] = row->ns == not_told;
    values[7] = Float8GetDatum(row->ns / 1e6);
    nulls[8] = row->cost == not_told;
    values[8] = Float8GetDatum(row->cost);
    tuplestore_putvalues(explained->result->setResult, explained->result->setDesc, values, nulls);
}

static void put_note(const Explained *explained, const char *alternative, const char *note) {
    Datum values[result_columns] = {};
    bool nulls[result_columns];
    memset(nulls, true, sizeof nulls);
    nulls[0] = nulls[1] = false;
    values[0] = CStringGetTextDatum(alternative);
    values[1] = CStringGetTextDatum(note);
    tuplestore_putvalues(explained->result->setResult, explained->result->setDesc, values, nulls);
}

// ---- a plan's nodes on a device ----

// Storage and the cost of plans are among PostgreSQL's settings.
static bool is_told_by_settings(const EstimatePart *part) {
    return part->count != count_hidden &&
           (part->count == static_cast<uint8>(tier::Count::PlanCost) ||
            tier::info(static_cast<tier::Count>(part->count)).tier == tier::Tier::Storage);
}

// What has been told of an alternative so far.
struct Told {
    Cost cost;
    double ns;
};

// Of all nodes together.
static Told put_device(const Explained *explained, const char *alternative, const List *scans) {
    tier::Breakdown breakdown = {}; // costs, here
    ListCell *cell;
    Told told = {};
    double amounts[tier::stages][tier::counts] = {}, ns[tier::stages][tier::counts] = {}, hidden_ns[tier::stages] = {};
    foreach (cell, scans) {
        const Estimate *estimate = estimate_of_scan(static_cast<const CustomScan *>(lfirst(cell)));
        for (int i = 0; estimate != nullptr && i < estimate->nparts; ++i) {
            const EstimatePart *part = &estimate->parts[i];
            if (is_told_by_settings(part))
                continue;
            const Cost cost = part->ns / estimate->ns_per_unit;
            told.cost += cost;
            told.ns += part->ns;
            if (part->count == count_hidden) {
                breakdown.hidden_ns[part->stage] += cost;
                hidden_ns[part->stage] += part->ns;
                continue;
            }
            breakdown.amount[part->stage][part->count] += cost;
            ns[part->stage][part->count] += part->ns;
            amounts[part->stage][part->count] += part->amount;
        }
    }
    for (int s = 0; s < tier::stages; ++s) {
        const char *stage = tier::name_of(static_cast<tier::Stage>(s));
        for (int c = 0; c < tier::counts; ++c) {
            const tier::CountInfo &info = tier::info(static_cast<tier::Count>(c));
            const ResultRow row = {alternative,
                                   stage,
                                   info.name,
                                   tier::name_of(info.tier, device_is_gpu()),
                                   tier::name_of(info.pattern),
                                   info.unit,
                                   true,
                                   amounts[s][c],
                                   breakdown.amount[s][c],
                                   ns[s][c]};
            if (row.amount != 0)
                put(explained, &row);
        }
        const ResultRow row = {alternative, stage, "side by side",         nullptr,     nullptr, nullptr,
                               false,       0,     breakdown.hidden_ns[s], hidden_ns[s]};
        if (row.cost != 0)
            put(explained, &row);
    }
    return told;
}

// ---- PostgreSQL's part ----

// What is not a device's work. (Its unit is that of PostgreSQL's own plan, whose costs follow the settings.)
static Cost cost_of_the_rest(const PlannedStmt *plan) {
    Cost rest = plan->planTree->total_cost;
    ListCell *cell;
    foreach (cell, device_scans_of(plan)) {
        const Estimate *estimate = estimate_of_scan(static_cast<const CustomScan *>(lfirst(cell)));
        for (int i = 0; estimate != nullptr && i < estimate->nparts; ++i)
            if (!is_told_by_settings(&estimate->parts[i]))
                rest -= estimate->parts[i].ns / estimate->ns_per_unit;
    }
    return rest;
}

// What the setting's share of the cost is. 0: none, or another plan has won.
static Cost share_of(const Explained *explained, const char *setting, double value, Cost rest, Cost total) {
    const int level = NewGUCNestLevel();
    set_for_now(setting, value * (1 + small_step));
    const Cost more = cost_of_the_rest(planned(explained)) - rest;
    AtEOXact_GUC(true, level);
    const Cost share = more / small_step;
    return share > total * min_share && share <= total * (1 + 1e-3) ? share : 0;
}

static Cost put_settings(const Explained *explained, const char *alternative, const PlannedStmt *plan) {
    const Cost total = plan->planTree->total_cost, rest = cost_of_the_rest(plan);
    Cost sum = 0;
    for (const PricedSetting &priced : priced_settings) {
        const double value = setting_now(priced.setting);
        if (value <= 0)
            continue;
        const Cost share = share_of(explained, priced.setting, value, rest, total);
        const ResultRow row = {alternative, "plan", priced.setting, priced.tier, priced.pattern,
                               priced.unit, true,   share / value,  share,       not_told};
        if (share > 0)
            put(explained, &row);
        sum += share;
    }
    return sum;
}

// ---- PostgreSQL's steps ----

static double put_steps(const Explained *explained, const char *alternative, const PlannedTime *time) {
    double sum = 0;
    for (int i = 0; i < executor::steps; ++i) {
        const executor::StepInfo &step = executor::info(static_cast<executor::Step>(i));
        const double amount = time->work.amount[i], ns = amount * device_executor_rates()->ns[i];
        const ResultRow row = {alternative, "steps", step.name, "backend", nullptr,
                               step.unit,   true,    amount,    not_told,  ns};
        if (amount != 0)
            put(explained, &row);
        sum += ns;
    }
    return sum;
}

// ---- alternatives ----

static const char *kind_of(const List *scans) {
    return scans == NIL ? "PostgreSQL's plan" : psprintf("GpuScan nodes: %d", list_length(scans));
}

// Under settings that make the alternative. The rows add up to the last one.
static void put_alternative(const Explained *explained, const char *alternative) {
    const PlannedStmt *plan = planned(explained);
    const PlannedTime time = explained->query.time; // the settings' shares are found by planning
    const Cost total = plan->planTree->total_cost;
    const List *scans = device_scans_of(plan);
    Told told = put_device(explained, alternative, scans);
    told.ns += put_steps(explained, alternative, &time);
    told.cost += put_settings(explained, alternative, plan);
    const ResultRow other = {alternative, "other", nullptr, nullptr,           nullptr,
                             nullptr,     false,   0,       total - told.cost, time.ns - told.ns};
    if (fabs(other.cost) > total * 1e-4 || fabs(other.ns) > time.ns * 1e-4)
        put(explained, &other);
    const ResultRow row = {alternative, "total", kind_of(scans), nullptr, nullptr, nullptr, false, 0, total, time.ns};
    put(explained, &row);
}

static void put_choice(const Explained *explained) {
    const PlannedStmt *plan = planned(explained);
    const ResultRow row = {"chosen",
                           "total",
                           kind_of(device_scans_of(plan)),
                           nullptr,
                           nullptr,
                           nullptr,
                           false,
                           0,
                           plan->planTree->total_cost,
                           explained->query.time.ns};
    put(explained, &row);
}

static void put_device_alternative(const Explained *explained, const char *device, int index) {
    if (!is_device_ready(index)) {
        put_note(explained, device, "this device is not ready (see gpuscan.devices)");
        return;
    }
    const int level = NewGUCNestLevel();
    set_for_now("gpuscan.offload", "force");
    set_for_now("gpuscan.device", device);
    put_alternative(explained, device);
    AtEOXact_GUC(true, level);
}

static void explain_alternatives(const Explained *explained) {
    device_costs_begin();
    forget_evaluation_times();
    check_examined_privileges(&explained->query, planned(explained));
    const int alone = NewGUCNestLevel();
    set_for_now("gpuscan.offload", "off");
    put_alternative(explained, "postgresql");
    AtEOXact_GUC(true, alone);
    put_device_alternative(explained, "host", 0);
    put_device_alternative(explained, "cuda", 1);
    put_choice(explained);
}

static void explain_cost(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    Explained explained = {};
    explained.result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    examine(
        &explained.query, "gpuscan.explain_cost", text_to_cstring(PG_GETARG_TEXT_PP(0)),
        [](void *context) { explain_alternatives(static_cast<const Explained *>(context)); }, &explained);
}

} // namespace gpuscan

extern "C" {

Datum gpuscan_explain_cost(PG_FUNCTION_ARGS) {
    gpuscan::explain_cost(fcinfo);
    PG_RETURN_VOID();
}
}
