// Normalized queries, as pg_stat_statements has them: constants are parameters ($1). What may be put in for them? Texts and plans only;
// where values come from is the caller's matter (statistics_workload.hpp).
#pragma once

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace calibrate {

// A column that a parameter is compared with, by "=", "<>", "<", "<=", ">" or ">=" as seen from the column.
struct Comparison {
    std::string schema, relation, column, op;
};

struct ParameterUses {
    std::map<int, Comparison> compared; // with a column, directly
    std::set<int> unclear;              // in conditions in other ways only: what value is usual cannot be known
    std::set<std::string> schemas;      // of the relations that are read
    bool writes = false;                // or locks rows
};

// From EXPLAIN (VERBOSE, FORMAT json) of a generic plan. Throws std::runtime_error if the text is no plan.
ParameterUses uses_of(const std::string &plan_json);

// The numbers of the parameters in a statement, outside of quotes and comments.
std::set<int> parameters_of(const std::string &sql);
// The statement with texts in their place; those that are not in `values` stay.
std::string with_parameters(const std::string &sql, const std::map<int, std::string> &values);
// DATE $1 and INTERVAL $1 DAY are what normalizing makes of literals with a type, and no SQL: the same as CAST($1 AS date).
std::string with_casts(const std::string &sql);
// The parameters of LIMIT, or FETCH FIRST, and of OFFSET.
std::set<int> limits_of(const std::string &sql);
std::set<int> offsets_of(const std::string &sql);

} // namespace calibrate
