// The workload from what the server has seen: the queries of pg_stat_statements that took most time, weighted by their calls.
//
// The extension keeps queries without their constants ($1). What is put in for them is said here, since it decides what is calibrated:
//   compared with a column   what pg_stats knows of it: with "=" the most common values, in turn, or the middle of the histogram; with
//                            "<" or ">" the middle of its values, between two such bounds the middle fifth
//   LIMIT, OFFSET            the rows that a call returned on average; 0
//   in no condition          1, an empty text, and the like: it does not decide which rows are read
// A query with other parameters (a pattern, an argument of a function, a bound that is computed) is left out, as one is that is no
// query, reads no table, or does not run. What is left out is said, and why. What a parameter is compared with is in the generic plan.
//
// Queries of all users that this role may see are taken, of this database. They are run with this role's rights, in transactions that
// are read only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "session.hpp"
#include "workload.hpp"

namespace calibrate {

// At most `top` queries. Throws WorkloadError: no extension, not loaded, nothing that can be used; ServerError.
std::vector<Query> read_statistics(Session &session, size_t top, const std::function<void(const std::string &)> &say);

} // namespace calibrate
