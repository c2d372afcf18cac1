// A statement is planned as it is written, and once more for each rewriting that has something to do: subqueries as joins
// (decorrelate.cpp), set operations as aggregations (set_operations.cpp) or joins (set_joins.cpp), CTEs as subqueries (inline_ctes.cpp),
// windows over groups as windows over a subquery's rows (grouped_windows.cpp), DISTINCT ON as a window (distinct_on.cpp), each on top of those that have paid.
//
// Which plan wins is a matter of time, not of costs (cost/plan_time.cpp). A second planning costs as much as the first, so a
// rewriting has to be worth it before it is tried: the cheapest statements are planned once, with a look at their range table.
//
// State: one PlannerState per attempt, on a stack because planning can nest (a function that is folded to a constant may run
// queries).
#include "pg/pg.h"

#include "pg/planner/statement.h"

#include <algorithm>
#include <utility>

#include "pg/attempt.h"
#include "pg/catalog/declared_for_snapshot.h"
#include "pg/catalog/stored_form.h"
#include "pg/cost/cache_admission.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/evaluation_times.h"
#include "pg/cost/level_estimates.h"
#include "pg/fragment/path.h"
#include "pg/fragment/plan_data.h"
#include "pg/fragment/plan_tree.h"
#include "pg/guc.h"
#include "pg/plan_time/level_time.h"
#include "pg/planner/generic_plans.h"
#include "pg/planner/hooks.h"
#include "pg/planner/plan_cache.h"
#include "pg/planner/planner_state.h"
#include "pg/refusal.h"
#include "pg/refusal_state.h"
#include "pg/rewrite/decorrelate.h"
#include "pg/rewrite/distinct_on.h"
#include "pg/rewrite/grouped_windows.h"
#include "pg/rewrite/inline_ctes.h"
#include "pg/rewrite/set_joins.h"
#include "pg/rewrite/set_operations.h"
#include "pg/service/area.h"
#include "pg/settings.h"

