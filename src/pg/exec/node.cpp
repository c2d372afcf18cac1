// The executor node of a fragment.
//
// A node runs its fragment to the end on the first fetch, and then hands out groups or rows: PostgreSQL applies HAVING and
// the projection to the scan tuple (ExecScan). Where the projection only chooses columns, they are written into its
// result at once. Until the first group or row is shown anything may go wrong on the device; then the
// CPU plan that the node carries answers instead, with rows of the same form. Once it has
// been needed, it serves all later rescans too: what made the device refuse will most likely do so again. (In a correlated subquery
// it may serve the first executions, too: cpu_first.h.)
// What the device has answered is shown again where no parameter has changed that it was asked with; qual and projection may have others.
//
// The CPU plan is initialised only when needed (or to be shown by EXPLAIN VERBOSE): a node that has answered from the device has cost
// nothing but its own work, and starting a parallel plan takes as long as a small query on the device (0.2 ms). But PostgreSQL asks for
// privileges on functions and opens indexes when a plan starts, and before a cursor's first row comes the role may be another one and an
// index dropped. So the node asks for the privileges itself, opens the indexes, and initialises the CPU plan as whoever has started it.
// A Gather in it works: the planner has marked the whole statement, and Gather looks at the executor's es_use_parallel_mode when it
// starts.
#include "pg/exec/node.h"

#include <algorithm>

#include "pg/cost/estimate.h"
#include "pg/exec/groups.h"
#include "pg/exec/state.h"
#include "pg/fragment/plan_data.h"
#include "pg/fragment/plan_tree.h"
#include "pg/guc.h"

namespace gpuscan {
namespace {

GpuScanState *state_of(PlanState *node) { return reinterpret_cast<GpuScanState *>(node); }
GpuScanState *state_of(CustomScanState *node) { return reinterpret_cast<GpuScanState *>(node); }
const CustomScan *plan_of(GpuScanState *state) { return reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan); }

// ---- begin ----

void open_sources(GpuScanState *state) {
    const Fragment *fragment = state->fragment;
    FragmentRun *run = &state->run;
    EState *estate = state->css.ss.ps.state;
    uint32 feeds = fragment->nsources;
    const bool runs = !(state->eflags & EXEC_FLAG_EXPLAIN_ONLY);
    const Bitmapset *pruned = runs ? pruned_leaves(state) : nullptr;
    run->relations = static_cast<SourceRelations *>(palloc0(sizeof(SourceRelations) * (fragment->nsources + 1)));
    run->children = static_cast<PlanState **>(palloc0(sizeof(PlanState *) * (fragment->nsources + 1)));
    for (int i = 0; i < fragment->nsources; ++i) {
        const FragmentSource *source = &fragment->sources[i];
        if (!source->is_relation) {
            Plan *plan = static_cast<Plan *>(list_nth(plan_of(state)->custom_plans, source->child));
            run->children[i] = ExecInitNode(plan, estate, state->eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
            state->css.custom_ps = lappend(state->css.custom_ps, run->children[i]);
        } else if (runs) {
            open_relations(fragment, i, estate, pruned, &feeds, &run->relations[i]);
        }
    }
}

// The plan's target list as columns of the scan tuple that rows or groups fill, or NULL.
int *chosen_columns(const GpuScanState *state) {
    const List *tlist = plan_of(const_cast<GpuScanState *>(state))->scan.plan.targetlist;
    int *columns = static_cast<int *>(palloc(sizeof(int) * (list_length(tlist) + 1)));
    ListCell *cell;
    foreach (cell, tlist) {
        const Var *var = reinterpret_cast<const Var *>(static_cast<const TargetEntry *>(lfirst(cell))->expr);
        if (!IsA(var, Var) || var->varno != INDEX_VAR || var->varattno < 1 || var->varattno > state->fragment->noutputs)
            return nullptr;
        columns[foreach_current_index(cell)] = var->varattno - 1;
    }
    return columns;
}

void aim(GpuScanState *state) {
    PlanState *ps = &state->css.ss.ps;
    RowTargets *targets = &state->targets;
    targets->columns = ps->ps_ProjInfo && !ps->qual ? chosen_columns(state) : nullptr;
    if (targets->columns) {
        state->result = ps->ps_ResultTupleSlot;
        targets->count = list_length(ps->plan->targetlist);
        return;
    }
    targets->count = state->fragment->noutputs;
    targets->columns = static_cast<int *>(palloc(sizeof(int) * (targets->count + 1)));
    for (int i = 0; i < targets->count; ++i)
        targets->columns[i] = i;
}

struct Parameters {
    const List *subplans; // of the statement
    Bitmapset *read;
};

bool find_parameters(Node *node, void *context) {
    Parameters *parameters = static_cast<Parameters *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Param) && reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXEC)
        parameters->read = bms_add_member(parameters->read, reinterpret_cast<const Param *>(node)->paramid);
    if (IsA(node, SubPlan)) {
        const int number = reinterpret_cast<const SubPlan *>(node)->plan_id;
        const Plan *plan = static_cast<const Plan *>(list_nth(parameters->subplans, number - 1));
        parameters->read = bms_add_members(parameters->read, plan->allParam);
    }
    return walk_expression(node, find_parameters, context);
}

