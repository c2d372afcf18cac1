// The planner's hooks. Each asks the previous hook first, leaves at once where gpuscan has nothing to do, and hands over to
// statement.cpp (the whole), candidates.cpp (base and join relations), path.cpp (aggregation), windows_path.cpp (window functions over
// rows) and rows_path.cpp (everything below something else).
//
// State: one PlannerState per attempt to plan a statement (statement.cpp), and in it one CandidateTable per PlannerInfo, that is,
// per query level.
//
// A level whose aggregation, or all of whose windows over rows, a device can do gets that path only; rows are for the others. They are offered for the
// relation that all scans and joins of the level end in (after the join search, when PostgreSQL's own paths are known),
// and, where outer or semi joins stand between the base relations and that one (a device may not be able to do them), for
// each base relation. Levels without an aggregation are most of what a busy server plans, so a relation that PostgreSQL reads in
// less time than a device needs to begin costs no more than a look at its paths.
//
// A join of ten tables is thousands of pairs, and a hook that only returns still costs the planner three per cent: its own code
// has to leave the processor's instruction cache for it. So where the base relations cost so little that nobody will ask for their
// joins, PostgreSQL searches without the hook. If somebody does ask (the joins yield far more rows than the relations have), the
// search is repeated for the notes, and the relations that it makes are thrown away, as GEQO does it after every tour.
//
// PostgreSQL makes the topmost relation's paths anew if it is partitioned, from those of the partitions, so that the final
// target list is computed below the Append (apply_scanjoin_target_to_paths). Rows of a device would be lost there. So where
// they are the cheapest path, the relation passes for one without partitions just until that function is through.
#include "pg/pg.h"

#include "pg/planner/hooks.h"

#include <algorithm>

#include "pg/catalog/unique_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/planning_inputs.h"
#include "pg/fragment/path.h"
#include "pg/fragment/rows_path.h"
#include "pg/fragment/windows_path.h"
#include "pg/guc.h"
#include "pg/page_costs/page_cost_model.h"
#include "pg/plan_time/level_time.h"
#include "pg/plan_time/plan_time.h"
#include "pg/planner/planner_state.h"
#include "pg/refusal.h"
#include "pg/refusal_state.h"

