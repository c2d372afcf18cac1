// What has been estimated for a query level, so that each estimate is made once.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct LevelEstimates {
    const PlannerInfo *root;
    bool knows_key_joins;
    const List *key_joins;    // composite_keys.h
    const List *group_counts; // group_count.h
    LevelEstimates *next;
};

// Lives as long as the level; what it points to is to be made in the level's planner_cxt.
LevelEstimates *level_estimates(const PlannerInfo *root);

// Levels are known while a statement is planned, which can nest: begin returns what end wants back.
LevelEstimates *level_estimates_begin();
void level_estimates_end(LevelEstimates *before);

} // namespace gpuscan