// Those that the device's answer depends on.
Bitmapset *parameters_of_answer(const CustomScan *plan, const EState *estate) {
    Parameters parameters = {estate->es_plannedstmt->subplans, nullptr};
    find_parameters(reinterpret_cast<Node *>(plan->custom_exprs), &parameters);
    find_parameters(reinterpret_cast<Node *>(plan->custom_scan_tlist), &parameters);
    for (int i = 1; i < list_length(plan->custom_plans); ++i)
        parameters.read =
            bms_add_members(parameters.read, static_cast<const Plan *>(list_nth(plan->custom_plans, i))->allParam);
    return parameters.read;
}

// With the locks that PostgreSQL's scans take.
void open_indexes(GpuScanState *state, const Plan *plan) {
    check_stack_depth();
    Oid index = InvalidOid;
    if (IsA(plan, IndexScan))
        index = reinterpret_cast<const IndexScan *>(plan)->indexid;
    else if (IsA(plan, IndexOnlyScan))
        index = reinterpret_cast<const IndexOnlyScan *>(plan)->indexid;
    else if (IsA(plan, BitmapIndexScan))
        index = reinterpret_cast<const BitmapIndexScan *>(plan)->indexid;
    if (OidIsValid(index)) {
        const Index relation = reinterpret_cast<const Scan *>(plan)->scanrelid;
        const LOCKMODE lock = exec_rt_fetch(relation, state->css.ss.ps.state)->rellockmode;
        state->indexes = lappend(state->indexes, index_open(index, lock));
    }
    ListCell *cell;
    foreach (cell, plans_below(plan))
        open_indexes(state, static_cast<const Plan *>(lfirst(cell)));
}

// Calls `work` as whoever has started the node. (An error takes the user back with its transaction or subtransaction.)
template <typename Work> void as_starter(const GpuScanState *state, Work work) {
    Oid user;
    int context;
    GetUserIdAndSecContext(&user, &context);
    SetUserIdAndSecContext(state->user, state->user_context);
    work();
    SetUserIdAndSecContext(user, context);
}

// ... in the memory of the query.
template <typename Work> void as_starter_for_query(const GpuScanState *state, Work work) {
    MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
    as_starter(state, work);
    MemoryContextSwitchTo(old);
}

void bind(GpuScanState *state) {
    as_starter_for_query(
        state, [state] { state->fragment = fragment_bind(plan_of(state), state->css.ss.ps.state->es_range_table); });
    state->run.fragment = state->fragment;
    state->zone = session_timezone;
}

