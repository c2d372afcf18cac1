// A candidate's relations and joins as a FragmentSpec. Sources are numbered in the order of their tables: the main relation is number 0,
// and a table's relations come before those of whoever probes it.
#include "pg/pg.h"

#include "pg/fragment/candidates.h"
#include "pg/fragment/hidden_rows.h"
#include "pg/fragment/qual_order.h"
#include "pg/fragment/stage.h"

namespace gpuscan {

// In the order in which they were found.
static List *found_joins(const Candidate *candidate, bool *inner) {
    List *joins = NIL;
    *inner = true;
    for (; candidate->outer != nullptr; candidate = candidate->outer) {
        joins = lcons(const_cast<Candidate *>(candidate), joins);
        *inner = *inner && candidate->join->kind == ir::JoinKind::Inner;
    }
    return joins;
}

// The most selective join first whose other relations are there already. Others than inner joins may want more than that:
// the order in which they were found is legal.
List *ordered_joins(const Candidate *candidate) {
    bool inner;
    List *found = found_joins(candidate, &inner);
    if (!inner)
        return found;
    List *left = list_copy(found), *result = NIL;
    Relids there = bms_copy(candidate->main->rel->relids);
    while (left != NIL) {
        Candidate *best = nullptr;
        ListCell *cell;
        foreach (cell, left) {
            Candidate *joined = static_cast<Candidate *>(lfirst(cell));
            if (bms_is_subset(joined->needs, there) && (best == nullptr || join_ratio(joined) < join_ratio(best)))
                best = joined;
        }
        if (best == nullptr) // cannot happen: the order in which they were found is a valid one
            return found;
        result = lappend(result, best);
        left = list_delete_ptr(left, best);
        there = bms_add_members(there, best->inner->relids);
    }
    return result;
}

// No row of it is ever asked for: PostgreSQL has proven that, of it or of a join that it is in (mark_dummy_rel), and scans neither.
static bool is_proven_empty(const PlannerInfo *root, RelOptInfo *rel) {
    if (is_dummy_rel(rel))
        return true;
    ListCell *cell;
    foreach (cell, root->join_rel_list) {
        RelOptInfo *join = static_cast<RelOptInfo *>(lfirst(cell));
        if (bms_is_subset(rel->relids, join->relids) && is_dummy_rel(join))
            return true;
    }
    return false;
}

static void describe_source(PlannerInfo *root, const CandidateSource *from, List **child_paths, FragmentSpec *spec,
                            FragmentSource *to) {
    *to = *from;
    to->is_empty = from->is_relation && is_proven_empty(root, from->rel);
    if (!from->is_relation) {
        *child_paths = lappend(*child_paths, path_of_source(from->rel));
        to->child = list_length(*child_paths);
        to->stage_columns = stage_columns(from->rel);
        if (to->stage_columns != NIL)
            order_quals(root, from->rel->baserestrictinfo, true, &to->quals);
        spec->hides_counts = spec->hides_counts || stage_hides_counts(from->rel);
    }
}

// The joins of one pipeline, whose source is number `into`, with the build sides' own before each of them: a table is
// built before it is probed. Numbers of sources go up in that order.
static void describe_joins(PlannerInfo *root, const Candidate *candidate, List **child_paths, FragmentSpec *spec);

static void describe_build(PlannerInfo *root, const Candidate *joined, List **child_paths, FragmentSpec *spec) {
    const int first = spec->nsources;
    describe_joins(root, joined->inner, child_paths, spec);
    const int self = spec->nsources++;
    for (int i = first; i < self; ++i)
        if (spec->sources[i].join.into == 0)
            spec->sources[i].join.into = self;
    describe_source(root, joined->inner->main, child_paths, spec, &spec->sources[self]);
    spec->sources[self].join = *joined->join;
}

static void describe_joins(PlannerInfo *root, const Candidate *candidate, List **child_paths, FragmentSpec *spec) {
    ListCell *cell;
    foreach (cell, ordered_joins(candidate))
        describe_build(root, static_cast<const Candidate *>(lfirst(cell)), child_paths, spec);
}

FragmentSpec *candidate_spec(PlannerInfo *root, const Candidate *candidate, List **child_paths) {
    Size n = static_cast<Size>(bms_num_members(candidate->relids));
    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc0(sizeof(FragmentSpec)));
    spec->sources = static_cast<FragmentSource *>(palloc(sizeof(FragmentSource) * n));
    spec->hides_counts = hides_counts(root);
    describe_source(root, candidate->main, child_paths, spec, &spec->sources[0]);
    spec->nsources = 1;
    describe_joins(root, candidate, child_paths, spec);
    return spec;
}

} // namespace gpuscan
