// The plans directly below a node of a finished plan, whichever fields of it hold them.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

inline List *plans_below(const Plan *plan) {
    List *plans = NIL;
    switch (nodeTag(plan)) {
    case T_Append:
        plans = reinterpret_cast<const Append *>(plan)->appendplans;
        break;
    case T_MergeAppend:
        plans = reinterpret_cast<const MergeAppend *>(plan)->mergeplans;
        break;
    case T_BitmapAnd:
        plans = reinterpret_cast<const BitmapAnd *>(plan)->bitmapplans;
        break;
    case T_BitmapOr:
        plans = reinterpret_cast<const BitmapOr *>(plan)->bitmapplans;
        break;
    case T_SubqueryScan:
        plans = list_make1(reinterpret_cast<const SubqueryScan *>(plan)->subplan);
        break;
    case T_CustomScan:
        plans = reinterpret_cast<const CustomScan *>(plan)->custom_plans;
        break;
    default:
        break;
    }
    plans = list_copy(plans);
    if (plan->lefttree != nullptr)
        plans = lappend(plans, plan->lefttree);
    if (plan->righttree != nullptr)
        plans = lappend(plans, plan->righttree);
    return plans;
}

} // namespace gpuscan
