// Which sets of base relations a device could join, while PostgreSQL plans the same joins.
//
// A candidate belongs to the relids of a RelOptInfo and never to the RelOptInfo itself or to a Path: add_path frees what
// it displaces, and GEQO frees join relations after every tour. Everything here lives in the PlannerInfo's own context.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/candidate_source.h"
#include "pg/fragment/fragment_spec.h"

namespace gpuscan {

struct JoinPair;

// A base relation, or a candidate whose rows probe a table.
struct Candidate {
    Relids relids;
    const CandidateSource *main; // the relation whose rows probe all tables
    double rows;
    // Of a join:
    const Candidate *outer, *inner; // whose rows probe (NULL: a base relation), and what the table is built from
    const JoinPair *pair;           // of PostgreSQL's
    Cost cost;                      // what is compared among candidates of the same relids
    const FragmentJoin *join; // of the tables, once somebody has asked for just this candidate; `into` is not known yet
    Relids needs;             // what its clauses and filters read besides the inner side
    // The aggregation above it that has been tried last (path.cpp), and what came of it.
    const FragmentSpec *tried;
    const Fragment *trial;
};

struct CandidateTable; // of one PlannerInfo

// To be called when the level's base relations are known.
CandidateTable *candidates_create(PlannerInfo *root);

// From the planner's hook, for every pair that could be joined; cheap.
void note_join(CandidateTable *table, RelOptInfo *joined, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
               const JoinPathExtraData *extra);

// The candidate of a set of relations whose joins have been noted; NULL: a device cannot join them.
const Candidate *candidates_find(CandidateTable *table, Relids relids);

// Rows after its last join / rows before.
inline double join_ratio(const Candidate *joined) {
    return joined->rows / (joined->outer->rows > 1 ? joined->outer->rows : 1);
}

// Its joins in the order in which they should run: of the const Candidate * whose last joins they are.
List *ordered_joins(const Candidate *candidate);

// The candidate's relations and joins as a FragmentSpec without outputs, in that order. child_paths gets the paths of the sources that
// CPU plans feed.
FragmentSpec *candidate_spec(PlannerInfo *root, const Candidate *candidate, List **child_paths);

} // namespace gpuscan