namespace gpuscan {

// A call of standard_join_search.
struct JoinSearch {
    int levels_needed;
    List *initial_rels;
    int known; // join relations that were there before
};

static set_rel_pathlist_hook_type previous_rel_hook = nullptr;
static set_join_pathlist_hook_type previous_join_hook = nullptr;
static join_search_hook_type previous_search_hook = nullptr;
static create_upper_paths_hook_type previous_upper_hook = nullptr;

static bool enabled() { return planning != nullptr && planning->enabled; }

// ---- levels ----

// Could a device do the level's aggregation, as far as the query tells?
static bool aggregates(const PlannerInfo *root) {
    const Query *query = root->parse;
    return query->commandType == CMD_SELECT &&
           (query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL || removes_duplicates(query));
}

static bool is_query(const PlannerInfo *root) {
    return root->parse->commandType == CMD_SELECT || root->parse->commandType == CMD_INSERT;
}

static const char *name_of_write(CmdType type) {
    return type == CMD_UPDATE ? "UPDATE" : type == CMD_DELETE ? "DELETE" : "MERGE";
}

// Is a part of the level planned as a level of its own?
static bool has_levels_below(const PlannerInfo *root) {
    if (root->glob->subplans != NIL)
        return true;
    for (int i = 1; i < root->simple_rel_array_size; ++i)
        if (root->simple_rel_array[i] != nullptr && root->simple_rte_array[i]->rtekind == RTE_SUBQUERY)
            return true;
    return false;
}

// UPDATE, DELETE and row locks need to know where a row came from.
static bool level_is_ours(const PlannerInfo *root) {
    const Query *query = root->parse;
    if (!is_query(root))
        return refuse("rows that %s changes%s", name_of_write(query->commandType),
                      has_levels_below(root) ? "; its subqueries can run on a device" : "");
    if (query->rowMarks != NIL || root->rowMarks != NIL)
        return refuse("row locks (FOR UPDATE and the like)");
    return true;
}

// PostgreSQL asks whether an index has the smallest or largest value of a column (planagg.c): rows are no answer to that.
static bool asks_for_extremum(const PlannerInfo *root) {
    const Query *query = root->parse;
    if (query->limitCount == nullptr || list_length(query->targetList) != 1 || list_length(query->sortClause) != 1)
        return false;
    const char *name = static_cast<const TargetEntry *>(linitial(query->targetList))->resname;
    return name != nullptr && strcmp(name, "agg_target") == 0;
}

static LevelState *find_level(const PlannerInfo *root) {
    if (planning->first.root == root)
        return &planning->first;
    ListCell *cell;
    foreach (cell, planning->levels) {
        LevelState *level = static_cast<LevelState *>(lfirst(cell));
        if (level->root == root)
            return level;
    }
    return nullptr;
}

static LevelState *new_level(const PlannerInfo *root) {
    LevelState *level = &planning->first;
    if (level->root != nullptr) {
        MemoryContext before = MemoryContextSwitchTo(planning->context);
        level = static_cast<LevelState *>(palloc0(sizeof(LevelState)));
        planning->levels = lcons(level, planning->levels);
        MemoryContextSwitchTo(before);
    }
    level->root = root;
    level->aggregates = aggregates(root);
    level->extremum = asks_for_extremum(root);
    return level;
}

static inline LevelState *level_of(const PlannerInfo *root) {
    if (planning->last == nullptr || planning->last->root != root) {
        LevelState *level = find_level(root);
        planning->last = level != nullptr ? level : new_level(root);
    }
    return planning->last;
}

static CandidateTable *candidates_of(PlannerInfo *root) {
    refusals_level(root);
    LevelState *level = level_of(root);
    if (!level->looked) {
        level->looked = true;
        MemoryContext before = MemoryContextSwitchTo(planning->context);
        level->candidates = level_is_ours(root) ? candidates_create(root) : nullptr;
        MemoryContextSwitchTo(before);
    }
    return level->candidates;
}

static Relids newer_keys_of(PlannerInfo *root) {
    LevelState *level = level_of(root);
    if (!level->knows_keys) {
        level->knows_keys = true;
        MemoryContext before = MemoryContextSwitchTo(planning->context);
        level->newer_keys = relations_with_newer_keys(root);
        MemoryContextSwitchTo(before);
    }
    return level->newer_keys;
}

// Does PostgreSQL's own plan cost less than a device needs to start? Then nothing else has to be looked at, unless
// somebody wants to know what would have been refused.
static bool not_worth_a_look(const RelOptInfo *rel) {
    if (!planning->by_cost)
        return false;
    ListCell *cell;
    foreach (cell, rel->pathlist) {
        const Path *path = static_cast<const Path *>(lfirst(cell));
        if (path->total_cost < planning->start && path->param_info == nullptr && !path_is_disabled(path))
            return true;
    }
    return false;
}

// Is the relation worth a thought?
static bool is_wanted(const PlannerInfo *root, const RelOptInfo *rel) {
    if (!enabled())
        return false;
    const LevelState *level = level_of(root);
    return !level->extremum && (level->aggregates || !not_worth_a_look(rel));
}

// A join that costs next to nothing may be what a table is built from that a large relation's rows probe.
static bool has_worthy_relation(const PlannerInfo *root, LevelState *level) {
    if (level->weighed)
        return level->has_worthy;
    level->weighed = true;
    for (int i = 1; i < root->simple_rel_array_size && !level->has_worthy; ++i) {
        const RelOptInfo *rel = root->simple_rel_array[i];
        level->has_worthy = rel != nullptr && rel->reloptkind == RELOPT_BASEREL && !not_worth_a_look(rel);
    }
    return level->has_worthy;
}

// Where the join is to be noted; NULL: nowhere. (For a join of ten tables this is asked thousands of times.)
static CandidateTable *notes_of(PlannerInfo *root, const RelOptInfo *joined) {
    LevelState *level = level_of(root);
    if (!has_worthy_relation(root, level) && (level->extremum || (!level->aggregates && not_worth_a_look(joined))))
        return nullptr;
    return level->looked ? level->candidates : candidates_of(root);
}

// ---- searches without notes ----

extern "C" {
static void gpuscan_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                                  JoinType type, JoinPathExtraData *extra);
}

