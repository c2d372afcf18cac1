// What does a candidate cost, and what does it bring into the cache?
#pragma once

#include "pg/pg.h"

#include "pg/fragment/candidates.h"

namespace gpuscan {

// What its scans and joins cost on the device. `otherwise`: PostgreSQL's plan of the same, which answers where the join tables do
// not fit into the device's memory. `cached`: which tables are there already, by source of the candidate's spec; NULL: none.
Cost candidate_cost(const Candidate *candidate, const bool *cached, Cost otherwise, tier::Breakdown *breakdown);

// What a table of so many rows costs.
Cost build_cost(double rows, tier::Breakdown *breakdown = nullptr);
// What so many rows cost that look for partners in a table, of which so many are found.
Cost probe_cost(double rows, double entries, double found, PartnersBy by, ir::JoinKind kind,
                tier::Breakdown *breakdown = nullptr);

// What it would have to bring into the cache; of MissingColumns *.
List *candidate_missing_columns(const Candidate *candidate);
// ... with what is brought for CPU plans that are its sources.
List *all_missing_columns(const Candidate *candidate);

} // namespace gpuscan
