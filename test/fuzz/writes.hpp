// What happens between queries, and the settings under which they run.
#pragma once

#include "tables.hpp"

namespace fuzz {

string write_statement(); // which may fail: a value beyond its type
string maintenance();     // VACUUM and DDL
string settings();        // statements that hold for a transaction

} // namespace fuzz
