// Bounds for joins with temporary files.
//
// Most joins with files are dominated by what the relation has already, and to see that it takes neither their keys and clauses
// nor their exact costs, which are most of the work of making them (spilled_joins.cpp). A bound is what is left of PostgreSQL's
// formulas (initial_cost_*, final_cost_nestloop) when all is left out that has to be looked up: never more than they give, but for
// rounding, which `slack` is for. So a path that is dropped by its bound would have been dropped by add_path, and no
// plan depends on bounds.
#include "pg/page_costs/join_bounds.h"

#include <algorithm>
#include <cstring>

#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

constexpr double fuzz = 1.01; // STD_FUZZ_FACTOR
constexpr double slack = 1 + 1e-9;

static const storage::PageCosts &costs() { return page_cost_model()->costs; }

// ---- bounds ----

static CostBound bound_of(Cost startup, Cost first_total, Cost total, const Path *outer, const Path *inner) {
    if (outer->param_info != nullptr || inner->param_info != nullptr)
        return {};
    return {startup, first_total, total, outer->parallel_safe && inner->parallel_safe,
            disabled_nodes_of(outer) + disabled_nodes_of(inner)};
}

CostBound least(const CostBound &a, const CostBound &b) {
    return {std::min(a.startup, b.startup), std::min(a.first_total, b.first_total), std::min(a.total, b.total),
            a.is_safe || b.is_safe, std::min(a.disabled, b.disabled)};
}

// As cost_tuplesort has it.
static Cost comparisons(double rows) { return 2 * cpu_operator_cost * rows * (std::log(rows) / M_LN2); }

static unsigned slot_of(const SortedRows &rows) {
    uint64 bits;
    std::memcpy(&bits, &rows.total, sizeof bits);
    return static_cast<unsigned>((bits * UINT64CONST(0x9E3779B97F4A7C15)) >> 58) % PageCostModel::sorted_slots;
}

// The cheapest path of a relation is sorted for each of its pairs. What that costs depends on these three numbers alone.
SortedInput sorted_input(Path *path) {
    const SortedRows rows{path->total_cost, path->rows, path->pathtarget->width, 0};
    SortedRows *known = &page_cost_model()->sorted[slot_of(rows)];
    if (known->total != rows.total || known->rows != rows.rows || known->width != rows.width || known->startup == 0) {
        *known = rows;
        known->startup =
            rows.total + comparisons(std::max(rows.rows, 2.0)) + sort_files(costs(), rows.rows, rows.width);
    }
    return {path, known->startup, cpu_operator_cost * rows.rows};
}

static bool is_scan_in_order_of(const MergeScanSelCache *scan, const PathKey *key) {
    return scan->opfamily == key->pk_opfamily && scan->collation == key->pk_eclass->ec_collation &&
           same_direction(scan, key) && scan->nulls_first == key->pk_nulls_first;
}

// What is read whole because of its rows without a partner.
static MergeShares whole_sides(JoinType type, MergeShares shares) {
    if (type == JOIN_LEFT || type == JOIN_ANTI)
        shares.outer = 1;
    else if (keeps_inner_rows(type))
        shares.inner = 1;
    return shares;
}

static MergeShares shares_of_scan(const RestrictInfo *clause, const MergeScanSelCache *scan) {
    return clause->outer_is_left ? MergeShares{scan->leftendsel, scan->rightendsel}
                                 : MergeShares{scan->rightendsel, scan->leftendsel};
}

// cached_scansel and initial_cost_mergejoin. What has not been looked up yet is taken for nothing.
MergeShares shares_of_merge(JoinType type, const RestrictInfo *clause, const PathKey *key) {
    if (type == JOIN_FULL)
        return {1, 1};
    ListCell *cell;
    foreach (cell, clause->scansel_cache) {
        const MergeScanSelCache *known = static_cast<const MergeScanSelCache *>(lfirst(cell));
        if (is_scan_in_order_of(known, key))
            return whole_sides(type, shares_of_scan(clause, known));
    }
    return whole_sides(type, {0, 0});
}

