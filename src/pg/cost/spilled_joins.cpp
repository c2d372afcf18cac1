// Joins that write temporary files, made with exact costs.
//
// Two page costs cannot stand for five while PostgreSQL makes the paths of two relations: a hash join writes its batches at
// random before the first row and reads them in sequence, a sort does both, and rows that are written down are written once
// and read again and again. So PostgreSQL makes these paths at page costs under which none of them is too cheap
// (storage::for_joins). Then
//
//   a path without files has its right cost, and loses against one with files only if it would have lost anyway;
//   a path with files may have been dropped that should have stayed. These are made here once more, by their right costs.
//
// Such paths are few: hash joins in batches, merge joins that sort what does not fit into memory, and nested loops over rows
// that are written down. Which inputs PostgreSQL combines to make them (the cheapest ones, each outer path in its order, each
// key first) is what joinpath.c does; the order in which they are added is the same, since of two paths that cost about the same the
// first one stays. Where nothing can spill, which is one look at two sizes, there is nothing to do.
#include "pg/cost/spilled_joins.h"

#include "pg/cost/planner_formulas.h"
#include "pg/cost/recost_join.h"
#include "pg/cost/storage_tier.h"

namespace gpuscan {

struct Join {
    PlannerInfo *root;
    RelOptInfo *rel, *outer, *inner;
    JoinType asked, type; // `asked` may want one side without duplicates
    JoinPathExtraData *extra;
};

static storage::Substitute page_reads() {
    const storage::PageCosts &costs = storage_tier()->costs;
    return {costs.seq_read, costs.random_read};
}

// A relation's paths have no more rows than it has. A row of a hash table takes up to 40 bytes more than its width (a header, a
// bucket).
static bool sort_may_spill(const RelOptInfo *rel) { return is_spilled(rel->rows, rel->reltarget->width); }
static bool hash_may_spill(const RelOptInfo *rel) {
    return rel->rows * (MAXALIGN(rel->reltarget->width) + 48.0) > static_cast<double>(get_hash_memory_limit());
}

// ---- inputs ----

static bool is_parameterized_by(const Path *path, const RelOptInfo *rel) {
    const Relids by = PATH_REQ_OUTER(path);
    return bms_overlap(by, rel->relids) || bms_overlap(by, rel->top_parent_relids);
}

static Relids topmost_relids(const RelOptInfo *rel) {
    return rel->top_parent_relids != nullptr ? rel->top_parent_relids : rel->relids;
}

static Path *unique(const Join &join, RelOptInfo *rel) {
    return reinterpret_cast<Path *>(create_unique_path(join.root, rel, rel->cheapest_total_path, join.extra->sjinfo));
}

// The path of the inner side of which every worker reads all rows.
static Path *inner_for_workers(const Join &join, Path *cheapest) {
    if (cheapest->parallel_safe)
        return cheapest;
    return join.asked == JOIN_UNIQUE_INNER ? nullptr : get_cheapest_parallel_safe_total_inner(join.inner->pathlist);
}

static bool workers_may_join(const Join &join) {
    return join.rel->consider_parallel && join.asked != JOIN_UNIQUE_OUTER && join.outer->partial_pathlist != NIL &&
           bms_is_empty(join.rel->lateral_relids);
}

// A result that still needs another relation's rows must be of use.
static bool is_sensible(const Join &join, const Path *outer, const Path *inner, Relids required) {
    const int own = outer_join_of(join.extra->sjinfo);
    if (own != 0 && (bms_is_member(own, PATH_REQ_OUTER(outer)) || bms_is_member(own, PATH_REQ_OUTER(inner))))
        return false;
    return bms_is_empty(required) || bms_overlap(required, join.extra->param_source_rels);
}

// ---- paths ----

// `partial`: the outer path is a worker's share. Its result needs no other rows.
static bool is_wanted(const Join &join, const Path *outer, const Path *inner, Relids required, bool partial) {
    return partial ? bms_is_empty(PATH_REQ_OUTER(inner)) : is_sensible(join, outer, inner, required);
}

static bool is_worth_it(const Join &join, const JoinCostWorkspace *workspace, List *pathkeys, Relids required,
                        bool partial) {
    return partial ? is_worth_making_partial(join.rel, workspace, pathkeys)
                   : is_worth_making(join.rel, workspace, pathkeys, required);
}

static void add(const Join &join, Path *path, bool partial) {
    if (partial)
        add_partial_path(join.rel, path);
    else
        add_path(join.rel, path);
}

static void consider_hash(const Join &join, Path *outer, Path *inner, List *clauses, bool partial, bool shared) {
    const Relids required = partial ? nullptr : calc_non_nestloop_required_outer(outer, inner);
    if (!is_wanted(join, outer, inner, required, partial))
        return;
    HashPath shape{};
    shape.jpath.path.parallel_aware = shared;
    shape.jpath.jointype = join.type;
    shape.jpath.outerjoinpath = outer;
    shape.jpath.innerjoinpath = inner;
    shape.path_hashclauses = clauses;
    JoinCostWorkspace workspace = begin_hash(join.root, &shape, join.extra);
    if (workspace.numbatches > 1 && is_worth_it(join, &workspace, NIL, required, partial))
        add(join,
            reinterpret_cast<Path *>(create_hashjoin_path(join.root, join.rel, join.type, &workspace, join.extra, outer,
                                                          inner, shared, join.extra->restrictlist, required, clauses)),
            partial);
}

static void consider_merge(const Join &join, Path *outer, Path *inner, List *pathkeys, List *clauses, List *outer_keys,
                           List *inner_keys, bool partial) {
    const Relids required = partial ? nullptr : calc_non_nestloop_required_outer(outer, inner);
    if (!is_wanted(join, outer, inner, required, partial))
        return;
    int presorted = 0;
    if (outer_keys != NIL && pathkeys_count_contained_in(outer_keys, outer->pathkeys, &presorted))
        outer_keys = NIL;
    if (pathkeys_contained_in(inner_keys, inner->pathkeys))
        inner_keys = NIL;
    if (!(outer_keys != NIL && is_spilled(outer)) && !(inner_keys != NIL && is_spilled(inner)))
        return;
    MergePath shape{};
    shape.jpath.jointype = join.type;
    shape.jpath.outerjoinpath = outer;
    shape.jpath.innerjoinpath = inner;
    shape.path_mergeclauses = clauses;
    shape.outersortkeys = outer_keys;
    shape.innersortkeys = inner_keys;
    set_presorted_outer_keys(&shape, presorted);
    JoinCostWorkspace workspace = begin_merge(join.root, &shape, join.extra);
    if (is_worth_it(join, &workspace, pathkeys, required, partial))
        add(join,
            reinterpret_cast<Path *>(create_mergejoin_path(
                join.root, join.rel, join.type, &workspace, join.extra, outer, inner, join.extra->restrictlist,
                pathkeys, required, clauses, outer_keys, inner_keys LAST_OUTER_PRESORTED_KEYS(&shape))),
            partial);
}

static void consider_nested_loop(const Join &join, Path *outer, Path *inner, List *pathkeys, bool partial) {
    const Relids required = partial ? nullptr
                                    : calc_nestloop_required_outer(topmost_relids(join.outer), PATH_REQ_OUTER(outer),
                                                                   topmost_relids(join.inner), PATH_REQ_OUTER(inner));
    if (!is_wanted(join, outer, inner, required, partial))
        return;
    NestPath shape{};
    shape.jpath.jointype = join.type;
    shape.jpath.outerjoinpath = outer;
    shape.jpath.innerjoinpath = inner;
    JoinCostWorkspace workspace = begin_nested_loop(join.root, &shape, join.extra);
    if (is_worth_it(join, &workspace, pathkeys, required, partial))
        add(join,
            reinterpret_cast<Path *>(create_nestloop_path(join.root, join.rel, join.type, &workspace, join.extra, outer,
                                                          inner, join.extra->restrictlist, pathkeys, required)),
            partial);
}

// ---- merge joins that sort both sides ----

static void merge_sorted(const Join &join) {
    List *clauses = join.extra->mergeclause_list;
    Path *outer = join.outer->cheapest_total_path, *inner = join.inner->cheapest_total_path;
    if (clauses == NIL || (!sort_may_spill(join.outer) && !sort_may_spill(join.inner)) ||
        is_parameterized_by(outer, join.inner) || is_parameterized_by(inner, join.outer))
        return;
    if (join.asked == JOIN_UNIQUE_OUTER)
        outer = unique(join, join.outer);
    if (join.asked == JOIN_UNIQUE_INNER)
        inner = unique(join, join.inner);
    Path *share = nullptr, *whole = nullptr;
    if (workers_may_join(join) && !keeps_inner_rows(join.type)) {
        share = static_cast<Path *>(linitial(join.outer->partial_pathlist));
        whole = inner_for_workers(join, inner);
    }
    List *keys = select_outer_pathkeys_for_merge(join.root, clauses, join.rel);
    for (int first = 0; first < list_length(keys); ++first) {
        List *outer_keys =
            first == 0 ? keys : lcons(list_nth(keys, first), list_delete_nth_cell(list_copy(keys), first));
        List *in_order = find_mergeclauses_for_outer_pathkeys(join.root, outer_keys, clauses);
        List *inner_keys = make_inner_pathkeys_for_merge(join.root, in_order, outer_keys);
        List *pathkeys = build_join_pathkeys(join.root, join.rel, join.type, outer_keys);
        consider_merge(join, outer, inner, pathkeys, in_order, outer_keys, inner_keys, false);
        if (whole != nullptr)
            consider_merge(join, share, whole, pathkeys, in_order, outer_keys, inner_keys, true);
    }
}

// ---- outer paths as they are: nested loops, and merge joins that sort the inner side ----

static void merge_with_sorted_inner(const Join &join, Path *outer, Path *inner, List *pathkeys, bool partial) {
    if (outer->pathkeys == NIL || inner == nullptr || !is_spilled(inner))
        return;
    List *all = join.extra->mergeclause_list;
    List *clauses = find_mergeclauses_for_outer_pathkeys(join.root, outer->pathkeys, all);
    if (clauses == NIL || (keeps_inner_rows(join.type) && list_length(clauses) != list_length(all)))
        return;
    consider_merge(join, outer, inner, pathkeys, clauses, NIL,
                   make_inner_pathkeys_for_merge(join.root, clauses, outer->pathkeys), partial);
}

// The cheapest inner path, written down. NULL: it fits into memory, or can be read again as it is.
static Path *written_down(const Join &join, Path *inner) {
    if (join.asked == JOIN_UNIQUE_INNER || !enable_material || inner == nullptr || !is_spilled(inner) ||
        ExecMaterializesOutput(inner->pathtype))
        return nullptr;
    MaterialPath *material = create_material_path(join.inner, inner);
    recost_material(material);
    return &material->path;
}

static void loops_over_files(const Join &join, Path *outer, Path *material, List *pathkeys, bool partial) {
    ListCell *cell;
    foreach (cell, join.inner->cheapest_parameterized_paths) {
        Path *inner = static_cast<Path *>(lfirst(cell));
        if (join.asked != JOIN_UNIQUE_INNER && reads_files_again(inner) && (!partial || inner->parallel_safe))
            consider_nested_loop(join, outer, inner, pathkeys, partial);
    }
    if (material != nullptr)
        consider_nested_loop(join, outer, material, pathkeys, partial);
}

static void join_outer_paths(const Join &join) {
    if (is_right_semi(join.type) || !sort_may_spill(join.inner))
        return;
    const bool loops = !keeps_inner_rows(join.type);
    Path *inner = join.inner->cheapest_total_path;
    if (is_parameterized_by(inner, join.outer))
        inner = nullptr;
    if (join.asked == JOIN_UNIQUE_INNER) {
        if (inner == nullptr)
            return;
        inner = unique(join, join.inner);
    }
    Path *material = loops ? written_down(join, inner) : nullptr;
    ListCell *cell;
    foreach (cell, join.outer->pathlist) {
        Path *outer = static_cast<Path *>(lfirst(cell));
        if (is_parameterized_by(outer, join.inner))
            continue;
        if (join.asked == JOIN_UNIQUE_OUTER) {
            if (outer != join.outer->cheapest_total_path)
                continue;
            outer = unique(join, join.outer);
        }
        List *pathkeys = build_join_pathkeys(join.root, join.rel, join.type, outer->pathkeys);
        if (loops)
            loops_over_files(join, outer, material, pathkeys, false);
        merge_with_sorted_inner(join, outer, inner, pathkeys, false);
    }
    if (!workers_may_join(join) || !loops)
        return;
    Path *kept = workers_write_rows_down && material != nullptr && material->parallel_safe ? material : nullptr;
    Path *whole = inner != nullptr && inner->parallel_safe ? inner
                  : join.asked == JOIN_UNIQUE_INNER        ? nullptr
                                                    : get_cheapest_parallel_safe_total_inner(join.inner->pathlist);
    foreach (cell, join.outer->partial_pathlist) {
        Path *outer = static_cast<Path *>(lfirst(cell));
        List *pathkeys = build_join_pathkeys(join.root, join.rel, join.type, outer->pathkeys);
        loops_over_files(join, outer, kept, pathkeys, true);
        merge_with_sorted_inner(join, outer, whole, pathkeys, true);
    }
}

// ---- hash joins ----

static bool links(const RestrictInfo *clause, const RelOptInfo *left, const RelOptInfo *right) {
    return bms_is_subset(clause->left_relids, left->relids) && bms_is_subset(clause->right_relids, right->relids);
}

static List *hash_clauses(const Join &join) {
    List *clauses = NIL;
    ListCell *cell;
    foreach (cell, join.extra->restrictlist) {
        RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
        if (!clause->can_join || !OidIsValid(clause->hashjoinoperator) ||
            (IS_OUTER_JOIN(join.type) && RINFO_IS_PUSHED_DOWN(clause, join.rel->relids)))
            continue;
        if (links(clause, join.outer, join.inner) ||
            (links(clause, join.inner, join.outer) &&
             OidIsValid(get_commutator(castNode(OpExpr, clause->clause)->opno))))
            clauses = lappend(clauses, clause);
    }
    return clauses;
}

static void hash_shares(const Join &join, Path *inner, List *clauses) {
    Path *share = static_cast<Path *>(linitial(join.outer->partial_pathlist));
    const bool one_table = shared_tables_keep_inner_rows || !keeps_inner_rows(join.type);
    if (one_table && join.inner->partial_pathlist != NIL && join.asked != JOIN_UNIQUE_INNER && enable_parallel_hash)
        consider_hash(join, share, static_cast<Path *>(linitial(join.inner->partial_pathlist)), clauses, true, true);
    if (keeps_inner_rows(join.type))
        return;
    Path *whole = inner_for_workers(join, inner);
    if (whole != nullptr)
        consider_hash(join, share, whole, clauses, true, false);
}

static void hash_pairs(const Join &join, Path *startup_outer, Path *total_inner, List *clauses) {
    if (startup_outer != nullptr)
        consider_hash(join, startup_outer, total_inner, clauses, false, false);
    ListCell *outer_cell, *inner_cell;
    foreach (outer_cell, join.outer->cheapest_parameterized_paths) {
        Path *outer = static_cast<Path *>(lfirst(outer_cell));
        if (is_parameterized_by(outer, join.inner))
            continue;
        foreach (inner_cell, join.inner->cheapest_parameterized_paths) {
            Path *inner = static_cast<Path *>(lfirst(inner_cell));
            if (!is_parameterized_by(inner, join.outer) && (outer != startup_outer || inner != total_inner))
                consider_hash(join, outer, inner, clauses, false, false);
        }
    }
}

static void hash_inner(const Join &join) {
    if ((!enable_hashjoin && join.type != JOIN_FULL) || !hash_may_spill(join.inner))
        return;
    Path *startup_outer = join.outer->cheapest_startup_path, *outer = join.outer->cheapest_total_path,
         *inner = join.inner->cheapest_total_path;
    List *clauses = hash_clauses(join);
    if (clauses == NIL || is_parameterized_by(outer, join.inner) || is_parameterized_by(inner, join.outer))
        return;
    if (join.asked == JOIN_UNIQUE_OUTER) {
        consider_hash(join, unique(join, join.outer), inner, clauses, false, false);
    } else if (join.asked == JOIN_UNIQUE_INNER) {
        inner = unique(join, join.inner);
        consider_hash(join, outer, inner, clauses, false, false);
        if (startup_outer != nullptr && startup_outer != outer)
            consider_hash(join, startup_outer, inner, clauses, false, false);
    } else {
        hash_pairs(join, startup_outer, inner, clauses);
    }
    if (workers_may_join(join) && !is_right_semi(join.type))
        hash_shares(join, inner, clauses);
}

// ---- all of them ----

// A right or full join that is merged must use every clause of its own for that.
static bool may_merge(const Join &join) {
    if (!keeps_inner_rows(join.type))
        return !is_right_semi(join.type);
    ListCell *cell;
    foreach (cell, join.extra->restrictlist) {
        const RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
        if (!RINFO_IS_PUSHED_DOWN(clause, join.rel->relids) && !IsA(clause->clause, Const) &&
            !list_member_ptr(join.extra->mergeclause_list, clause))
            return false;
    }
    return true;
}

void make_spilled_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType asked,
                        JoinPathExtraData *extra, bool inputs_changed) {
    if (!inputs_changed && !sort_may_spill(outer) && !sort_may_spill(inner) && !hash_may_spill(inner))
        return;
    const bool wants_unique = asked == JOIN_UNIQUE_INNER || asked == JOIN_UNIQUE_OUTER;
    const Join join{root, joinrel, outer, inner, asked, wants_unique ? JOIN_INNER : asked, extra};
    const storage::Substitute before = exchange_page_costs(page_reads());
    List *taken = take_spilled_joins(root, &joinrel->pathlist, outer, inner, join.type, extra, inputs_changed);
    List *partial =
        take_spilled_joins(root, &joinrel->partial_pathlist, outer, inner, join.type, extra, inputs_changed);
    if (may_merge(join)) {
        merge_sorted(join);
        join_outer_paths(join);
    }
    hash_inner(join);
    // What is not made here. (Of two paths that are the same the first one stays.)
    ListCell *cell;
    foreach (cell, taken)
        add_path(joinrel, static_cast<Path *>(lfirst(cell)));
    foreach (cell, partial)
        add_partial_path(joinrel, static_cast<Path *>(lfirst(cell)));
    exchange_page_costs(before);
}

void make_unique_paths(PlannerInfo *root, RelOptInfo *rel) {
    ListCell *cell;
    foreach (cell, root->join_info_list) {
        SpecialJoinInfo *semi = static_cast<SpecialJoinInfo *>(lfirst(cell));
        if (semi->jointype != JOIN_SEMI || !bms_equal(semi->syn_righthand, rel->relids))
            continue;
        UniquePath *path = create_unique_path(root, rel, rel->cheapest_total_path, semi);
        if (path != nullptr)
            recost_unique(root, path, semi);
    }
}

} // namespace gpuscan
