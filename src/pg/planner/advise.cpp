// gpuscan.advise(query): what of a query would run where, why the rest stays with PostgreSQL, and what could be changed.
//
// The query is planned by PostgreSQL alone, with devices wherever they can, and by cost. The reasons for which parts were refused are those of
// gpuscan.explain_refusals. Nothing is executed; privileges are those of EXPLAIN.
#include "pg/pg.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/device_cost.h"
#include "pg/cost/estimate.h"
#include "pg/cost/evaluation_times.h"
#include "pg/fragment/plan_data.h"
#include "pg/guc.h"
#include "pg/planner/examined_query.h"
#include "pg/refusal.h"
#include "pg/settings.h"

extern "C" {
PG_FUNCTION_INFO_V1(gpuscan_advise);
}

namespace gpuscan {

constexpr char postgresql[] = "PostgreSQL";

struct Advice {
    ExaminedQuery query;
    ReturnSetInfo *result;
    List *refusals; // of ToldRefusal *
};

static void put(const Advice *advice, const char *part, const char *runs_on, const char *why, const char *change) {
    const char *texts[] = {part, runs_on, why, change};
    Datum values[lengthof(texts)] = {};
    bool nulls[lengthof(texts)] = {};
    for (size_t i = 0; i < lengthof(texts); ++i) {
        nulls[i] = texts[i] == nullptr;
        values[i] = nulls[i] ? Datum(0) : CStringGetTextDatum(texts[i]);
    }
    tuplestore_putvalues(advice->result->setResult, advice->result->setDesc, values, nulls);
}

// A plan under some settings, and how long it is expected to take.
struct Planned {
    PlannedStmt *plan;
    List *scans;
    double ms;
};

static Planned plan_with(const Advice *advice, const char *offload) {
    const int level = NewGUCNestLevel();
    set_for_now("gpuscan.offload", offload);
    PlannedStmt *plan = plan_examined(&advice->query);
    AtEOXact_GUC(true, level);
    return {plan, device_scans_of(plan), advice->query.time.ns / 1e6};
}

// ---- a node ----

static double rows_of(Oid relid) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
    if (!HeapTupleIsValid(tuple))
        return 0;
    const Form_pg_class form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    const double rows = form->relkind == RELKIND_PARTITIONED_TABLE ? 0 : std::max(form->reltuples, 0.0F);
    ReleaseSysCache(tuple);
    return rows;
}

// Of the columns that the nodes read, as the cost model counts them.
static double column_bytes(const Planned *planned) {
    double bytes = 0;
    ListCell *cell;
    foreach (cell, planned->scans) {
        const Fragment *fragment = fragment_bind(static_cast<const CustomScan *>(lfirst(cell)), planned->plan->rtable);
        for (int i = 0; i < fragment->nsources; ++i) {
            const FragmentSource *source = &fragment->sources[i];
            if (!source->is_relation)
                continue;
            const Oid relid = rt_fetch(source->rti, planned->plan->rtable)->relid;
            ListCell *table;
            foreach (table, find_all_inheritors(relid, NoLock, nullptr))
                bytes += rows_of(lfirst_oid(table)) * source->columns.count * tier::value_bytes;
        }
    }
    return bytes;
}

static double feed_ms(const CustomScan *scan) {
    const Estimate *estimate = estimate_of_scan(scan);
    return estimate != nullptr ? std::max(estimated_ns(estimate, tier::Stage::Feed), 0.0) / 1e6 : 0;
}

// The command, if gpuscan.cache_size is what keeps the columns from being cached; else NULL.
static const char *larger_cache_for(const Planned *planned) {
    constexpr double spare = 1.25;
    const double bytes = column_bytes(planned);
    double feed = 0;
    ListCell *cell;
    foreach (cell, planned->scans)
        feed += feed_ms(static_cast<const CustomScan *>(lfirst(cell)));
    if (device_is_gpu() || bytes <= guc_cache_size * 1024.0 || feed < planned->ms / 10)
        return nullptr;
    return psprintf("ALTER SYSTEM SET gpuscan.cache_size = '%.0f MB'; SELECT pg_reload_conf(); what does not fit is "
                    "read again by each query",
                    std::ceil(bytes * spare / (1024 * 1024)));
}

// Their names; or calls of prewarm().
static const char *tables_of(const Fragment *fragment, const PlannedStmt *plan, bool calls) {
    StringInfoData names;
    initStringInfo(&names);
    for (int i = 0; i < fragment->nsources; ++i) {
        const char *separator = names.len > 0 ? ", " : "";
        if (!fragment->sources[i].is_relation) {
            if (!calls)
                appendStringInfo(&names, "%s%s", separator, quote_identifier(fragment->sources[i].alias));
            continue;
        }
        const RangeTblEntry *entry = rt_fetch(fragment->sources[i].rti, plan->rtable);
        const char *name =
            quote_qualified_identifier(get_namespace_name(get_rel_namespace(entry->relid)), get_rel_name(entry->relid));
        appendStringInfoString(&names, separator);
        appendStringInfoString(&names, calls ? psprintf("gpuscan.prewarm(%s)", quote_literal_cstr(name)) : name);
    }
    return names.data;
}

