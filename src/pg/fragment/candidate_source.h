// What is a base relation to a device: columns that it reads itself, or rows of PostgreSQL's plan; and what do they cost?
#pragma once

#include "pg/pg.h"

#include "engine/cost/tier_cost.hpp"
#include "pg/cost/cache_admission.h"
#include "pg/fragment/fragment_spec.h"
#include "pg/fragment/text_work.h"

namespace gpuscan {

// Described but for what is known when it is part of a fragment: its join, its number among the CPU plans, and whether it is empty.
struct CandidateSource : FragmentSource {
    const PlannerInfo *root;
    RelOptInfo *rel; // a base relation: lives as long as its PlannerInfo
    Cost cost;       // is_relation: of reading it, once somebody has asked
    // is_relation: in all of its relations. Columns are known when somebody has looked into the cache (of those that are read, more
    // than their number only where pages are read row by row).
    tier::RelationWork work;
    double cacheable; // pages that can be cached
    bool looked;
    MissingColumns missing; // of what the cache does not have
};

// Lives in the current memory context. NULL: neither of them; why is told as a refusal.
CandidateSource *make_source(PlannerInfo *root, RelOptInfo *rel);

// What reading it takes, in the planner's units; a CPU plan that is a source is chosen by now.
Cost source_cost(const CandidateSource *source);

// The same for a breakdown of it (NULL: none). `brought`: another source of the fragment has brought the same columns, `unread`:
// nobody looks at its rows.
Cost weigh_source(const CandidateSource *source, bool brought, bool unread, tier::Breakdown *breakdown);

// is_relation: what it would have to bring into the cache.
const MissingColumns *source_missing_columns(const CandidateSource *source);

} // namespace gpuscan
