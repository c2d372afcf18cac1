// What the last executions of a form came to. Some can never be answered by a device: a sum that overflows on the way, a row whose
// error PostgreSQL's plan does not meet, texts that are too many. Then each would cost the device's attempt and the CPU plan.
//
// So after the second fallback in a row the CPU plan answers the next 2 executions without an attempt, after the third 4, and so on, at most
// 1024: attempts that fail become a vanishing part of the work, as with Ethernet's exponential backoff (Metcalfe and Boggs, "Ethernet",
// CACM 19, 1976, section 4.4). One that succeeds ends it. With gpuscan.offload = force each execution is an attempt.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// `form`: see execution_form.h.
// Shall the CPU plan answer this execution? It counts, then.
bool is_resting(uint64 form);
// A device was asked, and has answered or has not.
void note_outcome(uint64 form, bool answered);

} // namespace gpuscan
