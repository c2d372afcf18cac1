// What joins with temporary files cost at the least, and whether a relation has paths already that are better than that.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// A path's costs are not below these: as they are when PostgreSQL first looks at the path, and in the end. All are 0 where nothing
// is known (inputs that need another relation's rows).
struct CostBound {
    Cost startup, first_total, total;
    bool is_safe; // may the path be safe in workers?
    int disabled; // switched-off steps, at the least
};
constexpr CostBound no_bound{DBL_MAX, DBL_MAX, DBL_MAX, false, INT_MAX};
CostBound least(const CostBound &a, const CostBound &b);

// A path and what it takes to sort all of its rows, files included.
struct SortedInput {
    Path *path;   // NULL: none
    Cost startup; // before the first row in order
    Cost run;     // from there to the last
};
SortedInput sorted_input(Path *path);

// How much of its inputs a merge join reads at the least.
struct MergeShares {
    double outer, inner;
};
// By the first of its clauses and of the keys that it merges by, which PostgreSQL has looked at before.
MergeShares shares_of_merge(JoinType type, const RestrictInfo *clause, const PathKey *key);
// The same whichever of these clauses and keys they are.
MergeShares min_shares_of_merge(JoinType type, const List *clauses);
// A merge join that sorts both inputs, where they are not in order already.
CostBound bound_of_merge(const SortedInput &outer, const SortedInput &inner, MergeShares shares);
// A merge join of the outer path as it is.
CostBound bound_of_merge(const Path *outer, const SortedInput &inner, MergeShares shares);
// A hash join, with batches as far as it is plain that there are some. `shared`: its table is in the memory of all workers.
CostBound bound_of_hash(const Path *outer, const Path *inner, bool shared);

// Nested loops over rows that are written down.
struct Loops {
    Cost startup, total, again; // to write and read them; to read them once more
    double rows;
    Cost each_pair;
    bool stops; // at a row's first match
    double with_match,
        share_if_match; // the part of the outer rows that have one, and of the inner rows that these read
    const Path *inner;
};
Loops loops_over(const Path *inner, JoinType type, const JoinPathExtraData *extra);
CostBound bound_of_loop(const Path *outer, const Loops &loops);

// None of the relation's paths that is_like() its cheapest one costs less than this one, which need not exist.
Path cheapest_of_all(const RelOptInfo *rel);
inline bool is_like(const Path *path, const Path *cheapest) {
    return path->param_info == nullptr && path->rows >= cheapest->rows &&
           disabled_nodes_of(path) == disabled_nodes_of(cheapest);
}

// Would add_path_precheck or add_path refuse any path with such costs? `keys`: the order of its rows.
bool is_dominated(const RelOptInfo *rel, const CostBound &bound, const List *keys);
// The same for add_partial_path_precheck.
bool is_dominated_partial(const RelOptInfo *rel, const CostBound &bound, const List *keys);

} // namespace gpuscan