static const char *work_of(const Fragment *fragment) {
    if (!fragment->delivers_rows)
        return fragment->nsources > 1 ? "joins and aggregation of " : "aggregation of ";
    return fragment->nsources > 1 ? "joins of " : "scan of ";
}

static void put_scan(const Advice *advice, const Planned *planned, const CustomScan *scan) {
    const Fragment *fragment = fragment_bind(scan, planned->plan->rtable);
    const Estimate *estimate = estimate_of_scan(scan);
    const char *why = nullptr;
    if (estimate != nullptr)
        why = psprintf("estimated %.1f ms, of which reading columns that are not cached takes %.1f ms",
                       estimated_ns(estimate) / 1e6, feed_ms(scan));
    put(advice, psprintf("%s%s", work_of(fragment), tables_of(fragment, planned->plan, false)),
        device_is_gpu() ? "the GPU" : "the CPU engine", why, nullptr);
}

// ---- the query ----

// Would cached columns be enough?
static const char *change_for(const Planned *alone, const Planned *forced) {
    if (guc_offload == OFFLOAD_OFF)
        return "SET gpuscan.offload = auto";
    double feed = 0;
    StringInfoData calls;
    initStringInfo(&calls);
    ListCell *cell;
    foreach (cell, forced->scans) {
        const CustomScan *scan = static_cast<const CustomScan *>(lfirst(cell));
        feed += feed_ms(scan);
        appendStringInfo(&calls, "%s%s", calls.len > 0 ? ", " : "",
                         tables_of(fragment_bind(scan, forced->plan->rtable), forced->plan, true));
    }
    if (feed < forced->ms / 10 || forced->ms - feed >= alone->ms)
        return nullptr;
    if (const char *command = larger_cache_for(forced))
        return command;
    return psprintf("SELECT %s; with its columns cached the query is expected to take %.1f ms", calls.data,
                    forced->ms - feed);
}

static void put_query(const Advice *advice, const Planned *alone, const Planned *chosen, const Planned *forced) {
    if (chosen->scans != NIL)
        return put(advice, "the query", device_is_gpu() ? "PostgreSQL and the GPU" : "PostgreSQL and the CPU engine",
                   psprintf("estimated %.1f ms; PostgreSQL alone: %.1f ms", chosen->ms, alone->ms),
                   larger_cache_for(chosen));
    const char *why = forced->scans == NIL
                          ? "no part of it can run on a device"
                          : psprintf("estimated %.1f ms; with a device: %.1f ms", alone->ms, forced->ms);
    put(advice, "the query", postgresql, why, forced->scans != NIL ? change_for(alone, forced) : nullptr);
}

// With devices wherever they can: that is where all reasons are told.
static Planned plan_and_listen(Advice *advice) {
    Planned forced = {};
    List **before = listen_to_refusals(&advice->refusals);
    PG_TRY();
    { forced = plan_with(advice, "force"); }
    PG_FINALLY();
    { listen_to_refusals(before); }
    PG_END_TRY();
    return forced;
}

// The device that the session asks for is none, or not ready, so that no plan has any.
static bool puts_missing_device(const Advice *advice) {
    if (guc_device == DEVICE_NONE) {
        put(advice, "the query", postgresql, "gpuscan.device is none", "SET gpuscan.device = auto");
        return true;
    }
    if (guc_device == DEVICE_AUTO || is_device_ready(guc_device == DEVICE_CUDA ? 1 : 0))
        return false;
    put(advice, "the query", postgresql,
        psprintf("gpuscan.device is %s, which is not ready (see gpuscan.devices)",
                 guc_device == DEVICE_CUDA ? "cuda" : "host"),
        "SET gpuscan.device = auto");
    return true;
}

static void advise(Advice *advice) {
    device_costs_begin();
    forget_evaluation_times();
    const Planned alone = plan_with(advice, "off");
    check_examined_privileges(&advice->query, alone.plan);
    if (!is_device_ready(0) && !is_device_ready(1))
        return put(advice, "the query", postgresql, "no device is ready", "SELECT * FROM gpuscan.status()");
    if (puts_missing_device(advice))
        return;
    const Planned forced = plan_and_listen(advice);
    const Planned chosen = guc_offload == OFFLOAD_OFF ? alone : plan_with(advice, "auto");
    put_query(advice, &alone, &chosen, &forced);
    ListCell *cell;
    foreach (cell, chosen.scans)
        put_scan(advice, &chosen, static_cast<const CustomScan *>(lfirst(cell)));
    foreach (cell, advice->refusals) {
        const ToldRefusal *refusal = static_cast<const ToldRefusal *>(lfirst(cell));
        put(advice, refusal->tables ? psprintf("what reads %s", refusal->tables) : "the query", postgresql,
            refusal->reason, refusal->change);
    }
}

} // namespace gpuscan

extern "C" {

Datum gpuscan_advise(PG_FUNCTION_ARGS) {
    using namespace gpuscan;
    InitMaterializedSRF(fcinfo, 0);
    Advice advice = {};
    advice.result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    examine(
        &advice.query, "gpuscan.advise", text_to_cstring(PG_GETARG_TEXT_PP(0)),
        [](void *context) { advise(static_cast<Advice *>(context)); }, &advice);
    PG_RETURN_VOID();
}
}
