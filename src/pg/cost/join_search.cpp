// The search for the order of joins, pair by pair.
//
// This is PostgreSQL's own search (standard_join_search, join_search_one_level; the same in 15 to 18): dynamic programming over
// the number of relations that are joined, left-deep and bushy, with the Cartesian products that are needed. It is here again
// for one reason: before the paths of two relations are made the page costs can be set to what is right for these two, whose
// sorts may take one pass or three, and what is made of a relation's paths (Gather Merge, Merge Append) can be settled before
// the cheapest of them is chosen. No hook is called at either moment. Relations, their order and their rows are
// PostgreSQL's; paths are made by its functions (make_join_rel).
//
// The genetic search for many relations stays PostgreSQL's; it gets along with one setting for all pairs.
//
// Portions Copyright (c) 1996-2025, PostgreSQL Global Development Group
// Portions Copyright (c) 1994, The Regents of the University of California
#include "pg/cost/storage_phases.h"
#include "pg/cost/storage_tier.h"

namespace gpuscan {

// May the relation have to be joined with others in a certain order? (has_join_restriction)
static bool has_join_restriction(const PlannerInfo *root, const RelOptInfo *rel) {
    if (rel->lateral_relids != nullptr || rel->lateral_referencers != nullptr)
        return true;
    ListCell *cell;
    foreach (cell, root->placeholder_list) {
        const PlaceHolderInfo *placeholder = static_cast<const PlaceHolderInfo *>(lfirst(cell));
        if (bms_is_subset(rel->relids, placeholder->ph_eval_at) && !bms_equal(rel->relids, placeholder->ph_eval_at))
            return true;
    }
    foreach (cell, root->join_info_list) {
        const SpecialJoinInfo *join = static_cast<const SpecialJoinInfo *>(lfirst(cell));
        if (join->jointype == JOIN_FULL)
            continue; // their order is kept by other means
        if (bms_is_subset(join->min_lefthand, rel->relids) && bms_is_subset(join->min_righthand, rel->relids))
            continue; // done
        if (bms_overlap(join->min_lefthand, rel->relids) || bms_overlap(join->min_righthand, rel->relids))
            return true;
    }
    return false;
}

static bool is_linked(const PlannerInfo *root, const RelOptInfo *rel) {
    return rel->joininfo != NIL || rel->has_eclass_joins || has_join_restriction(root, rel);
}

static void join_pair(PlannerInfo *root, RelOptInfo *a, RelOptInfo *b) {
    enter_pair(a, b);
    make_join_rel(root, a, b);
    leave_pair(root);
}

// Joins the relation with those of `others` from `first` on that it has nothing in common with; `by_clause`: and to which
// a clause or a restriction links it.
static void join_with(PlannerInfo *root, RelOptInfo *rel, const List *others, int first, bool by_clause) {
    for (int i = first; i < list_length(others); ++i) {
        RelOptInfo *other = static_cast<RelOptInfo *>(list_nth(others, i));
        if (!bms_overlap(rel->relids, other->relids) &&
            (!by_clause || have_relevant_joinclause(root, rel, other) || have_join_order_restriction(root, rel, other)))
            join_pair(root, rel, other);
    }
}

static void join_all(PlannerInfo *root, const List *rels, const List *initial) {
    ListCell *cell;
    foreach (cell, rels)
        join_with(root, static_cast<RelOptInfo *>(lfirst(cell)), initial, 0, false);
}

// make_join_rel works in both directions: among relations of one size each needs to see only those behind it.
static void search_level(PlannerInfo *root, int level) {
    List **rels = root->join_rel_level;
    root->join_cur_level = level; // where new relations are entered
    for (int i = 0; i < list_length(rels[level - 1]); ++i) {
        RelOptInfo *rel = static_cast<RelOptInfo *>(list_nth(rels[level - 1], i));
        const bool linked = is_linked(root, rel);
        join_with(root, rel, rels[1], linked && level == 2 ? i + 1 : 0, linked);
    }
    // Bushy plans, of linked relations only.
    for (int k = 2; k <= level - k; ++k)
        for (int i = 0; i < list_length(rels[k]); ++i) {
            RelOptInfo *rel = static_cast<RelOptInfo *>(list_nth(rels[k], i));
            if (is_linked(root, rel))
                join_with(root, rel, rels[level - k], k == level - k ? i + 1 : 0, true);
        }
    // None of the clauses can be used yet. (With outer joins there may be no legal join of so many relations at all.)
    if (rels[level] == NIL)
        join_all(root, rels[level - 1], rels[1]);
    if (rels[level] == NIL && root->join_info_list == NIL && !root->hasLateralRTEs)
        elog(ERROR, "failed to build any %d-way joins", level);
}

// The topmost relation's paths are gathered later, when the target list is known.
static void complete(PlannerInfo *root, RelOptInfo *rel) {
    if (rel->part_scheme != nullptr) {
        enter_sorts(rel->rows, rel->reltarget->width);
        generate_partitionwise_join_paths(root, rel);
        settle_relation(root, rel);
    }
    if (rel->partial_pathlist != NIL && !bms_equal(rel->relids, all_relations_of(root))) {
        const Path *partial = static_cast<const Path *>(linitial(rel->partial_pathlist));
        enter_sorts(partial->rows, rel->reltarget->width);
        generate_useful_gather_paths(root, rel, false);
        settle_relation(root, rel);
    }
    set_cheapest(rel);
}

RelOptInfo *search_joins_with_storage_tier(PlannerInfo *root, int levels_needed, List *initial_rels) {
    StorageTier *tier = storage_tier();
    if (tier == nullptr)
        return standard_join_search(root, levels_needed, initial_rels);
    root->join_rel_level = static_cast<List **>(palloc0(static_cast<Size>(levels_needed + 1) * sizeof(List *)));
    root->join_rel_level[1] = initial_rels;
    tier->searches_pairs = true;
    for (int level = 2; level <= levels_needed; ++level) {
        search_level(root, level);
        ListCell *cell;
        foreach (cell, root->join_rel_level[level])
            complete(root, static_cast<RelOptInfo *>(lfirst(cell)));
    }
    tier->searches_pairs = false;
    if (root->join_rel_level[levels_needed] == NIL)
        elog(ERROR, "failed to build any %d-way joins", levels_needed);
    RelOptInfo *rel = static_cast<RelOptInfo *>(linitial(root->join_rel_level[levels_needed]));
    root->join_rel_level = nullptr;
    return rel;
}

} // namespace gpuscan