// PostgreSQL has tried each key first, with the first of its clauses: a clause without an entry is not among these.
MergeShares min_shares_of_merge(JoinType type, const List *clauses) {
    if (type == JOIN_FULL)
        return {1, 1};
    MergeShares least{1, 1};
    bool known = false;
    ListCell *clause_cell, *cell;
    foreach (clause_cell, clauses) {
        const RestrictInfo *clause = static_cast<const RestrictInfo *>(lfirst(clause_cell));
        foreach (cell, clause->scansel_cache) {
            const MergeShares shares = shares_of_scan(clause, static_cast<const MergeScanSelCache *>(lfirst(cell)));
            least = {std::min(least.outer, shares.outer), std::min(least.inner, shares.inner)};
            known = true;
        }
    }
    return whole_sides(type, known ? least : MergeShares{0, 0});
}

// PostgreSQL rounds to rows.
static Cost part_of(Cost startup, Cost run, double rows, double share) {
    return startup + run * std::max(share - 0.5 / rows, 0.0);
}

static Cost part_of(const SortedInput &input, double share) {
    return part_of(input.startup, input.run, input.path->rows, share);
}

static Cost part_of(const Path *path, double share) {
    return part_of(path->startup_cost, path->total_cost - path->startup_cost, path->rows, share);
}

CostBound bound_of_merge(const SortedInput &outer, const SortedInput &inner, MergeShares shares) {
    Cost startup = 0, total = 0;
    const auto add = [&](const SortedInput &input, double share) {
        const bool may_be_in_order = input.path->pathkeys != NIL;
        const Cost sorted = part_of(input, share);
        startup += may_be_in_order ? std::min(input.path->startup_cost, input.startup) : input.startup;
        total += may_be_in_order ? std::min(part_of(input.path, share), sorted) : sorted;
    };
    add(outer, shares.outer);
    add(inner, shares.inner);
    return bound_of(startup, total, total, outer.path, inner.path);
}

CostBound bound_of_merge(const Path *outer, const SortedInput &inner, MergeShares shares) {
    const Cost total = part_of(outer, shares.outer) + part_of(inner, shares.inner);
    return bound_of(outer->startup_cost + inner.startup, total, total, outer, inner.path);
}

// A row of a hash table takes a pointer and a hash value, and the header of a minimal tuple.
static bool is_in_batches(double rows, int width) {
    return rows * (16.0 + MAXALIGN(SizeofMinimalTupleHeader) + MAXALIGN(width)) >
           static_cast<double>(get_hash_memory_limit());
}

// PostgreSQL rounds up.
static double min_pages_of(const Path *path) { return bytes_of(path->rows, path->pathtarget->width) / BLCKSZ; }

CostBound bound_of_hash(const Path *outer, const Path *inner, bool shared) {
    Cost startup = outer->startup_cost + inner->total_cost + (cpu_operator_cost + cpu_tuple_cost) * inner->rows;
    Cost total = startup + outer->total_cost - outer->startup_cost + cpu_operator_cost * outer->rows;
    if (!shared && is_in_batches(inner->rows, inner->pathtarget->width)) {
        const storage::FileCost files = storage::hash_join(costs(), min_pages_of(inner), min_pages_of(outer));
        startup += files.startup;
        total += files.total;
    }
    return bound_of(startup, total, total, outer, inner);
}

// What evaluating them takes, as far as it has been asked before.
static Cost cost_of_clauses(const List *clauses) {
    Cost cost = 0;
    ListCell *cell;
    foreach (cell, clauses) {
        const QualCost &known = static_cast<const RestrictInfo *>(lfirst(cell))->eval_cost;
        if (known.startup >= 0)
            cost += known.per_tuple;
    }
    return cost;
}

