// The costs of sorts that come into being with the plan.
//
// The sorts within a merge join or a Merge Append are part of that path's cost. They become nodes only when the path becomes a
// plan, and get costs of their own for EXPLAIN then, with the page costs of the moment (label_sort_with_costsize).
// Nothing depends on them any more, but they should be what the join was charged.
//
// A sort that was a path has its exact cost already, and is told from the others by that. (The node of a subquery that did nothing
// but cost something for each row may be gone from below the sort, whose cost it was part of.)
#include "pg/page_costs/recost_sorts.h"

#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

static void recost_plan(Plan *plan, storage::Surrogate made_under);

// The Material above a sort begins and ends with it.
static void recost_sort(Plan *plan, storage::Surrogate made_under) {
    if (plan == nullptr)
        return;
    Plan *sort = IsA(plan, Material) ? plan->lefttree : plan;
    if (sort == nullptr || !IsA(sort, Sort) || !is_spilled(sort->lefttree->plan_rows, sort->lefttree->plan_width))
        return;
    const Plan *input = sort->lefttree;
    PathTarget target{};
    target.width = input->plan_width;
    Path from{}, stock, exact;
    from.pathtarget = &target;
    from.total_cost = input->total_cost;
    storage::Surrogate before = exchange_page_costs(made_under);
    cost_sort_of(&stock, nullptr, NIL, &from, input->plan_rows, -1);
    exchange_page_costs(free_pages);
    cost_sort_of(&exact, nullptr, NIL, &from, input->plan_rows, -1);
    exchange_page_costs(before);
    const Cost files = sort_files(page_cost_model()->costs, input->plan_rows, input->plan_width),
               gone = cpu_tuple_cost * input->plan_rows;
    const auto distance = [&](Cost cost) {
        const Cost off = sort->startup_cost - cost;
        return std::fmin(std::fabs(off), std::fabs(off - gone));
    };
    if (distance(exact.startup_cost + files) <= distance(stock.startup_cost))
        return;
    const Cost moved = files - stock_sort_files(made_under, input->plan_rows, input->plan_width);
    for (Plan *labelled = plan;; labelled = labelled->lefttree) {
        labelled->startup_cost += moved;
        labelled->total_cost += moved;
        if (labelled == sort)
            return;
    }
}

static void recost_list(List *plans, storage::Surrogate made_under) {
    ListCell *cell;
    foreach (cell, plans)
        recost_plan(static_cast<Plan *>(lfirst(cell)), made_under);
}

static void recost_plan(Plan *plan, storage::Surrogate made_under) {
    if (plan == nullptr)
        return;
    check_stack_depth();
    recost_plan(plan->lefttree, made_under);
    recost_plan(plan->righttree, made_under);
    switch (nodeTag(plan)) {
    case T_MergeJoin:
        recost_sort(plan->lefttree, made_under);
        recost_sort(plan->righttree, made_under);
        break;
    case T_MergeAppend: {
        List *inputs = reinterpret_cast<MergeAppend *>(plan)->mergeplans;
        recost_list(inputs, made_under);
        ListCell *cell;
        foreach (cell, inputs)
            recost_sort(static_cast<Plan *>(lfirst(cell)), made_under);
        break;
    }
    case T_Append:
        recost_list(reinterpret_cast<Append *>(plan)->appendplans, made_under);
        break;
    case T_SubqueryScan:
        recost_plan(reinterpret_cast<SubqueryScan *>(plan)->subplan, made_under);
        break;
    case T_CustomScan:
        recost_list(reinterpret_cast<CustomScan *>(plan)->custom_plans, made_under);
        break;
    default:
        break;
    }
}

void recost_sorts(PlannedStmt *statement, storage::Surrogate made_under) {
    recost_plan(statement->planTree, made_under);
    recost_list(statement->subplans, made_under);
}

} // namespace gpuscan
