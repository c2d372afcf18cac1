// See repeated_tables.h.
//
// Of groups G by keys K, and a table T with a unique column that is equal to one of K both in the query and in the subquery, where it stands
// as T': what stands as a condition on T and on T' restricts G already, and a row of G has one partner. So the share of these conditions is
// counted once: the correction is its inverse. If K is that column alone, G has no more rows than T' lets pass.
//
// Of groups G by columns of T', with min(c) or max(c) of it, and T with all of them equal to those of G: one row, at least, for each of
// G. The correction is what PostgreSQL divides by, the product of numbers of different values, over the table's rows.
//
// Both end at the groups: a relation in which a correction holds is taken to have no more rows than G, unless PostgreSQL says so itself.
#include "pg/pg.h"

#include "pg/cost/repeated_tables.h"

#include <algorithm>

#include "pg/cost/joint_keys.h"
#include "pg/cost/own_selectivity.h"
#include "pg/cost/row_corrections.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

struct Groups {
    PlannerInfo *root; // of the query
    RelOptInfo *rel;   // the subquery in it
    PlannerInfo *sub;  // ... by itself
    double rows;       // as corrected so far
};

bool is_grouped(const RelOptInfo *rel) {
    return rel != nullptr && rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_SUBQUERY &&
           rel->subroot != nullptr && rel->subroot->parse->groupClause != NIL &&
           rel->subroot->parse->groupingSets == NIL;
}

bool is_key(const Groups *groups, const TargetEntry *entry) {
    ListCell *cell;
    foreach (cell, groups->sub->parse->groupClause)
        if (lfirst_node(SortGroupClause, cell)->tleSortGroupRef == entry->ressortgroupref)
            return true;
    return false;
}

const Var *as_column(const Expr *expression) {
    const Var *column = reinterpret_cast<const Var *>(expression);
    return IsA(expression, Var) && column->varlevelsup == 0 && column->varattno > 0 ? column : nullptr;
}

// The query's column of this relation (`attnum` 0: any) that is equal to the subquery's output.
const Var *partner_of(const Groups *groups, const TargetEntry *entry, const RelOptInfo *rel, int attnum) {
    return equal_column(groups->root, static_cast<int>(groups->rel->relid), entry->resno, static_cast<int>(rel->relid),
                        attnum);
}

void add(const Groups *groups, Relids relations, double factor, List **corrections) {
    if (factor <= 1)
        return;
    add_correction(corrections, {relations, factor, ends_of(groups->root, relations), groups->rows});
}

// ---- a condition on both sides ----

bool is_unique_column(const RelOptInfo *rel, int attnum) {
    ListCell *cell;
    foreach (cell, rel->indexlist) {
        const IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);
        if (index->unique && index->nkeycolumns == 1 && index->indexkeys[0] == attnum && index->indpred == NIL)
            return true;
    }
    return false;
}

// Conditions on the query's relation that stand on the subquery's, too.
List *shared_conditions(const RelOptInfo *outside, const RelOptInfo *inside) {
    List *within = NIL, *shared = NIL;
    ListCell *cell;
    foreach (cell, inside->baserestrictinfo) {
        Node *clause =
            static_cast<Node *>(copyObject(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause)));
        ChangeVarNodes(clause, static_cast<int>(inside->relid), static_cast<int>(outside->relid), 0);
        within = lappend(within, clause);
    }
    foreach (cell, outside->baserestrictinfo)
        if (list_member(within, lfirst_node(RestrictInfo, cell)->clause))
            shared = lappend(shared, lfirst(cell));
    return shared;
}

// The subquery's relation of the same table, with the same column equal to the key; NULL: there is none.
const RelOptInfo *same_table(const Groups *groups, const Var *key, Oid relid, int attnum) {
    for (int i = 1; i < groups->sub->simple_rel_array_size; ++i) {
        const RelOptInfo *rel = groups->sub->simple_rel_array[i];
        if (rel == nullptr || rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION ||
            planner_rt_fetch(rel->relid, groups->sub)->relid != relid)
            continue;
        const bool itself = static_cast<int>(key->varno) == i && key->varattno == attnum;
        if (itself || equal_column(groups->sub, static_cast<int>(key->varno), key->varattno, i, attnum) != nullptr)
            return rel;
    }
    return nullptr;
}