void begin(GpuScanState *state, EState *estate, int eflags) {
    state->eflags = eflags;
    GetUserIdAndSecContext(&state->user, &state->user_context);
    bind(state);
    state->phase = Phase::Fresh;
    state->run.parent = &state->css.ss.ps;
    open_sources(state);
    aim(state);
    if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
        return;
    if (state->fallback == nullptr) // (else it was started to see what it prunes, and has opened its own)
        open_indexes(state, static_cast<const Plan *>(linitial(plan_of(state)->custom_plans)));
    if (!bms_is_empty(state->css.ss.ps.plan->allParam))
        state->parameters = parameters_of_answer(plan_of(state), estate);
    state->run.econtext = CreateExprContext(estate);
    state->run.context = AllocSetContextCreate(estate->es_query_cxt, "GpuScan run", ALLOCSET_DEFAULT_SIZES);
}

bool same_columns(const FragmentSource *a, const FragmentSource *b) {
    bool same = a->columns.count == b->columns.count;
    for (int i = 0; same && i < a->columns.count; ++i)
        same = a->columns[i].attnum == b->columns[i].attnum && a->columns[i].output == b->columns[i].output &&
               equal(a->columns[i].expr, b->columns[i].expr);
    return same;
}

// For another time zone. False: the fragment reads other columns now than those it has opened, by newer statistics.
bool bind_again(GpuScanState *state) {
    const Fragment *before = state->fragment;
    bind(state);
    const Fragment *now = state->fragment;
    if (before->program == nullptr || now->program == nullptr)
        return now->program == nullptr; // (the reason is another one)
    bool same = before->nsources == now->nsources && before->noutputs == now->noutputs;
    for (int i = 0; same && i < now->nsources; ++i)
        same = same_columns(&before->sources[i], &now->sources[i]);
    return same;
}

// What a run holds outside of its memory context.
void release_results(FragmentRun *run) {
    release_rows(run->rows);
    run->rows = nullptr;
    release_groups(run->groups);
    run->groups = nullptr;
}

// ---- the CPU plan ----

void fall_back(GpuScanState *state, const char *reason) {
    state->phase = Phase::Fallback;
    state->fallback_reason = MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt, reason);
    device_count(&protocol::Counters::fallbacks, 1);
    const bool may_see = may_see_counts(state); // (a session may have LOG and DEBUG1 sent to its client)
    if (guc_log_fallbacks || may_see)
        ereport(!guc_log_fallbacks ? DEBUG1
                : may_see          ? LOG
                                   : LOG_SERVER_ONLY,
                (errmsg("gpuscan fallback: %s", reason),
                 errdetail_log("Query: %s", debug_query_string ? debug_query_string : "")));
    show_fallback(state);
    release_results(&state->run);
    MemoryContextReset(state->run.context);
    state->run.report = RunReport();
}

// The next row of the CPU plan as a scan tuple. Its values live until the plan is asked for another row.
void next_of_cpu_plan(GpuScanState *state, TupleTableSlot *to) {
    TupleTableSlot *from = state->phase == Phase::CpuFirst ? next_of_cpu_first(state) : ExecProcNode(state->fallback);
    if (TupIsNull(from))
        return;
    const Fragment *fragment = state->fragment;
    slot_getsomeattrs(from, fragment->noutputs);
    memset(to->tts_isnull, true, to->tts_tupleDescriptor->natts * sizeof(bool));
    for (int i = 0; i < fragment->noutputs; ++i) {
        to->tts_values[i] = from->tts_values[i];
        to->tts_isnull[i] = from->tts_isnull[i];
    }
    ExecStoreVirtualTuple(to);
}

// ---- the device ----

bool notices_conflicts(const SourceRelations *relations, Snapshot snapshot) {
    for (int i = 0; i < relations->count; ++i)
        if (CheckForSerializableConflictOutNeeded(relations->at[i].relation, snapshot))
            return true;
    return false;
}

