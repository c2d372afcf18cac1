// A candidate's relations and joins as a FragmentSpec. Sources are numbered in the order of their tables: the main relation is number 0,
// and a table's relations come before those of whoever probes it.
#include "pg/pg.h"

#include "pg/cost/composite_keys.h"
#include "pg/fragment/candidates.h"
#include "pg/fragment/hidden_rows.h"

namespace gpuscan {

static bool joins_are_inner(const Candidate *candidate) {
    ListCell *cell;
    foreach (cell, candidate->joins)
        if (static_cast<const CandidateJoin *>(lfirst(cell))->kind != ir::JoinKind::Inner)
            return false;
    return true;
}

// The most selective join first whose other relations are there already. Others than inner joins may want more than that:
// the order in which they were found is legal.
List *ordered_joins(const Candidate *candidate) {
    if (!joins_are_inner(candidate))
        return candidate->joins;
    List *left = list_copy(candidate->joins), *result = NIL;
    Relids there = bms_copy(candidate->main->rel->relids);
    while (left != NIL) {
        CandidateJoin *best = nullptr;
        ListCell *cell;
        foreach (cell, left) {
            CandidateJoin *join = static_cast<CandidateJoin *>(lfirst(cell));
            if (bms_is_subset(join->needs, there) && (best == nullptr || join->ratio < best->ratio))
                best = join;
        }
        if (best == nullptr) // cannot happen: the order in which they were found is a valid one
            return candidate->joins;
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

static void describe_source(PlannerInfo *root, const CandidateSource *from, List **child_paths, SpecSource *to) {
    const RangeTblEntry *rte = planner_rt_fetch(from->rel->relid, root);
    to->is_relation = from->is_relation;
    to->rti = from->rel->relid;
    to->relid = from->relid;
    to->leaves = from->leaves;
    to->is_empty = from->is_relation && is_proven_empty(root, from->rel);
    to->alias = rte->eref->aliasname;
    to->child = -1;
    to->quals = from->quals;
    to->hides_rows = from->is_relation && hides_rows(root, from->rel->relid);
    to->policy_quals = from->policy_quals;
    to->rows = expected_rows(root, from->rel);
    if (!from->is_relation) {
        *child_paths = lappend(*child_paths, from->rel->cheapest_total_path);
        to->child = list_length(*child_paths);
    }
}

// The joins of one pipeline, whose source is number `into`, with the build sides' own before each of them: a table is
// built before it is probed. Numbers of sources go up in that order.
static void describe_joins(PlannerInfo *root, const Candidate *candidate, List **child_paths, FragmentSpec *spec);

static void describe_build(PlannerInfo *root, const CandidateJoin *from, List **child_paths, FragmentSpec *spec) {
    const int first = spec->nsources;
    describe_joins(root, from->inner, child_paths, spec);
    const int self = spec->nsources++;
    for (int i = first; i < self; ++i)
        if (spec->joins[i - 1].into == 0)
            spec->joins[i - 1].into = self;
    describe_source(root, from->inner->main, child_paths, &spec->sources[self]);
    SpecJoin *join = &spec->joins[self - 1];
    join->kind = from->kind;
    join->clauses = from->clauses;
    join->partner_filters = from->partner_filters;
    join->filters = from->filters;
}

static void describe_joins(PlannerInfo *root, const Candidate *candidate, List **child_paths, FragmentSpec *spec) {
    ListCell *cell;
    foreach (cell, ordered_joins(candidate))
        describe_build(root, static_cast<const CandidateJoin *>(lfirst(cell)), child_paths, spec);
}

FragmentSpec *candidate_spec(PlannerInfo *root, const Candidate *candidate, List **child_paths) {
    Size n = static_cast<Size>(bms_num_members(candidate->relids));
    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc0(sizeof(FragmentSpec)));
    spec->sources = static_cast<SpecSource *>(palloc0(sizeof(SpecSource) * n));
    spec->joins = static_cast<SpecJoin *>(palloc0(sizeof(SpecJoin) * n));
    spec->hides_counts = hides_counts(root);
    describe_source(root, candidate->main, child_paths, &spec->sources[0]);
    spec->nsources = 1;
    describe_joins(root, candidate, child_paths, spec);
    return spec;
}

} // namespace gpuscan
