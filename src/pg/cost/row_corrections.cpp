// See row_corrections.h.
#include "pg/pg.h"

#include "pg/cost/row_corrections.h"

#include <algorithm>
#include <utility>

#include "pg/cost/joint_keys.h"
#include "pg/cost/repeated_tables.h"
#include "pg/cost/sampled_conditions.h"

namespace gpuscan {

void add_correction(List **corrections, const RowCorrection &correction) {
    RowCorrection *added = static_cast<RowCorrection *>(palloc(sizeof(RowCorrection)));
    *added = correction;
    *corrections = lappend(*corrections, added);
}

struct LevelCorrections {
    const PlannerInfo *root;
    const List *corrections;
    LevelCorrections *next;
};

static LevelCorrections *levels = nullptr;

LevelCorrections *row_corrections_begin() { return std::exchange(levels, nullptr); }

void row_corrections_end(LevelCorrections *before) { levels = before; }

const List *row_corrections(PlannerInfo *root) {
    for (const LevelCorrections *level = levels; level != nullptr; level = level->next)
        if (level->root == root)
            return level->corrections;
    MemoryContext before = MemoryContextSwitchTo(root->planner_cxt); // (GEQO's is shorter)
    List *corrections = NIL;
    add_joint_keys(root, &corrections);
    add_sampled_conditions(root, &corrections);
    add_repeated_tables(root, &corrections);
    LevelCorrections *level = static_cast<LevelCorrections *>(palloc(sizeof(LevelCorrections)));
    *level = {root, corrections, levels};
    levels = level;
    MemoryContextSwitchTo(before);
    return corrections;
}

static bool has_ended(const RowCorrection *correction, const Relids relids) {
    ListCell *cell;
    foreach (cell, correction->ends)
        if (bms_is_subset(static_cast<const Bitmapset *>(lfirst(cell)), relids))
            return true;
    return false;
}

const List *ends_of(const PlannerInfo *root, const Relids relations) {
    List *ends = NIL;
    ListCell *cell;
    foreach (cell, root->join_info_list) {
        const SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, cell);
        if (bms_is_subset(relations, join->syn_righthand) ||
            (join->jointype == JOIN_FULL && bms_is_subset(relations, join->syn_lefthand)))
            ends = lappend(ends, bms_union(join->min_lefthand, join->min_righthand));
    }
    return ends;
}

double row_correction(const List *corrections, const RelOptInfo *rel) {
    if (corrections == NIL || rel == nullptr || rel->reloptkind == RELOPT_UPPER_REL)
        return 1;
    // A partition's are its parent's.
    const Relids relids = rel->top_parent_relids != nullptr ? rel->top_parent_relids : rel->relids;
    double factor = 1, most = 0;
    ListCell *cell;
    foreach (cell, corrections) {
        const RowCorrection *correction = static_cast<const RowCorrection *>(lfirst(cell));
        if (!bms_is_subset(correction->relations, relids) || has_ended(correction, relids))
            continue;
        factor *= correction->factor;
        if (correction->most > 0)
            most = most > 0 ? std::min(most, correction->most) : correction->most;
    }
    return most > 0 && rel->rows > 0 ? std::min(factor, std::max(most / rel->rows, 1.0)) : factor;
}

double expected_rows(PlannerInfo *root, const RelOptInfo *rel) {
    return std::max(rel->rows * row_correction(row_corrections(root), rel), 1.0);
}

} // namespace gpuscan
