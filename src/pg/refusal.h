// Why a device plan was not made, in words for the user (gpuscan.explain_refusals).
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Notes a reason (printf style, lower case, no period); shown once per planned query and reason as a NOTICE when
// gpuscan.explain_refusals is on, else at DEBUG2. Returns false so that callers can `return refuse(...)`.
bool refuse(const char *format, ...) pg_attribute_printf(1, 2);

// ... with what a user can change, for gpuscan.advise().
bool refuse_with(const char *change, const char *format, ...) pg_attribute_printf(2, 3);

struct ToldRefusal {
    const char *reason, *change; // change: NULL if nothing helps
};

// From now on reasons are not shown but added to `to`, a list of ToldRefusal * in the context of now (NULL: shown again). Returns where
// they went before.
List **listen_to_refusals(List **to);

// Would anybody see a reason?
bool refusals_wanted();

} // namespace gpuscan
