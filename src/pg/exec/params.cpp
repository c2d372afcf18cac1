// Parameters that init plans stand for, as the device's expressions need them before any row has asked for them.
#include "pg/exec/error_free_plan.h"
#include "pg/exec/run.h"
#include "pg/exec/trial.h"

namespace gpuscan {
namespace {

bool collect_exec_params(Node *node, void *params) {
    if (node == nullptr)
        return false;
    if (IsA(node, Param) && reinterpret_cast<Param *>(node)->paramkind == PARAM_EXEC) {
        Bitmapset **const set = static_cast<Bitmapset **>(params);
        *set = bms_add_member(*set, reinterpret_cast<Param *>(node)->paramid);
    }
    return walk_expression(node, collect_exec_params, params);
}

// The subplans that a plan's parameters stand for are among them.
bool evaluate(FragmentRun *run, const Bitmapset *params);

bool evaluate_param(FragmentRun *run, int id) {
    EState *estate = run->parent->state;
    SubPlanState *pending = static_cast<SubPlanState *>(estate->es_param_exec_vals[id].execPlan);
    if (pending == nullptr)
        return true;
    if (is_error_free_init_plan(estate, pending)) {
        ExecSetParamPlan(pending, run->econtext);
        return true;
    }
    if (!evaluate(run, pending->planstate->plan->extParam))
        return false;
    switch (try_init_plan(estate, pending)) {
    case Attempt::Done:
        return true;
    case Attempt::Failed:
        return give_up(run, "a subquery raises an error or sends a message, which no row may have asked for");
    default:
        return give_up(run, "a subquery that may raise an error cannot be tried now");
    }
}

bool evaluate(FragmentRun *run, const Bitmapset *params) {
    for (int id = -1; (id = bms_next_member(params, id)) >= 0;)
        if (!evaluate_param(run, id))
            return false;
    return true;
}

} // namespace

bool evaluate_params(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    Bitmapset *params = nullptr;
    for (int i = 0; i < fragment->nconstants; ++i)
        collect_exec_params(reinterpret_cast<Node *>(fragment->constants[i].expr), &params);
    for (int i = 0; i < fragment->nlookups; ++i)
        collect_exec_params(reinterpret_cast<Node *>(fragment->lookups[i].expr), &params);
    return evaluate(run, params);
}

bool evaluate_plan_params(FragmentRun *run, const Plan *plan) { return evaluate(run, plan->extParam); }

} // namespace gpuscan
