// Sources whose rows another node makes (fragment/stage.h): what comes before the fragment's own program.
//
// The plan that would feed the source is a GpuScan node, or one below a SubqueryScan, whose expressions and conditions the fragment has as
// its own. The inner node's program runs first, on the same connection, so a fragment with stages holds one slot, too. Its groups or rows
// stay in the device process. The node's state shows what it did; PostgreSQL's executor never asks it for a row.
#include "pg/exec/state.h"
#include "pg/fragment/stage.h"

namespace gpuscan {
namespace {

// The outer fragment's column as a field of what the inner one makes; false: it cannot be had in that form.
bool find_field(const Fragment *groups, int output, const FragmentColumn *column, protocol::KeepColumn *to) {
    StageField field;
    if (!stage_field(groups, output, &field) || column->rounding != Rounding::None)
        return false;
    if (is_scaled(column->codec) && (column->codec != Codec::Numeric || output >= groups->noutputs ||
                                     column->scale != groups->outputs[output].scale))
        return false;
    if (field.column.type != column->type && !(is_integer(field.column.type) && is_integer(column->type)))
        return false;
    to->column = field.column;
    to->column.type = column->type;
    to->source = field.source < 0 ? ir::none : static_cast<ir::Index>(field.source);
    to->text = static_cast<ir::Index>(field.text);
    return true;
}

bool find_fields(const FragmentSource *source, const GpuScanState *state, RunStage *stage) {
    stage->columns = source->columns.count;
    stage->fields = static_cast<protocol::KeepColumn *>(palloc0(sizeof(protocol::KeepColumn) * (stage->columns + 1)));
    for (int i = 0; i < source->columns.count; ++i) {
        const protocol::KeepColumn *field = &stage->fields[i];
        const int output = source->columns[i].output - 1;
        if (output < 0 || output >= 2 * state->fragment->noutputs ||
            !find_field(state->fragment, output, &source->columns[i], &stage->fields[i]))
            return false;
        // (A unified dictionary of texts that PostgreSQL's functions have made is this process's.)
        if (field->column.type == Type::Code && field->source == ir::none &&
            !state->run.unified_dictionaries[field->text - 1].on_device)
            return false;
    }
    return true;
}

// As the next fetch would, which never comes: parameters have changed since.
void rescan_way(PlanState *plan) {
    MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
    if (plan->chgParam != nullptr)
        ExecReScan(plan);
    MemoryContextSwitchTo(old);
    if (IsA(plan, SubqueryScanState))
        rescan_way(reinterpret_cast<SubqueryScanState *>(plan)->subplan);
}

bool take_failure(FragmentRun *run, const FragmentRun *stage) {
    note_unfit_columns(stage);
    run->lost = run->lost || stage->lost;
    return give_up(run, "%s", stage->failure != nullptr ? stage->failure : "a subquery has given up");
}

// May PostgreSQL's executor feed the source with the plan's rows instead? Not where the subquery hands on what it never shows.
bool may_be_fed(FragmentRun *run, const FragmentSource *source) {
    for (int i = 0; i < source->columns.count; ++i)
        if (source->columns[i].attnum == 0)
            return give_up(run, "what a subquery computes stays in its plan");
    return true;
}

bool prepare_stage(FragmentRun *run, int source, RunStage *stage) {
    const FragmentSource *from = &run->fragment->sources[source];
    GpuScanState *state = walk_to_node(run->children[source]);
    if (state == nullptr || state->phase == Phase::Fallback || state->sends_rows ||
        !can_be_stage(state->fragment, state->css.ss.ps.plan->qual))
        return may_be_fed(run, from);
    rescan_way(run->children[source]);
    if (const char *reason = begin_execution(state))
        return give_up(run, "%s", reason);
    MemoryContext old = MemoryContextSwitchTo(state->run.context);
    const bool prepared = prepare_run(&state->run);
    MemoryContextSwitchTo(old);
    if (!prepared)
        return take_failure(run, &state->run);
    if (find_fields(from, state, stage)) {
        stage->state = state;
        return true;
    }
    state->sends_rows = true; // (what it has answered once then serves several executions)
    return may_be_fed(run, from);
}

bool keep_result(FragmentRun *run, RunStage *stage, uint64 *rows) {
    char *input = device_input(run->connection);
    protocol::KeepRequest head = {};
    head.ncolumns = stage->columns;
    const Size size = aligned(sizeof head), bytes = stage->columns * sizeof(protocol::KeepColumn);
    memcpy(input, &head, sizeof head);
    memcpy(input + size, stage->fields, bytes);
    if (!request(run, protocol::Command::Keep, size + bytes, sizeof(protocol::KeepReply)))
        return false;
    stage->number = reply_of<protocol::KeepReply>(run)->stage;
    *rows = reply_of<protocol::KeepReply>(run)->rows;
    return true;
}

// For EXPLAIN ANALYZE: so many rows have come by, as if they had been asked for.
void show_rows(PlanState *plan, uint64 rows, bool begins) {
    if (plan->instrument != nullptr && begins)
        InstrStartNode(plan->instrument);
    else if (plan->instrument != nullptr)
        InstrStopNode(plan->instrument, static_cast<double>(rows));
    if (IsA(plan, SubqueryScanState))
        show_rows(reinterpret_cast<SubqueryScanState *>(plan)->subplan, rows, begins);
}

bool run_stage(FragmentRun *run, PlanState *plan, RunStage *stage) {
    FragmentRun *inner = &stage->state->run;
    uint64 rows = 0;
    show_rows(plan, 0, true);
    MemoryContext old = MemoryContextSwitchTo(inner->context);
    inner->connection = run->connection;
    INSTR_TIME_SET_CURRENT(inner->phase_began);
    const bool kept = run_stages(inner) && run_program(inner) && keep_result(inner, stage, &rows);
    inner->connection = nullptr;
    count_scans(inner, kept);
    MemoryContextSwitchTo(old);
    show_rows(plan, rows, false);
    device_count(&protocol::Counters::pages_rowwise, inner->report.pages_rowwise);
    if (!kept)
        return take_failure(run, inner);
    stage->state->phase = Phase::Kept;
    return true;
}

} // namespace

GpuScanState *walk_to_node(PlanState *plan) {
    while (IsA(plan, SubqueryScanState))
        plan = reinterpret_cast<SubqueryScanState *>(plan)->subplan;
    return is_gpuscan(plan) ? reinterpret_cast<GpuScanState *>(plan) : nullptr;
}

bool prepare_stages(FragmentRun *run) {
    const int count = run->fragment->nsources;
    run->stages = static_cast<RunStage *>(palloc0(sizeof(RunStage) * (count + 1)));
    for (int i = 0; i < count; ++i)
        if (run->fragment->sources[i].stage_columns != NIL && !prepare_stage(run, i, &run->stages[i]))
            return false;
    return true;
}

bool run_stages(FragmentRun *run) {
    for (int i = 0; run->stages != nullptr && i < run->fragment->nsources; ++i)
        if (run->stages[i].state != nullptr && !run_stage(run, run->children[i], &run->stages[i]))
            return false;
    return true;
}

bool feed_stage(FragmentRun *run, int source) {
    for (;;) {
        protocol::UseStageRequest head = {};
        head.source = source;
        head.stage = run->stages[source].number;
        memcpy(device_input(run->connection), &head, sizeof head);
        if (!request(run, protocol::Command::UseStage, sizeof head, sizeof(protocol::UseStageReply)))
            return false;
        if (reply_of<protocol::UseStageReply>(run)->left == 0)
            return true;
        if (!run_pipeline(run, false))
            return false;
    }
}

} // namespace gpuscan