static bool pairs_are_hooked = false;

// (Whoever has come while our hook was away is asked by it from then on; where somebody else's hook asks ours, it stays.)
bool hook_pairs(bool wanted) {
    const bool before = pairs_are_hooked;
    if (wanted && !before) {
        previous_join_hook = set_join_pathlist_hook;
        set_join_pathlist_hook = gpuscan_join_pathlist;
        pairs_are_hooked = true;
    } else if (!wanted && before && set_join_pathlist_hook == gpuscan_join_pathlist) {
        set_join_pathlist_hook = previous_join_hook;
        pairs_are_hooked = false;
    }
    return before;
}

// Is a device plan for joins of these so unlikely that notes are taken when somebody asks? The search that would be repeated must
// be PostgreSQL's own, and foreign servers are asked once.
static bool is_cheap_search(const PlannerInfo *root, int levels_needed) {
    if (!planning->by_cost || previous_search_hook != nullptr || (enable_geqo && levels_needed >= geqo_threshold))
        return false;
    Cost sum = 0;
    for (int i = 1; i < root->simple_rel_array_size; ++i) {
        const RelOptInfo *rel = root->simple_rel_array[i];
        if (rel == nullptr || rel->reloptkind != RELOPT_BASEREL)
            continue;
        const Path *path = rel->cheapest_total_path;
        if (path == nullptr || path->param_info != nullptr || path_is_disabled(path) || rel->fdwroutine != nullptr)
            return false;
        sum += path->total_cost;
    }
    return sum < planning->start / 2;
}

static void remember_search(PlannerInfo *root, int levels_needed, List *initial_rels) {
    MemoryContext before = MemoryContextSwitchTo(planning->context);
    JoinSearch *search = static_cast<JoinSearch *>(palloc(sizeof(JoinSearch)));
    *search = {levels_needed, initial_rels, list_length(root->join_rel_list)};
    LevelState *level = level_of(root);
    level->unnoted = lappend(level->unnoted, search);
    MemoryContextSwitchTo(before);
}

static RelOptInfo *search_without_notes(PlannerInfo *root, int levels_needed, List *initial_rels) {
    const bool before = hook_pairs(false);
    if (!pairs_are_hooked)
        remember_search(root, levels_needed, initial_rels);
    RelOptInfo *rel = standard_join_search(root, levels_needed, initial_rels);
    hook_pairs(before);
    return rel;
}

// (Of the relations only the last try's are left.)
static RelOptInfo *search_genetically(PlannerInfo *root, int levels_needed, List *initial_rels) {
    constexpr int tries = 500; // two for each of the pool that a search of this size has, by geqo_effort's default
    if (planning != nullptr)
        planning->relations += tries * levels_needed;
    return geqo(root, levels_needed, initial_rels);
}

static void take_notes(PlannerInfo *root, const JoinSearch *search) {
    List *relations = root->join_rel_list;
    HTAB *hash = root->join_rel_hash;
    root->join_rel_list = list_truncate(list_copy(relations), search->known);
    root->join_rel_hash = nullptr;
    const bool before = hook_pairs(true);
    standard_join_search(root, search->levels_needed, search->initial_rels);
    hook_pairs(before);
    root->join_rel_list = relations;
    root->join_rel_hash = hash;
}

