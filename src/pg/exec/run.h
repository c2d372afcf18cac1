// One execution of a fragment on the device: what the steps of it (constants, feed, lookups, results) share.
//
// Everything here is plain data in `context`, so that ereport may jump out of any step; what lives outside of memory
// contexts is the connection (released by its own transaction callbacks) and buffer pins (released by the resource
// owner). Steps return false when the device cannot finish the fragment; `failure` then says why in words for
// EXPLAIN, and the CPU plan takes over. Real errors (cancel, a corrupt page, an error of a child plan) are ereports.
#pragma once

#include "pg/pg.h"

#include "engine/ir/program.hpp"
#include "pg/fragment/fragment.h"
#include "pg/service/client.h"
#include "server/group_page.hpp"

namespace gpuscan {

using PageBuffer = ::Buffer; // PostgreSQL's; the engine has a Buffer of its own

// The entries of one dictionary as text datums, kept while the fragment runs.
struct DictionaryCopy {
    bool known; // id and size are those of the device
    uint64 id;
    uint32 size;      // entries that are here
    uint32 allocated; // of offsets
    Size *offsets;    // of the entry's varlena in data
    char *data;
    Size data_used, data_allocated;
};

// What was last sent for a lookup.
struct LookupRun {
    bool sent;
    uint64 dictionary;
    uint32 entries;
    uint32 ranks;    // Rank: how many of them there are
    ExprState *expr; // Function, Text; made once per run
    uint32 *by_rank; // Rank: the entry (in a unified dictionary: the code of the text) that has it
};

// Where a run's time goes, as its backend sees it.
enum class RunPhase { Start, Feed, Texts, Run, Fetch };
constexpr int run_phases = 5;

// What a run did, for EXPLAIN.
struct RunReport {
    char device[96];
    uint64 pages_cached, pages_decoded, pages_rowwise, rows_by_cpu;
    uint64 rows_in, kernel_us, compile_us, link_bytes, groups;
    uint64 chunks_skipped, rows_skipped; // by the bounds of their columns
    uint64 groups_dropped;               // in the device process
    uint64 entries_deferred;             // values for which functions were called that may see no others
    uint32 feed_workers;
    char grouping[33];
    uint64 phase_us[run_phases];
    uint64 rows_out;                     // rows delivered
    uint64 groups_spilled, rows_spilled; // bytes in a temporary file
    uint32 njoins;
    char (*joins)[64]; // one per join of the main pipeline, what its table looks like
};

// One of the relations that a source reads.
struct SourceRelation {
    Relation relation;
    uint32 feed;         // its number in the device's session
    AttrNumber *attnums; // of the source's columns, here; 0: the next of ...
    List *expressions;   // ... those that are no attributes, over the relation's own columns
    List *asked_quals;   // FragmentSource::asked_quals of the quals, likewise
    uint64 scans, rows;  // that PostgreSQL's own scans would have counted (pg_stat_all_tables)
};

struct SourceRelations {
    int count;            // 0: a CPU plan; or a parent of whose leaves this execution needs none
    SourceRelation *at;   // [count]
    TupleDesc named;      // columns of the relation that the query names: the only one, or the parent
    Oid dictionary_owner; // whose columns name the dictionaries of texts; InvalidOid: they are the relation's own
};

// Texts that are numbered so that equal ones have equal codes (unified_dictionary.cpp): for this execution, here; or by the device
// process, which keeps them, and then a copy is read when they are shown.
struct UnifiedDictionary {
    bool on_device;
    DictionaryCopy copy;     // on_device
    uint32 count, allocated; // texts; of offsets
    Size *offsets;           // of the text's varlena in data
    char *data;
    Size data_used, data_allocated;
    uint32 *slots; // open addressing: code + 1, 0: free
    uint32 nslots; // a power of two
};

// A constant text of a unified dictionary that is on the device.
struct UnifiedConstant {
    bool is_set; // it is one, and not NULL
    char *data;
    Size length;
};

struct GpuScanState;

// A source whose rows are the groups of a subquery's node (stages.cpp).
struct RunStage {
    GpuScanState *state; // NULL: it is none
    uint32 columns;
    protocol::KeepColumn *fields; // [columns]
    uint32 number;                // in the device process
};

struct BatchBuilder;
struct GroupStore;
struct RowStore;

struct FragmentRun {
    const Fragment *fragment;
    const uint64 *fingerprints; // of the builds, by join (fragment/build_fingerprints.h)
    uint64 form;                // see execution_form.h
    Snapshot snapshot;
    MemoryContext context;      // of this run and its results; reset by the next one
    ExprContext *econtext;      // for constants and lookups
    PlanState *parent;          // whose expressions they are; NULL: none
    SourceRelations *relations; // per source
    PlanState **children;       // per source; NULL for relations
    RunStage *stages;           // per source
    bool cacheable_only;        // leave out the pages that would be read row by row (prewarming)