void add_restrictions_of_key(Groups *groups, const TargetEntry *entry, const Var *key, RelOptInfo *outside,
                             List **corrections) {
    const Var *column = partner_of(groups, entry, outside, 0);
    if (column == nullptr || !is_unique_column(outside, column->varattno))
        return;
    const RelOptInfo *inside =
        same_table(groups, key, planner_rt_fetch(outside->relid, groups->root)->relid, column->varattno);
    List *shared = inside != nullptr ? shared_conditions(outside, inside) : NIL;
    const Selectivity share = shared != NIL ? own_selectivity(groups->root, shared) : 1;
    if (share <= 0 || share >= 1)
        return;
    if (list_length(groups->sub->parse->groupClause) == 1 && inside->rows < groups->rows) {
        add_correction(corrections, {groups->rel->relids, inside->rows / groups->rows, NIL, 0});
        groups->rows = inside->rows;
    }
    // (Of less than a row PostgreSQL makes one.)
    add(groups, bms_union(groups->rel->relids, outside->relids), std::min(1 / share, groups->rel->rows), corrections);
}

// ---- extreme values ----

bool is_extreme(const Aggref *aggregate) {
    const char *name = get_func_name(aggregate->aggfnoid);
    return aggregate->aggfnoid < FirstNormalObjectId && aggregate->aggfilter == nullptr && name != nullptr &&
           (strcmp(name, "min") == 0 || strcmp(name, "max") == 0);
}

// What PostgreSQL divides by for the equality of the subquery's output and a column of the query: the larger number of different values.
double different(const Groups *groups, const TargetEntry *entry, const Var *column) {
    Var value{};
    value.xpr.type = T_Var;
    value.varno = groups->rel->relid;
    value.varattno = entry->resno;
    value.vartype = exprType(reinterpret_cast<const Node *>(entry->expr));
    value.vartypmod = -1;
    bool is_guess;
    return std::max({distinct_values(groups->root, reinterpret_cast<const Node *>(&value), &is_guess),
                     distinct_values(groups->root, reinterpret_cast<const Node *>(column), &is_guess), 1.0});
}

// By what the number of rows is too small if all keys and the extreme value are equal to the table's own columns; 1: they are not.
double missed_by(const Groups *groups, const TargetEntry *output, const Var *extreme, const RelOptInfo *outside) {
    const Var *value = partner_of(groups, output, outside, extreme->varattno);
    double combinations = value != nullptr ? different(groups, output, value) : 0;
    int keys = 0;
    ListCell *cell;
    foreach (cell, combinations > 0 ? groups->sub->parse->targetList : NIL) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        const Var *key = is_key(groups, entry) ? as_column(strip_relabels(entry->expr)) : nullptr;
        if (key == nullptr || key->varno != extreme->varno)
            continue;
        const Var *column = partner_of(groups, entry, outside, key->varattno);
        if (column == nullptr)
            return 1;
        combinations *= different(groups, entry, column);
        ++keys;
    }
    return keys == list_length(groups->sub->parse->groupClause) ? combinations / std::max(outside->tuples, 1.0) : 1;
}

void add_extreme(const Groups *groups, const TargetEntry *output, const Var *extreme, RelOptInfo *outside,
                 List **corrections) {
    if (planner_rt_fetch(extreme->varno, groups->sub)->relid != planner_rt_fetch(outside->relid, groups->root)->relid)
        return;
    add(groups, bms_union(groups->rel->relids, outside->relids),
        std::min(missed_by(groups, output, extreme, outside), groups->rel->rows), corrections);
}

// ---- all of them ----

void add_pair(Groups *groups, RelOptInfo *outside, List **corrections) {
    ListCell *cell;
    foreach (cell, groups->sub->parse->targetList) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        const Expr *value = strip_relabels(entry->expr);
        const Var *column = as_column(value);
        if (column != nullptr && is_key(groups, entry)) {
            add_restrictions_of_key(groups, entry, column, outside, corrections);
        } else if (IsA(value, Aggref) && is_extreme(reinterpret_cast<const Aggref *>(value))) {
            const TargetEntry *argument = linitial_node(TargetEntry, reinterpret_cast<const Aggref *>(value)->args);
            const Var *extreme = as_column(strip_relabels(argument->expr));
            if (extreme != nullptr)
                add_extreme(groups, entry, extreme, outside, corrections);
        }
    }
}

} // namespace

void add_repeated_tables(PlannerInfo *root, List **corrections) {
    for (int i = 1; i < root->simple_rel_array_size; ++i) {
        RelOptInfo *rel = root->simple_rel_array[i];
        if (!is_grouped(rel))
            continue;
        Groups groups{root, rel, rel->subroot, rel->rows};
        for (int k = 1; k < root->simple_rel_array_size; ++k) {
            RelOptInfo *outside = root->simple_rel_array[k];
            if (outside != nullptr && outside->reloptkind == RELOPT_BASEREL && outside->rtekind == RTE_RELATION)
                add_pair(&groups, outside, corrections);
        }
    }
}

} // namespace gpuscan
