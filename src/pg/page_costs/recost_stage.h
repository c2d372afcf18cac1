// The exact costs of what PostgreSQL makes of a relation's paths between two hooks: sorts, aggregations, Gather, Append.
#pragma once

#include "pg/pg.h"

#include "engine/cost/storage_cost.hpp"

namespace gpuscan {

// Paths whose costs are right. Keyed by address, which is used again when a path is freed; so what a path cost is kept, too.
struct RecostedPaths;
RecostedPaths *recosted_paths_create(); // in the current memory context

// Of a relation's paths: which page costs they were made under.
struct MadeUnder {
    const RelOptInfo *rel; // NULL: none
    storage::Surrogate costs;
};

// Recosts the relation's own paths and, for grouping and set operations, those of the steps that have no hook of their own,
// which were made under `made_under`; and what they are made of among the paths of `below`. Returns whether a cost has changed.
bool recost_paths(RecostedPaths *recosted, PlannerInfo *root, RelOptInfo *rel, storage::Surrogate made_under,
                  MadeUnder below);

} // namespace gpuscan