// Why the device must not be asked at all: NULL if it may.
const char *reason_for_cpu(GpuScanState *state) {
    EState *estate = state->css.ss.ps.state;
    Snapshot snapshot = estate->es_snapshot;
    if (state->fragment->program == nullptr)
        return "a function or type that the plan uses has changed since it was made";
    if (estate->es_epq_active)
        return "a row is being checked again after a concurrent update";
    if (IsParallelWorker())
        return "this is a parallel worker";
    if (!snapshot || snapshot->snapshot_type != SNAPSHOT_MVCC)
        return "the snapshot is not an MVCC snapshot";
    if (snapshots_can_be_too_old())
        return "old_snapshot_threshold is set";
    // A serializable transaction must notice every conflicting writer, and nobody would look at cached pages' tuples.
    if (IsolationIsSerializable())
        for (int i = 0; i < state->fragment->nsources; ++i)
            if (notices_conflicts(&state->run.relations[i], snapshot))
                return "the transaction is serializable";
    return nullptr;
}

void reset_run(GpuScanState *state) {
    FragmentRun *run = &state->run;
    release_results(run);
    MemoryContextReset(run->context);
    run->snapshot = state->css.ss.ps.state->es_snapshot;
    run->connection = nullptr;
    run->lost = false;
    run->batch = nullptr;
    run->failure = nullptr;
    run->report = RunReport();
}

void show_from_start(GpuScanState *state) {
    TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
    if (state->fragment->delivers_rows)
        begin_rows(&state->run, &state->targets);
    else
        begin_groups(&state->run, &state->targets);
    memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool)); // columns that are inputs only
}

void rescan_child(PlanState *child, Bitmapset *changed) {
    if (changed)
        UpdateChangedParamSet(child, changed);
    if (!child->chgParam) // else its next fetch does it
        ExecReScan(child);
}

void rescan_children(GpuScanState *state, Bitmapset *changed) {
    for (int i = 0; i < state->fragment->nsources; ++i)
        if (state->run.children[i])
            rescan_child(state->run.children[i], changed);
}

double processes_of(const Plan *plan) {
    check_stack_depth();
    double most = 1;
    if (IsA(plan, Gather))
        most += reinterpret_cast<const Gather *>(plan)->num_workers;
    else if (IsA(plan, GatherMerge))
        most += reinterpret_cast<const GatherMerge *>(plan)->num_workers;
    ListCell *cell;
    foreach (cell, plans_below(plan))
        most = std::max(most, processes_of(static_cast<const Plan *>(lfirst(cell))));
    return most;
}

void look_at_alternative(GpuScanState *state) {
    if (state->run.cpu_plan.processes > 0)
        return;
    const Estimate *estimate = estimate_of_scan(plan_of(state));
    state->run.cpu_plan.ns = estimate != nullptr ? estimate->cpu_plan_ns : 0;
    state->run.cpu_plan.processes = processes_of(static_cast<const Plan *>(linitial(plan_of(state)->custom_plans)));
}

void run_on_device(GpuScanState *state) {
    if (const char *reason = begin_execution(state)) {
        fall_back(state, reason);
        return;
    }
    look_at_alternative(state);
    bool answered = run_fragment(&state->run);
    // Once: the next process has not seen what ended this one, and a program that did it is refused.
    if (!answered && state->run.lost) {
        rescan_children(state, nullptr);
        reset_run(state);
        answered = run_fragment(&state->run);
    }
    device_count(&protocol::Counters::pages_rowwise, state->run.report.pages_rowwise); // the others: the device
    if (answered) {
        state->phase = Phase::Answered;
        show_from_start(state);
    } else {
        note_unfit_columns(&state->run);
        fall_back(state, state->run.failure ? state->run.failure : "unknown");
    }
}

bool next_of_device(GpuScanState *state, TupleTableSlot *slot) {
    return state->fragment->delivers_rows ? next_row(&state->run, slot) : next_group(&state->run, slot);
}

TupleTableSlot *next_tuple(ScanState *node) {
    GpuScanState *state = state_of(&node->ps);
    TupleTableSlot *slot = node->ss_ScanTupleSlot;
    ExecClearTuple(slot);
    if (state->phase == Phase::Answered)
        next_of_device(state, slot);
    else
        next_of_cpu_plan(state, slot);
    return slot;
}