// Of what the device could do with the relations.
static const Candidate *candidate_of(PlannerInfo *root, CandidateTable *candidates, Relids relids) {
    LevelState *level = level_of(root);
    List *searches = level->unnoted;
    if (searches != NIL && bms_membership(relids) == BMS_MULTIPLE) {
        level->unnoted = NIL;
        ListCell *cell;
        foreach (cell, searches)
            take_notes(root, static_cast<const JoinSearch *>(lfirst(cell)));
    }
    return candidates_find(candidates, relids);
}

static bool device_is_cheapest(const RelOptInfo *rel) {
    Path *best = nullptr;
    ListCell *cell;
    foreach (cell, rel->pathlist) {
        Path *path = static_cast<Path *>(lfirst(cell));
        if (best == nullptr || compare_path_costs(path, best, TOTAL_COST) < 0)
            best = path;
    }
    return best != nullptr && is_gpuscan_path(best);
}

// ---- rows ----

static void disguise_partitions(const PlannerInfo *root, RelOptInfo *rel) {
    LevelState *level = find_level(root);
    if (level == nullptr || level->disguised != nullptr)
        return;
    level->disguised = rel;
    level->partitions = rel->nparts;
    rel->nparts = 0;
}

static void show_partitions(const PlannerInfo *root) {
    LevelState *level = find_level(root);
    if (level == nullptr || level->disguised == nullptr)
        return;
    level->disguised->nparts = level->partitions;
    level->disguised = nullptr;
}

// Does an index give the rows of the table in the order of ORDER BY?
static bool may_need_no_sort(const PlannerInfo *root, const RelOptInfo *rel) {
    ListCell *cell;
    foreach (cell, rel->pathlist)
        if (pathkeys_contained_in(root->query_pathkeys, static_cast<const Path *>(lfirst(cell))->pathkeys))
            return true;
    return false;
}

// Is it what the SQL standard calls simply updatable, or the same in an index's order? PostgreSQL looks for a scan of the table at the top
// of the plan then, and of a cursor's rows nobody says beforehand whether they will be updated.
static bool is_updatable(const PlannerInfo *root, const RelOptInfo *rel) {
    for (const PlannerInfo *level = root; level != nullptr; level = level->parent_root) {
        const Query *query = level->parse;
        if (bms_membership(level->all_baserels) != BMS_SINGLETON || query->hasAggs || query->hasWindowFuncs ||
            query->groupClause != NIL || query->groupingSets != NIL || query->havingQual != nullptr ||
            query->distinctClause != NIL ||
            (query->sortClause != NIL && (level != root || !may_need_no_sort(root, rel))))
            return false;
    }
    return true;
}

// One of several tables that a UNION ALL makes one relation of? (Members that are more than a table are query levels.)
static bool is_union_member(const PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *rte) {
    if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL || rte->rtekind != RTE_RELATION)
        return false;
    const AppendRelInfo *info = root->append_rel_array[rel->relid];
    return planner_rt_fetch(info->parent_relid, const_cast<PlannerInfo *>(root))->rtekind == RTE_SUBQUERY;
}

static void consider_rows(PlannerInfo *root, RelOptInfo *rel) {
    const bool topmost = is_topmost(root, rel);
    const bool may_force = topmost || rel->reloptkind == RELOPT_OTHER_MEMBER_REL;
    if (not_worth_a_look(rel) || is_dummy_rel(rel))
        return;
    CandidateTable *candidates = candidates_of(root);
    const Candidate *candidate = candidates != nullptr ? candidate_of(root, candidates, rel->relids) : nullptr;
    if (candidate != nullptr) {
        if (aggregates(root) && topmost && can_aggregate(root, candidate))
            return;
        if (!aggregates(root) && topmost && can_compute_windows(root, candidate)) {
            level_of(root)->windowed = true;
            return;
        }
        const bool is_scan = planning->cursor && is_updatable(root, rel);
        if (is_scan && planning->updatable) {
            refuse("rows of a cursor that may be updated (WHERE CURRENT OF)");
        } else if (add_rows_path(root, candidate, rel, may_force && guc_offload == OFFLOAD_FORCE, !planning->cursor)) {
            level_of(root)->offered = true;
            planning->backward |= is_scan;
            if (topmost && IS_PARTITIONED_REL(rel) && device_is_cheapest(rel))
                disguise_partitions(root, rel);
            refusals_forget();
            return;
        }
    }
    if (topmost && !aggregates(root))
        refusals_tell();
}

