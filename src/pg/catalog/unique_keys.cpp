#include "pg/pg.h"

#include "pg/catalog/unique_keys.h"

#include "pg/catalog/declared_for_snapshot.h"

namespace gpuscan {
namespace {

int semi_joins_in(const Node *tree) {
    check_stack_depth();
    if (tree == nullptr || IsA(tree, RangeTblRef))
        return 0;
    if (IsA(tree, JoinExpr)) {
        const JoinExpr *join = reinterpret_cast<const JoinExpr *>(tree);
        return (join->jointype == JOIN_SEMI ? 1 : 0) + semi_joins_in(join->larg) + semi_joins_in(join->rarg);
    }
    int count = 0;
    ListCell *cell;
    foreach (cell, reinterpret_cast<const FromExpr *>(tree)->fromlist)
        count += semi_joins_in(static_cast<const Node *>(lfirst(cell)));
    return count;
}

// Has an IN or EXISTS become an inner join?
bool has_reduced_semi_join(const PlannerInfo *root) {
    int left = semi_joins_in(reinterpret_cast<const Node *>(root->parse->jointree));
    ListCell *cell;
    foreach (cell, root->join_info_list)
        left -= static_cast<const SpecialJoinInfo *>(lfirst(cell))->jointype == JOIN_SEMI ? 1 : 0;
    return left > 0;
}

bool is_newer(Oid index, Snapshot snapshot, bool for_plans) {
    HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(tuple))
        return true;
    const bool declared = for_plans ? is_declared_for_plans(tuple, snapshot)
                                    : !IsolationUsesXactSnapshot() || is_declared_for(tuple, snapshot);
    if (!for_plans)
        note_reliance(tuple);
    ReleaseSysCache(tuple);
    return !declared;
}

} // namespace

Relids relations_with_newer_keys(const PlannerInfo *root) {
    Relids found = nullptr;
    if (!ActiveSnapshotSet() || !IsMVCCSnapshot(GetActiveSnapshot()))
        return found;
    const bool for_plans = has_reduced_semi_join(root);
    for (int number = 1; number < root->simple_rel_array_size; ++number) {
        const RelOptInfo *rel = root->simple_rel_array[number];
        ListCell *cell;
        foreach (cell, rel != nullptr ? rel->indexlist : NIL) {
            const IndexOptInfo *index = static_cast<const IndexOptInfo *>(lfirst(cell));
            if (index->unique && is_newer(index->indexoid, GetActiveSnapshot(), for_plans))
                found = bms_add_member(found, number);
        }
    }
    return found;
}

} // namespace gpuscan
