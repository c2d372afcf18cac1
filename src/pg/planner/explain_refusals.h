// EXPLAIN's property "Refused": why parts of the query cannot run on a device (gpuscan.explain_refusals).
#pragma once

namespace gpuscan {

void explain_refusals_init(); // called by _PG_init

} // namespace gpuscan
