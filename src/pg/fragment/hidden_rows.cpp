// See hidden_rows.h. A view with a security barrier is a subquery into which PostgreSQL moves nothing but leakproof conditions, so
// all conditions beside its own may be asked of any row; only their figures are not for everybody.
#include "pg/pg.h"

#include "pg/fragment/hidden_rows.h"

namespace gpuscan {

bool hides_rows(const PlannerInfo *root, Index rti) { return planner_rt_fetch(rti, root)->securityQuals != NIL; }

bool hides_counts(const PlannerInfo *root) {
    for (; root != nullptr; root = root->parent_root) {
        ListCell *cell;
        foreach (cell, root->parse->rtable) {
            const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
            if (rte->security_barrier || rte->securityQuals != NIL)
                return true;
        }
    }
    return false;
}

} // namespace gpuscan
