// A Blueprint inside a CustomScan, in nodes that survive copyObject, the plan cache and setrefs.c.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/blueprint.h"

namespace gpuscan {

// Fills custom_scan_tlist, custom_exprs and custom_private. `plans` are the planned custom_paths.
void blueprint_to_node(const Blueprint *blueprint, List *plans, CustomScan *node);

Blueprint *blueprint_of_node(const CustomScan *node, const List *range_table);

} // namespace gpuscan
