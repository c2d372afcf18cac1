// The state of a GpuScan node.
#pragma once

#include "pg/exec/cpu_first.h"
#include "pg/exec/rows.h"
#include "pg/exec/run.h"

namespace gpuscan {

enum class Phase {
    Fresh,    // nothing has been run (or parameters have changed since)
    Answered, // the device has answered: its groups or rows are in `run`
    CpuFirst, // the CPU plan answers until the next rescan (cpu_first.h)
    Kept,     // the device has answered; its groups were rows of the fragment above, and are gone
    Fallback, // the CPU plan answers, for the rest of the node's life
};

struct GpuScanState {
    CustomScanState css; // first: what PostgreSQL sees
    int eflags;
    Fragment *fragment;
    Phase phase;
    Bitmapset *parameters; // of the executor, that the device's answer depends on
    FragmentRun run;
    RowTargets targets;            // of rows
    TupleTableSlot *result;        // rows go here at once: the projection only chooses columns; else NULL
    pg_tz *zone;                   // of the session, that the fragment is bound with
    PlanState *fallback;           // the CPU plan; NULL until it is needed
    Oid user;                      // who has started the node
    int user_context;              // ... as SetUserIdAndSecContext has it
    List *indexes;                 // of Relation: of the CPU plan
    bool fallback_shown;           // to PostgreSQL, as a child
    const GpuScanState *other_run; // of the same plan, which EXPLAIN is to show; or NULL (exec/trial.h)
    const char *fallback_reason;
    bool sends_rows; // to the fragment above, which cannot have them where they are
    uint64 executions;
    CpuFirst cpu_first;
};

bool is_gpuscan(const PlanState *state);

// Has the device, the last time?
inline bool has_answered(const GpuScanState *state) {
    return state->phase == Phase::Answered || state->phase == Phase::Kept;
}

// Makes the node ready for another run of its fragment. Why the device must not be asked at all: NULL if it may.
const char *begin_execution(GpuScanState *state);

// Makes the CPU plan's state if it is not there yet, as it would have been made with the node's.
PlanState *start_fallback(GpuScanState *state);
// ... and shows it to PostgreSQL as a child.
void show_fallback(GpuScanState *state);
// ... and has EXPLAIN show it as a subplan with this name.
constexpr char cpu_plan_name[] = "CPU Plan";
void name_fallback(GpuScanState *state);

// Where `from` is a GpuScan node's state: has EXPLAIN show its run instead of that of `to`, a state of the same plan that has none.
void show_other_run(PlanState *from, PlanState *to);

// ---- prune.cpp ----

// Range table indexes of leaves that no row of this execution can be in, as far as PostgreSQL's plan tells.
Bitmapset *pruned_leaves(GpuScanState *state);

// How much was read, skipped and looked at, and what a device stumbled over, depends on rows that a policy or a security barrier
// hides, too: may the current user see it?
bool may_see_counts(const GpuScanState *state);
void explain_node(GpuScanState *state, List *ancestors, ExplainState *es);
// explain_estimate.cpp
void explain_estimate(const GpuScanState *state, ExplainState *es);

} // namespace gpuscan