// cost_material and cost_rescan.
Loops loops_over(const Path *inner, JoinType type, const JoinPathExtraData *extra) {
    const double rows = inner->rows, pages = pages_of(rows, inner->pathtarget->width);
    Loops loops{};
    loops.startup = inner->startup_cost;
    loops.total = inner->total_cost + 2 * cpu_operator_cost * rows + storage::material(costs(), pages);
    loops.again = cpu_operator_cost * rows + storage::rescan(costs(), pages);
    loops.rows = rows;
    loops.inner = inner;
    loops.each_pair = cpu_tuple_cost + cost_of_clauses(extra->restrictlist);
    loops.stops = type == JOIN_SEMI || type == JOIN_ANTI || extra->inner_unique;
    if (loops.stops) {
        loops.with_match = extra->semifactors.outer_match_frac;
        loops.share_if_match = 2 / (extra->semifactors.match_count + 1);
    }
    return loops;
}

// final_cost_nestloop. The first of the inner side's scans is whole in any case, and counts as that of a row without a match, if
// there is one.
CostBound bound_of_loop(const Path *outer, const Loops &loops) {
    const double rows = std::max(outer->rows, 1.0);
    double scans = rows - 1, pairs = rows;
    if (loops.stops) {
        const double matched = std::rint(rows * loops.with_match), unmatched = rows - matched;
        pairs = matched * loops.share_if_match + unmatched;
        scans = unmatched >= 1 ? pairs - 1 : std::max(matched - 1, 0.0) * loops.share_if_match;
    }
    const Cost all_scans = outer->total_cost + loops.total + scans * loops.again;
    return bound_of(outer->startup_cost + loops.startup, loops.stops ? outer->total_cost : all_scans,
                    all_scans + pairs * loops.rows * loops.each_pair, outer, loops.inner);
}

Path cheapest_of_all(const RelOptInfo *rel) {
    Path cheapest = *rel->cheapest_total_path;
    if (rel->cheapest_startup_path != nullptr)
        cheapest.startup_cost = rel->cheapest_startup_path->startup_cost;
    cheapest.parallel_safe = true;
    return cheapest;
}

// ---- what there is ----

static inline bool is_ordered_by(const Path *path, const List *keys) {
    return keys == NIL || (path->pathkeys != NIL && linitial(keys) == linitial(path->pathkeys) &&
                           (list_length(keys) == 1 || pathkeys_contained_in(const_cast<List *>(keys), path->pathkeys)));
}

// Before a path is made (add_path_precheck) it must be dearer in both costs and nobody asks about workers; when it is there
// (add_path) it must not be cheaper before its first row, and what is safe in workers is not dominated by what is not. A
// relation's paths are in order of their totals.
bool is_dominated(const RelOptInfo *rel, const CostBound &bound, const List *keys) {
    const bool is_safe = rel->consider_parallel && bound.is_safe;
    ListCell *cell;
    foreach (cell, rel->pathlist) {
        const Path *path = static_cast<const Path *>(lfirst(cell));
        const Cost most = path->total_cost * (fuzz * slack);
        if (bound.total <= most)
            break;
        const Cost startup = path->startup_cost;
        const bool before =
            bound.first_total > most && (!rel->consider_startup || bound.startup > startup * (fuzz * slack));
        const bool then = (path->parallel_safe || !is_safe) && path->rows <= rel->rows &&
                          (!rel->consider_startup || startup * slack <= bound.startup * fuzz);
        if ((before || then) && path->param_info == nullptr && disabled_nodes_of(path) <= bound.disabled &&
            is_ordered_by(path, keys))
            return true;
    }
    return false;
}

bool is_dominated_partial(const RelOptInfo *rel, const CostBound &bound, const List *keys) {
    ListCell *cell;
    foreach (cell, rel->partial_pathlist) {
        const Path *path = static_cast<const Path *>(lfirst(cell));
        if (bound.total > path->total_cost * (fuzz * slack) && disabled_nodes_of(path) <= bound.disabled &&
            is_ordered_by(path, keys))
            return true;
    }
    return false;
}

} // namespace gpuscan
