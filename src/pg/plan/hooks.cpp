// The planner's hooks. Each asks the previous hook first, leaves at once where gpuscan has nothing to do, and hands over
// to fragments.cpp (base and join relations) and path.cpp (aggregation).
//
// State: one PlannerState per call of the planner, on a stack because planning can nest (a function that is folded to a
// constant may run queries), and in it one CandidateTable per PlannerInfo, that is, per query level.
#include "pg/pg.h"

#include "pg/plan/hooks.h"

#include "pg/cost/device_cost.h"
#include "pg/guc.h"
#include "pg/plan/fragments.h"
#include "pg/plan/path.h"
#include "pg/plan/refusal.h"
#include "pg/plan/refusal_state.h"

namespace gpuscan {

struct LevelState {
    const PlannerInfo *root;
    CandidateTable *candidates; // NULL: this level is none of our business
};

struct PlannerState {
    List *levels; // of LevelState *
    MemoryContext context;
};

static PlannerState *current = nullptr;

static planner_hook_type previous_planner_hook = nullptr;
static set_rel_pathlist_hook_type previous_rel_hook = nullptr;
static set_join_pathlist_hook_type previous_join_hook = nullptr;
static create_upper_paths_hook_type previous_upper_hook = nullptr;

static bool enabled() {
    return current != nullptr && guc_offload != OFFLOAD_OFF && guc_device != DEVICE_NONE && service_available();
}

// ---- levels ----

static bool level_is_ours(const PlannerInfo *root) {
    const Query *query = root->parse;
    if (query->commandType != CMD_SELECT || (!query->hasAggs && query->groupClause == NIL))
        return false;
    if (query->groupingSets != NIL)
        return refuse("GROUPING SETS, ROLLUP or CUBE");
    if (query->rowMarks != NIL || root->rowMarks != NIL)
        return refuse("row locks (FOR UPDATE and the like)");
    return true;
}

static CandidateTable *candidates_of(PlannerInfo *root) {
    refusals_level(root);
    ListCell *cell;
    foreach (cell, current->levels) {
        const LevelState *level = static_cast<const LevelState *>(lfirst(cell));
        if (level->root == root)
            return level->candidates;
    }
    MemoryContext before = MemoryContextSwitchTo(current->context);
    LevelState *level = static_cast<LevelState *>(palloc0(sizeof(LevelState)));
    level->root = root;
    level->candidates = level_is_ours(root) ? candidates_create(root) : nullptr;
    current->levels = lcons(level, current->levels);
    MemoryContextSwitchTo(before);
    return level->candidates;
}

// Does PostgreSQL's own plan cost less than a device needs to start? Then nothing else has to be looked at, unless
// somebody wants to know what would have been refused.
static bool not_worth_a_look(const RelOptInfo *output) {
    if (guc_offload != OFFLOAD_AUTO || refusals_wanted())
        return false;
    Cost start = device_setup_cost(1, 0);
    ListCell *cell;
    foreach (cell, output->pathlist) {
        const Path *path = static_cast<const Path *>(lfirst(cell));
        if (path->total_cost < start && !path_is_disabled(path))
            return true;
    }
    return false;
}

// ---- the hooks, which PostgreSQL calls by pointer ----

extern "C" {

static PlannedStmt *gpuscan_planner(Query *parse, const char *query_string, int options, ParamListInfo params) {
    PlannerState state{NIL, CurrentMemoryContext};
    RefusalState refusals{};
    PlannerState *outer = current;
    RefusalState *outer_refusals = refusals_begin(&refusals);
    PlannedStmt *volatile result = nullptr;
    current = &state;
    PG_TRY();
    {
        result = previous_planner_hook != nullptr ? previous_planner_hook(parse, query_string, options, params)
                                                  : standard_planner(parse, query_string, options, params);
    }
    PG_FINALLY();
    {
        current = outer;
        refusals_end(outer_refusals);
    }
    PG_END_TRY();
    return result;
}

static void gpuscan_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
    if (previous_rel_hook != nullptr)
        previous_rel_hook(root, rel, rti, rte);
    if (rel->reloptkind != RELOPT_BASEREL || !enabled())
        return;
    CandidateTable *candidates = candidates_of(root);
    if (candidates != nullptr)
        note_base_relation(candidates, rel);
}

static void gpuscan_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                                  JoinType type, JoinPathExtraData *extra) {
    if (previous_join_hook != nullptr)
        previous_join_hook(root, joinrel, outer, inner, type, extra);
    if (joinrel->reloptkind != RELOPT_JOINREL || !enabled())
        return;
    CandidateTable *candidates = candidates_of(root);
    if (candidates != nullptr)
        note_join(candidates, joinrel, outer, inner, type, extra);
}

static void gpuscan_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
                                void *extra) {
    if (previous_upper_hook != nullptr)
        previous_upper_hook(root, stage, input, output, extra);
    if (stage != UPPERREL_GROUP_AGG || output->reloptkind != RELOPT_UPPER_REL || !enabled() || not_worth_a_look(output))
        return;
    CandidateTable *candidates = candidates_of(root);
    const Candidate *candidate = candidates != nullptr ? candidates_find(candidates, input->relids) : nullptr;
    if (candidate != nullptr &&
        add_aggregate_path(root, candidate, input, output, static_cast<const GroupPathExtraData *>(extra)))
        refusals_forget();
    else
        refusals_tell("no table that a device could read");
}

} // extern "C"

void planner_init() {
    previous_planner_hook = planner_hook;
    planner_hook = gpuscan_planner;
    previous_rel_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = gpuscan_rel_pathlist;
    previous_join_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = gpuscan_join_pathlist;
    previous_upper_hook = create_upper_paths_hook;
    create_upper_paths_hook = gpuscan_upper_paths;
}

} // namespace gpuscan
