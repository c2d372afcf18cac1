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
// first one stays. Where nothing can spill, which is one look at two sizes, there is nothing to do; and most of what could be made
// is dominated by what is there already, which a bound of its costs tells before its keys and costs are looked for
// (join_bounds.cpp).
#include "pg/cost/spilled_joins.h"

#include "pg/cost/join_bounds.h"
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

static bool is_hopeless(const Join &join, CostBound bound, const List *pathkeys, const Path *outer, const Path *inner,
                        bool partial) {
    return partial ? is_dominated_partial(join.rel, bound, pathkeys, outer, inner)
                   : is_dominated(join.rel, bound, pathkeys, outer, inner);
}

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
    if (path->param_info == nullptr)
        return false;
    const Relids by = PATH_REQ_OUTER(path);
    return bms_overlap(by, rel->relids) || bms_overlap(by, rel->top_parent_relids);
}

static Relids topmost_relids(const RelOptInfo *rel) {
    return rel->top_parent_relids != nullptr ? rel->top_parent_relids : rel->relids;
}

static Path *unique(const Join &join, RelOptInfo *rel) {
    return reinterpret_cast<Path *>(create_unique_path(join.root, rel, rel->cheapest_total_path, join.extra->sjinfo));
}

// The path of the inner side of which every worker reads all rows. `cheapest`: NULL if it needs the outer side's.
static Path *inner_for_workers(const Join &join, Path *cheapest) {
    if (cheapest != nullptr && cheapest->parallel_safe)
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
    return required == nullptr || bms_overlap(required, join.extra->param_source_rels);
}

static bool needs_no_others(const Path *outer, const Path *inner) {
    return outer->param_info == nullptr && inner->param_info == nullptr;
}

