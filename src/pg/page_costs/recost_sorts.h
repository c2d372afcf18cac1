// The costs of sorts that come into being with the plan.
#pragma once

#include "pg/pg.h"

#include "engine/cost/storage_cost.hpp"

namespace gpuscan {

// `made_under`: the page costs when plans were made of paths.
void recost_sorts(PlannedStmt *statement, storage::Surrogate made_under);

} // namespace gpuscan
