#include "pg/exec/trial.h"

#include "pg/exec/state.h"

namespace gpuscan {
namespace {

// ---- an executor state of its own ----

// Subplans of the statement (from 1) that a plan executes.
struct Subplans {
    Bitmapset *all;
    Bitmapset *ctes; // those that CTE scans read, which hang below no node
};

bool find_subplans(PlanState *state, void *context) {
    Subplans *found = static_cast<Subplans *>(context);
    ListCell *cell;
    foreach (cell, state->initPlan)
        found->all = bms_add_member(found->all, static_cast<SubPlanState *>(lfirst(cell))->subplan->plan_id);
    foreach (cell, state->subPlan)
        found->all = bms_add_member(found->all, static_cast<SubPlanState *>(lfirst(cell))->subplan->plan_id);
    if (IsA(state, CteScanState)) {
        const int number = reinterpret_cast<const CteScan *>(state->plan)->ctePlanId;
        if (!bms_is_member(number, found->ctes)) {
            found->all = bms_add_member(found->all, number);
            found->ctes = bms_add_member(found->ctes, number);
            find_subplans(static_cast<PlanState *>(list_nth(state->state->es_subplanstates, number - 1)), context);
        }
    }
    if (is_gpuscan(state)) // its CPU plan may start in the trial
        find_subplans(start_fallback(reinterpret_cast<GpuScanState *>(state)), context);
    return walk_states(state, find_subplans, context);
}

// As InitPlan and EvalPlanQualStart make one. Relations and plans are its own, so that all that they hold belongs to the subtransaction.
EState *make_estate(const EState *parent, const Bitmapset *subplans) {
    EState *estate = CreateExecutorState();
    MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
    PlannedStmt *statement = parent->es_plannedstmt;
    estate->es_direction = ForwardScanDirection;
    estate->es_snapshot = parent->es_snapshot;
    estate->es_crosscheck_snapshot = parent->es_crosscheck_snapshot;
    estate->es_plannedstmt = statement;
    estate->es_sourceText = parent->es_sourceText;
    estate->es_output_cid = parent->es_output_cid;
    estate->es_param_list_info = parent->es_param_list_info;
    estate->es_queryEnv = parent->es_queryEnv;
    estate->es_instrument = parent->es_instrument;
    estate->es_use_parallel_mode = parent->es_use_parallel_mode;
    init_range_table(estate, parent);
    const int count = list_length(statement->paramExecTypes);
    estate->es_param_exec_vals = static_cast<ParamExecData *>(palloc0(sizeof(ParamExecData) * (count + 1)));
    for (int i = 0; i < count; ++i) {
        if (!OidIsValid(list_nth_oid(statement->paramExecTypes, i)))
            continue; // no value, but what the nodes of one state share: readers of a CTE, a recursion's working table
        estate->es_param_exec_vals[i].value = parent->es_param_exec_vals[i].value;
        estate->es_param_exec_vals[i].isnull = parent->es_param_exec_vals[i].isnull;
    }
    ListCell *cell;
    foreach (cell, statement->subplans) {
        const int number = foreach_current_index(cell) + 1;
        const int flags = bms_is_member(number, statement->rewindPlanIDs) ? EXEC_FLAG_REWIND : 0;
        Plan *plan = bms_is_member(number, subplans) ? static_cast<Plan *>(lfirst(cell)) : nullptr;
        estate->es_subplanstates = lappend(estate->es_subplanstates, ExecInitNode(plan, estate, flags));
    }
    MemoryContextSwitchTo(old);
    return estate;
}

void end_estate(EState *estate) {
    ListCell *cell;
    foreach (cell, estate->es_subplanstates)
        ExecEndNode(static_cast<PlanState *>(lfirst(cell)));
    ExecResetTupleTable(estate->es_tupleTable, false);
    ExecCloseRangeTableRelations(estate);
    FreeExecutorState(estate);
}

// ---- what EXPLAIN shows ----

struct Search {
    int id;
    PlanState *found;
};

bool find_node(PlanState *state, void *context) {
    Search *search = static_cast<Search *>(context);
    if (state->plan->plan_node_id == search->id) {
        search->found = state;
        return true;
    }
    return walk_states(state, find_node, context);
}

bool copy_shown(PlanState *from, void *context) {
    PlanState *root = static_cast<PlanState *>(context);
    Search search{from->plan->plan_node_id, nullptr};
    find_node(root, &search);
    if (search.found != nullptr) {
        if (from->instrument != nullptr && search.found->instrument != nullptr) {
            InstrEndLoop(from->instrument);
            InstrAggNode(search.found->instrument, from->instrument);
        }
        show_other_run(from, search.found);
    }
    return walk_states(from, copy_shown, context);
}

// ---- running ----

struct Trial {
    EState *estate; // of the query
    PlanState *shown;
    void (*use)(PlanState *state, void *argument);
    void *argument;
    SubPlanState *init_plan; // or NULL
    // What the init plan has made, here until the attempt is known to have worked: a row, an array, or parameters that need no memory.
    HeapTuple row;
    Datum array;
    ParamExecData *values;
    Subplans subplans;
};

// With the CTEs that the plan has read.
void copy_all_shown(const Trial *trial, PlanState *state) {
    if (trial->estate->es_instrument == 0)
        return; // nobody looks
    copy_shown(state, trial->shown);
    for (int number = -1; (number = bms_next_member(trial->subplans.ctes, number)) >= 0;)
        copy_shown(static_cast<PlanState *>(list_nth(state->state->es_subplanstates, number - 1)),
                   list_nth(trial->estate->es_subplanstates, number - 1));
}

void use_plan(const Trial *trial, EState *estate) {
    MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
    PlanState *state = ExecInitNode(trial->shown->plan, estate, 0);
    MemoryContextSwitchTo(old);
    trial->use(state, trial->argument);
    copy_all_shown(trial, state);
    ExecEndNode(state);
}

void compute_params(Trial *trial, EState *estate) {
    SubPlan *subplan = trial->init_plan->subplan;
    MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
    ResultState *parent = makeNode(ResultState); // a state needs one, and looks there for the executor's
    parent->ps.state = estate;
    SubPlanState *state = ExecInitSubPlan(subplan, &parent->ps);
    ExecSetParamPlan(state, CreateExprContext(estate));
    MemoryContextSwitchTo(trial->estate->es_query_cxt);
    if (state->curTuple != nullptr)
        trial->row = heap_copytuple(state->curTuple);
    if (DatumGetPointer(state->curArray) != nullptr)
        trial->array = datumCopy(state->curArray, false, -1);
    ListCell *cell;
    foreach (cell, subplan->setParam)
        trial->values[foreach_current_index(cell)] = estate->es_param_exec_vals[lfirst_int(cell)];
    MemoryContextSwitchTo(old);
    copy_all_shown(trial, state->planstate);
}

// Keeps the row or the array where ExecSetParamPlan does, which frees it when there is another one.
void set_params(const Trial *trial) {
    SubPlanState *state = trial->init_plan;
    if (trial->row != nullptr && state->curTuple != nullptr)
        heap_freetuple(state->curTuple);
    if (trial->row != nullptr)
        state->curTuple = trial->row;
    if (DatumGetPointer(trial->array) != nullptr && DatumGetPointer(state->curArray) != nullptr)
        pfree(DatumGetPointer(state->curArray));
    if (DatumGetPointer(trial->array) != nullptr)
        state->curArray = trial->array;
    ListCell *cell;
    foreach (cell, state->subplan->setParam) {
        const int column = foreach_current_index(cell);
        ParamExecData *to = &trial->estate->es_param_exec_vals[lfirst_int(cell)];
        *to = trial->values[column];
        if (trial->row != nullptr)
            to->value = heap_getattr(trial->row, column + 1, ExecGetResultType(state->planstate), &to->isnull);
        else if (DatumGetPointer(trial->array) != nullptr)
            to->value = trial->array;
    }
}

void run_trial(void *argument) {
    Trial *trial = static_cast<Trial *>(argument);
    EState *estate = make_estate(trial->estate, trial->subplans.all);
    // Gather wants the mode in the subtransaction in which it starts; an error leaves it with that.
    const bool parallel = estate->es_use_parallel_mode;
    if (parallel)
        EnterParallelMode();
    if (trial->init_plan != nullptr)
        compute_params(trial, estate);
    else
        use_plan(trial, estate);
    end_estate(estate);
    if (parallel)
        ExitParallelMode();
}

Attempt try_in_own_state(Trial *trial) {
    if (RecoveryInProgress()) // it may take long (attempt.h)
        return Attempt::Impossible;
    if (trial->init_plan != nullptr)
        trial->subplans.all = bms_make_singleton(trial->init_plan->subplan->plan_id);
    find_subplans(trial->shown, &trial->subplans);
    // What a statement writes must not be rolled back, and cannot be written twice.
    for (int number = -1; (number = bms_next_member(trial->subplans.all, number)) >= 0;)
        if (IsA(list_nth(trial->estate->es_plannedstmt->subplans, number - 1), ModifyTable))
            return Attempt::Impossible;
    return attempt(run_trial, trial, nullptr);
}

} // namespace

Attempt try_plan(EState *estate, PlanState *shown, void (*use)(PlanState *state, void *argument), void *argument) {
    Trial trial{estate, shown, use, argument, nullptr, nullptr, Datum(0), nullptr, {}};
    return try_in_own_state(&trial);
}

Attempt try_init_plan(EState *estate, SubPlanState *state) {
    const int count = list_length(state->subplan->setParam);
    ParamExecData *values = static_cast<ParamExecData *>(palloc0(sizeof(ParamExecData) * (count + 1)));
    Trial trial{estate, state->planstate, nullptr, nullptr, state, nullptr, Datum(0), values, {}};
    const Attempt outcome = try_in_own_state(&trial);
    if (outcome == Attempt::Done)
        set_params(&trial);
    return outcome;
}

} // namespace gpuscan
