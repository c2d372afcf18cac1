#include "pg/pg.h"

#include "pg/plan_time/level_time.h"

#include "pg/cost/device_cost.h"

namespace gpuscan {

constexpr int max_levels = 64; // of a statement, in all attempts to plan it; the oldest are forgotten

struct Level {
    const PlannerInfo *root;
    double ns_per_unit;
    const List *missing_columns;
};

static Level levels[max_levels];
static unsigned nlevels = 0;

void forget_levels() { nlevels = 0; }

const Path *path_taken(const PlannerInfo *root, const RelOptInfo *final) {
    Path *best = nullptr;
    ListCell *cell;
    foreach (cell, final->pathlist) {
        Path *path = static_cast<Path *>(lfirst(cell));
        double share = root->tuple_fraction;
        if (share >= 1 && path->rows > 0)
            share /= path->rows;
        if (path->param_info == nullptr && (best == nullptr || compare_fractional_path_costs(path, best, share) < 0))
            best = path;
    }
    return best;
}

// (Always: a level of a statement that was planned meanwhile, and is gone, may have been at the same address.)
void note_level(const PlannerInfo *root, const Path *path, double ns, const List *missing_columns) {
    const bool is_known = path->total_cost > 0 && path->total_cost < disable_cost;
    levels[nlevels++ % max_levels] = Level{root, is_known ? ns / path->total_cost : 0, missing_columns};
}

static const Level *level_of(const PlannerInfo *root) {
    for (unsigned i = nlevels; i > 0 && i + max_levels > nlevels; --i)
        if (levels[(i - 1) % max_levels].root == root)
            return &levels[(i - 1) % max_levels];
    return nullptr;
}

static const PlannerInfo *subplan_root(const PlannerInfo *root, int plan_id) {
    return static_cast<const PlannerInfo *>(list_nth(root->glob->subroots, plan_id - 1));
}

double subplan_ns_per_unit(const PlannerInfo *root, int plan_id) {
    const Level *level = level_of(subplan_root(root, plan_id));
    return level != nullptr && level->ns_per_unit > 0 ? level->ns_per_unit : device_ns_per_unit();
}

static Cost cost_of_once(const SubPlan *plan) { return plan->startup_cost + plan->per_call_cost; }

Cost init_plans_cost(const PlannerInfo *root) {
    Cost cost = 0;
    ListCell *cell;
    foreach (cell, root->init_plans)
        cost += cost_of_once(lfirst_node(SubPlan, cell));
    return cost;
}

double init_plans_ns(const PlannerInfo *root) {
    double ns = 0;
    ListCell *cell;
    foreach (cell, root->init_plans) {
        const SubPlan *plan = lfirst_node(SubPlan, cell);
        ns += cost_of_once(plan) * subplan_ns_per_unit(root, plan->plan_id);
    }
    return ns;
}

List *init_plans_missing_columns(const PlannerInfo *root) {
    List *missing_columns = NIL;
    ListCell *cell;
    foreach (cell, root->init_plans) {
        const Level *level = level_of(subplan_root(root, lfirst_node(SubPlan, cell)->plan_id));
        if (level != nullptr)
            missing_columns = list_concat(missing_columns, level->missing_columns);
    }
    return missing_columns;
}

} // namespace gpuscan
