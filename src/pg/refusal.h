// Why a device plan was not made, in words for the user (gpuscan.explain_refusals, gpuscan.advise()).
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Notes a reason (printf style, lower case, no period); told once per planned statement to whoever listens, and at DEBUG2. Returns
// false so that callers can `return refuse(...)`.
bool refuse(const char *format, ...) pg_attribute_printf(1, 2);

// ... with what a user can change.
bool refuse_with(const char *change, const char *format, ...) pg_attribute_printf(2, 3);

struct ToldRefusal {
    const char *reason, *change; // change: NULL if nothing helps
    const char *tables;          // that the query level reads itself, by their names in the query; NULL: none
};

// The reasons of the statement that is planned next are added to `to`, a list of ToldRefusal * in the context of now (NULL: nobody
// listens). Returns where they would have gone.
List **listen_to_refusals(List **to);

// Would anybody see a reason?
bool refusals_wanted();

} // namespace gpuscan
