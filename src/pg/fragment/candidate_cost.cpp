#include "pg/pg.h"

#include "pg/fragment/candidate_cost.h"

#include "pg/cost/device_cost.h"
#include "pg/cost/plan_time.h"

namespace gpuscan {

Cost probe_cost(double rows, double entries, bool keyed, ir::JoinKind kind, tier::Account *account) {
    tier::Ledger ledger = device_ledger(account);
    if (ir::keeps_table(kind))
        ledger.unmatched(entries);
    if (keyed)
        ledger.probe(rows, entries);
    else
        ledger.pairs(rows, entries);
    return device_cost(ledger);
}

Cost build_cost(double rows, tier::Account *account) {
    tier::Ledger ledger = device_ledger(account);
    ledger.build(rows);
    return device_cost(ledger);
}

struct CandidateWork {
    List *brought;     // OIDs of relations that an earlier source reads
    List *below;       // Loads of the CPU plans that are sources
    double table_rows; // of tables that are not there
    const bool *kept;  // tables, by source as in the spec
    int nsources;      // that have been met: the next one's number
    tier::Account *account;
};

// (Not the members of its relids: since PostgreSQL 16 outer joins are among them.)
static int sources_of(const Candidate *candidate) {
    return candidate->outer == nullptr ? 1 : sources_of(candidate->outer) + sources_of(candidate->inner);
}

// Is the table there that the next sources are for, the candidate's main one the last of them? (As describe_build() numbers them.)
static bool is_kept(const Candidate *candidate, const CandidateWork *work) {
    return work->kept != nullptr && work->kept[work->nsources + sources_of(candidate) - 1];
}

static bool is_brought(const CandidateSource *source, const CandidateWork *work) {
    return source->is_relation &&
           (list_member_oid(work->brought, source->relid) || brings(work->below, source_load(source)));
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
        const bool found = is_kept(joined->inner, work);
        cost += weigh_candidate(joined->inner, found, work);
        ++work->nsources;
        if (!found) {
            cost += build_cost(entries, work->account);
            work->table_rows += entries;
        }
        if (!is_there)
            cost += probe_cost(rows, entries, join->clauses != NIL, join->kind, work->account);
        rows *= join_ratio(joined);
    }
    cost += weigh_source(main, is_brought(main, work), is_there, work->account);
    if (main->is_relation)
        work->brought = lappend_oid(work->brought, main->relid);
    return cost;
}

// What is brought for the CPU plans among the sources.
static void collect_below(const Candidate *candidate, List **loads) {
    const CandidateSource *main = candidate->main;
    if (candidate->outer != nullptr) {
        collect_below(candidate->outer, loads);
        collect_below(candidate->inner, loads);
    } else if (!main->is_relation && main->rel->cheapest_total_path != nullptr) {
        *loads = list_concat(*loads, path_loads(const_cast<PlannerInfo *>(main->root), main->rel->cheapest_total_path));
    }
}

Cost candidate_cost(const Candidate *candidate, const bool *kept, Cost otherwise, tier::Account *account) {
    CandidateWork work{NIL, NIL, 0, kept, 1, account};
    collect_below(candidate, &work.below);
    const Cost cost = weigh_candidate(candidate, false, &work);
    tier::Ledger ledger = device_ledger(account);
    if (!tables_fit(work.table_rows))
        ledger.plan_cost(tier::Stage::Build, otherwise);
    return cost + device_cost(ledger);
}

// In the order of weigh_candidate.
static void collect_loads(const Candidate *candidate, CandidateWork *work, List **loads) {
    const CandidateSource *main = candidate->main;
    ListCell *cell;
    foreach (cell, ordered_joins(candidate))
        collect_loads(static_cast<const Candidate *>(lfirst(cell))->inner, work, loads);
    if (!main->is_relation || is_brought(main, work))
        return;
    work->brought = lappend_oid(work->brought, main->relid);
    if (main->load.price > 0)
        *loads = lappend(*loads, const_cast<Load *>(&main->load));
}

List *candidate_loads(const Candidate *candidate) {
    CandidateWork work{NIL, NIL, 0, nullptr, 1, nullptr};
    List *loads = NIL;
    collect_below(candidate, &work.below);
    collect_loads(candidate, &work, &loads);
    return loads;
}

List *all_loads(const Candidate *candidate) {
    List *loads = candidate_loads(candidate);
    collect_below(candidate, &loads);
    return loads;
}

} // namespace gpuscan
