// See joint_keys.h. A pair of base relations is looked at if one of them has a unique index of at least two plain columns, each of which is in one
// equivalence class with a column of the other one.
#include "pg/pg.h"

#include "pg/cost/joint_keys.h"

#include <algorithm>

#include "pg/cost/row_corrections.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

static bool is_plain_key(const IndexOptInfo *index) {
    if (!index->unique || !index->immediate || index->nkeycolumns < 2 || index->indpred != NIL)
        return false;
    for (int i = 0; i < index->nkeycolumns; ++i)
        if (index->indexkeys[i] <= 0)
            return false;
    return true;
}

static const Var *column_in(const EquivalenceClass *values, int relid, int attnum) {
    ListCell *cell;
    foreach (cell, values->ec_members) {
        const EquivalenceMember *member = static_cast<const EquivalenceMember *>(lfirst(cell));
        const Expr *expr = member->em_expr;
        while (expr != nullptr && IsA(expr, RelabelType))
            expr = reinterpret_cast<const RelabelType *>(expr)->arg;
        if (expr == nullptr || !IsA(expr, Var) || member->em_is_child)
            continue;
        const Var *var = reinterpret_cast<const Var *>(expr);
        if (static_cast<int>(var->varno) == relid && (attnum == 0 || var->varattno == attnum))
            return var;
    }
    return nullptr;
}

const Var *equal_column(const PlannerInfo *root, int relid, int attnum, int other, int other_attnum) {
    ListCell *cell;
    foreach (cell, root->eq_classes) {
        const EquivalenceClass *values = lfirst_node(EquivalenceClass, cell);
        const Var *partner = nullptr;
        if (!values->ec_has_const && bms_is_member(other, values->ec_relids) &&
            column_in(values, relid, attnum) != nullptr)
            partner = column_in(values, other, other_attnum);
        if (partner != nullptr)
            return partner;
    }
    return nullptr;
}

bool equals_constant(const PlannerInfo *root, int relid, int attnum) {
    ListCell *cell;
    foreach (cell, root->eq_classes) {
        const EquivalenceClass *values = lfirst_node(EquivalenceClass, cell);
        if (values->ec_has_const && column_in(values, relid, attnum) != nullptr)
            return true;
    }
    return false;
}

static Var column_of(const IndexOptInfo *index, int i) {
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
                                          static_cast<int>(other->relid), 0);
        if (partner == nullptr)
            return 1;
        const Var key = column_of(index, i);
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
static void add_pair(Relids pair, double missed, List **corrections) {
    ListCell *cell;
    foreach (cell, *corrections) {
        RowCorrection *known = static_cast<RowCorrection *>(lfirst(cell));
        if (!bms_equal(known->relations, pair))
            continue;
        known->factor = std::min(known->factor, missed);
        return;
    }
    add_correction(corrections, {pair, missed, NIL, 0});
}

void add_joint_keys(PlannerInfo *root, List **corrections) {
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
                    add_pair(bms_union(rel->relids, other->relids), missed, corrections);
            }
        }
    }
}

// ---- correlated subqueries ----

// A column of a query above, and the index's column that has to be equal to it.
struct Asked {
    const PlannerInfo *level;
    const Var *outer;
    int column;
};

// Of which level's column is it the value?
static bool find_outer(const PlannerInfo *root, int parameter, Asked *asked) {
    for (const PlannerInfo *level = root->parent_root; level != nullptr; level = level->parent_root) {
        ListCell *cell;
        foreach (cell, level->plan_params) {
            const PlannerParamItem *item = lfirst_node(PlannerParamItem, cell);
            if (item->paramId != parameter)
                continue;
            asked->level = level;
            asked->outer = reinterpret_cast<const Var *>(item->item);
            return IsA(item->item, Var) && asked->outer->varattno > 0;
        }
    }
    return false;
}

