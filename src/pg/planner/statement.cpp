// A statement is planned as it is written, and then in other ways, each on top of those that have paid:
//
//   rewritten    subqueries as joins, set operations as joins or aggregations (decorrelate.cpp, set_operations.cpp, set_joins.cpp)
//   supposing    that columns which a subquery would have to bring are brought anyway by the levels around it (hooks.cpp)
//   workers      as many of them as the limit allows, with and without what was supposed
//
// Which one wins is a matter of time, not of costs (cost/plan_time.cpp). A second planning costs as much as the first, so each way
// has to be worth it before it is tried: the cheapest statements are planned once, with a look at their range table.
//
// State: one PlannerState per attempt, on a stack because planning can nest (a function that is folded to a constant may run
// queries).
#include "pg/pg.h"

#include "pg/planner/statement.h"

#include <algorithm>
#include <utility>

#include "pg/catalog/declared_for_snapshot.h"
#include "pg/catalog/stored_form.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/investment.h"
#include "pg/cost/level_time.h"
#include "pg/cost/row_corrections.h"
#include "pg/fragment/path.h"
#include "pg/guc.h"
#include "pg/planner/hooks.h"
#include "pg/planner/planner_state.h"
#include "pg/refusal.h"
#include "pg/refusal_state.h"
#include "pg/rewrite/decorrelate.h"
#include "pg/rewrite/set_joins.h"
#include "pg/rewrite/set_operations.h"
#include "pg/settings.h"

namespace gpuscan {

PlannerState *planning = nullptr;

static planner_hook_type previous_planner = nullptr;
static PlannedTime *told_to = nullptr; // that somebody wants to be filled

struct PlannerCall {
    const char *query_string;
    int options;
    ParamListInfo params;
};

// Ways to write a query otherwise, in the order in which they are tried.
struct Rewriting {
    bool (*wanted)(const Query *);
    bool (*rewrite)(Query *); // in place; false: nothing was changed
};

// Another order of float additions is not wanted by everybody.
static bool wants_joins(const Query *query) {
    return guc_decorrelate && !guc_exact_float && may_have_subqueries(query);
}

static const Rewriting rewritings[] = {{wants_joins, decorrelate},
                                       {may_have_set_operations, spread_set_operations},
                                       {may_have_set_operations, join_set_operations}};

struct PlanAttempt {
    unsigned rewritten; // by which of the rewritings; and `with_workers`, `with_suppositions`
    PlannedStmt *plan;
    double ns;     // that the plan takes, as far as it is known: else 0
    int relations; // that were planned, joins among them
    bool may_suppose;
    int device_nodes;
    RefusalState refusals;
    PlannedTime told; // if somebody wants to know
};
constexpr unsigned with_workers = 1u << lengthof(rewritings), with_suppositions = with_workers << 1;

// The shortest statements' plans take a few dozen microseconds, and each function that is asked is missed by the caches.
static bool reads_one_table(const Query *query) {
    return list_length(query->rtable) == 1 && !query->hasSubLinks && query->cteList == NIL &&
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

// How many workers a scan gets PostgreSQL takes from the table's size (one at 8 MB, two at 24, three at 72), and whether they pay from
// parallel_tuple_cost, by which a row of theirs is ten scanned ones. From here on any table gets them, and a row costs what it takes.
static void set_workers_that_pay() {
    set_for_now("min_parallel_table_scan_size", "0");
    set_for_now("min_parallel_index_scan_size", "0");
    set_for_now("parallel_tuple_cost", std::min(parallel_tuple_cost, device_gathered_row_cost()));
}

// Plans the query, rewritten as `result` says, with planner state and refusals of its own. False: there is nothing to
// rewrite.
static bool run_planner(Query *parse, const PlannerCall *call, PlannerState *state, PlanAttempt *result) {
    PlannerState *outer = planning;
    RefusalState *outer_refusals = refusals_begin(&result->refusals);
    LevelCorrections *outer_corrections = row_corrections_begin();
    const int nodes = planned_nodes;
    planning = state;
    const bool hooked = hook_pairs(true), more = (result->rewritten & with_workers) != 0;
    const OuterAttempt outer_attempt = begin_attempt(result->rewritten);
    PlannedTime *outer_told = tell_planned_time(nullptr);
    const Cost tuple_cost = more ? device_session_tuple_cost(parallel_tuple_cost) : 0;
    const bool again = result->rewritten != 0;
    const int settings = again ? NewGUCNestLevel() : 0;
    PG_TRY();
    {
        if (again) // what the planner evaluates has sent its messages (NOTICE, WARNING) the first time
            send_errors_only_for_now();
        if (more)
            set_workers_that_pay();
        if (rewrite(parse, result->rewritten))
            result->plan = plan_as_usual(parse, call);
        else
            refusals_tell(nullptr);
    }
    PG_FINALLY();
    {
        planning = outer;
        if (more)
            device_session_tuple_cost(tuple_cost);
        tell_planned_time(outer_told);
        end_attempt(outer_attempt, result->plan != nullptr);
        hook_pairs(hooked);
        row_corrections_end(outer_corrections);
        refusals_end(outer_refusals);
    }
    PG_END_TRY();
    if (again)
        AtEOXact_GUC(false, settings);
    result->device_nodes = planned_nodes - nodes;
    return result->plan != nullptr;
}

// PostgreSQL plans no parallel scans for cursors, and this is how they are known.
static bool is_cursor(const PlannerCall *call) { return (call->options & CURSOR_OPT_PARALLEL_OK) == 0; }

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
        return plan->lefttree != nullptr && ends_in_scan(plan->lefttree);
    case T_SubqueryScan:
        return ends_in_scan(reinterpret_cast<const SubqueryScan *>(plan)->subplan);
    default:
        return false;
    }
}