    Alternative cpu_plan;

    DeviceConnection *connection;
    bool lost;               // the device process ended under it
    int pipeline;            // the one that is being fed
    uint32 passes;           // runs of a pipeline, counted by whom it concerns
    DictionaryCopy **copies; // per source, per column
    LookupRun *lookups;
    UnifiedDictionary *unified_dictionaries; // [unified - 1]
    UnifiedConstant *unified_constants;      // [of the fragment's constants]
    BatchBuilder *batch;                     // of the source that is being fed
    const char *failure;                     // why the device cannot; NULL as long as it can
    instr_time phase_began;                  // when what is done now began
    RunReport report;

    GroupStore *groups; // of a fragment that aggregates
    RowStore *rows;     // of one that delivers rows
};

// An entry of a dictionary or a unified dictionary as its type's Datum.
inline Datum entry_datum(struct varlena *entry, bool fixed_length) {
    return fixed_length ? PointerGetDatum(VARDATA(entry)) : PointerGetDatum(entry);
}

inline Size aligned(Size size) { return (size + 7) & ~Size(7); }

// Notes why the device cannot finish the fragment (the first reason counts); returns false.
bool give_up(FragmentRun *run, const char *format, ...) pg_attribute_printf(2, 3);

// A value of the source's column does not fit into its form: the next plan shall take another one (pg/cost/numeric_form.h).
void note_unfit_column(const FragmentRun *run, int source, const FragmentColumn *column);
// The same of the columns that the device's reason `failure` names. False: that is another reason.
bool note_unfit_columns(const FragmentRun *run);

// Turns a reply into true, or into false with the reason noted.
bool accept(FragmentRun *run, protocol::Status status);

// Makes a request that stands in the connection's input and waits for its reply; the reply is at least `reply_size`
// bytes long.
bool request(FragmentRun *run, protocol::Command command, Size size, Size reply_size);

// The current reply.
template <typename Reply> const Reply *reply_of(const FragmentRun *run) {
    uint32 size;
    return reinterpret_cast<const Reply *>(device_output(run->connection, &size));
}

// ---- run.cpp ----

// Runs the fragment from its start to the groups or rows in `run`. False: see failure. Does not raise errors of the device.
bool run_fragment(FragmentRun *run);

// Runs the pipeline that is being fed over what has been staged; `last`: nothing more follows.
bool run_pipeline(FragmentRun *run, bool last);

// What comes before a slot is taken. False: see failure.
bool prepare_run(FragmentRun *run);

// Opens the program on the run's connection, and runs all of its pipelines. What was made of an earlier program stays there.
bool run_program(FragmentRun *run);

// In pg_stat_all_tables, as the sequential scans that the plan stands for.
void count_scans(FragmentRun *run, bool finished);

// ---- stages.cpp ----

// The node below a source's plan; NULL: something else than a SubqueryScan stands between.
GpuScanState *walk_to_node(PlanState *plan);

// Finds the sources that are stages, and prepares them.
bool prepare_stages(FragmentRun *run);
// Runs their programs on the run's connection, before the run's own; their groups stay there.
bool run_stages(FragmentRun *run);
bool feed_stage(FragmentRun *run, int source);

// ---- constants.cpp ----

// The program to send, with the constants of this execution; NULL: see failure.
char *program_with_constants(FragmentRun *run);

// ---- params.cpp ----

// Evaluates what the parameters of the fragment's expressions stand for, so that later steps may read them in subtransactions (what an
// init plan acquires lives longer than those).
bool evaluate_params(FragmentRun *run);
// The same for a plan.
bool evaluate_plan_params(FragmentRun *run, const Plan *plan);

// ---- relations.cpp ----

// Opens what a source reads, without the leaves in `pruned`; `feeds`: the next number of a feed.
void open_relations(const Fragment *fragment, int source, EState *estate, const Bitmapset *pruned, uint32 *feeds,
                    SourceRelations *relations);
// The same for the only source of a fragment that nobody has planned.
void use_relation(const Fragment *fragment, Relation relation, SourceRelations *relations);

// ---- node.cpp ----

// As ExecInitExpr; whether the functions may be called is asked of whoever has started the node, as PostgreSQL asks when it starts its own.
ExprState *start_expression(const FragmentRun *run, Expr *expr);

// ---- layout.cpp ----

// Sends DefineSource for all of a source's relations.
bool define_source(FragmentRun *run, int source);

// ---- feed_relation.cpp, feed_rows.cpp, feed_plan.cpp ----

bool feed_relations(FragmentRun *run, int source);

bool feed_plan(FragmentRun *run, int source);

// ---- batch.cpp: rows that are decoded here ----

void batch_begin(FragmentRun *run, int source);
// Adds a row: one value per column of the source.
bool batch_add(FragmentRun *run, const Datum *values, const bool *nulls);
// Sends what has been added.
bool batch_flush(FragmentRun *run);

// ---- lookup.cpp ----

// Brings the copy of a dictionary up to date.
bool read_dictionary(FragmentRun *run, int source, int column);
// The entries of these codes, in their order; of the column's dictionary, whose size and id are told.
bool read_codes(FragmentRun *run, int source, int column, const uint32 *codes, uint32 count, DictionaryCopy *piece,
                uint32 *size);
// Makes a copy that holds these codes only, for showing them.
bool read_entries(FragmentRun *run, int source, int column, const uint32 *codes, uint32 count);
// Brings the codes of ranks in the table of a lookup into its `by_rank`.
bool read_codes_of_ranks(FragmentRun *run, int index, const uint32 *ranks, uint32 count);
// Sends the lookups over the dictionaries of `source` that have grown.
bool send_lookups(FragmentRun *run, int source);
// Entry `code` as a text datum; valid as long as the run. NULL when there is no such entry.
struct varlena *dictionary_entry(const FragmentRun *run, int source, int column, uint32 code);

// Reads what a copy of a unified dictionary's texts lacks.
bool read_unified_dictionary(FragmentRun *run, int unified);

// A slot for one entry of the column, as lookups read it.
TupleTableSlot *entry_slot(const FragmentColumn *column);

// ---- deferred_evaluation.cpp ----

// Fills deferred lookups with what the staged rows will look up.
bool evaluate_deferred(FragmentRun *run);

// ---- unified_dictionary.cpp ----

// Decides which unified dictionaries are on the device; before anything of a run is made.
void place_unified_dictionaries(FragmentRun *run);
// Sends what these are made of, and their constants. Before anything is fed.
bool use_unified_dictionaries(FragmentRun *run);

// The code of a text, which is added if it is new.
uint32 unified_code(FragmentRun *run, int unified, const char *text, Size length);
// The code of a Datum: a varlena (`length` -1; is_bpchar: without trailing blanks), or so many bytes.
uint32 unified_code_of_datum(FragmentRun *run, int unified, Datum text, int length, bool is_bpchar);
// Are the texts of a unified dictionary no more than a dictionary's may be? To be asked while texts are added. False: see failure.
bool unified_dictionary_fits(FragmentRun *run, int unified);
// The bytes that such a Datum counts for, in the current context or where the Datum is.
const char *bytes_of_datum(Datum text, int length, bool is_bpchar, Size *size);
// Text `code` as a datum, valid until the next one is added; NULL when there is no such text.
struct varlena *unified_entry(const FragmentRun *run, int unified, uint32 code);

// ---- pins.cpp ----

constexpr int copied_window_pages = 60; // two windows of copied pages fit into a slot's input

// Pages of one window, when there are two for the cache and one of rows; 0: buffers are too scarce (or not shared), copy the pages.
int window_pages(Relation relation);

} // namespace gpuscan
