// Window functions over the rows of scans and joins.
//
// All windows of a query level are the device's, or none. The node delivers plain columns and finished window functions, and its
// projection computes what the query makes of them. Its rows come in the order of the last window, as PostgreSQL's do. The fallback is
// PostgreSQL's cheapest path of the windows, whose uppermost WindowAgg is copied and told to deliver just the same columns; it also says
// which windows are computed, in which order and with which frames, since the planner simplifies them.
//
// A subquery's row_number() and the like that a condition above it bounds (PostgreSQL's run conditions) are bounded here: the device drops
// the rows, and the node tests the conditions once more, as no condition is left above.
//
// Rows that tie in a window's order come in any order, from plan to plan, and row_number(), lag and the like show it. The rows below come
// to PostgreSQL's Sort in the order of the table, of an index, or of parallel workers' luck; the device's in the order of its threads.
#include "pg/pg.h"

#include "pg/fragment/windows_path.h"

#include "pg/catalog/type_operators.h"
#include "pg/cost/cached_join_tables.h"
#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/fragment/candidate_cost.h"
#include "pg/fragment/init_plans.h"
#include "pg/fragment/path.h"
#include "pg/fragment/rows_path.h"
#include "pg/fragment/text_work.h"
#include "pg/guc.h"
#include "pg/refusal.h"

