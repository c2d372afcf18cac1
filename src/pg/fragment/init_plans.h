// Which init plans may be executed before a row has asked for their values?
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment_spec.h"

namespace gpuscan {

// The device needs what parameters stand for before it looks at a row. Init plans that may raise an error are tried (exec/trial.h), but what
// a volatile function does cannot be undone. False, with the reason told, if the fragment needs the value of such a one.
bool init_plans_may_be_tried(const PlannerInfo *root, const FragmentSpec *spec);

} // namespace gpuscan
