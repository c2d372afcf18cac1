// All settings in one number, and settings that are other than the session's for a while, as those of a function's SET clause are: from
// NewGUCNestLevel to AtEOXact_GUC. An ERROR takes them back with its transaction or subtransaction, nothing has to be caught.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Until the present level of settings ends. Errors: what SET would raise.
void set_for_now(const char *setting, const char *value);
void set_for_now(const char *setting, double value);
// Messages below ERROR go neither to the client nor to the log (but for INFO and LOG, which ask nobody).
void send_errors_only_for_now();

// Of the settings that the server and its libraries define, as they are now, but for those of logging: other ones, another hash.
uint64 settings_hash();

} // namespace gpuscan
