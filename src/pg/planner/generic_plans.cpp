// See generic_plans.h. A plan that is executed is known by its statement's text and its cost: the plans for given values of the same text
// cost something else.
#include "pg/pg.h"

#include "pg/planner/generic_plans.h"

#include <algorithm>
#include <utility>

#include "pg/cost/planning_inputs.h"

namespace gpuscan {

constexpr int max_statements = 256; // of a session; another one may displace what is known of one

struct GenericPlan {
    uint64 statement;
    double known_ns; // that executions take, or are expected to
    Cost cost;       // of the plan that is in use; 0: there is none
    double executions, taken_ns;
    bool begun; // an execution, of which nothing is counted yet
};

static GenericPlan plans[max_statements];
static bool any_custom = false, any_generic = false;

static GenericPlan *place_of(uint64 statement) { return &plans[statement % max_statements]; }

void note_custom_plan(uint64 statement) {
    GenericPlan *plan = place_of(statement);
    if (plan->statement != statement)
        *plan = GenericPlan{statement, 0, 0, 0, 0, false};
    any_custom = true;
}

bool knows_custom_plans() { return any_custom; }

void price_generic_plan(uint64 statement, PlannedStmt *plan, double ns) {
    GenericPlan *known = place_of(statement);
    if (known->statement != statement || ns <= 0)
        return;
    if (known->known_ns > ns)
        plan->planTree->total_cost *= known->known_ns / ns;
    *known = GenericPlan{statement, std::max(known->known_ns, ns), plan->planTree->total_cost, 0, 0, false};
    any_generic = true;
}

static GenericPlan *known_plan(const QueryDesc *query) {
    if (!any_generic || query->params == nullptr)
        return nullptr;
    const PlannedStmt *plan = query->plannedstmt;
    const uint64 statement = statement_hash(statement_text(query->sourceText, plan->stmt_location, plan->stmt_len));
    GenericPlan *known = place_of(statement);
    return known->statement == statement && known->cost == plan->planTree->total_cost ? known : nullptr;
}

bool is_generic_execution(const QueryDesc *query) { return known_plan(query) != nullptr; }

void begin_generic_execution(const QueryDesc *query) {
    if (GenericPlan *plan = known_plan(query))
        plan->begun = true;
}

void add_generic_execution(const QueryDesc *query, double ns) {
    GenericPlan *plan = known_plan(query);
    if (plan == nullptr)
        return;
    plan->executions += std::exchange(plan->begun, false) ? 1 : 0;
    plan->taken_ns += ns;
    const double mean = plan->taken_ns / std::max(plan->executions, 1.0);
    if (mean <= 2 * plan->known_ns)
        return;
    plan->known_ns = mean;
    ResetPlanCache();
}

} // namespace gpuscan
