// Which sets of base relations a device could join, while PostgreSQL plans the same joins.
//
// A candidate belongs to the relids of a RelOptInfo and never to the RelOptInfo itself or to a Path: add_path frees what
// it displaces, and GEQO frees join relations after every tour. Everything here lives in the PlannerInfo's own context.
#pragma once

#include "pg/pg.h"

#include "pg/fragment/candidate_source.h"
#include "pg/fragment/fragment_spec.h"

namespace gpuscan {

struct Candidate;
struct JoinNote;

struct CandidateJoin {
    const Candidate *inner; // what the table is built from
    ir::JoinKind kind;
    List *clauses;
    List *partner_filters; // as in SpecJoin
    List *filters;
    Relids needs; // what the clauses and filters read besides the inner side
    double ratio; // rows after the join / rows before
};

struct Candidate {
    Relids relids;
    const CandidateSource *main;
    List *joins; // of CandidateJoin *; NIL: a base relation
    double rows;
    // Of a join: how it came about, and what is compared among candidates of the same relids.
    const Candidate *outer, *inner;
    const JoinNote *note;
    Cost cost;
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

// Its joins in the order in which they should run: a list of CandidateJoin *.
List *ordered_joins(const Candidate *candidate);

// The candidate's relations and joins as a FragmentSpec without outputs, in that order. child_paths gets the paths of the sources that
// CPU plans feed.
FragmentSpec *candidate_spec(PlannerInfo *root, const Candidate *candidate, List **child_paths);

} // namespace gpuscan
