// See composite_keys.h. A pair of base relations is looked at if one of them has a unique index of at least two plain columns, each of
// which is in one equivalence class with a column of the other one.
#include "pg/pg.h"

#include "pg/cost/composite_keys.h"

#include <algorithm>

#include "pg/cost/level_estimates.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/translate/translate.h"

namespace gpuscan {

static bool is_plain_key(const IndexOptInfo *index) {
    if (!index->unique || !index->immediate || index->nkeycolumns < 2 || index->indpred != NIL)
        return false;
    for (int i = 0; i < index->nkeycolumns; ++i)
        if (index->indexkeys[i] <= 0)
            return false;
    return true;
}

// `attnum` 0: any.
static const Var *column_in(const EquivalenceClass *values, int relid, int attnum) {
    ListCell *cell;
    foreach (cell, values->ec_members) {
        const EquivalenceMember *member = static_cast<const EquivalenceMember *>(lfirst(cell));
        const Expr *expr = strip_relabels(member->em_expr);
        if (expr == nullptr || !IsA(expr, Var) || member->em_is_child)
            continue;
        const Var *var = reinterpret_cast<const Var *>(expr);
        if (static_cast<int>(var->varno) == relid && (attnum == 0 || var->varattno == attnum))
            return var;
    }
    return nullptr;
}

// Are they equal by the query, but to no constant? Then the column of relation `other`.
static const Var *equal_column(const PlannerInfo *root, int relid, int attnum, int other) {
    ListCell *cell;
    foreach (cell, root->eq_classes) {
        const EquivalenceClass *values = lfirst_node(EquivalenceClass, cell);
        const Var *partner = nullptr;
        if (!values->ec_has_const && bms_is_member(other, values->ec_relids) &&
            column_in(values, relid, attnum) != nullptr)
            partner = column_in(values, other, 0);
        if (partner != nullptr)
            return partner;
    }
    return nullptr;
}

Var index_column(const IndexOptInfo *index, int i) {
    Var column{};
    column.xpr.type = T_Var;
    column.varno = index->rel->relid;
    column.varattno = static_cast<AttrNumber>(index->indexkeys[i]);
    column.vartype = index->opcintype[i];
    column.vartypmod = -1;
    return column;
}

static double distinct_of(PlannerInfo *root, const Var *column) {
    bool is_guess;
    return std::max(distinct_values(root, reinterpret_cast<const Node *>(column), &is_guess), 1.0);
}

// By what the product of the columns' selectivities is too small; 1: they are not all equal to columns of `other`.
static double missed_by(PlannerInfo *root, const IndexOptInfo *index, const RelOptInfo *other) {
    double combinations = 1;
    for (int i = 0; i < index->nkeycolumns; ++i) {
        const Var *partner = equal_column(root, static_cast<int>(index->rel->relid), index->indexkeys[i],
                                          static_cast<int>(other->relid));
        if (partner == nullptr)
            return 1;
        const Var key = index_column(index, i);
        combinations *= std::max(distinct_of(root, &key), distinct_of(root, partner));
    }
    return std::max(combinations / std::max(index->rel->tuples, 1.0), 1.0);
}

// PostgreSQL knows better then.
static bool has_foreign_key(const PlannerInfo *root, Index a, Index b) {
    ListCell *cell;
    foreach (cell, root->fkey_list) {
        const ForeignKeyOptInfo *key = lfirst_node(ForeignKeyOptInfo, cell);
        if ((key->con_relid == a && key->ref_relid == b) || (key->con_relid == b && key->ref_relid == a))
            return true;
    }
    return false;
}

static const RelOptInfo *base_relation(const PlannerInfo *root, int relid) {
    const RelOptInfo *rel = root->simple_rel_array[relid];
    return rel != nullptr && rel->reloptkind == RELOPT_BASEREL ? rel : nullptr;
}

// (Of two keys of one pair, the one by which less has been missed.)
static void add_pair(Relids pair, double missed, List **joins) {
    ListCell *cell;
    foreach (cell, *joins) {
        CompositeKeyJoin *known = static_cast<CompositeKeyJoin *>(lfirst(cell));
        if (!bms_equal(known->relations, pair))
            continue;
        known->factor = std::min(known->factor, missed);
        return;
    }
    CompositeKeyJoin *join = static_cast<CompositeKeyJoin *>(palloc(sizeof(CompositeKeyJoin)));
    *join = {pair, missed};
    *joins = lappend(*joins, join);
}

static List *find_joins(PlannerInfo *root) {
    List *joins = NIL;
    for (int i = 1; i < root->simple_rel_array_size; ++i) {
        const RelOptInfo *rel = base_relation(root, i);
        ListCell *cell;
        foreach (cell, rel != nullptr ? rel->indexlist : NIL) {
            const IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);
            if (!is_plain_key(index))
                continue;
            for (int k = 1; k < root->simple_rel_array_size; ++k) {
                const RelOptInfo *other = k != i ? base_relation(root, k) : nullptr;
                if (other == nullptr || has_foreign_key(root, rel->relid, other->relid))
                    continue;
                const double missed = missed_by(root, index, other);
                if (missed > 1)
                    add_pair(bms_union(rel->relids, other->relids), missed, &joins);
            }
        }
    }
    return joins;
}

const List *composite_key_joins(PlannerInfo *root) {
    LevelEstimates *level = level_estimates(root);
    if (!level->knows_key_joins) {
        level->knows_key_joins = true;
        MemoryContext before = MemoryContextSwitchTo(root->planner_cxt);
        level->key_joins = find_joins(root);
        MemoryContextSwitchTo(before);
    }
    return level->key_joins;
}

double row_correction(const List *joins, const RelOptInfo *rel) {
    if (joins == NIL || rel == nullptr || rel->reloptkind == RELOPT_UPPER_REL)
        return 1;
    // A partition's are its parent's.
    const Relids relids = rel->top_parent_relids != nullptr ? rel->top_parent_relids : rel->relids;
    double factor = 1;
    ListCell *cell;
    foreach (cell, joins) {
        const CompositeKeyJoin *join = static_cast<const CompositeKeyJoin *>(lfirst(cell));
        if (bms_is_subset(join->relations, relids))
            factor *= join->factor;
    }
    return factor;
}

double expected_rows(PlannerInfo *root, const RelOptInfo *rel) {
    return std::max(rel->rows * row_correction(composite_key_joins(root), rel), 1.0);
}

} // namespace gpuscan