// Looking for what a device could do takes tens of microseconds; a plan that takes less than this is left alone, even where a device needs
// less to begin.
constexpr double least_worth_ns = 550e3;

static Cost least_worth() { return std::max(device_setup_cost(1, 0), device_units(least_worth_ns)); }

static bool attempt(Query *parse, const PlannerCall *call, bool enabled, bool held, PlanAttempt *result) {
    PlannerState state{};
    device_costs_begin();
    state.context = CurrentMemoryContext;
    state.enabled = enabled;
    state.cursor = is_cursor(call);
    state.by_cost = guc_offload == OFFLOAD_AUTO && !refusals_wanted() && told_to == nullptr;
    state.start = least_worth();
    state.told = told_to;
    state.rewritten = (result->rewritten & (with_workers - 1)) != 0;
    state.supposes = (result->rewritten & with_suppositions) != 0;
    result->refusals.held = held;
    const bool planned = run_planner(parse, call, &state, result);
    if (planned)
        result->ns = state.ns > 0 ? state.ns : device_ns(result->plan->planTree->total_cost);
    result->relations = state.relations;
    result->may_suppose = state.may_suppose;
    if (told_to != nullptr)
        result->told = *told_to;
    return planned;
}

// Once more, in one more way than `best`. False: there is nothing to rewrite.
static bool attempt_also(const Query *query, const PlannerCall *call, const PlanAttempt *best, unsigned way,
                         PlanAttempt *next) {
    next->rewritten = best->rewritten | way;
    return attempt(static_cast<Query *>(copyObject(const_cast<Query *>(query))), call, true, true, next);
}

// Without a device the rewritten query is PostgreSQL's to plan like any other, so its costs decide as well; but how many groups there
// will be is guessed more roughly than how many rows, and nobody has asked for another plan of PostgreSQL's, so it must pay clearly.
constexpr double clear_gain = 0.5;

static bool is_better(const PlanAttempt *rewritten, const PlanAttempt *best) {
    if (rewritten->device_nodes == 0)
        return guc_offload == OFFLOAD_AUTO && rewritten->ns < best->ns * clear_gain;
    return guc_offload == OFFLOAD_FORCE || rewritten->ns < best->ns;
}

// What planning it once more takes. (By number, since with a clock the plan would depend on how busy the machine is. 15 to 75 us were
// measured, the most for tables with indexes and statistics, the least for joins.)
constexpr double relation_planned_ns = 50e3;

static double planning_ns(const PlanAttempt *plan) { return plan->relations * relation_planned_ns; }

// The best plan of the query as it was written (`best`) and as these rewritings write it, each of them tried on top of those that
// have paid. A plan that costs less than a device needs to begin stays, and one that takes no longer than its planning.
static void improve_plan(const Query *query, const PlannerCall *call, unsigned wanted, PlanAttempt *best) {
    const Cost start = least_worth();
    for (unsigned i = 0; i < lengthof(rewritings); ++i) {
        const Plan *plan = best->plan->planTree;
        if (!(wanted >> i & 1) ||
            (guc_offload == OFFLOAD_AUTO &&
             (plan->total_cost < start || best->ns < std::max(device_ns(start), planning_ns(best)))) ||
            (is_cursor(call) && ends_in_scan(plan)))
            continue;
        PlanAttempt next{};
        if (!attempt_also(query, call, best, 1u << i, &next))
            refusals_release(&next.refusals);
        else if (is_better(&next, best))
            *best = next;
    }
}

// Where planning is short beside the plan, it may be done once more.
constexpr double least_again_ns = 20e6;
constexpr double again_by_planning = 5;

static bool is_worth_planning_again(const PlanAttempt *plan) {
    return plan->ns >= std::max(least_again_ns, again_by_planning * planning_ns(plan));
}

