// Which of a fragment's join tables does its device keep now? See engine/store/kept_builds.hpp.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// By source, of what the device would run; NULL: none is kept. A table that probes others is found only where these are.
const bool *tables_kept(const PlannerInfo *root, const Fragment *trial);

} // namespace gpuscan