static bool read_asked(const PlannerInfo *root, const IndexOptInfo *index, const IndexClause *clause,
                       const RestrictInfo *condition, Asked *asked) {
    const OpExpr *equality = reinterpret_cast<const OpExpr *>(condition->clause);
    if (!IsA(equality, OpExpr) || list_length(equality->args) != 2 || index->indexkeys[clause->indexcol] <= 0 ||
        get_op_opfamily_strategy(equality->opno, index->opfamily[clause->indexcol]) != BTEqualStrategyNumber)
        return false;
    const Param *parameter = reinterpret_cast<const Param *>(lsecond(equality->args));
    asked->column = clause->indexcol;
    return IsA(parameter, Param) && parameter->paramkind == PARAM_EXEC && find_outer(root, parameter->paramid, asked);
}

// The columns' product of different values; 0: they are not all there.
static double combinations_of(PlannerInfo *root, const IndexOptInfo *index, const Form_pg_index key, const Asked *asked,
                              int nasked, const Asked *of) {
    double combinations = 1;
    for (int i = 0; i < key->indnkeyatts; ++i) {
        const Asked *match = nullptr;
        for (const Asked *a = asked; a < asked + nasked && match == nullptr; ++a)
            if (a->level == of->level && a->outer->varno == of->outer->varno &&
                a->outer->varattno == key->indkey.values[i])
                match = a;
        if (match == nullptr)
            return 0;
        const Var column = column_of(index, match->column);
        combinations *= distinct_of(root, &column);
    }
    return combinations;
}

double missed_entries(PlannerInfo *root, const IndexPath *path) {
    Asked asked[INDEX_MAX_KEYS];
    int nasked = 0;
    ListCell *cell, *inner;
    foreach (cell, root->parent_root != nullptr && path->indexinfo->relam == BTREE_AM_OID ? path->indexclauses : NIL) {
        const IndexClause *clause = lfirst_node(IndexClause, cell);
        foreach (inner, clause->indexquals)
            if (nasked < INDEX_MAX_KEYS &&
                read_asked(root, path->indexinfo, clause, lfirst_node(RestrictInfo, inner), &asked[nasked]))
                ++nasked;
    }
    double missed = 1;
    for (int i = 0; nasked > 1 && i < nasked; ++i) {
        const RangeTblEntry *rte = rt_fetch(asked[i].outer->varno, asked[i].level->parse->rtable);
        if (rte->rtekind != RTE_RELATION)
            continue;
        Relation relation = table_open(rte->relid, NoLock); // the query has locked it
        const double rows = relation->rd_rel->reltuples;
        List *keys = rows > 0 ? RelationGetIndexList(relation) : NIL;
        foreach (cell, keys) {
            HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
            if (!HeapTupleIsValid(tuple))
                continue;
            const Form_pg_index key = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
            if (key->indisunique && key->indimmediate && key->indisvalid && key->indnkeyatts > 1 &&
                heap_attisnull(tuple, Anum_pg_index_indpred, nullptr))
                missed = std::max(missed, combinations_of(root, path->indexinfo, key, asked, nasked, &asked[i]) / rows);
            ReleaseSysCache(tuple);
        }
        list_free(keys);
        table_close(relation, NoLock);
    }
    return missed;
}

// ---- order ----

double order_of_index(PlannerInfo *root, const IndexOptInfo *index) {
    if (index->ncolumns == 0 || index->indexkeys[0] <= 0)
        return 0;
    VariableStatData statistics;
    double order = 0;
    Var column = column_of(index, 0);
    examine_variable(root, reinterpret_cast<Node *>(&column), 0, &statistics);
    AttStatsSlot slot;
    if (HeapTupleIsValid(statistics.statsTuple) &&
        get_attstatsslot(&slot, statistics.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
        if (slot.nnumbers > 0)
            order = slot.numbers[0] * slot.numbers[0];
        free_attstatsslot(&slot);
    }
    ReleaseVariableStats(statistics);
    return order;
}

} // namespace gpuscan
