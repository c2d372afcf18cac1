// The exact costs of joins.
//
// By PostgreSQL's own functions, with pages for nothing, plus what the model asks for their files. Doing that again changes
// nothing, so it does not matter how often a path is met. What fits into work_mem has no files, and costs the same under any
// page costs.
#include "pg/page_costs/recost_join.h"

#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

static const storage::PageCosts &costs() { return page_cost_model()->costs; }

static storage::Surrogate page_reads() { return {costs().seq_read, costs().random_read}; }

// ---- inputs that belong to the join ----

void recost_material(MaterialPath *path) {
    const double rows = path->path.rows;
    const storage::Surrogate before = exchange_page_costs({costs().seq_write, costs().random_read});
    cost_material_of(&path->path, path->subpath);
    exchange_page_costs(before);
    path->path.rows = rows;
}

static bool unique_is_free_of_files(const UniquePath *path) {
    return path->umethod == UNIQUE_PATH_NOOP || !is_spilled(path->path.parent->rows, path->subpath->pathtarget->width);
}

// A semi join's inner side without duplicates (create_unique_path), which both relations' joins share.
void recost_unique(PlannerInfo *root, UniquePath *path, const SpecialJoinInfo *join) {
    const double rows = path->path.parent->rows;
    const int width = path->subpath->pathtarget->width, columns = list_length(path->uniq_exprs);
    if (path->umethod == UNIQUE_PATH_NOOP || (!join->semi_can_btree && !join->semi_can_hash))
        return;
    Path sorted{}, hashed{};
    const storage::Surrogate before = exchange_page_costs(free_pages);
    if (join->semi_can_btree) {
        const Cost files = sort_files(costs(), rows, width);
        cost_sort_of(&sorted, root, NIL, path->subpath, rows, -1);
        sorted.startup_cost += files;
        sorted.total_cost += files + cpu_operator_cost * rows * columns;
    }
    if (join->semi_can_hash) {
        const storage::FileCost files =
            storage::hash_aggregate(costs(), hash_aggregate_pages(root, rows, width, path->path.rows, 0));
        cost_distinct_of(&hashed, root, path->subpath, rows, columns, path->path.rows);
        hashed.startup_cost += files.startup;
        hashed.total_cost += files.total;
    }
    exchange_page_costs(before);
    const bool hash =
        join->semi_can_hash && (!join->semi_can_btree || compare_path_costs(&hashed, &sorted, TOTAL_COST) < 0);
    const Path *best = hash ? &hashed : &sorted;
    path->umethod = hash ? UNIQUE_PATH_HASH : UNIQUE_PATH_SORT;
    path->path.startup_cost = best->startup_cost;
    path->path.total_cost = best->total_cost;
}

// Could page costs have had a part in the input's cost?
static bool input_has_files(const Path *path) {
    if (IsA(path, MaterialPath))
        return is_spilled(path);
    return IsA(path, UniquePath) && !unique_is_free_of_files(reinterpret_cast<const UniquePath *>(path));
}

static void recost_input(PlannerInfo *root, Path *path, const JoinPathExtraData *extra) {
    if (IsA(path, MaterialPath))
        recost_material(reinterpret_cast<MaterialPath *>(path));
    else if (IsA(path, UniquePath) && extra->sjinfo != nullptr)
        recost_unique(root, reinterpret_cast<UniquePath *>(path), extra->sjinfo);
}

// ---- joins ----

JoinCostWorkspace begin_hash(PlannerInfo *root, const HashPath *path, JoinPathExtraData *extra) {
    const Path *outer = path->jpath.outerjoinpath, *inner = path->jpath.innerjoinpath;
    JoinCostWorkspace workspace{};
    const storage::Surrogate before = exchange_page_costs(free_pages);
    initial_cost_hashjoin(root, &workspace, path->jpath.jointype, path->path_hashclauses, path->jpath.outerjoinpath,
                          path->jpath.innerjoinpath, extra, path->jpath.path.parallel_aware);
    exchange_page_costs(before);
    if (workspace.numbatches > 1) {
        const storage::FileCost files = storage::hash_join(costs(), pages_of(inner->rows, inner->pathtarget->width),
                                                           pages_of(outer->rows, outer->pathtarget->width));
        workspace.startup_cost += files.startup;
        workspace.run_cost += files.total - files.startup;
        workspace.total_cost += files.total;
    }
    return workspace;
}