namespace gpuscan {

PlannerState *planning = nullptr;

static planner_hook_type previous_planner = nullptr;
static PlannedTime *told_to = nullptr; // that somebody wants to be filled

struct PlannerCall {
    const char *query_string;
    int options;
    ParamListInfo params;
    bool updatable; // a cursor, perhaps, whose rows a later statement may update
    bool scrolls;   // a cursor that goes backwards if its plan does; planned as if it always did
};

// Ways to write a query otherwise, in the order in which they are tried.
struct Rewriting {
    bool (*wanted)(const Query *);
    bool (*rewrite)(Query *); // in place; false: nothing was changed
};

// Another order of float additions is not wanted by everybody.
static bool wants_joins(const Query *query) {
    return guc_enable_decorrelation && !guc_exact_float && may_have_subqueries(query);
}

static const Rewriting rewritings[] = {{wants_joins, decorrelate},
                                       {may_have_set_operations, spread_set_operations},
                                       {may_have_set_operations, join_set_operations},
                                       {may_have_grouped_ctes, inline_grouped_ctes},
                                       {may_have_grouped_windows, lift_grouped_windows},
                                       {may_have_distinct_on, number_distinct_rows}};
constexpr unsigned lifts_windows = 1u << 4, numbers_rows = 1u << 5;

struct PlanAlternative {
    unsigned rewritten; // by which of the rewritings
    PlannedStmt *plan;
    double ns;     // that the plan takes, as far as it is known: else 0
    int relations; // that were planned, joins among them
    int device_nodes;
    bool backward; // see PlannerState
    double windowed_groups;
    int stage_windows, device_windows;
    RefusalState refusals;
    PlannedTime told; // if somebody wants to know
};

// The shortest statements' plans take a few dozen microseconds, and each function that is asked is missed by the caches.
static bool reads_one_table(const Query *query) {
    return !query->hasWindowFuncs && !query->hasDistinctOn && list_length(query->rtable) == 1 && !query->hasSubLinks &&
           query->cteList == NIL &&
           static_cast<const RangeTblEntry *>(linitial(query->rtable))->rtekind == RTE_RELATION;
}

// A subquery that is computed as a whole, or as a set, may need a temporary file where one row's share, or PostgreSQL's way,
// did not.
static unsigned wanted_rewritings(const Query *query) {
    unsigned wanted = 0;
    if (temp_file_limit >= 0 || reads_one_table(query))
        return wanted;
    for (unsigned i = 0; i < lengthof(rewritings); ++i)
        wanted |= rewritings[i].wanted(query) ? 1u << i : 0;
    return wanted;
}

// False: the last of them has found nothing to do.
static bool rewrite(Query *query, unsigned which) {
    bool changed = true;
    for (unsigned i = 0; i < lengthof(rewritings); ++i)
        if (which >> i & 1)
            changed = rewritings[i].rewrite(query);
    return changed;
}

static PlannedStmt *plan_as_usual(Query *parse, const PlannerCall *call) {
    if (previous_planner != nullptr)
        return previous_planner(parse, call->query_string, call->options, call->params);
    return standard_planner(parse, call->query_string, call->options, call->params);
}

// Plans the query, rewritten as `result` says, with planner state and refusals of its own. False: there is nothing to
// rewrite.
static bool run_planner(Query *parse, const PlannerCall *call, PlannerState *state, PlanAlternative *result) {
    PlannerState *outer = planning;
    RefusalState *outer_refusals = refusals_begin(&result->refusals);
    LevelEstimates *outer_estimates = level_estimates_begin();
    const int nodes = planned_nodes;
    planning = state;
    const bool hooked = hook_pairs(true);
    const OuterAttempt outer_attempt = begin_attempt(result->rewritten);
    PlannedTime *outer_told = tell_planned_time(nullptr);
    const bool again = result->rewritten != 0;
    const int settings = again ? NewGUCNestLevel() : 0;
    PG_TRY();
    {
        if (again) // what the planner evaluates has sent its messages (NOTICE, WARNING) the first time
            send_errors_only_for_now();
        if (rewrite(parse, result->rewritten))
            result->plan = plan_as_usual(parse, call);
        else
            refusals_tell();
    }
    PG_FINALLY();
    {
        planning = outer;
        tell_planned_time(outer_told);
        end_attempt(outer_attempt, result->plan != nullptr);
        hook_pairs(hooked);
        level_estimates_end(outer_estimates);
        refusals_end(outer_refusals);
    }
    PG_END_TRY();
    if (again)
        AtEOXact_GUC(false, settings);
    result->device_nodes = planned_nodes - nodes;
    return result->plan != nullptr;
}

// PostgreSQL plans no parallel scans for cursors, and this is how they are known.
static bool is_cursor(int options) { return (options & CURSOR_OPT_PARALLEL_OK) == 0; }

// In a read-only transaction nobody updates its rows; that ends with a subtransaction. A plan of the portal's own text (DECLARE, EXPLAIN)
// is used now, while those of functions may be kept for other transactions.
static bool is_read_only(const char *query_string) {
    return XactReadOnly && GetCurrentTransactionNestLevel() == 1 && ActivePortal != nullptr &&
           ActivePortal->sourceText == query_string;
}

// PostgreSQL keeps the rows of a cursor with SCROLL in a Material where its plan does not go backwards. Here `plan` is to have none.
static void forget_material(PlannedStmt *plan) {
    Plan *material = plan->planTree, *below = material->lefttree;
    if (!IsA(material, Material))
        return;
    below->initPlan = material->initPlan;
    plan->planTree = below;
}

// (What a Material keeps may become a temporary file.)
static void allow_rows_of_cursor(PlannerCall *call) {
    if (!call->updatable || temp_file_limit >= 0 || !is_read_only(call->query_string))
        return;
    call->updatable = false;
    call->scrolls = (call->options & (CURSOR_OPT_SCROLL | CURSOR_OPT_NO_SCROLL)) == 0;
    call->options |= call->scrolls ? CURSOR_OPT_SCROLL : 0;
}

// Would PostgreSQL find the row of a table on which a cursor with this plan stands (search_plan_tree)?
static bool ends_in_scan(const Plan *plan) {
    switch (nodeTag(plan)) {
    case T_SeqScan:
    case T_IndexScan:
    case T_IndexOnlyScan:
    case T_BitmapHeapScan:
    case T_TidScan:
    case T_TidRangeScan:
    case T_Append:
        return true;
    case T_Result:
    case T_Limit:
    case T_Material:
        return plan->lefttree != nullptr && ends_in_scan(plan->lefttree);
    case T_SubqueryScan:
        return ends_in_scan(reinterpret_cast<const SubqueryScan *>(plan)->subplan);
    default:
        return false;
    }
}

// Looking for what a device could do takes tens of microseconds; a plan that takes less than this is left alone, even where a device needs
// less to begin.
constexpr double min_worth_ns = 550e3;

static Cost min_worth() {
    tier::Ledger ledger = device_ledger();
    ledger.start(1, 0);
    return std::max(device_cost(ledger), device_units(min_worth_ns));
}

static bool plan_one(Query *parse, const PlannerCall *call, bool enabled, PlanAlternative *result) {
    PlannerState state{};
    device_costs_begin();
    state.context = CurrentMemoryContext;
    state.enabled = enabled;
    state.cursor = is_cursor(call->options);
    state.updatable = call->updatable;
    state.by_cost = guc_offload == OFFLOAD_AUTO && told_to == nullptr;
    state.start = min_worth();
    state.told = told_to;
    const bool planned = run_planner(parse, call, &state, result);
    if (planned)
        result->ns = state.ns > 0 ? state.ns : device_ns(result->plan->planTree->total_cost);
    result->relations = state.relations;
    result->backward = state.backward;
    result->windowed_groups = state.windowed_groups;
    result->stage_windows = state.stage_windows;
    result->device_windows = state.device_windows;
    if (told_to != nullptr)
        result->told = *told_to;
    return planned;
}

struct Replanning {
    const Query *query;
    const PlannerCall *call;
    PlanAlternative *next;
    bool planned;
};

static void replan(void *argument) {
    Replanning *again = static_cast<Replanning *>(argument);
    Query *copy = static_cast<Query *>(copyObject(const_cast<Query *>(again->query)));
    again->planned = plan_one(copy, again->call, true, again->next);
}

// Once more, in one more way than `best`. False: there is nothing to rewrite, or PostgreSQL cannot plan what has been written (a
// full join without equalities, which it would have found not to be needed).
static bool plan_also(const Query *query, const PlannerCall *call, const PlanAlternative *best, unsigned way,
                      PlanAlternative *next) {
    Replanning again{query, call, next, false};
    next->rewritten = best->rewritten | way;
    return attempt(replan, &again, nullptr) == Attempt::Done && again.planned;
}

// Without a device the rewritten query is PostgreSQL's to plan like any other, so its costs decide as well; but how many groups there
// will be is guessed more roughly than how many rows, and nobody has asked for another plan of PostgreSQL's, so it must pay clearly.
constexpr double clear_gain = 0.5;

static bool is_better(const PlanAlternative *rewritten, const PlanAlternative *best) {
    if ((rewritten->rewritten & ~best->rewritten) == lifts_windows && rewritten->stage_windows <= best->stage_windows)
        return false; // no device can compute them
    if ((rewritten->rewritten & ~best->rewritten) == numbers_rows && rewritten->device_windows <= best->device_windows)
        return false;
    if (rewritten->device_nodes == 0)
        return guc_offload == OFFLOAD_AUTO && rewritten->ns < best->ns * clear_gain;
    return guc_offload == OFFLOAD_FORCE || rewritten->ns < best->ns;
}

// What planning it once more takes. (By number, since with a clock the plan would depend on how busy the machine is. 15 to 75 us were
// measured, the most for tables with indexes and statistics, the least for joins.)
constexpr double relation_planned_ns = 50e3;

static double planning_ns(const PlanAlternative *plan) { return plan->relations * relation_planned_ns; }

constexpr double few_groups = 2000; // PostgreSQL computes windows over no more in less time than another planning takes

static bool is_worth_trying(unsigned rewriting, const PlanAlternative *best) {
    return rewriting != lifts_windows || best->windowed_groups > few_groups || guc_offload == OFFLOAD_FORCE;
}

// The best plan of the query as it was written (`best`) and as these rewritings write it, each of them tried on top of those that
// have paid. A plan that costs less than a device needs to begin stays, and one that takes no longer than its planning.
// Returns whether a rewriting has told why there is nothing that it could do.
static bool improve_plan(const Query *query, const PlannerCall *call, unsigned wanted, PlanAlternative *best) {
    const Cost start = min_worth();
    bool told = false;
    for (unsigned i = 0; i < lengthof(rewritings); ++i) {
        const Plan *plan = best->plan->planTree;
        if (!(wanted >> i & 1) || !is_worth_trying(1u << i, best) ||
            (guc_offload == OFFLOAD_AUTO &&
             (plan->total_cost < start || best->ns < std::max(device_ns(start), planning_ns(best)))) ||
            (is_cursor(call->options) && (best->backward || ends_in_scan(plan))))
            continue;
        PlanAlternative next{};
        if (!plan_also(query, call, best, 1u << i, &next))
            told |= refusals_release(&next.refusals);
        else if (is_better(&next, best))
            *best = next;
    }
    return told;
}

// A CPU plan that is a device's source stands in the statement's plan twice, there and in the fallback, so PostgreSQL numbers the
// children of its partitioned tables twice (set_plan_references): their numbers are no longer those of any relation. EXPLAIN alone
// looks at them, as at an index into an array, and finds names without them.
static void forget_renumbered_children(PlannedStmt *plan) {
    List *sorted = list_copy(plan->appendRelations), *once = NIL;
    list_sort(sorted, [](const ListCell *a, const ListCell *b) {
        const uintptr_t left = reinterpret_cast<uintptr_t>(lfirst(a)), right = reinterpret_cast<uintptr_t>(lfirst(b));
        return left < right ? -1 : left > right;
    });
    const int n = list_length(sorted);
    for (int i = 0; i < n; ++i) {
        void *const child = list_nth(sorted, i);
        const bool again =
            (i > 0 && list_nth(sorted, i - 1) == child) || (i + 1 < n && list_nth(sorted, i + 1) == child);
        if (!again)
            once = lappend(once, child);
    }
    plan->appendRelations = once;
}

static void show_windows_below(Plan *plan) {
    if (IsA(plan, CustomScan) && reinterpret_cast<CustomScan *>(plan)->methods == &gpuscan_scan_methods)
        show_window_functions(reinterpret_cast<CustomScan *>(plan));
    ListCell *cell;
    foreach (cell, plans_below(plan))
        show_windows_below(static_cast<Plan *>(lfirst(cell)));
}

static void show_windows(PlannedStmt *plan) {
    if (!explain_wants_windows)
        return;
    show_windows_below(plan->planTree);
    ListCell *cell;
    foreach (cell, plan->subplans)
        if (lfirst(cell) != nullptr)
            show_windows_below(static_cast<Plan *>(lfirst(cell)));
}

// Can no part of any statement run on a device, or none of this one? Where the user has not switched devices off, he is told why.
static bool is_refused(Query *query) {
    const char *reason = nullptr, *change = nullptr;
    if (snapshots_can_be_too_old()) {
        reason = "old_snapshot_threshold is set";
        change = "ALTER SYSTEM SET old_snapshot_threshold = -1; then restart the server";
    } else if (supervisor_is_missing()) {
        reason = "all max_worker_processes were taken when the server started, so nobody starts the device process";
        change = "ALTER SYSTEM SET max_worker_processes = NUMBER; then restart the server";
    } else if (looks_at_stored_form(query)) {
        reason = "the statement calls a function that looks at how values are stored";
    }
    if (reason != nullptr)
        refuse_statement(reason, change);
    return reason != nullptr;
}

static bool reads_users_table(const PlannedStmt *plan) {
    ListCell *cell;
    foreach (cell, plan->rtable) {
        const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
        if (rte->rtekind == RTE_RELATION && rte->relid >= FirstNormalObjectId)
            return true;
    }
    return false;
}

// The general reasons count where there is no special one, and no part runs on a device.
static void tell_reasons(const PlanAlternative *best, bool any) {
    any |= refusals_release(&best->refusals);
    if (any || best->device_nodes > 0)
        return;
    if (guc_offload == OFFLOAD_AUTO && told_to == nullptr && best->plan->planTree->total_cost < min_worth())
        refuse_statement("PostgreSQL takes less time for it than a device needs to begin", nullptr);
    else if (guc_offload == OFFLOAD_AUTO && reads_users_table(best->plan))
        refuse_statement("PostgreSQL's plan is estimated to take less time than one with a device", nullptr);
    else
        refuse_statement("no table that a device could read", nullptr);
}

// Of prepared statements and those of functions, whose plans are for given values of their parameters or for any.
static void watch_generic_plans(const PlannerCall *call, const PlanAlternative *best) {
    const bool any_values = call->params == nullptr, on_device = best->device_nodes > 0;
    if (planning != nullptr || call->query_string == nullptr || any_values == on_device ||
        (any_values && !knows_custom_plans()))
        return;
    const PlannedStmt *plan = best->plan;
    const uint64 statement = statement_hash(statement_text(call->query_string, plan->stmt_location, plan->stmt_len));
    if (on_device)
        note_custom_plan(statement);
    else
        price_generic_plan(statement, best->plan, best->ns);
}

// As written, and as the rewritings that are worth it write it; the best plan. `lasts`: a device takes part.
static PlannedStmt *plan_alternatives(Query *parse, const PlannerCall *call, bool enabled, bool *lasts) {
    const unsigned wanted = enabled ? wanted_rewritings(parse) : 0;
    const AdmissionNotes notes = begin_admission(planning == nullptr);
    if (planning == nullptr)
        forget_levels();
    if (planning == nullptr && told_to == nullptr)
        forget_evaluation_times();
    // Planning scribbles on its query.
    const Query *query = wanted != 0 ? static_cast<const Query *>(copyObject(parse)) : nullptr;
    PlanAlternative best{};
    plan_one(parse, call, enabled, &best);
    const bool told = query != nullptr && improve_plan(query, call, wanted, &best);
    if (enabled && refusals_wanted())
        tell_reasons(&best, told);
    if (told_to != nullptr)
        *told_to = best.told;
    if (best.device_nodes > 0) {
        forget_renumbered_children(best.plan);
        show_windows(best.plan);
    }
    if (call->scrolls && !(best.backward && best.device_nodes > 0))
        forget_material(best.plan);
    watch_generic_plans(call, &best);
    decide_admission(notes, best.rewritten, best.plan, device_units(best.ns));
    *lasts = best.device_nodes > 0;
    return best.plan;
}

// `lasts`: as above, and the plan may be executed under other snapshots than this one. `to_cache`: NULL, or who notes what planning finds.
static PlannedStmt *plan_anew(Query *parse, PlannerCall *call, bool enabled, PlanToCache *to_cache, bool *lasts) {
    allow_rows_of_cursor(call);
    PlannedStmt *volatile plan = nullptr;
    volatile bool is_transient = false;
    const bool outer =
        exchange_transience(false); // (of a statement whose planning calls a function that plans, and may catch errors)
    PlanningInputs *const outer_inputs = note_planning_inputs(inputs_of(to_cache));
    PG_TRY();
    { plan = plan_alternatives(parse, call, enabled, lasts); }
    PG_FINALLY();
    {
        is_transient = exchange_transience(outer);
        note_planning_inputs(outer_inputs);
    }
    PG_END_TRY();
    plan->transientPlan |= is_transient;
    *lasts &= !plan->transientPlan;
    return plan;
}

// (Values that have to be fetched are variables of PL/pgSQL, which seldom are what they were.)
static bool may_be_cached(const Query *query, const PlannerCall *call) {
    return planning == nullptr && told_to == nullptr && !refusals_wanted() &&
           (call->params == nullptr || call->params->paramFetch == nullptr) && call->query_string != nullptr &&
           !is_cursor(call->options) && query->commandType == CMD_SELECT;
}

static PlannedStmt *plan_call(Query *parse, PlannerCall *call) {
    const bool enabled = guc_offload != OFFLOAD_OFF && guc_device != DEVICE_NONE && service_available() &&
                         !(guc_offload == OFFLOAD_AUTO && device_has_failed()) && !is_refused(parse);
    if (!enabled && planning == nullptr && told_to == nullptr && !refusals_wanted())
        return plan_as_usual(parse, call);
    bool lasts = false;
    if (!enabled || !may_be_cached(parse, call))
        return plan_anew(parse, call, enabled, nullptr, &lasts);
    const SentStatement sent = sent_statement(parse, call->query_string, call->params, call->options);
    if (PlannedStmt *cached = cached_plan(&sent))
        return cached;
    PlanToCache *to_cache = begin_plan_to_cache(&sent);
    PlannedStmt *plan = plan_anew(parse, call, enabled, to_cache, &lasts);
    if (lasts)
        cache_plan(to_cache, &sent, plan);
    return plan;
}

PlannedStmt *plan_statement(Query *parse, const char *query_string, int options, ParamListInfo params) {
    PlannerCall call{query_string, options, params, is_cursor(options), false};
    if (!refusals_wanted())
        return plan_call(parse, &call);
    PlannedStmt *volatile plan = nullptr;
    const RefusalListener outer = refusals_begin_statement();
    PG_TRY();
    { plan = plan_call(parse, &call); }
    PG_FINALLY();
    { refusals_end_statement(outer); }
    PG_END_TRY();
    return plan;
}

PlannedTime *tell_planned_time(PlannedTime *to) { return std::exchange(told_to, to); }

void statement_init(planner_hook_type previous) { previous_planner = previous; }

} // namespace gpuscan