// While a row is checked again after a concurrent update (EvalPlanQual), ExecScanFetch may ask this instead of next_tuple: of a scan that
// stands for no single table it does so in every minor release before 15.15, 16.11, 17.7 and 18.1, and in later ones below a plan
// that locks or changes rows. What the fragment's tables held when the statement began is what PostgreSQL's own plan would read there, so
// both give the CPU plan's next row.
bool recheck(ScanState *node, TupleTableSlot *slot) {
    next_tuple(node);
    return !TupIsNull(slot);
}

TupleTableSlot *exec(GpuScanState *state) {
    if (state->phase == Phase::Kept)
        state->phase = Phase::Fresh;
    if (state->phase == Phase::Fresh && is_cpu_first(state))
        state->phase = Phase::CpuFirst;
    if (state->phase == Phase::Fresh)
        run_on_device(state);
    if (state->result && state->phase == Phase::Answered) {
        ExecClearTuple(state->result);
        return next_of_device(state, state->result) ? state->result : nullptr;
    }
    return ExecScan(&state->css.ss, next_tuple, recheck);
}

// ---- rescan and end ----

void rescan(GpuScanState *state) {
    Bitmapset *changed = state->css.ss.ps.chgParam;
    ExecScanReScan(&state->css.ss);
    if (state->fallback)
        rescan_child(state->fallback, changed);
    if (state->phase == Phase::Fallback)
        return;
    if (state->phase == Phase::Answered && !bms_overlap(changed, state->parameters)) {
        show_from_start(state);
        return;
    }
    rescan_children(state, changed);
    state->phase = Phase::Fresh;
}

void end(GpuScanState *state) {
    end_cpu_first(state);
    for (int i = 0; i < state->fragment->nsources; ++i)
        if (state->run.children[i])
            ExecEndNode(state->run.children[i]);
    if (state->fallback)
        ExecEndNode(state->fallback);
    ListCell *cell;
    foreach (cell, state->indexes)
        index_close(static_cast<Relation>(lfirst(cell)), NoLock);
    release_results(&state->run);
}

// ---- callbacks ----

extern "C" {

static void begin_gpuscan(CustomScanState *node, EState *estate, int eflags) { begin(state_of(node), estate, eflags); }
static TupleTableSlot *exec_gpuscan(CustomScanState *node) { return exec(state_of(node)); }
static void end_gpuscan(CustomScanState *node) { end(state_of(node)); }
static void rescan_gpuscan(CustomScanState *node) { rescan(state_of(node)); }
static void explain_gpuscan(CustomScanState *node, List *ancestors, ExplainState *es) {
    explain_node(state_of(node), ancestors, es);
}
}

CustomExecMethods make_exec_methods() {
    CustomExecMethods methods = {};
    methods.CustomName = "GpuScan";
    methods.BeginCustomScan = begin_gpuscan;
    methods.ExecCustomScan = exec_gpuscan;
    methods.EndCustomScan = end_gpuscan;
    methods.ReScanCustomScan = rescan_gpuscan;
    methods.ExplainCustomScan = explain_gpuscan;
    return methods;
}

const CustomExecMethods exec_methods = make_exec_methods();

extern "C" {

static Node *create_gpuscan_state(CustomScan *) {
    GpuScanState *state = static_cast<GpuScanState *>(palloc0(sizeof(GpuScanState)));
    NodeSetTag(state, T_CustomScanState);
    state->css.methods = &exec_methods;
    return reinterpret_cast<Node *>(state);
}
}

} // namespace

const CustomScanMethods gpuscan_scan_methods = {"GpuScan", create_gpuscan_state};

bool is_gpuscan(const PlanState *state) {
    return IsA(state, CustomScanState) && reinterpret_cast<const CustomScanState *>(state)->methods == &exec_methods;
}

