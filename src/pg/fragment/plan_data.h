// A FragmentSpec inside a CustomScan, in nodes that survive copyObject, the plan cache and setrefs.c.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// Fills custom_scan_tlist, custom_exprs and custom_private. `plans` are the planned custom_paths.
void spec_to_node(const FragmentSpec *spec, List *plans, CustomScan *node);

// Where EXPLAIN insists on a WindowAgg for each window function that it shows (compat.h): the node of a finished plan shows others.
void show_window_functions(CustomScan *node);

// Rebuilds the fragment of a planned node. Never returns NULL; if a function or a type has changed since, it may lack its program.
Fragment *fragment_bind(const CustomScan *node, const List *range_table);

} // namespace gpuscan
