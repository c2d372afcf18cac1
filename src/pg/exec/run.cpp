// The course of one fragment, from Open to the last group or row.
//
// Pipelines run in the program's order, builds first. Each is fed by its source: chunks of cached columns, pages read
// row by row, or rows of a CPU plan. When the device says that it holds enough (pass_full), the pipeline is run over
// that much and feeding goes on; a build collects rows over its runs, the aggregate merges groups. The groups are
// fetched to this backend's memory before the first is shown, so that everything up to that point can still be
// answered by the CPU plan, and no slot of the device is held by a cursor that somebody left open.
#include "pg/exec/run.h"

#include <cstdarg>

#include "engine/store/chunk_build.hpp"
#include "pg/cost/cached_plan_credits.h"
#include "pg/cost/planning_inputs.h"
#include "pg/exec/execution_form.h"
#include "pg/exec/fallback_history.h"
#include "pg/exec/groups.h"
#include "pg/exec/rows.h"
#include "pg/fragment/build_fingerprints.h"
#include "pg/fragment/column_form.h"
#include "pg/guc.h"

namespace gpuscan {

bool give_up(FragmentRun *run, const char *format, ...) {
    if (run->failure)
        return false;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->failure = MemoryContextStrdup(run->context, text);
    return false;
}

void note_unfit_column(const FragmentRun *run, int source, const FragmentColumn *column) {
    const FragmentSource *from = &run->fragment->sources[source];
    if (from->is_relation && is_scaled(column->codec))
        note_unfit_numeric({from->relid, column_number(column), from->leaves != NIL}, column->misfits);
}

// Does the device's message, behind its reason, name the column, which has this number in the relation that was read?
static bool names_column(const char *where, AttrNumber attnum) {
    if (*where == '\0')
        return true; // it does not know which one it was
    if (attnum == 0)
        return strstr(where, "expression") != nullptr;
    while (*where != '\0') {
        char *end;
        if (strtol(where, &end, 10) == attnum)
            return true;
        where = end == where ? where + 1 : end;
    }
    return false;
}

// Is the source's k-th column one that the message may mean?
static bool is_meant(const FragmentRun *run, int source, int k, const char *where) {
    const Codec codec = run->fragment->sources[source].columns[k].codec;
    if (!is_scaled(codec))
        return false;
    for (int r = 0; r < run->relations[source].count; ++r)
        if (names_column(where, run->relations[source].at[r].attnums[k]))
            return true;
    return false;
}

// (A declared numeric, which loses its form for good, only if no other one can be meant.)
bool note_unfit_columns(const FragmentRun *run) {
    constexpr Size length = sizeof unfit_numeric - 1;
    if (run->failure == nullptr || strncmp(run->failure, unfit_numeric, length) != 0)
        return false;
    const char *where = run->failure + length;
    int meant = 0;
    for (const bool noting : {false, true})
        for (int i = 0; i < run->fragment->nsources; ++i)
            for (int k = 0; k < run->fragment->sources[i].columns.count; ++k) {
                const FragmentColumn *column = &run->fragment->sources[i].columns[k];
                if (!is_meant(run, i, k, where))
                    continue;
                meant += !noting;
                if (noting && (meant == 1 || column->digits > 0))
                    note_unfit_column(run, i, column);
            }
    return true;
}

bool accept(FragmentRun *run, protocol::Status status) {
    const char *message = device_message(run->connection);
    switch (status) {
    case protocol::Status::Ok:
        return true;
    case protocol::Status::RowError:
        return give_up(run, "a row met an error: %s", message);
    case protocol::Status::Lost:
        run->lost = true;
        return give_up(run, "the device process is gone");
    case protocol::Status::Cancelled:
        return give_up(run, "the device cancelled the request");
    default:
        return give_up(run, "%s", message && message[0] ? message : "the device gave no reason");
    }
}

bool request(FragmentRun *run, protocol::Command command, Size size, Size reply_size) {
    if (!accept(run, device_call(run->connection, command, size)))
        return false;
    uint32 got = 0;
    device_output(run->connection, &got);
    if (got < reply_size)
        return give_up(run, "the device's reply is too short");
    return true;
}

namespace {

protocol::DeviceKind wanted_device() {
    switch (guc_device) {
    case DEVICE_CUDA:
        return protocol::DeviceKind::Cuda;
    case DEVICE_HOST:
        return protocol::DeviceKind::Host;
    default:
        return protocol::DeviceKind::None;
    }
}

const uint64 *fingerprints_of(const FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    if (fragment->nsources == 1)
        return nullptr;
    uint64 *files = static_cast<uint64 *>(palloc0(sizeof(uint64) * static_cast<Size>(fragment->nsources)));
    for (int i = 1; i < fragment->nsources; ++i)
        for (int k = 0; k < run->relations[i].count; ++k)
            files[i] = add_file(files[i], run->relations[i].at[k].relation);
    return build_fingerprints(fragment, files);
}

bool open_fragment(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    char *program = program_with_constants(run);
    if (!program)
        return false;
    char *input = device_input(run->connection);
    protocol::OpenRequest head = {};
    Size offset = aligned(sizeof head);
    if (offset + fragment->program_size > protocol::slot_buffer_size)
        return give_up(run, "the fragment is too long");
    head.device = static_cast<uint32>(wanted_device());
    head.program_size = fragment->program_size;
    memcpy(input, &head, sizeof head);
    memcpy(input + offset, program, fragment->program_size);
    if (!request(run, protocol::Command::Open, offset + fragment->program_size, sizeof(protocol::OpenReply)))
        return false;
    strlcpy(run->report.device, reply_of<protocol::OpenReply>(run)->name, sizeof run->report.device);
    return true;
}

bool feed(FragmentRun *run, int source) {
    if (run->fragment->sources[source].is_relation)
        return feed_relations(run, source);
    return run->stages[source].state != nullptr ? feed_stage(run, source) : feed_plan(run, source);
}

// The time since the last call belongs to this phase.
void end_phase(FragmentRun *run, RunPhase phase) {
    instr_time now, spent;
    INSTR_TIME_SET_CURRENT(now);
    spent = now;
    INSTR_TIME_SUBTRACT(spent, run->phase_began);
    run->report.phase_us[static_cast<int>(phase)] += INSTR_TIME_GET_MICROSEC(spent);
    run->phase_began = now;
}

bool run_to_the_end(FragmentRun *run) {
    end_phase(run, RunPhase::Start);
    if (!run_stages(run))
        return false;
    end_phase(run, RunPhase::Feed);
    if (!run_program(run))
        return false;
    const bool fetched = run->fragment->delivers_rows ? fetch_rows(run) : fetch_groups(run);
    end_phase(run, RunPhase::Fetch);
    return fetched;
}

} // namespace

bool run_program(FragmentRun *run) {
    device_tell_program(run->connection, run->form);
    if (!open_fragment(run))
        return false;
    for (int source = 0; source < run->fragment->nsources; ++source)
        if (!define_source(run, source))
            return false;
    if (!use_unified_dictionaries(run))
        return false;
    end_phase(run, RunPhase::Start);
    for (int pipeline = 0; pipeline < run->fragment->nsources; ++pipeline) {
        run->pipeline = pipeline;
        if (!feed(run, source_of_pipeline(run->fragment, pipeline)) || !run_pipeline(run, true))
            return false;
    }
    return true;
}

// Rows that the snapshot sees, whatever conditions let pass and bounds have skipped. (What has been read for a fragment that fails is not counted: PostgreSQL's plan reads it again.)
void count_scans(FragmentRun *run, bool finished) {
    for (int i = 0; i < run->fragment->nsources; ++i)
        for (int k = 0; k < run->relations[i].count; ++k) {
            SourceRelation *of = &run->relations[i].at[k];
            if (finished && !run->cacheable_only)
                count_sequential_scans(of->relation, of->scans, of->rows);
            of->scans = of->rows = 0;
        }
}

bool run_pipeline(FragmentRun *run, bool last) {
    end_phase(run, RunPhase::Feed);
    if (!send_lookups(run, source_of_pipeline(run->fragment, run->pipeline)) || !evaluate_deferred(run))
        return false;
    end_phase(run, RunPhase::Texts);
    protocol::RunRequest head = {};
    head.pipeline = run->pipeline;
    head.last = last;
    if (run->pipeline + 1 < run->fragment->nsources)
        head.fingerprint = run->fingerprints[run->pipeline];
    memcpy(device_input(run->connection), &head, sizeof head);
    if (!request(run, protocol::Command::Run, sizeof head, sizeof(protocol::RunReply)))
        return false;
    end_phase(run, RunPhase::Run);

    uint32 size;
    const char *output = device_output(run->connection, &size);
    const protocol::RunReply *reply = reinterpret_cast<const protocol::RunReply *>(output);
    ++run->passes;
    RunReport *report = &run->report;
    // The device's figures are those of the whole execution so far.
    report->rows_in = reply->rows_in;
    report->kernel_us = reply->kernel_us;
    report->compile_us = reply->compile_us;
    report->link_bytes = reply->link_bytes;
    report->chunks_skipped = reply->chunks_skipped;
    report->rows_skipped = reply->rows_skipped;
    report->groups = reply->groups;
    report->groups_dropped = reply->groups_dropped;
    memcpy(report->grouping, reply->grouping, sizeof reply->grouping);
    report->grouping[sizeof reply->grouping] = '\0';
    Size joins = aligned(sizeof *reply);
    if (reply->njoins > 0 && joins + reply->njoins * Size(64) <= size) {
        report->joins = static_cast<char(*)[64]>(MemoryContextAlloc(run->context, reply->njoins * Size(64)));
        memcpy(report->joins, output + joins, reply->njoins * Size(64));
        for (uint32 i = 0; i < reply->njoins; ++i)
            report->joins[i][63] = '\0';
        report->njoins = reply->njoins;
    }
    return true;
}

bool prepare_run(FragmentRun *run) {
    if (guc_device == DEVICE_NONE)
        return give_up(run, "gpuscan.device is none");
    const Fragment *fragment = run->fragment;
    run->fingerprints = fingerprints_of(run);
    run->form = execution_form(run);
    if (device_refuses_program(run->form))
        return give_up(run, "a query of this form has ended the device process before");
    if (run->parent != nullptr && is_resting(run->form)) // (prewarm.cpp is no query)
        return give_up(run, "the last executions of this form fell back, so this one did not ask the device");
    run->copies = static_cast<DictionaryCopy **>(palloc0(sizeof(DictionaryCopy *) * (fragment->nsources + 1)));
    for (int i = 0; i < fragment->nsources; ++i)
        run->copies[i] =
            static_cast<DictionaryCopy *>(palloc0(sizeof(DictionaryCopy) * (fragment->sources[i].columns.count + 1)));
    run->unified_dictionaries =
        static_cast<UnifiedDictionary *>(palloc0(sizeof(UnifiedDictionary) * (fragment->nunified + 1)));
    run->unified_constants =
        static_cast<UnifiedConstant *>(palloc0(sizeof(UnifiedConstant) * (fragment->nconstants + 1)));
    place_unified_dictionaries(run);
    run->lookups = static_cast<LookupRun *>(palloc0(sizeof(LookupRun) * (fragment->nlookups + 1)));

    // (Before a request slot is taken: a subquery may want one, too.)
    INSTR_TIME_SET_CURRENT(run->phase_began);
    return run->parent == nullptr || (evaluate_params(run) && prepare_stages(run));
}

bool run_fragment(FragmentRun *run) {
    MemoryContext old = MemoryContextSwitchTo(run->context);
    if (!prepare_run(run)) {
        MemoryContextSwitchTo(old);
        return false;
    }
    const char *reason = nullptr;
    bool finished = false;
    run->connection = device_connect(run->cpu_plan, &reason);
    if (!run->connection) {
        give_up(run, "%s", reason ? reason : "the device cannot be reached");
    } else {
        finished = run_to_the_end(run);
        device_disconnect(run->connection);
        run->connection = nullptr;
        count_scans(run, finished);
        if (!run->lost && run->parent != nullptr)
            note_outcome(run->form, finished);
        if (run->report.pages_decoded + run->report.compile_us > 0)
            note_first_execution();
    }
    if (!finished && run->parent != nullptr) {
        const EState *state = run->parent->state;
        const PlannedStmt *plan = state->es_plannedstmt;
        note_surprise(statement_hash(statement_text(state->es_sourceText, plan->stmt_location, plan->stmt_len)));
    }
    MemoryContextSwitchTo(old);
    return finished;
}

} // namespace gpuscan
