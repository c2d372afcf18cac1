// What is known while a statement is planned in one way: of the whole, and of each of its query levels.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/candidates.h"
#include "pg/planner/statement.h"

namespace gpuscan {

struct LevelState {
    const PlannerInfo *root;
    bool aggregates, extremum;  // of the query
    bool offered;               // rows of a device: what its paths cost is not PostgreSQL's alone
    bool aggregated;            // by a device, if that path is taken
    bool windowed;              // a device can compute its windows
    bool weighed, has_worthy;   // one of its base relations is worth a look, if they have been looked at
    bool looked;                // candidates are known:
    CandidateTable *candidates; // NULL: this level is none of our business
    bool knows_keys;            // relations with a key that is newer than rows of theirs are known:
    Relids newer_keys;          // ... these (catalog/unique_keys.h)
    List *unnoted;              // of JoinSearch *: no notes were taken
    RelOptInfo *disguised;      // a partitioned relation that passes for one without partitions, of which it has
    int partitions;             // ... so many
};

struct PlannerState {
    List *levels; // of LevelState *: all but the first one
    MemoryContext context;
    // Asked once: the join hook is called thousands of times.
    bool enabled;
    bool cursor;            // perhaps
    bool updatable;         // ... and UPDATE ... WHERE CURRENT OF may want to know where a row came from
    bool backward;          // ... and PostgreSQL's plan would go backwards where a device's does not
    bool by_cost;           // what PostgreSQL does cheaply is left alone
    Cost start;             // what is not worth a look, and what the smallest fragment costs before its first row
    PlannedTime *told;      // somebody wants to be told (NULL: nobody)
    double ns;              // that the statement's plan takes, once it is known
    int relations;          // of all levels, joins among them
    double windowed_groups; // that windows of one level look at, at most
    int device_windows;     // levels whose windows a device can compute: for which there is a path
    int stage_windows;      // ... over the groups of a subquery
    LevelState *last;       // that was looked for
    LevelState first;       // most statements have one only
};

// Of the innermost call of the planner; NULL: gpuscan has nothing to do with it.
extern PlannerState *planning;

} // namespace gpuscan
