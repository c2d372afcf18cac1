#include "pg/pg.h"

#include "pg/fragment/candidate_cost.h"

#include "pg/cost/device_cost.h"
#include "pg/plan_time/plan_time.h"

namespace gpuscan {

Cost probe_cost(double rows, double entries, double found, PartnersBy by, ir::JoinKind kind,
                tier::Breakdown *breakdown) {
    tier::Ledger ledger = device_ledger(breakdown);
    if (ir::keeps_table(kind))
        ledger.unmatched(entries);
    if (by == PartnersBy::Key)
        ledger.probe(rows, entries);
    else if (by == PartnersBy::Interval)
        ledger.intervals(rows, entries, found);
    else
        ledger.pairs(rows, entries);
    return device_cost(ledger);
}

Cost build_cost(double rows, tier::Breakdown *breakdown) {
    tier::Ledger ledger = device_ledger(breakdown);
    ledger.build(rows);
    return device_cost(ledger);
}

struct CandidateWork {
    List *brought;      // OIDs of relations that an earlier source reads
    List *below;        // Loads of the CPU plans that are sources
    double table_rows;  // of tables that are not there
    const bool *cached; // tables, by source as in the spec
    int nsources;       // that have been met: the next one's number
    tier::Breakdown *breakdown;
};

// (Not the members of its relids: since PostgreSQL 16 outer joins are among them.)
static int sources_of(const Candidate *candidate) {
    return candidate->outer == nullptr ? 1 : sources_of(candidate->outer) + sources_of(candidate->inner);
}

// Is the table there that the next sources are for, the candidate's main one the last of them? (As describe_build() numbers them.)
static bool is_cached(const Candidate *candidate, const CandidateWork *work) {
    return work->cached != nullptr && work->cached[work->nsources + sources_of(candidate) - 1];
}

static bool is_brought(const CandidateSource *source, const CandidateWork *work) {
    return source->is_relation &&
           (list_member_oid(work->brought, source->relid) || brings(work->below, source_missing_columns(source)));
}

// The scans, builds and probes in the order in which they will run. A table that stands in the fragment twice is brought once (the
// second time mostly the same columns are wanted), and so is what a device reads for a CPU plan that is a source. Of a join table that
// is there, the sources are staged, which tells the device that it is the right one, and nothing else is done.
static Cost weigh_candidate(const Candidate *candidate, bool is_there, CandidateWork *work) {
    const CandidateSource *main = candidate->main;
    double rows = main->rows;
    Cost cost = 0;
    ListCell *cell;
    foreach (cell, ordered_joins(candidate)) {
        const Candidate *joined = static_cast<const Candidate *>(lfirst(cell));
        const FragmentJoin *join = joined->join;
        const double entries = joined->inner->rows;
        const bool found = is_cached(joined->inner, work);
        cost += weigh_candidate(joined->inner, found, work);
        ++work->nsources;
        if (!found) {
            cost += build_cost(entries, work->breakdown);
            work->table_rows += entries;
        }
        if (!is_there)
            cost += probe_cost(rows, entries, rows * join_ratio(joined), join->by, join->kind, work->breakdown);
        rows *= join_ratio(joined);
    }
    cost += weigh_source(main, is_brought(main, work), is_there, work->breakdown);
    if (main->is_relation)
        work->brought = lappend_oid(work->brought, main->relid);
    return cost;
}

// What is brought for the CPU plans among the sources.
static void collect_below(const Candidate *candidate, List **missing_columns) {
    const CandidateSource *main = candidate->main;
    if (candidate->outer != nullptr) {
        collect_below(candidate->outer, missing_columns);
        collect_below(candidate->inner, missing_columns);
    } else if (!main->is_relation && main->rel->cheapest_total_path != nullptr) {
        *missing_columns = list_concat(*missing_columns, path_missing_columns(const_cast<PlannerInfo *>(main->root),
                                                                              main->rel->cheapest_total_path));
    }
}

Cost candidate_cost(const Candidate *candidate, const bool *cached, Cost otherwise, tier::Breakdown *breakdown) {
    CandidateWork work{NIL, NIL, 0, cached, 1, breakdown};
    collect_below(candidate, &work.below);
    const Cost cost = weigh_candidate(candidate, false, &work);
    tier::Ledger ledger = device_ledger(breakdown);
    if (!tables_fit(work.table_rows))
        ledger.plan_cost(tier::Stage::Build, otherwise);
    return cost + device_cost(ledger);
}

// In the order of weigh_candidate.
static void collect_missing_columns(const Candidate *candidate, CandidateWork *work, List **missing_columns) {
    const CandidateSource *main = candidate->main;
    ListCell *cell;
    foreach (cell, ordered_joins(candidate))
        collect_missing_columns(static_cast<const Candidate *>(lfirst(cell))->inner, work, missing_columns);
    if (!main->is_relation || is_brought(main, work))
        return;
    work->brought = lappend_oid(work->brought, main->relid);
    if (main->missing.price > 0)
        *missing_columns = lappend(*missing_columns, const_cast<MissingColumns *>(&main->missing));
}

List *candidate_missing_columns(const Candidate *candidate) {
    CandidateWork work{NIL, NIL, 0, nullptr, 1, nullptr};
    List *missing_columns = NIL;
    collect_below(candidate, &work.below);
    collect_missing_columns(candidate, &work, &missing_columns);
    return missing_columns;
}

List *all_missing_columns(const Candidate *candidate) {
    List *missing_columns = candidate_missing_columns(candidate);
    collect_below(candidate, &missing_columns);
    return missing_columns;
}

} // namespace gpuscan
