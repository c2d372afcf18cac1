// Why a device plan was not made, in words for the user (gpuscan.explain_refusals).
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Notes a reason (printf style, lower case, no period); shown once per planned query and reason as a NOTICE when
// gpuscan.explain_refusals is on, else at DEBUG2. Returns false so that callers can `return refuse(...)`.
bool refuse(const char *format, ...) pg_attribute_printf(1, 2);

// Would anybody see a reason?
bool refusals_wanted();

} // namespace gpuscan