// The same without a look at which others: most joins have no use for any.
static bool may_be_sensible(const Join &join, const Path *outer, const Path *inner) {
    return needs_no_others(outer, inner) || join.extra->param_source_rels != nullptr;
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

// Of a join: looked for when the first path is wanted.
struct HashClauses {
    List *list;
    bool known;
};

static bool has_any(const Join &join, HashClauses *clauses) {
    if (!clauses->known)
        *clauses = {hash_clauses(join), true};
    return clauses->list != NIL;
}

static void consider_hash(const Join &join, Path *outer, Path *inner, HashClauses *clauses, bool partial, bool shared) {
    const CostBound bound = bound_of_hash(outer, inner);
    if (is_hopeless(join, bound, NIL, outer, inner, partial) ||
        is_hopeless(join, with_batches(bound, outer, inner, shared), NIL, outer, inner, partial) ||
        !has_any(join, clauses))
        return;
    if (!may_be_sensible(join, outer, inner))
        return;
    const Relids required =
        partial || needs_no_others(outer, inner) ? nullptr : calc_non_nestloop_required_outer(outer, inner);
    if (!is_wanted(join, outer, inner, required, partial))
        return;
    HashPath shape{};
    shape.jpath.path.parallel_aware = shared;
    shape.jpath.jointype = join.type;
    shape.jpath.outerjoinpath = outer;
    shape.jpath.innerjoinpath = inner;
    shape.path_hashclauses = clauses->list;
    JoinCostWorkspace workspace = begin_hash(join.root, &shape, join.extra);
    if (workspace.numbatches > 1 && is_worth_it(join, &workspace, NIL, required, partial))
        add(join,
            reinterpret_cast<Path *>(create_hashjoin_path(join.root, join.rel, join.type, &workspace, join.extra, outer,
                                                          inner, shared, join.extra->restrictlist, required,
                                                          clauses->list)),
            partial);
}

static void consider_merge(const Join &join, Path *outer, Path *inner, List *pathkeys, List *clauses, List *outer_keys,
                           List *inner_keys, bool partial) {
    if (!may_be_sensible(join, outer, inner))
        return;
    const Relids required =
        partial || needs_no_others(outer, inner) ? nullptr : calc_non_nestloop_required_outer(outer, inner);
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
    if (outer->param_info != nullptr && join.extra->param_source_rels == nullptr)
        return;
    const Relids required = partial || needs_no_others(outer, inner)
                                ? nullptr
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

// ---- orders ----

static bool is_key_of(const List *keys, const EquivalenceClass *value) {
    ListCell *cell;
    foreach (cell, keys)
        if (static_cast<const PathKey *>(lfirst(cell))->pk_eclass == value)
            return true;
    return false;
}

// Could an order by this be of use above the join? (truncate_useless_pathkeys keeps no key behind one that is of none.)
static bool may_be_useful(const Join &join, const EquivalenceClass *value) {
    const PlannerInfo *root = join.root;
    if (join.rel->joininfo != NIL || !bms_is_subset(value->ec_relids, topmost_relids(join.rel)))
        return true;
    const List *asked[] = {root->query_pathkeys,    root->group_pathkeys, root->window_pathkeys,
                           root->distinct_pathkeys, root->sort_pathkeys,  setop_pathkeys_of(root)};
    for (const List *keys : asked)
        if (keys != NIL && is_key_of(keys, value))
            return true;
    return false;
}

static List *order_of(const Join &join, const Path *outer) {
    if (outer->pathkeys == NIL ||
        !may_be_useful(join, static_cast<const PathKey *>(linitial(outer->pathkeys))->pk_eclass))
        return NIL;
    return build_join_pathkeys(join.root, join.rel, join.type, outer->pathkeys);
}

// ---- merge joins ----

static const EquivalenceClass *value_of_outer(const RestrictInfo *clause) {
    return clause->outer_is_left ? clause->left_ec : clause->right_ec;
}

// The first clause that merges by the key, of all that merge this pair.
static const RestrictInfo *first_clause_of(const Join &join, const PathKey *key) {
    ListCell *cell;
    foreach (cell, join.extra->mergeclause_list) {
        const RestrictInfo *clause = static_cast<const RestrictInfo *>(lfirst(cell));
        if (value_of_outer(clause) == key->pk_eclass)
            return clause;
    }
    return nullptr;
}

static bool orders_may_be_useful(const Join &join) {
    ListCell *cell;
    foreach (cell, join.extra->mergeclause_list)
        if (may_be_useful(join, value_of_outer(static_cast<const RestrictInfo *>(lfirst(cell)))))
            return true;
    return false;
}

// The cheapest paths, which are sorted unless they happen to be in order.
static void merge_sorted(const Join &join, const SortedInput &inner, const SortedInput &whole) {
    Path *cheapest = join.outer->cheapest_total_path;
    if (is_parameterized_by(cheapest, join.inner))
        return;
    const SortedInput outer = sorted_input(join.asked == JOIN_UNIQUE_OUTER ? unique(join, join.outer) : cheapest);
    const SortedInput share = whole.path != nullptr
                                  ? sorted_input(static_cast<Path *>(linitial(join.outer->partial_pathlist)))
                                  : SortedInput{};
    const auto is_wanted = [&](List *pathkeys, MergeShares shares) {
        return !is_hopeless(join, bound_of_merge(outer, inner, shares), pathkeys, outer.path, inner.path, false);
    };
    const auto is_wanted_by_workers = [&](List *pathkeys, MergeShares shares) {
        return share.path != nullptr &&
               !is_hopeless(join, bound_of_merge(share, whole, shares), pathkeys, share.path, whole.path, true);
    };
    List *clauses = join.extra->mergeclause_list;
    if (!orders_may_be_useful(join)) {
        const MergeShares shares = least_shares_of_merge(join.type, clauses);
        if (!is_wanted(NIL, shares) && !is_wanted_by_workers(NIL, shares))
            return;
    }
    List *keys = select_outer_pathkeys_for_merge(join.root, clauses, join.rel);
    for (int first = 0; first < list_length(keys); ++first) {
        const PathKey *key = static_cast<const PathKey *>(list_nth(keys, first));
        const RestrictInfo *clause = first_clause_of(join, key);
        const MergeShares shares = clause != nullptr ? shares_of_merge(join.type, clause, key) : MergeShares{0, 0};
        List *outer_keys =
            first == 0 ? keys : lcons(list_nth(keys, first), list_delete_nth_cell(list_copy(keys), first));
        List *pathkeys = build_join_pathkeys(join.root, join.rel, join.type, outer_keys);
        const bool serial = is_wanted(pathkeys, shares), partial = is_wanted_by_workers(pathkeys, shares);
        if (!serial && !partial)
            continue;
        List *in_order = find_mergeclauses_for_outer_pathkeys(join.root, outer_keys, clauses);
        List *inner_keys = make_inner_pathkeys_for_merge(join.root, in_order, outer_keys);
        if (serial)
            consider_merge(join, outer.path, inner.path, pathkeys, in_order, outer_keys, inner_keys, false);
        if (partial)
            consider_merge(join, share.path, whole.path, pathkeys, in_order, outer_keys, inner_keys, true);
    }
}

static void merge_with_sorted_inner(const Join &join, Path *outer, Path *inner, List *pathkeys, bool partial) {
    List *all = join.extra->mergeclause_list;
    List *clauses = find_mergeclauses_for_outer_pathkeys(join.root, outer->pathkeys, all);
    if (clauses == NIL || (keeps_inner_rows(join.type) && list_length(clauses) != list_length(all)))
        return;
    consider_merge(join, outer, inner, pathkeys, clauses, NIL,
                   make_inner_pathkeys_for_merge(join.root, clauses, outer->pathkeys), partial);
}

// ---- nested loops ----

// The inner side of all nested loops of a pair.
struct InnerLoops {
    Path *input; // which is written down for them. NULL: it fits into memory, or can be read again as it is
    Loops costs;
    MaterialPath *material; // made when the first path is wanted
    bool other_files;       // another of its paths reads its own file again
};

static InnerLoops inner_loops(const Join &join, Path *inner) {
    InnerLoops loops{};
    if (join.asked == JOIN_UNIQUE_INNER || keeps_inner_rows(join.type))
        return loops;
    ListCell *cell;
    foreach (cell, join.inner->cheapest_parameterized_paths)
        loops.other_files = loops.other_files || reads_files_again(static_cast<const Path *>(lfirst(cell)));
    if (enable_material && inner != nullptr && is_spilled(inner) && !ExecMaterializesOutput(inner->pathtype)) {
        loops.input = inner;
        loops.costs = loops_over(inner, join.type, join.extra);
    }
    return loops;
}

static void loop_over_material(const Join &join, Path *outer, InnerLoops *loops, List *pathkeys, bool partial) {
    if (loops->material == nullptr) {
        loops->material = create_material_path(join.inner, loops->input);
        recost_material(loops->material);
    }
    consider_nested_loop(join, outer, &loops->material->path, pathkeys, partial);
}

static void loop_over_others(const Join &join, Path *outer, List *pathkeys, bool partial) {
    ListCell *cell;
    foreach (cell, join.inner->cheapest_parameterized_paths) {
        Path *inner = static_cast<Path *>(lfirst(cell));
        if (reads_files_again(inner) && (!partial || inner->parallel_safe))
            consider_nested_loop(join, outer, inner, pathkeys, partial);
    }
}

// ---- outer paths as they are, and both sides sorted ----

// `inner`: what is sorted. Its path is NULL if that has no files.
static void join_outer_path(const Join &join, Path *outer, InnerLoops *loops, const SortedInput &inner, bool partial) {
    const PathKey *key = outer->pathkeys != NIL ? static_cast<const PathKey *>(linitial(outer->pathkeys)) : nullptr;
    const RestrictInfo *clause = inner.path != nullptr && key != nullptr ? first_clause_of(join, key) : nullptr;
    const bool writes_down =
        loops->input != nullptr &&
        (!partial || (workers_write_rows_down && join.inner->consider_parallel && loops->input->parallel_safe));
    if (!writes_down && !loops->other_files && clause == nullptr)
        return;
    List *pathkeys = order_of(join, outer);
    if (loops->other_files)
        loop_over_others(join, outer, pathkeys, partial);
    if (writes_down && !is_hopeless(join, bound_of_loop(outer, loops->costs), pathkeys, outer, loops->input, partial))
        loop_over_material(join, outer, loops, pathkeys, partial);
    if (clause != nullptr && !is_hopeless(join, bound_of_merge(outer, inner, shares_of_merge(join.type, clause, key)),
                                          pathkeys, outer, inner.path, partial))
        merge_with_sorted_inner(join, outer, inner.path, pathkeys, partial);
}

static void join_outer_paths(const Join &join, Path *inner, const SortedInput &sorted, const SortedInput &whole) {
    if (is_right_semi(join.type))
        return;
    const auto if_it_has_files = [](const SortedInput &input) {
        return input.path != nullptr && is_spilled(input.path) ? input : SortedInput{};
    };
    InnerLoops loops = inner_loops(join, inner);
    const SortedInput to_sort = if_it_has_files(sorted), whole_to_sort = if_it_has_files(whole);
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
        join_outer_path(join, outer, &loops, to_sort, false);
    }
    if (!workers_may_join(join) || keeps_inner_rows(join.type))
        return;
    foreach (cell, join.outer->partial_pathlist)
        join_outer_path(join, static_cast<Path *>(lfirst(cell)), &loops, whole_to_sort, true);
}

static void merge_and_loop(const Join &join) {
    const bool inner_may_spill = sort_may_spill(join.inner);
    if (!inner_may_spill && !sort_may_spill(join.outer))
        return;
    Path *inner = join.inner->cheapest_total_path, *whole = nullptr;
    if (is_parameterized_by(inner, join.outer))
        inner = nullptr;
    if (join.asked == JOIN_UNIQUE_INNER) {
        if (inner == nullptr)
            return;
        inner = unique(join, join.inner);
    }
    if (workers_may_join(join) && !keeps_inner_rows(join.type))
        whole = inner_for_workers(join, inner);
    SortedInput sorted{}, whole_sorted{};
    if (join.extra->mergeclause_list != NIL) {
        if (inner != nullptr)
            sorted = sorted_input(inner);
        if (whole != nullptr)
            whole_sorted = whole == inner ? sorted : sorted_input(whole);
        if (inner != nullptr)
            merge_sorted(join, sorted, whole_sorted);
    }
    if (inner_may_spill)
        join_outer_paths(join, inner, sorted, whole_sorted);
}

// ---- hash joins ----

static void hash_shares(const Join &join, Path *inner, HashClauses *clauses) {
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

static void hash_pairs(const Join &join, Path *startup_outer, Path *total_inner, HashClauses *clauses) {
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
    HashClauses found{}, *clauses = &found;
    if (is_parameterized_by(outer, join.inner) || is_parameterized_by(inner, join.outer))
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
    List *taken = take_spilled_joins(root, &joinrel->pathlist, outer, inner, asked, extra, inputs_changed);
    List *partial = take_spilled_joins(root, &joinrel->partial_pathlist, outer, inner, asked, extra, inputs_changed);
    if (may_merge(join))
        merge_and_loop(join);
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
