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
#include "pg/page_costs/spilled_joins.h"

#include "pg/page_costs/join_bounds.h"
#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/page_costs/recost_join.h"

namespace gpuscan {

// What is found out about a pair.
struct Findings {
    bool in_vain;                  // all paths that are in no order, or in one of no use above the join
    bool shares_in_vain;           // the same of what workers do
    const EquivalenceClass *value; // that was asked for last,
    bool value_may_be_useful;      // ... and whether an order by it may be of use above
};

struct Join {
    PlannerInfo *root;
    RelOptInfo *rel, *outer, *inner;
    JoinType asked, type; // `asked` may want one side without duplicates
    JoinPathExtraData *extra;
    bool outer_may_spill, inner_may_spill, hash_may_spill; // sorted or written down; as a hash table
    Findings *found;
};

static storage::Surrogate page_reads() {
    const storage::PageCosts &costs = page_cost_model()->costs;
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

// ---- orders ----

// The rows of a join come out in the order of its outer path, as far as that is of use above the join: which is looked for when it
// matters.
struct Order {
    List *keys;   // all of them; NIL if none is of use
    List *useful; // the first of them, or NIL
    bool known;   // `useful` is
};

static bool is_key_of(const List *keys, const EquivalenceClass *value) {
    ListCell *cell;
    foreach (cell, keys)
        if (static_cast<const PathKey *>(lfirst(cell))->pk_eclass == value)
            return true;
    return false;
}

// Most sets have one word.
static inline bool is_subset(const Bitmapset *a, const Bitmapset *b) {
    return a != nullptr && a->nwords == 1 && b->nwords == 1 ? (a->words[0] & ~b->words[0]) == 0 : bms_is_subset(a, b);
}

static bool is_asked_for(const PlannerInfo *root, const EquivalenceClass *value) {
    const List *asked[] = {root->query_pathkeys,    root->group_pathkeys, root->window_pathkeys,
                           root->distinct_pathkeys, root->sort_pathkeys,  setop_pathkeys_of(root)};
    const List *seen = NIL;
    for (const List *keys : asked) {
        if (keys != NIL && keys != seen && is_key_of(keys, value))
            return true;
        seen = keys != NIL ? keys : seen;
    }
    return false;
}

// Could an order by this be of use above the join? (truncate_useless_pathkeys keeps no key behind one that is of none.)
static bool may_be_useful(const Join &join, const EquivalenceClass *value) {
    if (join.rel->joininfo != NIL)
        return true;
    if (join.found->value != value) {
        join.found->value = value;
        join.found->value_may_be_useful =
            !is_subset(value->ec_relids, topmost_relids(join.rel)) || is_asked_for(join.root, value);
    }
    return join.found->value_may_be_useful;
}

static Order order_of(const Join &join, List *keys) {
    const bool any = keys != NIL && may_be_useful(join, static_cast<const PathKey *>(linitial(keys))->pk_eclass);
    return {any ? keys : NIL, NIL, !any};
}

static List *useful_keys(const Join &join, Order *order) {
    if (!order->known)
        order->useful = build_join_pathkeys(join.root, join.rel, join.type, order->keys);
    order->known = true;
    return order->useful;
}

static bool is_dominated(const Join &join, const CostBound &bound, const List *keys, bool partial) {
    return partial ? is_dominated_partial(join.rel, bound, keys) : is_dominated(join.rel, bound, keys);
}

// Is there a path already that makes one with these costs not worth a closer look?
static bool cannot_win(const Join &join, const CostBound &bound, Order *order, bool partial) {
    if (is_dominated(join, bound, order->keys, partial))
        return true;
    return order->keys != NIL && is_dominated(join, bound, NIL, partial) && useful_keys(join, order) != order->keys &&
           is_dominated(join, bound, order->useful, partial);
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

// (A path that was in the way of others may be removed by this one.)
static void add(const Join &join, Path *path, bool partial) {
    join.found->in_vain = join.found->shares_in_vain = false;
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
    if (!may_be_sensible(join, outer, inner) || is_dominated(join, bound_of_hash(outer, inner, shared), NIL, partial) ||
        !has_any(join, clauses))
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

// ---- merge joins ----

static EquivalenceClass *value_of_outer(const RestrictInfo *clause) {
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

// Of one clause, PostgreSQL sorts by its value in the usual direction, unless this is asked for in another one.
static List *outer_keys_for_merge(const Join &join) {
    List *clauses = join.extra->mergeclause_list;
    EquivalenceClass *value = value_of_outer(static_cast<const RestrictInfo *>(linitial(clauses)));
    const List *asked = join.root->query_pathkeys;
    if (list_length(clauses) > 1 || value->ec_merged != nullptr ||
        (asked != NIL && static_cast<const PathKey *>(linitial(asked))->pk_eclass == value))
        return select_outer_pathkeys_for_merge(join.root, clauses, join.rel);
    return list_make1(usual_pathkey(join.root, value));
}

// The cheapest paths, which are sorted unless they happen to be in order.
static void merge_sorted(const Join &join, const SortedInput &inner, const SortedInput &whole, MergeShares least) {
    Path *cheapest = join.outer->cheapest_total_path;
    if (is_parameterized_by(cheapest, join.inner))
        return;
    const bool is_useful = orders_may_be_useful(join);
    if (!is_useful && join.found->in_vain && join.found->shares_in_vain)
        return;
    const SortedInput outer = sorted_input(join.asked == JOIN_UNIQUE_OUTER ? unique(join, join.outer) : cheapest);
    const SortedInput share = whole.path != nullptr
                                  ? sorted_input(static_cast<Path *>(linitial(join.outer->partial_pathlist)))
                                  : SortedInput{};
    const auto is_wanted = [&](Order *order, MergeShares shares) {
        return !cannot_win(join, bound_of_merge(outer, inner, shares), order, false);
    };
    const auto is_wanted_by_workers = [&](Order *order, MergeShares shares) {
        return share.path != nullptr && !cannot_win(join, bound_of_merge(share, whole, shares), order, true);
    };
    List *clauses = join.extra->mergeclause_list;
    if (!is_useful) {
        Order none{NIL, NIL, true};
        if (!is_wanted(&none, least) && !is_wanted_by_workers(&none, least))
            return;
    }
    List *keys = outer_keys_for_merge(join);
    for (int first = 0; first < list_length(keys); ++first) {
        const PathKey *key = static_cast<const PathKey *>(list_nth(keys, first));
        const RestrictInfo *clause = first_clause_of(join, key);
        const MergeShares shares = clause != nullptr ? shares_of_merge(join.type, clause, key) : MergeShares{0, 0};
        List *outer_keys =
            first == 0 ? keys : lcons(list_nth(keys, first), list_delete_nth_cell(list_copy(keys), first));
        Order order = order_of(join, outer_keys);
        const bool serial = is_wanted(&order, shares), partial = is_wanted_by_workers(&order, shares);
        if (!serial && !partial)
            continue;
        List *pathkeys = useful_keys(join, &order);
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

// The outer paths of a pair, or workers' shares of them, and what they are joined with.
struct OuterPaths {
    InnerLoops *loops;
    bool writes_down;
    SortedInput sorted; // which they are merged with. Its path is NULL if it has no files
    bool partial;
};

static bool joins_anything(const OuterPaths &with) {
    return with.writes_down || with.loops->other_files || with.sorted.path != nullptr;
}

static void join_outer_path(const Join &join, Path *outer, const OuterPaths &with, Order *order) {
    if (with.loops->other_files)
        loop_over_others(join, outer, useful_keys(join, order), with.partial);
    if (with.writes_down && !cannot_win(join, bound_of_loop(outer, with.loops->costs), order, with.partial))
        loop_over_material(join, outer, with.loops, useful_keys(join, order), with.partial);
    if (with.sorted.path == nullptr || outer->pathkeys == NIL)
        return;
    const PathKey *key = static_cast<const PathKey *>(linitial(outer->pathkeys));
    const RestrictInfo *clause = first_clause_of(join, key);
    if (clause != nullptr &&
        !cannot_win(join, bound_of_merge(outer, with.sorted, shares_of_merge(join.type, clause, key)), order,
                    with.partial))
        merge_with_sorted_inner(join, outer, with.sorted.path, useful_keys(join, order), with.partial);
}

static void join_outer_paths(const Join &join, const OuterPaths &with) {
    if (!joins_anything(with))
        return;
    const Path *cheapest = join.outer->cheapest_total_path;
    const bool others = join.extra->param_source_rels != nullptr;
    ListCell *cell;
    foreach (cell, join.outer->pathlist) {
        Path *outer = static_cast<Path *>(lfirst(cell));
        if (outer->param_info != nullptr && (!others || is_parameterized_by(outer, join.inner)))
            continue;
        Order order = order_of(join, outer->pathkeys);
        if (order.keys != NIL || !join.found->in_vain || !is_like(outer, cheapest))
            join_outer_path(join, outer, with, &order);
    }
}

static void join_shares(const Join &join, const OuterPaths &with) {
    if (!joins_anything(with))
        return;
    const Path *cheapest = static_cast<const Path *>(linitial(join.outer->partial_pathlist));
    ListCell *cell;
    foreach (cell, join.outer->partial_pathlist) {
        Path *share = static_cast<Path *>(lfirst(cell));
        Order order = order_of(join, share->pathkeys);
        if (order.keys != NIL || !join.found->shares_in_vain || !is_like(share, cheapest))
            join_outer_path(join, share, with, &order);
    }
}

static void join_unique_outer(const Join &join, const OuterPaths &with) {
    if (is_parameterized_by(join.outer->cheapest_total_path, join.inner))
        return;
    Path *outer = unique(join, join.outer);
    Order order = order_of(join, outer->pathkeys);
    join_outer_path(join, outer, with, &order);
}

static SortedInput if_it_has_files(const SortedInput &input) {
    return input.path != nullptr && is_spilled(input.path) ? input : SortedInput{};
}

// ---- the inputs ----

// What a pair's paths are made of. Most pairs have nothing to offer, and a bound for all of them together tells. A path is NULL where there is none.
struct Inputs {
    Path *inner, *whole; // for all outer rows, and for workers' shares of them
    SortedInput sorted, whole_sorted;
    MergeShares shares; // the least
    InnerLoops loops;
    bool workers_write_down;
};

static Inputs inputs_of(const Join &join) {
    Inputs inputs{};
    Path *inner = join.inner->cheapest_total_path;
    if (!is_parameterized_by(inner, join.outer))
        inputs.inner = join.asked == JOIN_UNIQUE_INNER ? unique(join, join.inner) : inner;
    if (workers_may_join(join) && !keeps_inner_rows(join.type))
        inputs.whole = inner_for_workers(join, inputs.inner);
    return inputs;
}

static void look_up_merges(const Join &join, Inputs *inputs) {
    if (join.extra->mergeclause_list == NIL)
        return;
    inputs->shares = min_shares_of_merge(join.type, join.extra->mergeclause_list);
    if (inputs->inner != nullptr)
        inputs->sorted = sorted_input(inputs->inner);
    if (inputs->whole != nullptr)
        inputs->whole_sorted = inputs->whole == inputs->inner ? inputs->sorted : sorted_input(inputs->whole);
}

static void look_up_loops(const Join &join, Inputs *inputs) {
    inputs->loops = inner_loops(join, inputs->inner);
    inputs->workers_write_down = inputs->loops.input != nullptr && workers_write_rows_down &&
                                 join.inner->consider_parallel && inputs->loops.input->parallel_safe;
}

// A bound for all that has files and is made of such an outer path.
static CostBound bound_of_all(const Join &join, Path *outer, const SortedInput &inner, const Loops *loops,
                              const MergeShares &shares) {
    CostBound bound = loops != nullptr ? bound_of_loop(outer, *loops) : no_bound;
    if (inner.path == nullptr)
        return bound;
    if (is_spilled(inner.path))
        bound = least(bound, bound_of_merge(outer, inner, shares));
    if (join.outer_may_spill && (inner.path->pathkeys != NIL || !is_spilled(inner.path)))
        bound = least(bound, bound_of_merge(sorted_input(outer), inner, shares));
    return bound;
}

static bool is_all_in_vain(const Join &join, const Inputs &inputs) {
    Path outer = join.asked == JOIN_UNIQUE_OUTER ? *unique(join, join.outer) : cheapest_of_all(join.outer);
    CostBound bound = bound_of_all(join, &outer, inputs.sorted,
                                   inputs.loops.input != nullptr ? &inputs.loops.costs : nullptr, inputs.shares);
    if (join.hash_may_spill && inputs.inner != nullptr)
        bound = least(bound, bound_of_hash(&outer, inputs.inner, false));
    return is_dominated(join.rel, bound, NIL);
}

// (A share that costs more than the first one in all may cost less before its first row.)
static bool are_shares_in_vain(const Join &join, const Inputs &inputs) {
    Path share = *static_cast<const Path *>(linitial(join.outer->partial_pathlist));
    share.startup_cost = 0;
    CostBound bound = bound_of_all(join, &share, inputs.whole_sorted,
                                   inputs.workers_write_down ? &inputs.loops.costs : nullptr, inputs.shares);
    if (join.hash_may_spill && inputs.whole != nullptr)
        bound = least(bound, bound_of_hash(&share, inputs.whole, false));
    if (join.hash_may_spill && join.inner->partial_pathlist != NIL)
        bound = least(bound, bound_of_hash(&share, static_cast<Path *>(linitial(join.inner->partial_pathlist)), true));
    return is_dominated_partial(join.rel, bound, NIL);
}

static void merge_and_loop(const Join &join, Inputs *inputs) {
    if (inputs->inner != nullptr && inputs->sorted.path != nullptr)
        merge_sorted(join, inputs->sorted, inputs->whole_sorted, inputs->shares);
    if (!join.inner_may_spill || is_right_semi(join.type))
        return;
    const OuterPaths all{&inputs->loops, inputs->loops.input != nullptr, if_it_has_files(inputs->sorted), false};
    if (join.asked == JOIN_UNIQUE_OUTER)
        join_unique_outer(join, all);
    else
        join_outer_paths(join, all);
    if (workers_may_join(join) && !keeps_inner_rows(join.type))
        join_shares(join, {&inputs->loops, inputs->workers_write_down, if_it_has_files(inputs->whole_sorted), true});
}

// ---- hash joins ----

static void hash_shares(const Join &join, Path *whole, HashClauses *clauses) {
    Path *share = static_cast<Path *>(linitial(join.outer->partial_pathlist));
    const bool one_table = shared_tables_keep_inner_rows || !keeps_inner_rows(join.type);
    if (one_table && join.inner->partial_pathlist != NIL && join.asked != JOIN_UNIQUE_INNER && enable_parallel_hash)
        consider_hash(join, share, static_cast<Path *>(linitial(join.inner->partial_pathlist)), clauses, true, true);
    if (whole != nullptr)
        consider_hash(join, share, whole, clauses, true, false);
}

static void hash_pairs(const Join &join, Path *startup_outer, Path *total_inner, HashClauses *clauses) {
    if (startup_outer != nullptr)
        consider_hash(join, startup_outer, total_inner, clauses, false, false);
    const bool others = join.extra->param_source_rels != nullptr;
    ListCell *outer_cell, *inner_cell;
    foreach (outer_cell, join.outer->cheapest_parameterized_paths) {
        Path *outer = static_cast<Path *>(lfirst(outer_cell));
        if (outer->param_info != nullptr && (!others || is_parameterized_by(outer, join.inner)))
            continue;
        foreach (inner_cell, join.inner->cheapest_parameterized_paths) {
            Path *inner = static_cast<Path *>(lfirst(inner_cell));
            if ((inner->param_info == nullptr || (others && !is_parameterized_by(inner, join.outer))) &&
                (outer != startup_outer || inner != total_inner))
                consider_hash(join, outer, inner, clauses, false, false);
        }
    }
}

static void hash_all(const Join &join, Path *inner, HashClauses *clauses) {
    Path *startup_outer = join.outer->cheapest_startup_path, *outer = join.outer->cheapest_total_path;
    if (join.found->in_vain && join.extra->param_source_rels == nullptr &&
        (startup_outer == nullptr || is_like(startup_outer, outer)))
        return;
    if (join.asked == JOIN_UNIQUE_OUTER) {
        consider_hash(join, unique(join, join.outer), inner, clauses, false, false);
    } else if (join.asked == JOIN_UNIQUE_INNER) {
        consider_hash(join, outer, inner, clauses, false, false);
        if (startup_outer != nullptr && startup_outer != outer)
            consider_hash(join, startup_outer, inner, clauses, false, false);
    } else {
        hash_pairs(join, startup_outer, inner, clauses);
    }
}

static void hash_inner(const Join &join, const Inputs &inputs) {
    if (inputs.inner == nullptr || is_parameterized_by(join.outer->cheapest_total_path, join.inner))
        return;
    HashClauses found{}, *clauses = &found;
    hash_all(join, inputs.inner, clauses);
    if (!join.found->shares_in_vain && workers_may_join(join) && !is_right_semi(join.type))
        hash_shares(join, inputs.whole, clauses);
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

static void make_joins(const Join &join) {
    const bool merges = (join.outer_may_spill || join.inner_may_spill) && may_merge(join);
    if (!merges && !join.hash_may_spill)
        return;
    Inputs inputs = inputs_of(join);
    if (merges)
        look_up_merges(join, &inputs);
    if (merges && join.inner_may_spill && !is_right_semi(join.type))
        look_up_loops(join, &inputs);
    if (!inputs.loops.other_files) {
        join.found->in_vain = is_all_in_vain(join, inputs);
        join.found->shares_in_vain = !workers_may_join(join) || are_shares_in_vain(join, inputs);
    }
    if (merges && (inputs.inner != nullptr || join.asked != JOIN_UNIQUE_INNER))
        merge_and_loop(join, &inputs);
    if (join.hash_may_spill)
        hash_inner(join, inputs);
}

void make_spilled_joins(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner, JoinType asked,
                        JoinPathExtraData *extra, bool inputs_changed) {
    const bool outer_may_spill = sort_may_spill(outer), inner_may_spill = sort_may_spill(inner),
               hash_spills = (enable_hashjoin || asked == JOIN_FULL) && hash_may_spill(inner);
    if (!inputs_changed && !outer_may_spill && !inner_may_spill && !hash_spills)
        return;
    const bool wants_unique = asked == JOIN_UNIQUE_INNER || asked == JOIN_UNIQUE_OUTER;
    Findings found{};
    const Join join{root,  joinrel,         outer,           inner,       asked, wants_unique ? JOIN_INNER : asked,
                    extra, outer_may_spill, inner_may_spill, hash_spills, &found};
    const storage::Surrogate before = exchange_page_costs(page_reads());
    List *taken = NIL, *partial = NIL;
    if (may_be_taken(joinrel->pathlist, inputs_changed || wants_unique))
        taken = take_spilled_joins(root, &joinrel->pathlist, outer, inner, asked, extra, inputs_changed);
    if (may_be_taken(joinrel->partial_pathlist, inputs_changed || wants_unique))
        partial = take_spilled_joins(root, &joinrel->partial_pathlist, outer, inner, asked, extra, inputs_changed);
    make_joins(join);
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
