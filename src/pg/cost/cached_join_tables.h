// Which of a fragment's join tables does its device keep now? See engine/store/cached_builds.hpp.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// By source, of what the device would run; NULL: none is cached. A table that probes others is found only where these are.
const bool *cached_join_tables(const PlannerInfo *root, const Fragment *trial);

} // namespace gpuscan