// A device that can do all of the level's joins has no use for the rows of a part of them.
static bool is_end_of_scans(const PlannerInfo *root, const RelOptInfo *rel) {
    return is_topmost(root, rel) || root->join_info_list != NIL;
}

// Of rows. (That a subquery is a stage is known only when its paths are: now.)
static bool consider_windows(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output) {
    if (aggregates(root) && input->cheapest_total_path != nullptr)
        planning->windowed_groups = std::max(planning->windowed_groups, input->cheapest_total_path->rows);
    const bool of_subquery = !aggregates(root) && bms_membership(input->relids) == BMS_SINGLETON;
    if ((!level_of(root)->windowed && !of_subquery) || not_worth_a_look(output))
        return false;
    CandidateTable *candidates = candidates_of(root);
    const Candidate *candidate = candidates != nullptr ? candidate_of(root, candidates, input->relids) : nullptr;
    if (candidate == nullptr || (!level_of(root)->windowed && candidate->main->is_relation) ||
        !add_windows_path(root, candidate, input, output, guc_offload == OFFLOAD_FORCE, !planning->cursor))
        return false;
    ++planning->device_windows;
    planning->stage_windows += candidate->outer == nullptr && !candidate->main->is_relation ? 1 : 0;
    refusals_forget();
    return true;
}

static void refuse_windows(PlannerInfo *root, const RelOptInfo *input, const RelOptInfo *output) {
    const LevelState *level = level_of(root);
    const bool below = level->offered || level->aggregated;
    if (!below && not_worth_a_look(output))
        return;
    CandidateTable *candidates = aggregates(root) ? nullptr : candidates_of(root);
    const Candidate *candidate = candidates != nullptr ? candidate_of(root, candidates, input->relids) : nullptr;
    refusals_level(root);
    if (candidate != nullptr)
        can_compute_windows(root, candidate); // says why not
    refuse("window functions%s", below ? "; the rows that they look at can come from a device" : "");
    refusals_tell();
}

// Partitions among them.
static int relations_planned(const PlannerInfo *root) {
    int count = list_length(root->join_rel_list);
    for (int i = 1; i < root->simple_rel_array_size; ++i)
        count += root->simple_rel_array[i] != nullptr;
    return count;
}

static void note_table_sizes(const PlannerInfo *root) {
    for (int i = 1; i < root->simple_rel_array_size; ++i) {
        const RelOptInfo *rel = root->simple_rel_array[i];
        const RangeTblEntry *rte = rel != nullptr ? planner_rt_fetch(i, root) : nullptr;
        if (rte != nullptr && rte->rtekind == RTE_RELATION && RELKIND_HAS_STORAGE(rte->relkind))
            note_table_size(rte->relid);
    }
}

// What costs less than a device needs to begin is compared with nothing; but a subquery may be computed for each row.
static void finish_level(PlannerInfo *root, const RelOptInfo *final) {
    planning->relations += relations_planned(root);
    note_table_sizes(root);
    const bool asked = root->parent_root != nullptr || !not_worth_a_look(final);
    const Path *path = asked ? path_taken(root, final) : nullptr;
    if (path == nullptr)
        return;
    executor::Work work{};
    List *missing_columns;
    count_path(root, path, &work, &missing_columns);
    work.other_ns += init_plans_ns(root);
    const double ns = executor::time_of(work, *device_executor_rates());
    note_level(root, path, ns, missing_columns);
    if (root->parent_root != nullptr)
        return;
    planning->ns = ns;
    if (planning->told != nullptr)
        *planning->told = PlannedTime{ns, work};
}

// ---- the hooks, which PostgreSQL calls by pointer ----

