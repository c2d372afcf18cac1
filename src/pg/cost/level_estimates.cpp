// See level_estimates.h. (A level's context: GEQO's is shorter.)
#include "pg/pg.h"

#include "pg/cost/level_estimates.h"

#include <utility>

namespace gpuscan {

static LevelEstimates *levels = nullptr;

LevelEstimates *level_estimates_begin() { return std::exchange(levels, nullptr); }

void level_estimates_end(LevelEstimates *before) { levels = before; }

LevelEstimates *level_estimates(const PlannerInfo *root) {
    for (LevelEstimates *level = levels; level != nullptr; level = level->next)
        if (level->root == root)
            return level;
    LevelEstimates *level =
        static_cast<LevelEstimates *>(MemoryContextAllocZero(root->planner_cxt, sizeof(LevelEstimates)));
    level->root = root;
    level->next = levels;
    levels = level;
    return level;
}

} // namespace gpuscan
