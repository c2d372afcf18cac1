// The steps of joins: tables that are built and looked up, keys that are computed and compared, rows that are handed on.
#include "pg/pg.h"

#include <algorithm>
#include <cfloat>

#include "pg/cost/device_cost.h"
#include "pg/cost/expression_work.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/plan_time/plan_walk.h"

namespace gpuscan {

using executor::Step;

// Clauses that compare a value of one side with one of the other: the values are computed once for each row of their side, hashed if need
// be, and compared so often.
static void count_keys(const PlanWalk &walk, const List *clauses, double outer, double inner, double hashed,
                       double compared) {
    ListCell *cell;
    foreach (cell, clauses) {
        const RestrictInfo *info = lfirst_node(RestrictInfo, cell);
        const Node *left = get_leftop(info->clause);
        const Step step = step_of_type(exprType(left));
        walk.expression(left, info->outer_is_left ? outer : inner);
        walk.expression(get_rightop(info->clause), info->outer_is_left ? inner : outer);
        // (To hash a value of fixed length takes nothing to speak of.)
        walk.count(step, step == Step::Operation ? compared : compared + hashed);
    }
}

// Rows that a join hands on, and what it asks of `tested` ones beside its keys.
static void joined_rows(const PlanWalk &walk, const JoinPath *join, const List *keys, double tested) {
    walk.count(Step::Tuple, walk.rows_of(&join->path));
    walk.conditions(list_difference_ptr(join->joinrestrictinfo, keys), tested);
}

void count_hash_join(const PlanWalk &walk, const Path *path) {
    const HashPath *hash = as<HashPath>(path);
    const Path *outer = hash->jpath.outerjoinpath, *inner = hash->jpath.innerjoinpath;
    const double outer_rows = walk.rows_of(outer), inner_rows = walk.rows_of(inner), rows = walk.rows_of(path);
    walk.count_path(outer);
    // (A table that is in memory, and depends on nothing that changes, serves all executions.)
    const PlanWalk build = walk.once(hash->num_batches > 1 || inner->param_info != nullptr);
    build.count_path(inner);
    // (Batches: each of them has a table that fits into work_mem.)
    const double all = std::max(inner_rows, hash->inner_rows_total * walk.correction_of(inner));
    const double bytes = std::min(all * (hash_entry_bytes + inner->pathtarget->width),
                                  hash->num_batches > 1 ? sort_memory() * hash_mem_multiplier : DBL_MAX);
    executor::Work built{}, probed{};
    executor::build(&built, inner_rows, bytes);
    build.count_all(built);
    executor::probe(&probed, outer_rows, bytes);
    walk.count_all(probed);
    count_keys(build, hash->path_hashclauses, 0, inner_rows, inner_rows, 0);
    count_keys(walk, hash->path_hashclauses, outer_rows, 0, outer_rows, rows);
    joined_rows(walk, &hash->jpath, hash->path_hashclauses, rows);
    if (hash->num_batches > 1) { // files, by PostgreSQL's formulas
        const storage::FileCost files =
            storage::hash_join(device_page_costs(), pages_of(inner_rows, inner->pathtarget->width),
                               pages_of(outer_rows, outer->pathtarget->width));
        walk.count_units(files.startup, files.total);
    }
}

static void count_sorted(const PlanWalk &walk, const Path *input, const List *sort_keys) {
    if (sort_keys == NIL)
        return walk.count_path(input);
    const PlanWalk whole = walk.whole();
    whole.count_path(input);
    whole.sort(walk.rows_of(input), 0, sort_keys, input->pathtarget->width);
}

void count_merge_join(const PlanWalk &walk, const Path *path) {
    const MergePath *merge = as<MergePath>(path);
    const Path *outer = merge->jpath.outerjoinpath, *inner = merge->jpath.innerjoinpath;
    const double outer_rows = walk.rows_of(outer), inner_rows = walk.rows_of(inner);
    count_sorted(walk, outer, merge->outersortkeys);
    count_sorted(walk, inner, merge->innersortkeys);
    if (merge->materialize_inner)
        walk.count(Step::RowKept, inner_rows);
    count_keys(walk, merge->path_mergeclauses, outer_rows, inner_rows, 0, outer_rows + inner_rows);
    joined_rows(walk, &merge->jpath, merge->path_mergeclauses, walk.rows_of(path));
}

// The inner side of a nested loop, executed `loops` times.
static void inner_side(const PlanWalk &walk, const Path *inner, double loops) {
    walk.count(Step::Tuple, loops); // (to begin anew)
    if (IsA(inner, MemoizePath)) {
        const MemoizePath *memoize = as<MemoizePath>(inner);
        walk.count(Step::RowKept, loops);
        walk.repeated(std::clamp(static_cast<double>(memoize->est_entries), 1.0, loops)).count_path(memoize->subpath);
    } else {
        walk.repeated(loops).count_path(inner);
    }
}

void count_nested_loop(const PlanWalk &walk, const Path *path) {
    const JoinPath *join = as<JoinPath>(path);
    const Path *inner = join->innerjoinpath;
    const double loops = walk.rows_of(join->outerjoinpath);
    walk.count_path(join->outerjoinpath);
    inner_side(walk, inner, loops);
    // An index that is asked for each row finds at least what the join yields, however few rows it was taken to find.
    const double found = loops * walk.rows_of(inner), pairs = std::max(found, walk.rows_of(path));
    if (inner->param_info != nullptr && pairs > found)
        count_fetches(walk, inner->parent, pairs - found, pairs - found);
    const bool stops_at_first = join->inner_unique || join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI;
    joined_rows(walk, join, NIL, stops_at_first ? std::min(pairs, loops) : pairs);
}

} // namespace gpuscan