namespace gpuscan {

// ---- windows ----

static bool add_key(const PlannerInfo *root, SortGroupClause *clause, FragmentSpec *spec) {
    Expr *key = get_sortgroupclause_tle(clause, root->processed_tlist)->expr;
    const Oid type = exprType(reinterpret_cast<Node *>(key));
    bool descending;
    if (!is_device_order(clause->sortop, type, &descending) || !is_device_equality(clause->eqop, type))
        return refuse("a window by values of %s that no device orders", format_type_be(type));
    spec->window_keys = lappend(spec->window_keys, key);
    spec->window_key_flags =
        lappend_int(spec->window_key_flags,
                    (descending ? ORDER_DESCENDING : 0) | (clause->nulls_first ? ORDER_NULLS_FIRST : 0));
    return true;
}

static bool add_window(const PlannerInfo *root, const WindowClause *clause, FragmentSpec *spec) {
    ListCell *cell;
    for (const List *keys : {clause->partitionClause, clause->orderClause})
        foreach (cell, keys)
            if (!add_key(root, static_cast<SortGroupClause *>(lfirst(cell)), spec))
                return false;
    const int partition = list_length(clause->partitionClause);
    for (const int number : {static_cast<int>(clause->winref), partition + list_length(clause->orderClause), partition,
                             clause->frameOptions})
        spec->windows = lappend_int(spec->windows, number);
    spec->window_offsets = lappend(lappend(spec->window_offsets, clause->startOffset), clause->endOffset);
    return true;
}

// ---- outputs ----

struct OutputWalk {
    const List *computed; // expressions that PostgreSQL computes below its windows
    FragmentSpec *spec;
    bool impossible;
};

static bool collect_outputs(Node *node, void *context) {
    OutputWalk *walk = static_cast<OutputWalk *>(context);
    FragmentSpec *spec = walk->spec;
    if (node == nullptr)
        return false;
    if (IsA(node, WindowFunc)) {
        spec->window_functions = list_append_unique(spec->window_functions, node);
        return false;
    }
    if (IsA(node, Var) || list_member(walk->computed, node)) {
        spec->columns = list_append_unique(spec->columns, node);
        return false;
    }
    if (IsA(node, PlaceHolderVar)) {
        refuse("a value that an outer join computes");
        return walk->impossible = true;
    }
    return walk_expression(node, collect_outputs, context);
}

// What windows partition and order by is computed below them, once.
static List *computed_below(const PlannerInfo *root) {
    List *exprs = NIL;
    ListCell *window, *cell;
    foreach (window, root->parse->windowClause) {
        const WindowClause *clause = static_cast<const WindowClause *>(lfirst(window));
        for (const List *keys : {clause->partitionClause, clause->orderClause})
            foreach (cell, keys) {
                Expr *key = get_sortgroupclause_tle(static_cast<SortGroupClause *>(lfirst(cell)), root->processed_tlist)->expr;
                if (contain_var_clause(reinterpret_cast<Node *>(key)))
                    exprs = list_append_unique(exprs, key);
            }
    }
    return exprs;
}

// `windows`: of WindowClause *, in the order in which they are computed. `results` and `tests` are what is computed of them.
static FragmentSpec *windows_spec(PlannerInfo *root, const Candidate *candidate, const List *windows, List *results,
                                  List *tests, List **children) {
    FragmentSpec *spec = candidate_spec(root, candidate, children);
    if (!reads_relation(spec))
        return nullptr;
    spec->delivers_rows = true;
    OutputWalk walk = {computed_below(root), spec, false};
    collect_outputs(reinterpret_cast<Node *>(results), &walk);
    collect_outputs(reinterpret_cast<Node *>(tests), &walk);
    if (walk.impossible)
        return nullptr;
    ListCell *cell;
    foreach (cell, windows)
        if (!add_window(root, static_cast<const WindowClause *>(lfirst(cell)), spec))
            return nullptr;
    spec->window_tests = tests;
    return init_plans_may_be_tried(root, spec) ? spec : nullptr;
}

// Those that some function is of.
static List *used_windows(const PlannerInfo *root) {
    List *windows = NIL;
    ListCell *cell, *function;
    const List *functions = pull_var_clause(reinterpret_cast<Node *>(root->processed_tlist),
                                            PVC_INCLUDE_WINDOWFUNCS | PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_PLACEHOLDERS);
    foreach (cell, root->parse->windowClause) {
        WindowClause *clause = static_cast<WindowClause *>(lfirst(cell));
        foreach (function, functions)
            if (IsA(lfirst(function), WindowFunc) &&
                static_cast<const WindowFunc *>(lfirst(function))->winref == clause->winref)
                windows = list_append_unique_ptr(windows, clause);
    }
    return windows;
}

static bool may_have_windows(const PlannerInfo *root, const Candidate *candidate) {
    const Query *query = root->parse;
    return query->commandType == CMD_SELECT && query->hasWindowFuncs && !query->hasTargetSRFs &&
           (candidate->outer != nullptr || candidate->main->is_relation);
}

bool can_compute_windows(PlannerInfo *root, const Candidate *candidate) {
    if (!may_have_windows(root, candidate) || !rows_are_fit(root))
        return false;
    List *children = NIL;
    const FragmentSpec *spec = windows_spec(root, candidate, used_windows(root), root->processed_tlist, NIL, &children);
    return spec != nullptr && assemble(spec, false) != nullptr;
}

// ---- the path ----

static const WindowAggPath *cheapest_windows(const RelOptInfo *output) {
    const Path *best = nullptr;
    ListCell *cell;
    foreach (cell, output->pathlist) {
        const Path *path = static_cast<const Path *>(lfirst(cell));
        if (IsA(path, WindowAggPath) && path->param_info == nullptr &&
            (best == nullptr || compare_path_costs(const_cast<Path *>(path), const_cast<Path *>(best), TOTAL_COST) < 0))
            best = path;
    }
    return reinterpret_cast<const WindowAggPath *>(best);
}

// From the first one on, as PostgreSQL computes them.
static List *windows_of(const Path *path) {
    List *windows = NIL;
    for (;;)
        switch (nodeTag(path)) {
        case T_WindowAggPath:
            windows = lcons(reinterpret_cast<const WindowAggPath *>(path)->winclause, windows);
            path = reinterpret_cast<const WindowAggPath *>(path)->subpath;
            break;
        case T_SortPath:
        case T_IncrementalSortPath: // (which begins with the other one)
            path = reinterpret_cast<const SortPath *>(path)->subpath;
            break;
        default:
            return windows;
        }
}

static void set_costs(PlannerInfo *root, const Candidate *candidate, const FragmentSpec *spec, const Fragment *trial,
                      double found, double shown, const TextWork *texts, const CpuBaseline *baseline,
                      tier::Breakdown *breakdown, Path *path) {
    const Cost scans = candidate_cost(candidate, cached_join_tables(root, trial), device_units(baseline->ns), breakdown);
    tier::Ledger ledger = device_ledger(breakdown);
    ledger.start(trial->nsources, trial->nlookups);
    ledger.texts(*texts);
    ledger.plan_cost(tier::Stage::Texts, texts->calls);
    for (int i = 0; i < list_length(spec->windows); i += window_numbers)
        if (list_nth_int(spec->windows, i + WINDOW_KEYS) > 0)
            ledger.sort(found, trial->nrow_columns + list_nth_int(spec->windows, i + WINDOW_KEYS));
    ledger.windows(found, list_length(spec->window_functions));
    ledger.fetch_rows(shown, trial->nrow_columns, row_bytes(trial), dictionary_entries(root, shown, spec),
                      work_mem * 1024.0);
    path->startup_cost = scans + device_cost(ledger);
    ledger.emit_rows(shown, trial->nrow_columns);
    ledger.plan_cost(tier::Stage::Emit, path->pathtarget->cost.startup + shown * path->pathtarget->cost.per_tuple);
    path->total_cost = scans + device_cost(ledger);
}

bool add_windows_path(PlannerInfo *root, const Candidate *candidate, const RelOptInfo *input, RelOptInfo *output,
                      bool force) {
    const WindowAggPath *best = cheapest_windows(output);
    WindowAggPath *fallback =
        best != nullptr ? reinterpret_cast<WindowAggPath *>(copy_of_path(&best->path)) : nullptr;
    if (fallback == nullptr)
        return refuse("no plan of PostgreSQL's that could take over");
    const List *windows = windows_of(&best->path);
    List *results = best->path.pathtarget->exprs, *children = NIL;
    List *tests = list_concat_copy(best->qual, run_condition_of(best));
    FragmentSpec *spec = windows_spec(root, candidate, windows, results, tests, &children);
    const Fragment *trial = spec != nullptr ? assemble(spec, false) : nullptr;
    TextWork texts;
    if (trial == nullptr || (!text_work(root, trial, &texts) && guc_offload != OFFLOAD_FORCE))
        return false;
    texts.shown = 0; // counted by the rows

    fallback->path.pathtarget = create_empty_pathtarget();
    ListCell *cell;
    for (const List *outputs : {spec->columns, spec->window_functions})
        foreach (cell, outputs)
            add_column_to_pathtarget(fallback->path.pathtarget, static_cast<Expr *>(lfirst(cell)), 0);
    set_pathtarget_cost_width(root, fallback->path.pathtarget);

    tier::Breakdown *breakdown = new_breakdown();
    const CpuBaseline baseline = cpu_baseline_of(root, output);
    CustomPath *path = make_gpuscan_path(output, spec, tests, &fallback->path, children, breakdown);
    path->path.pathtarget = best->path.pathtarget;
    path->path.rows = best->path.rows;
    path->path.pathkeys = make_pathkeys_for_sortclauses(
        root, list_concat_copy(best->winclause->partitionClause, best->winclause->orderClause), root->processed_tlist);
    const double found = expected_rows(root, input);
    set_costs(root, candidate, spec, trial, found, path->path.rows, &texts, &baseline, breakdown, &path->path);
    if (force)
        output->pathlist = NIL; // whatever it costs
    price_new_path(root, candidate, &baseline, force, path);
    add_path(output, &path->path);
    return true;
}

} // namespace gpuscan
