// The exact costs of the steps above scans and joins.
//
// Between two hooks PostgreSQL makes paths on top of each other (Sort, then Gather Merge, then Agg), with page costs that are
// surrogates. A path does not keep all that its cost was computed from, an aggregation least of all. So costs are not computed
// again but corrected: bottom up, a path's cost is moved by what its inputs' costs moved, and by the difference between the
// model and PostgreSQL's formula for the files of its own. For this the surrogates of the time must be known, and each path
// must be corrected once; if its cost has moved it is entered in a table. Inputs that belong to an earlier stage, scans and joins are
// right already.
//
// A sort under LIMIT may keep its first rows in memory and write nothing. The path does not tell, but its cost does: it is
// another than that of a sort of everything.
#include "pg/page_costs/recost_stage.h"

#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

struct RecostedEntry {
    const Path *path;
    Cost startup, total;             // of the path as it was left
    Cost startup_moved, total_moved; // by the walk
    uint32 walk;
};

struct RecostedPaths {
    HTAB *table; // NULL: none yet
    MemoryContext context;
    uint32 walk;
};

struct Moved {
    Cost startup, total;
};

struct Stage {
    PlannerInfo *root;
    RecostedPaths *recosted;
    const RelOptInfo *rel;
    storage::Surrogate costs_of_rel; // under which its paths were made
    MadeUnder below;
    storage::Surrogate made_under; // of the path that is being recosted
    bool changed;
};

static Moved recost(Stage *stage, Path *path);

RecostedPaths *recosted_paths_create() {
    RecostedPaths *recosted = static_cast<RecostedPaths *>(palloc0(sizeof(RecostedPaths)));
    recosted->context = CurrentMemoryContext;
    return recosted;
}

static const RecostedEntry *find_entry(const RecostedPaths *recosted, const Path *path) {
    return recosted->table == nullptr
               ? nullptr
               : static_cast<const RecostedEntry *>(hash_search(recosted->table, &path, HASH_FIND, nullptr));
}