// Could it have a level that is planned before another one?
static bool has_levels(const Query *query) {
    if (query->hasSubLinks || query->cteList != NIL)
        return true;
    ListCell *cell;
    foreach (cell, query->rtable)
        if (lfirst_node(RangeTblEntry, cell)->rtekind == RTE_SUBQUERY)
            return true;
    return false;
}

static bool may_suppose(const Query *query) { return guc_offload == OFFLOAD_AUTO && has_levels(query); }

static void try_suppositions(const Query *query, const PlannerCall *call, PlanAttempt *best) {
    if (!best->may_suppose || !is_worth_planning_again(best))
        return;
    PlanAttempt next{};
    if (attempt_also(query, call, best, with_suppositions, &next) && is_better(&next, best))
        *best = next;
}

// Where someone has raised the limit of workers, a plan that takes long is made once more with as many as that allows, whatever the sizes,
// and with rows of theirs that cost what they take. More processes take more of the machine, so it must pay.
constexpr int usual_workers = 2;
constexpr double worth_workers = 2 / 3.0;

static bool may_have_workers(const Query *query, const PlannerCall *call) {
    return guc_more_workers && guc_offload == OFFLOAD_AUTO && !guc_exact_float && !is_cursor(call) &&
           max_parallel_workers_per_gather > usual_workers && query->commandType == CMD_SELECT;
}

// On top of `base`; with fewer workers the statement takes as long as `fewer`.
static void try_more_workers(const Query *query, const PlannerCall *call, const PlanAttempt *base, double fewer,
                             PlanAttempt *best) {
    PlanAttempt next{};
    if (attempt_also(query, call, base, with_workers, &next) && next.ns < fewer * worth_workers && next.ns < best->ns)
        *best = next;
}

// The levels that a supposition takes to a device are those that more workers might have paid for.
static void try_again(const Query *query, const PlannerCall *call, bool suppositions, bool workers, PlanAttempt *best) {
    const PlanAttempt first = *best;
    if (suppositions)
        try_suppositions(query, call, best);
    if (!workers || !is_worth_planning_again(best))
        return;
    const PlanAttempt fewer = *best;
    try_more_workers(query, call, &fewer, fewer.ns, best);
    if (fewer.rewritten != first.rewritten)
        try_more_workers(query, call, &first, fewer.ns, best);
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

static bool must_see_stored_form(Query *query) {
    if (!looks_at_stored_form(query))
        return false;
    RefusalState state{};
    RefusalState *outer = refusals_begin(&state);
    refuse("the statement calls a function that looks at how values are stored");
    refusals_tell(nullptr);
    refusals_end(outer);
    return true;
}

// In all ways that are worth it; the best plan.
static PlannedStmt *plan_in_ways(Query *parse, const PlannerCall *call, bool enabled) {
    const unsigned wanted = enabled ? wanted_rewritings(parse) : 0;
    const bool suppositions = enabled && may_suppose(parse), workers = enabled && may_have_workers(parse, call);
    const int offers = begin_offers(planning == nullptr);
    if (planning == nullptr)
        forget_levels();
    // Planning scribbles on its query.
    const Query *query =
        wanted != 0 || suppositions || workers ? static_cast<const Query *>(copyObject(parse)) : nullptr;
    PlanAttempt best{};
    attempt(parse, call, enabled, query != nullptr, &best);
    if (wanted != 0)
        improve_plan(query, call, wanted, &best);
    try_again(query, call, suppositions, workers, &best);
    if (query != nullptr)
        refusals_release(&best.refusals);
    if (told_to != nullptr)
        *told_to = best.told;
    if (best.device_nodes > 0)
        forget_renumbered_children(best.plan);
    settle_offers(offers, best.rewritten, best.device_nodes > 0, device_units(best.ns));
    return best.plan;
}

PlannedStmt *plan_statement(Query *parse, const char *query_string, int options, ParamListInfo params) {
    const PlannerCall call{query_string, options, params};
    const bool enabled = guc_offload != OFFLOAD_OFF && guc_device != DEVICE_NONE && service_available() &&
                         !(guc_offload == OFFLOAD_AUTO && device_has_failed()) && !must_see_stored_form(parse);
    if (!enabled && planning == nullptr && told_to == nullptr)
        return plan_as_usual(parse, &call);
    PlannedStmt *volatile plan = nullptr;
    volatile bool is_transient = false;
    const bool outer =
        exchange_transience(false); // (of a statement whose planning calls a function that plans, and may catch errors)
    PG_TRY();
    { plan = plan_in_ways(parse, &call, enabled); }
    PG_FINALLY();
    { is_transient = exchange_transience(outer); }
    PG_END_TRY();
    plan->transientPlan |= is_transient;
    return plan;
}

PlannedTime *tell_planned_time(PlannedTime *to) { return std::exchange(told_to, to); }

void statement_init(planner_hook_type previous) { previous_planner = previous; }

} // namespace gpuscan