const char *begin_execution(GpuScanState *state) {
    // What a clock shows is the session's when rows are read, not when a cursor is opened.
    if (state->zone != session_timezone && !bind_again(state))
        return "the fragment needs other columns under the new time zone";
    if (const char *reason = reason_for_cpu(state))
        return reason;
    reset_run(state);
    state->phase = Phase::Fresh; // (what an earlier one has shown is gone)
    ++state->executions;
    device_count(&protocol::Counters::fragments, 1);
    return nullptr;
}

PlanState *start_fallback(GpuScanState *state) {
    if (state->fallback)
        return state->fallback;
    as_starter_for_query(state, [state] {
        Plan *plan = static_cast<Plan *>(linitial(plan_of(state)->custom_plans));
        state->fallback =
            ExecInitNode(plan, state->css.ss.ps.state, state->eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
    });
    if (ExecGetResultType(state->fallback)->natts < state->fragment->noutputs)
        elog(ERROR, "gpuscan: the CPU plan has %d columns, not %d", ExecGetResultType(state->fallback)->natts,
             state->fragment->noutputs);
    return state->fallback;
}

ExprState *start_expression(const FragmentRun *run, Expr *expr) {
    if (run->parent == nullptr)
        return ExecInitExpr(expr, nullptr);
    ExprState *started = nullptr;
    as_starter(reinterpret_cast<const GpuScanState *>(run->parent), [&] { started = ExecInitExpr(expr, run->parent); });
    return started;
}

void show_fallback(GpuScanState *state) {
    start_fallback(state);
    if (state->fallback_shown)
        return;
    MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
    state->css.custom_ps = lcons(state->fallback, state->css.custom_ps);
    state->fallback_shown = true;
    MemoryContextSwitchTo(old);
}

void name_fallback(GpuScanState *state) {
    show_fallback(state);
    List **children = &state->css.custom_ps;
    if (!list_member_ptr(*children, state->fallback))
        return;
    MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
    const PlannedStmt *statement = state->css.ss.ps.state->es_plannedstmt;
    SubPlan *subplan = makeNode(SubPlan);
    subplan->plan_name = pstrdup(cpu_plan_name);
    // No other subplan's number: EXPLAIN shows each but once.
    subplan->plan_id = list_length(statement->subplans) + 1 + state->css.ss.ps.plan->plan_node_id;
    SubPlanState *named = makeNode(SubPlanState);
    named->subplan = subplan;
    named->planstate = state->fallback;
    *children = list_delete_ptr(*children, state->fallback);
    state->css.ss.ps.subPlan = lappend(state->css.ss.ps.subPlan, named);
    MemoryContextSwitchTo(old);
}

void show_other_run(PlanState *from, PlanState *to) {
    if (!is_gpuscan(from))
        return;
    const GpuScanState *ran = state_of(from);
    GpuScanState *shown = state_of(to);
    MemoryContext old = MemoryContextSwitchTo(shown->css.ss.ps.state->es_query_cxt);
    GpuScanState *copy = static_cast<GpuScanState *>(palloc(sizeof(GpuScanState)));
    memcpy(copy, ran, sizeof(GpuScanState));
    copy->css.ss.ps.instrument = to->instrument;
    RunReport *report = &copy->run.report;
    if (report->njoins > 0) {
        char(*joins)[64] = static_cast<char(*)[64]>(palloc(report->njoins * Size(64)));
        memcpy(joins, report->joins, report->njoins * Size(64));
        report->joins = joins;
    }
    if (ran->fallback_reason != nullptr)
        copy->fallback_reason = pstrdup(ran->fallback_reason);
    if (shown->other_run != nullptr)
        pfree(const_cast<GpuScanState *>(shown->other_run));
    shown->other_run = copy;
    MemoryContextSwitchTo(old);
    if (ran->fallback_shown)
        show_fallback(shown);
}

void executor_init() { RegisterCustomScanMethods(&gpuscan_scan_methods); }

} // namespace gpuscan
