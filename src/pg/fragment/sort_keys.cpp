// What a path key is in the words of the query; see sort_keys.h.
#include "pg/pg.h"

#include "pg/fragment/sort_keys.h"

#include "pg/catalog/sql_type.h"
#include "pg/catalog/type_operators.h"

namespace gpuscan {

// What the query level sorts, groups or partitions by, as it is written; NULL: something that is not there.
static Expr *sort_expression(const PlannerInfo *root, Relids relids, const PathKey *key) {
    ListCell *target, *member;
    if (key->pk_eclass->ec_has_volatile)
        return nullptr;
    foreach (target, root->processed_tlist) {
        Expr *expr = static_cast<const TargetEntry *>(lfirst(target))->expr;
        foreach (member, key->pk_eclass->ec_members) {
            const EquivalenceMember *em = static_cast<const EquivalenceMember *>(lfirst(member));
            if (!em->em_is_const && !em->em_is_child && (relids == nullptr || bms_is_subset(em->em_relids, relids)) &&
                equal(strip_relabels(em->em_expr), strip_relabels(expr))) // (a varchar is ordered as a text)
                return expr;
        }
    }
    return nullptr;
}

void ask_for_sort_keys(const PlannerInfo *root, List *pathkeys, Relids relids, FragmentSpec *spec) {
    ListCell *cell;
    foreach (cell, pathkeys) {
        const PathKey *key = static_cast<const PathKey *>(lfirst(cell));
        Expr *expr = sort_expression(root, relids, key);
        if (expr == nullptr)
            return;
        Node *node = reinterpret_cast<Node *>(expr);
        if (!is_device_family(key->pk_opfamily, exprType(node)) || exprCollation(node) != key->pk_eclass->ec_collation)
            return;
        spec->order = lappend(spec->order, expr);
        spec->order_flags = lappend_int(spec->order_flags, (is_descending(key) ? ORDER_DESCENDING : 0) |
                                                               (key->pk_nulls_first ? ORDER_NULLS_FIRST : 0));
    }
}

} // namespace gpuscan
