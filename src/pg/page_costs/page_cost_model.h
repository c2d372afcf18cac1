// The page cost model: five page costs in the planner instead of PostgreSQL's two (gpuscan.*_page_cost).
// See page_cost_model.cpp for how, engine/cost/storage_cost.hpp for the formulas.
#pragma once

#include "pg/pg.h"

#include "engine/cost/storage_cost.hpp"

namespace gpuscan {

// One bit for each setting that is not -1, and one while a statement is being planned with them. 0: nothing is touched.
extern int page_cost_model_flags;

using PlanStatement = PlannedStmt *(*)(Query *parse, const char *query_string, int options, ParamListInfo params);

// Calls `plan` with the page costs in force. To be called where page_cost_model_flags is not 0.
PlannedStmt *plan_with_page_cost_model(PlanStatement plan, Query *parse, const char *query_string, int options,
                                       ParamListInfo params);

// That of another library; NULL: none.
get_relation_info_hook_type others_relation_info_hook();

// In the place of standard_join_search.
RelOptInfo *search_joins_with_page_cost_model(PlannerInfo *root, int levels_needed, List *initial_rels);
inline RelOptInfo *search_joins(PlannerInfo *root, int levels_needed, List *initial_rels) {
    return page_cost_model_flags != 0 ? search_joins_with_page_cost_model(root, levels_needed, initial_rels)
                                      : standard_join_search(root, levels_needed, initial_rels);
}

void page_cost_model_init(); // defines the settings; called by guc_init

// ---- for the files of this folder ----

// Rows that were sorted, for join_bounds.cpp.
struct SortedRows {
    Cost total; // without sorting them
    double rows;
    int width;
    Cost startup; // with it, before the first one. 0: nothing is here
};

struct PageCostModel {
    static constexpr unsigned sorted_slots = 64;
    storage::PageCosts costs;     // in force
    bool files_are_postgres_own;  // those of joins
    storage::Surrogate for_joins; // while these are made
    storage::Surrogate current;   // the phase's, in seq_page_cost and random_page_cost
    SortedRows sorted[sorted_slots];
    bool completes_relations; // join_search.cpp is at work, and recosts relations when they are complete
};

// Of the statement that is being planned. NULL: the settings are all -1.
extern PageCostModel *current_page_cost_model;
inline PageCostModel *page_cost_model() { return current_page_cost_model; }

// Sets seq_page_cost and random_page_cost, for a phase of planning.
void enter_phase(storage::Surrogate costs);

// The same for a call of one of PostgreSQL's formulas; gives what they were, to be set again. (After an error
// plan_with_page_cost_model sets them to what they were before planning.)
inline storage::Surrogate exchange_page_costs(storage::Surrogate costs) {
    const storage::Surrogate before{seq_page_cost, random_page_cost};
    seq_page_cost = costs.seq;
    random_page_cost = costs.random;
    return before;
}

constexpr storage::Surrogate free_pages{0, 0};

} // namespace gpuscan
