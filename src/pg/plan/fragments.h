// Which sets of base relations a device could join, while PostgreSQL plans the same joins.
//
// A candidate belongs to the relids of a RelOptInfo and never to the RelOptInfo itself or to a Path: add_path frees what
// it displaces, and GEQO frees join relations after every tour. Everything here lives in the PlannerInfo's own context.
#pragma once

#include "pg/pg.h"

#include "engine/tier_cost.hpp"
#include "pg/cost/investment.h"
#include "pg/plan/blueprint.h"
#include "pg/plan/text_work.h"

namespace gpuscan {

struct CandidateSource {
    const PlannerInfo *root;
    RelOptInfo *rel;  // a base relation: lives as long as its PlannerInfo
    bool is_relation; // read by the device; else its cheapest path feeds the device
    Oid relid;
    List *quals;           // is_relation: expressions, cheap and selective ones first
    List *leaves;          // a parent: range table indexes of the relations that hold its rows
    double pages, visible; // is_relation: in all of its relations
    double tuples;
    Cost cost;           // is_relation: of reading it, once somebody has asked
    bool looked;         // into the cache, for:
    double cached_share; // of what could be cached of the absent columns: is
    ColumnKinds read;    // the columns that are looked at; but for their number, where pages are read row by row
    ColumnKinds absent;  // those of them that the cache does not have of all pages
    Load load;           // of what it does not have
};

struct Candidate;
struct JoinNote;

struct CandidateJoin {
    const Candidate *inner; // what the table is built from
    ir::JoinKind kind;
    List *clauses;
    List *partner_filters; // as in BlueprintJoin
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
    // The aggregation above it that has been rehearsed last (path.cpp), and what came of it.
    const Blueprint *rehearsed;
    const Fragment *rehearsal;
};

struct CandidateTable; // of one PlannerInfo

// To be called when the level's base relations are known.
CandidateTable *candidates_create(PlannerInfo *root);

// From the planner's hook, for every pair that could be joined; cheap.
void note_join(CandidateTable *table, RelOptInfo *joined, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
               const JoinPathExtraData *extra);

// The candidate of a set of relations whose joins have been noted; NULL: a device cannot join them.
const Candidate *candidates_find(CandidateTable *table, Relids relids);

// The candidate's relations and joins as a Blueprint without outputs: joins in the order in which they should run.
// child_paths gets the paths of the sources that CPU plans feed.
Blueprint *candidate_blueprint(PlannerInfo *root, const Candidate *candidate, List **child_paths);

// What its scans and joins cost on the device. `otherwise`: PostgreSQL's plan of the same, which answers where the join tables do
// not fit into the device's memory. `kept`: which tables are there already, by source of the candidate's blueprint; NULL: none.
Cost candidate_cost(const Candidate *candidate, const bool *kept, Cost otherwise, tier::Account *account);

// What it would have to bring into the cache; of Load *.
List *candidate_loads(const Candidate *candidate);
// ... with what is brought for CPU plans that are its sources.
List *all_loads(const Candidate *candidate);

} // namespace gpuscan