// Most statements have no path whose cost is moved, and no table.
static void enter_moved(RecostedPaths *recosted, const Path *path, Moved moved) {
    if (recosted->table == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(const Path *);
        control.entrysize = sizeof(RecostedEntry);
        control.hcxt = recosted->context;
        recosted->table = hash_create("recosted paths", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    bool found;
    RecostedEntry *entry = static_cast<RecostedEntry *>(hash_search(recosted->table, &path, HASH_ENTER, &found));
    entry->startup = path->startup_cost;
    entry->total = path->total_cost;
    entry->startup_moved = moved.startup;
    entry->total_moved = moved.total;
    entry->walk = recosted->walk;
}

static const storage::PageCosts &costs() { return page_cost_model()->costs; }

// Partial grouping has no hook, what is done with the rows of a partial DISTINCT comes after its hook, and up to 16 the
// duplicates of a UNION are removed in a relation without members.
static bool is_in_stage(const Stage *stage, const Path *path) {
    RelOptInfo *rel = path->parent;
    return rel == stage->rel || rel == stage->below.rel ||
           (rel != nullptr && IS_UPPER_REL(rel) &&
            (list_member_ptr(stage->root->upper_rels[UPPERREL_PARTIAL_GROUP_AGG], rel) ||
             list_member_ptr(stage->root->upper_rels[UPPERREL_PARTIAL_DISTINCT], rel) ||
             (rel->relids == nullptr && list_member_ptr(stage->root->upper_rels[UPPERREL_SETOP], rel))));
}

// ---- files ----

static Moved both(Cost cost) { return {cost, cost}; }

static Cost difference_of_sort(const Stage *stage, double rows, int width) {
    return sort_files(costs(), rows, width) - stock_sort_files(stage->made_under, rows, width);
}

static bool is_near(Cost a, Cost b) { return std::fabs(a - b) <= 1e-9 * std::fmax(1.0, std::fabs(b)); }

// `input`: with its cost of the time.
static bool sorts_everything(const Stage *stage, PlannerInfo *root, const SortPath *sort, const Path *input) {
    Path whole;
    const storage::Surrogate before = exchange_page_costs(stage->made_under);
    cost_sort_of(&whole, root, sort->path.pathkeys, input, input->rows, -1);
    exchange_page_costs(before);
    return is_near(whole.startup_cost, sort->path.startup_cost);
}

static Moved files_of_sort(const Stage *stage, PlannerInfo *root, const SortPath *sort, Moved input) {
    if (!is_spilled(sort->subpath))
        return {};
    Path before = *sort->subpath;
    before.startup_cost -= input.startup;
    before.total_cost -= input.total;
    return sorts_everything(stage, root, sort, &before)
               ? both(difference_of_sort(stage, before.rows, before.pathtarget->width))
               : Moved{};
}

static Moved files_of_incremental_sort(const Stage *stage, PlannerInfo *root, const IncrementalSortPath *path,
                                       Moved moved) {
    const SortPath *sort = &path->spath;
    if (!is_spilled(sort->subpath))
        return {};
    Path input = *sort->subpath, stock, exact;
    input.startup_cost -= moved.startup;
    input.total_cost -= moved.total;
    const double limits[] = {-1, root->limit_tuples};
    for (const double limit : limits) {
        storage::Surrogate before = exchange_page_costs(stage->made_under);
        cost_incremental_sort_of(&stock, root, sort->path.pathkeys, path->nPresortedCols, &input, limit);
        exchange_page_costs(before);
        if (!is_near(stock.total_cost, sort->path.total_cost))
            continue;
        const Cost page =
            incremental_sort_page(costs(), root, sort->path.pathkeys, path->nPresortedCols, &input, limit);
        before = exchange_page_costs(storage::for_sorts_alone(page));
        cost_incremental_sort_of(&exact, root, sort->path.pathkeys, path->nPresortedCols, &input, limit);
        exchange_page_costs(before);
        return {exact.startup_cost - stock.startup_cost, exact.total_cost - stock.total_cost};
    }
    return {};
}

static Moved files_of_hashing(const Stage *stage, const Path *input, double groups, Size transition_space) {
    const double pages =
        hash_aggregate_pages(stage->root, input->rows, input->pathtarget->width, groups, transition_space);
    const storage::FileCost exact = storage::hash_aggregate(costs(), pages),
                            stock = storage::stock_hash_aggregate(stage->made_under, pages);
    return {exact.startup - stock.startup, exact.total - stock.total};
}

static Moved files_of_aggregate(const Stage *stage, const AggPath *path) {
    return path->aggstrategy == AGG_HASHED || path->aggstrategy == AGG_MIXED
               ? files_of_hashing(stage, path->subpath, path->numGroups, path->transitionSpace)
               : Moved{};
}

// As create_groupingsets_path adds them up: the first rollup has the path's strategy, a further one is hashed, or takes the
// input as it is if it is the first sorted one, or sorts it.
static Moved files_of_grouping_sets(const Stage *stage, const GroupingSetsPath *path) {
    const Path *input = path->subpath;
    Moved files{};
    bool first = true, first_sorted = true;
    ListCell *cell;
    foreach (cell, path->rollups) {
        const RollupData *rollup = static_cast<const RollupData *>(lfirst(cell));
        const bool hashed =
            first ? path->aggstrategy == AGG_HASHED || path->aggstrategy == AGG_MIXED : rollup->is_hashed;
        Moved own{};
        if (hashed)
            own = files_of_hashing(stage, input, rollup->numGroups, path->transitionSpace);
        else if (!first && !first_sorted)
            own = both(difference_of_sort(stage, input->rows, input->pathtarget->width));
        files.startup += first ? own.startup : 0;
        files.total += own.total;
        if (!rollup->is_hashed)
            first_sorted = false;
        first = false;
    }
    return files;
}

// The inputs of a Merge Append that are in no order are sorted within it.
static Moved files_of_merge_append(const Stage *stage, const MergeAppendPath *path) {
    Cost files = 0;
    ListCell *cell;
    foreach (cell, path->subpaths) {
        const Path *input = static_cast<const Path *>(lfirst(cell));
        const double limit = path->limit_tuples;
        const bool writes = !(limit > 0 && limit < input->rows) || is_spilled(limit, input->pathtarget->width);
        if (writes && !pathkeys_contained_in(path->path.pathkeys, input->pathkeys))
            files += difference_of_sort(stage, input->rows, input->pathtarget->width);
    }
    return both(files);
}

static Moved files_of_material(const Stage *stage, const MaterialPath *path) {
    if (!is_spilled(path->subpath))
        return {};
    return {0, (costs().seq_write - stage->made_under.seq) *
                   pages_of(path->subpath->rows, path->subpath->pathtarget->width)};
}

// ---- inputs ----

static Moved whole(Moved input) { return both(input.total); }

static Moved sum(Moved a, Moved b) { return {a.startup + b.startup, a.total + b.total}; }

// A part of the rows comes before the first row (16 and later); it is that part of the input that comes before it, too.
static Moved moved_window(const WindowAggPath *path, Moved input) {
    const Cost startup = path->subpath->startup_cost - input.startup, run = path->path.total_cost - startup;
    const double part = run > 0 ? (path->path.startup_cost - startup) / run : 0;
    return {input.startup + part * (input.total - input.startup), input.total};
}

static Moved moved_limit(const LimitPath *path, Moved input) {
    const Cost run = path->subpath->total_cost - input.total - (path->subpath->startup_cost - input.startup);
    const double part = run > 0 ? (path->path.total_cost - path->path.startup_cost) / run : 0;
    return {input.startup, input.startup + part * (input.total - input.startup)};
}

static Moved moved_merge_append(Stage *stage, const MergeAppendPath *path) {
    Moved inputs{};
    ListCell *cell;
    foreach (cell, path->subpaths) {
        Path *input = static_cast<Path *>(lfirst(cell));
        const Moved moved = recost(stage, input);
        inputs = sum(inputs, pathkeys_contained_in(path->path.pathkeys, input->pathkeys) ? moved : whole(moved));
    }
    return inputs;
}

// Costs of an Append depend on the order of its inputs and on who runs them, and on nothing else.
static Moved moved_append(Stage *stage, AppendPath *path) {
    bool moved = false;
    ListCell *cell;
    foreach (cell, path->subpaths) {
        const Moved input = recost(stage, static_cast<Path *>(lfirst(cell)));
        moved = moved || input.startup != 0 || input.total != 0;
    }
    if (!moved)
        return {};
    Path after = path->path;
    const Path *input = static_cast<const Path *>(linitial(path->subpaths));
    if (list_length(path->subpaths) == 1 && input->parallel_aware == path->path.parallel_aware) {
        // It will be left out.
        after.startup_cost = input->startup_cost;
        after.total_cost = input->total_cost;
    } else {
        AppendPath copy = *path;
        cost_append(&copy);
        after = copy.path;
    }
    return {after.startup_cost - path->path.startup_cost, after.total_cost - path->path.total_cost};
}

// Up to 17 its only input is an Append of both sides, and hashing is not told from sorting in its cost.
static Moved moved_set_operation(Stage *stage, const SetOpPath *path) {
    const Moved first = recost(stage, first_input_of(path));
    Path *second = second_input_of(path);
    if (second == nullptr)
        return first;
    const Moved inputs = sum(first, recost(stage, second));
    return path->strategy == SETOP_HASHED ? whole(inputs) : inputs;
}

static Moved moved_aggregate(AggStrategy strategy, Moved input) {
    return strategy == AGG_HASHED || strategy == AGG_PLAIN ? whole(input) : input;
}

// 17: the rows of a set operation's side are sorted above that side's own planning (commit 66c0185a3d1).
static Moved moved_subquery(Stage *stage, const SubqueryScanPath *path) {
    PlannerInfo *root = path->path.parent->subroot;
    Path *input = path->subpath;
    if (root == nullptr || input->parent != fetch_upper_rel(root, UPPERREL_FINAL, nullptr))
        return {};
    Moved moved{};
    if (IsA(input, SortPath))
        moved = files_of_sort(stage, root, reinterpret_cast<SortPath *>(input), {});
    else if (IsA(input, IncrementalSortPath))
        moved = files_of_incremental_sort(stage, root, reinterpret_cast<IncrementalSortPath *>(input), {});
    input->startup_cost += moved.startup;
    input->total_cost += moved.total;
    return moved;
}

// ---- paths ----

static Moved moved_by(Stage *stage, Path *path) {
    switch (nodeTag(path)) {
    case T_SortPath: {
        const SortPath *sort = reinterpret_cast<SortPath *>(path);
        const Moved input = recost(stage, sort->subpath);
        return sum(whole(input), files_of_sort(stage, stage->root, sort, input));
    }
    case T_IncrementalSortPath: {
        // The first group comes before the first row, and with it its part of the input.
        const IncrementalSortPath *sort = reinterpret_cast<IncrementalSortPath *>(path);
        const Moved input = recost(stage, sort->spath.subpath);
        return sum(input, files_of_incremental_sort(stage, stage->root, sort, input));
    }
    case T_AggPath: {
        const AggPath *aggregate = reinterpret_cast<AggPath *>(path);
        return sum(moved_aggregate(aggregate->aggstrategy, recost(stage, aggregate->subpath)),
                   files_of_aggregate(stage, aggregate));
    }
    case T_GroupingSetsPath: {
        const GroupingSetsPath *sets = reinterpret_cast<GroupingSetsPath *>(path);
        return sum(moved_aggregate(sets->aggstrategy, recost(stage, sets->subpath)),
                   files_of_grouping_sets(stage, sets));
    }
    case T_MergeAppendPath: {
        const MergeAppendPath *append = reinterpret_cast<MergeAppendPath *>(path);
        return sum(moved_merge_append(stage, append), files_of_merge_append(stage, append));
    }
    case T_MaterialPath: {
        const MaterialPath *material = reinterpret_cast<MaterialPath *>(path);
        return sum(recost(stage, material->subpath), files_of_material(stage, material));
    }
    case T_WindowAggPath: {
        const WindowAggPath *window = reinterpret_cast<WindowAggPath *>(path);
        return moved_window(window, recost(stage, window->subpath));
    }
    case T_LimitPath: {
        const LimitPath *limit = reinterpret_cast<LimitPath *>(path);
        return moved_limit(limit, recost(stage, limit->subpath));
    }
    case T_AppendPath:
        return moved_append(stage, reinterpret_cast<AppendPath *>(path));
    case T_SetOpPath:
        return moved_set_operation(stage, reinterpret_cast<SetOpPath *>(path));
    case T_SubqueryScanPath:
        return moved_subquery(stage, reinterpret_cast<SubqueryScanPath *>(path));
    case T_GroupPath:
        return recost(stage, reinterpret_cast<GroupPath *>(path)->subpath);
    case T_UpperUniquePath:
        return recost(stage, reinterpret_cast<UpperUniquePath *>(path)->subpath);
    case T_ProjectionPath:
        return recost(stage, reinterpret_cast<ProjectionPath *>(path)->subpath);
    case T_ProjectSetPath:
        return recost(stage, reinterpret_cast<ProjectSetPath *>(path)->subpath);
    case T_GatherPath:
        return recost(stage, reinterpret_cast<GatherPath *>(path)->subpath);
    case T_GatherMergePath:
        return recost(stage, reinterpret_cast<GatherMergePath *>(path)->subpath);
    default: // scans, joins and strangers
        return {};
    }
}

// Paths that moved_by says nothing about: most relations have no others.
static inline bool is_scan_or_join(const Path *path) {
    switch (nodeTag(path)) {
    case T_Path:
    case T_IndexPath:
    case T_BitmapHeapPath:
    case T_NestPath:
    case T_MergePath:
    case T_HashPath:
        return true;
    default:
        return false;
    }
}

static bool is_gathered_scan_or_join(const Path *path) {
    if (IsA(path, GatherPath))
        return is_scan_or_join(reinterpret_cast<const GatherPath *>(path)->subpath);
    return IsA(path, GatherMergePath) && is_scan_or_join(reinterpret_cast<const GatherMergePath *>(path)->subpath);
}

static Moved recost(Stage *stage, Path *path) {
    if (is_scan_or_join(path) || !is_in_stage(stage, path))
        return {};
    const RecostedEntry *known = find_entry(stage->recosted, path);
    if (known != nullptr && known->startup == path->startup_cost && known->total == path->total_cost)
        return known->walk == stage->recosted->walk ? Moved{known->startup_moved, known->total_moved} : Moved{};
    const storage::Surrogate outer = stage->made_under;
    stage->made_under = path->parent == stage->below.rel ? stage->below.costs : stage->costs_of_rel;
    const Moved moved = moved_by(stage, path);
    stage->made_under = outer;
    if (moved.startup == 0 && moved.total == 0)
        return moved;
    path->startup_cost += moved.startup;
    path->total_cost += moved.total;
    stage->changed = true;
    enter_moved(stage->recosted, path, moved);
    return moved;
}

static void recost_all(Stage *stage, List *paths) {
    ListCell *cell;
    foreach (cell, paths) {
        Path *path = static_cast<Path *>(lfirst(cell));
        if (!is_scan_or_join(path) && !is_gathered_scan_or_join(path))
            recost(stage, path);
    }
}

bool recost_paths(RecostedPaths *recosted, PlannerInfo *root, RelOptInfo *rel, storage::Surrogate made_under,
                  MadeUnder below) {
    Stage stage{root, recosted, rel, made_under, below, made_under, false};
    ++recosted->walk;
    recost_all(&stage, rel->pathlist);
    recost_all(&stage, rel->partial_pathlist);
    if (stage.changed) {
        order_by_cost(rel->pathlist);
        order_by_cost(rel->partial_pathlist);
    }
    return stage.changed;
}

} // namespace gpuscan