extern "C" {

static PlannedStmt *gpuscan_planner(Query *parse, const char *query_string, int options, ParamListInfo params) {
    if (page_cost_model_flags != 0)
        return plan_with_page_cost_model(plan_statement, parse, query_string, options, params);
    return plan_statement(parse, query_string, options, params);
}

static void gpuscan_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
    if (previous_rel_hook != nullptr)
        previous_rel_hook(root, rel, rti, rte);
    const bool end = rel->reloptkind == RELOPT_BASEREL ? is_end_of_scans(root, rel) : is_union_member(root, rel, rte);
    if (end && is_wanted(root, rel))
        consider_rows(root, rel);
}

static void gpuscan_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                                  JoinType type, JoinPathExtraData *extra) {
    if (previous_join_hook != nullptr)
        previous_join_hook(root, joinrel, outer, inner, type, extra);
    if (!enabled() || joinrel->reloptkind != RELOPT_JOINREL)
        return;
    CandidateTable *candidates = notes_of(root, joinrel);
    if (candidates != nullptr && !bms_overlap(newer_keys_of(root), joinrel->relids))
        note_join(candidates, joinrel, outer, inner, type, extra);
}

static RelOptInfo *gpuscan_join_search(PlannerInfo *root, int levels_needed, List *initial_rels) {
    RelOptInfo *rel = nullptr;
    if (enabled())
        refusals_level(root);
    if (previous_search_hook != nullptr)
        rel = previous_search_hook(root, levels_needed, initial_rels);
    else if (enabled() && is_cheap_search(root, levels_needed))
        rel = search_without_notes(root, levels_needed, initial_rels);
    else if (enable_geqo && levels_needed >= geqo_threshold)
        rel = search_genetically(root, levels_needed, initial_rels);
    else
        rel = search_joins(root, levels_needed, initial_rels);
    if (rel != nullptr && is_wanted(root, rel) && is_end_of_scans(root, rel)) {
        consider_rows(root, rel);
        set_cheapest(rel);
    }
    return rel;
}

static void gpuscan_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
                                void *extra) {
    if (previous_upper_hook != nullptr)
        previous_upper_hook(root, stage, input, output, extra);
    if (planning != nullptr)
        show_partitions(root);
    if (stage == UPPERREL_FINAL && (enabled() || (planning != nullptr && planning->told != nullptr)))
        finish_level(root, output);
    if (stage == UPPERREL_WINDOW && enabled() && !consider_windows(root, input, output) && refusals_wanted())
        refuse_windows(root, input, output);
    const bool distinct = stage == UPPERREL_DISTINCT && removes_duplicates(root->parse);
    if ((stage != UPPERREL_GROUP_AGG && !distinct) || output->reloptkind != RELOPT_UPPER_REL || !enabled() ||
        root->parse->commandType != CMD_SELECT || (not_worth_a_look(output) && !level_of(root)->offered))
        return;
    CandidateTable *candidates = candidates_of(root);
    LevelState *level = level_of(root);
    const Candidate *candidate =
        candidates != nullptr && aggregates(root) ? candidate_of(root, candidates, input->relids) : nullptr;
    PathTarget *results = distinct ? input->cheapest_total_path->pathtarget : output->reltarget;
    Node *having = distinct ? nullptr : static_cast<const GroupPathExtraData *>(extra)->havingQual;
    if (candidate != nullptr && add_aggregate_path(root, candidate, input, output, results, having,
                                                   guc_offload == OFFLOAD_FORCE, !planning->cursor)) {
        level->aggregated = true;
        refusals_forget();
    } else {
        refusals_tell();
    }
}

} // extern "C"

void planner_init() {
    statement_init(planner_hook);
    planner_hook = gpuscan_planner;
    previous_rel_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = gpuscan_rel_pathlist;
    hook_pairs(true);
    previous_search_hook = join_search_hook;
    join_search_hook = gpuscan_join_search;
    previous_upper_hook = create_upper_paths_hook;
    create_upper_paths_hook = gpuscan_upper_paths;
}

} // namespace gpuscan