// A sort of the outer side may be an incremental one, whose groups are sorted one after the other; the part of its rows that
// the join does not read costs nothing. So pages cost what is right for it, and what the inner side's sort, which comes
// whole before the first row, then costs too much or too little is added.
JoinCostWorkspace begin_merge(PlannerInfo *root, const MergePath *path, JoinPathExtraData *extra) {
    const Path *outer = path->jpath.outerjoinpath, *inner = path->jpath.innerjoinpath;
    const bool incremental = path->outersortkeys != NIL && presorted_outer_keys(path) > 0 && enable_incremental_sort;
    storage::Surrogate outer_sort = free_pages;
    if (incremental)
        outer_sort = storage::for_sorts_alone(
            incremental_sort_page(costs(), root, path->outersortkeys, presorted_outer_keys(path), outer, -1));
    Cost files = 0;
    if (path->outersortkeys != NIL && !incremental)
        files += sort_files(costs(), outer->rows, outer->pathtarget->width);
    if (path->innersortkeys != NIL)
        files += sort_files(costs(), inner->rows, inner->pathtarget->width) -
                 stock_sort_files(outer_sort, inner->rows, inner->pathtarget->width);
    JoinCostWorkspace workspace{};
    const storage::Surrogate before = exchange_page_costs(outer_sort);
    initial_cost_of_merge(root, &workspace, path, extra);
    exchange_page_costs(before);
    workspace.startup_cost += files;
    workspace.total_cost += files;
    return workspace;
}

// Reading the inner side again is all that pages are for (cost_rescan).
JoinCostWorkspace begin_nested_loop(PlannerInfo *root, const NestPath *path, JoinPathExtraData *extra) {
    JoinCostWorkspace workspace{};
    const storage::Surrogate before = exchange_page_costs(page_reads());
    initial_cost_nestloop(root, &workspace, path->jpath.jointype, path->jpath.outerjoinpath, path->jpath.innerjoinpath,
                          extra);
    exchange_page_costs(before);
    return workspace;
}

bool reads_files_again(const Path *inner) {
    switch (inner->pathtype) {
    case T_CteScan:
    case T_WorkTableScan:
    case T_Material:
    case T_Sort:
        return is_spilled(inner);
    default:
        return false;
    }
}

static bool join_has_files(const Path *path) {
    const JoinPath *join = reinterpret_cast<const JoinPath *>(path);
    if (input_has_files(join->outerjoinpath) || input_has_files(join->innerjoinpath))
        return true;
    if (IsA(path, HashPath))
        return reinterpret_cast<const HashPath *>(path)->num_batches > 1;
    if (IsA(path, NestPath))
        return reads_files_again(join->innerjoinpath);
    const MergePath *merge = reinterpret_cast<const MergePath *>(path);
    return (merge->outersortkeys != NIL && is_spilled(join->outerjoinpath)) ||
           (merge->innersortkeys != NIL && is_spilled(join->innerjoinpath));
}

static void recost_join(PlannerInfo *root, Path *path, JoinPathExtraData *extra) {
    JoinPath *join = reinterpret_cast<JoinPath *>(path);
    recost_input(root, join->outerjoinpath, extra);
    recost_input(root, join->innerjoinpath, extra);
    if (IsA(path, HashPath)) {
        HashPath *hash = reinterpret_cast<HashPath *>(path);
        JoinCostWorkspace workspace = begin_hash(root, hash, extra);
        final_cost_hashjoin(root, hash, &workspace, extra);
    } else if (IsA(path, MergePath)) {
        MergePath *merge = reinterpret_cast<MergePath *>(path);
        JoinCostWorkspace workspace = begin_merge(root, merge, extra);
        final_cost_mergejoin(root, merge, &workspace, extra);
    } else {
        NestPath *loop = reinterpret_cast<NestPath *>(path);
        JoinCostWorkspace workspace = begin_nested_loop(root, loop, extra);
        final_cost_nestloop(root, loop, &workspace, extra);
    }
}

static bool is_join_of(const Path *path, const RelOptInfo *outer, const RelOptInfo *inner, JoinType type) {
    if (!IsA(path, NestPath) && !IsA(path, MergePath) && !IsA(path, HashPath))
        return false;
    const JoinPath *join = reinterpret_cast<const JoinPath *>(path);
    return join->outerjoinpath->parent == outer && join->innerjoinpath->parent == inner && join->jointype == type;
}

List *take_spilled_joins(PlannerInfo *root, List **paths, const RelOptInfo *outer, const RelOptInfo *inner,
                         JoinType asked, JoinPathExtraData *extra, bool inputs_changed) {
    const bool wants_unique = asked == JOIN_UNIQUE_INNER || asked == JOIN_UNIQUE_OUTER;
    const JoinType type = wants_unique ? JOIN_INNER : asked;
    const Cost least = inputs_changed || wants_unique ? 0 : least_with_files();
    List *taken = NIL;
    ListCell *cell;
    foreach (cell, *paths) {
        Path *path = static_cast<Path *>(lfirst(cell));
        if (path->total_cost >= least && is_join_of(path, outer, inner, type) &&
            (inputs_changed || join_has_files(path))) {
            recost_join(root, path, extra);
            taken = lappend(taken, path);
            *paths = foreach_delete_current(*paths, cell);
        }
    }
    return taken;
}

} // namespace gpuscan
