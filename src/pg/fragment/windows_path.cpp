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

#include <algorithm>
#include <utility>

#include "pg/catalog/type_operators.h"
#include "pg/cost/cached_join_tables.h"
#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/group_count.h"
#include "pg/fragment/assembly.h"
#include "pg/fragment/candidate_cost.h"
#include "pg/fragment/init_plans.h"
#include "pg/fragment/path.h"
#include "pg/fragment/rows_path.h"
#include "pg/fragment/sort_keys.h"
#include "pg/fragment/stage.h"
#include "pg/fragment/text_work.h"
#include "pg/guc.h"
#include "pg/refusal.h"
#include "pg/rewrite/error_free_expression.h"

namespace gpuscan {

// ---- windows ----

static bool add_key(const PlannerInfo *root, SortGroupClause *clause, FragmentSpec *spec) {
    Expr *key = get_sortgroupclause_tle(clause, root->processed_tlist)->expr;
    const Oid type = exprType(reinterpret_cast<Node *>(key));
    bool descending;
    if (!is_device_order(clause->sortop, type, &descending) || !is_device_equality(clause->eqop, type))
        return refuse("a window by values of %s that no device orders", format_type_be(type));
    spec->window_keys = lappend(spec->window_keys, key);
    spec->window_key_flags = lappend_int(spec->window_key_flags, (descending ? ORDER_DESCENDING : 0) |
                                                                     (clause->nulls_first ? ORDER_NULLS_FIRST : 0));
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
                Expr *key =
                    get_sortgroupclause_tle(static_cast<SortGroupClause *>(lfirst(cell)), root->processed_tlist)->expr;
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
    if (!reads_own_rows(spec))
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
    const List *functions =
        pull_var_clause(reinterpret_cast<Node *>(root->processed_tlist),
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
           (candidate->outer != nullptr || candidate->main->is_relation || stage_columns(candidate->main->rel) != NIL);
}

bool can_compute_windows(PlannerInfo *root, const Candidate *candidate) {
    if (!may_have_windows(root, candidate) || !rows_are_fit(root))
        return false;
    List *children = NIL;
    const FragmentSpec *spec = windows_spec(root, candidate, used_windows(root), root->processed_tlist, NIL, &children);
    return spec != nullptr && assemble(spec, false) != nullptr;
}

// ---- rows in another order ----

// The same with another window behind the last one, which has no functions and the order of ORDER BY. NULL: the rows come in it anyway, or
// the order is not the device's. (Of the first rows that a LIMIT wants PostgreSQL's Sort takes all, whose errors it meets.)
static FragmentSpec *sorted_spec(const PlannerInfo *root, const FragmentSpec *unsorted, List *pathkeys) {
    const Query *query = root->parse;
    if (query->sortClause == NIL || query->distinctClause != NIL || query->limitCount != nullptr ||
        pathkeys_contained_in(root->sort_pathkeys, pathkeys))
        return nullptr;
    FragmentSpec order{};
    ask_for_sort_keys(root, root->sort_pathkeys, nullptr, &order);
    const int keys = list_length(order.order);
    if (keys != list_length(root->sort_pathkeys) || contain_window_function(reinterpret_cast<Node *>(order.order)))
        return nullptr;
    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc(sizeof(FragmentSpec)));
    *spec = *unsorted;
    spec->window_keys = list_concat_copy(spec->window_keys, order.order);
    spec->window_key_flags = list_concat_copy(spec->window_key_flags, order.order_flags);
    spec->windows = list_copy(spec->windows);
    for (const int number : {0, keys, 0, FRAMEOPTION_DEFAULTS})
        spec->windows = lappend_int(spec->windows, number);
    spec->window_offsets = lappend(lappend(list_copy(spec->window_offsets), nullptr), nullptr);
    return spec;
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
    const Cost scans =
        candidate_cost(candidate, cached_join_tables(root, trial), device_units(baseline->ns), breakdown);
    tier::Ledger ledger = fragment_ledger(trial, texts, breakdown);
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

// ---- rows that pass the tests ----

static const WindowClause *window_of(const List *windows, const WindowFunc *function) {
    ListCell *cell;
    foreach (cell, windows)
        if (lfirst_node(WindowClause, cell)->winref == function->winref)
            return lfirst_node(WindowClause, cell);
    return nullptr;
}

static bool known_number(const Node *node, double *number) {
    const Const *known = reinterpret_cast<const Const *>(node);
    if (!IsA(node, Const) || known->constisnull || (known->consttype != INT8OID && known->consttype != INT4OID))
        return false;
    *number = static_cast<double>(known->consttype == INT8OID ? DatumGetInt64(known->constvalue)
                                                              : DatumGetInt32(known->constvalue));
    return true;
}

// How many rows of a partition pass `row_number() <= 3` and the like (of ranks about as many); HUGE_VAL: nobody knows.
static double rows_of_partition(const OpExpr *test, const WindowFunc **function) {
    ir::Op op;
    double bound;
    Expr *right;
    if (!compares_window(test, function, &op, &right) || !known_number(reinterpret_cast<const Node *>(right), &bound) ||
        ((*function)->winfnoid != F_ROW_NUMBER && (*function)->winfnoid != F_RANK_ &&
         (*function)->winfnoid != F_DENSE_RANK_))
        return HUGE_VAL;
    switch (op) {
    case ir::Op::Lt:
        return std::max(bound - 1, 0.0);
    case ir::Op::Le:
        return std::max(bound, 0.0);
    case ir::Op::Eq:
        return 1;
    default:
        return HUGE_VAL;
    }
}

// PostgreSQL expects all of them.
static double rows_that_pass(PlannerInfo *root, const List *windows, const List *tests, double rows) {
    double passing = rows;
    ListCell *cell;
    foreach (cell, tests) {
        const WindowFunc *function = nullptr;
        const double first =
            IsA(lfirst(cell), OpExpr) ? rows_of_partition(lfirst_node(OpExpr, cell), &function) : HUGE_VAL;
        const WindowClause *window = first < HUGE_VAL ? window_of(windows, function) : nullptr;
        if (window != nullptr)
            passing =
                std::min(passing, first * expected_groups(root, keys_of_clauses(root, window->partitionClause), rows));
    }
    return clamp_row_est(passing);
}

// What several paths of the same windows have.
struct WindowsPath {
    const WindowAggPath *best; // of PostgreSQL's
    double rows;               // that pass the tests
    List *tests, *children;
    CpuBaseline baseline;
};

// The caller sees to its price.
static CustomPath *make_path(PlannerInfo *root, const Candidate *candidate, const RelOptInfo *input, RelOptInfo *output,
                             const WindowsPath *windows, FragmentSpec *spec, const Fragment *trial, TextWork texts,
                             Path *fallback, List *pathkeys) {
    texts.shown = 0; // counted by the rows
    tier::Breakdown *breakdown = new_breakdown();
    CustomPath *path = make_gpuscan_path(output, spec, windows->tests, fallback, windows->children, breakdown);
    may_be_stage(path, trial);
    path->path.pathtarget = windows->best->path.pathtarget;
    path->path.rows = windows->rows;
    path->path.pathkeys = pathkeys;
    set_costs(root, candidate, spec, trial, expected_rows(root, input), path->path.rows, &texts, &windows->baseline,
              breakdown, &path->path);
    return path;
}

// A window's result may be any value of its type.
static Node *with_unknown_results(Node *node, void *context) {
    if (node == nullptr || !IsA(node, WindowFunc))
        return mutate_expression(node, with_unknown_results, context);
    Param *unknown = makeNode(Param);
    unknown->paramkind = PARAM_EXTERN;
    unknown->paramid = 1;
    unknown->paramtype = exprType(node);
    unknown->paramtypmod = -1;
    unknown->paramcollid = exprCollation(node);
    unknown->location = -1;
    return reinterpret_cast<Node *>(unknown);
}

// PostgreSQL computes what it shows of a row before it asks whether the row passes a condition of a window (ExecWindowAgg), and for some of
// those that do not. Who drops rows must not meet fewer errors: what a row shows of its own columns is evaluated for all rows, by the
// device; what it makes of windows' results must raise none.
static bool may_drop_rows(const PlannerInfo *root, const List *results, List **checks) {
    ListCell *cell;
    foreach (cell, results) {
        Node *result = static_cast<Node *>(lfirst(cell));
        if (IsA(result, Var) || IsA(result, WindowFunc) ||
            is_error_free(root->parse, with_unknown_results(result, nullptr)))
            continue;
        if (contain_window_function(result) || contain_volatile_functions(result))
            return refuse("a condition of a window beside an expression that may raise an error");
        *checks = list_append_unique(*checks, result);
    }
    return true;
}

bool add_windows_path(PlannerInfo *root, const Candidate *candidate, const RelOptInfo *input, RelOptInfo *output,
                      bool force, bool ordered) {
    const WindowAggPath *best = cheapest_windows(output);
    WindowAggPath *fallback = best != nullptr ? reinterpret_cast<WindowAggPath *>(copy_of_path(&best->path)) : nullptr;
    if (fallback == nullptr)
        return refuse("no plan of PostgreSQL's that could take over");
    const List *windows = windows_of(&best->path);
    List *results = best->path.pathtarget->exprs, *children = NIL;
    List *tests = list_concat_copy(best->qual, run_condition_of(best));
    List *checks = NIL;
    if (tests != NIL && !may_drop_rows(root, results, &checks))
        return false;
    FragmentSpec *spec = windows_spec(root, candidate, windows, results, tests, &children);
    if (spec != nullptr)
        spec->checks = checks;
    const Fragment *trial = spec != nullptr ? assemble(spec, false) : nullptr;
    TextWork texts, texts_in_order;
    if (trial == nullptr || (!text_work(root, trial, &texts) && guc_offload != OFFLOAD_FORCE))
        return false;

    fallback->path.pathtarget = create_empty_pathtarget();
    ListCell *cell;
    for (const List *outputs : {spec->columns, spec->window_functions, spec->checks})
        foreach (cell, outputs)
            add_column_to_pathtarget(fallback->path.pathtarget, static_cast<Expr *>(lfirst(cell)), 0);
    set_pathtarget_cost_width(root, fallback->path.pathtarget);

    const WindowsPath common = {best, rows_that_pass(root, windows, tests, best->path.rows), tests, children,
                                cpu_baseline_of(root, output)};
    List *pathkeys = make_pathkeys_for_sortclauses(
        root, list_concat_copy(best->winclause->partitionClause, best->winclause->orderClause), root->processed_tlist);
    CustomPath *path =
        make_path(root, candidate, input, output, &common, spec, trial, texts, &fallback->path, pathkeys);
    FragmentSpec *sorted = ordered ? sorted_spec(root, spec, pathkeys) : nullptr;
    trial = sorted != nullptr ? assemble(sorted, false) : nullptr;
    CustomPath *in_order = nullptr;
    if (trial != nullptr && text_work(root, trial, &texts_in_order)) {
        Path *sort = reinterpret_cast<Path *>(
            create_sort_path(root, output, copy_of_path(&fallback->path), root->sort_pathkeys, -1.0));
        in_order = make_path(root, candidate, input, output, &common, sorted, trial, texts_in_order, sort,
                             root->sort_pathkeys);
    }
    if (force)
        output->pathlist = NIL; // whatever it costs
    price_new_path(root, candidate, &common.baseline, &texts, path);
    if (in_order != nullptr)
        price_path(root, candidate, &common.baseline, &texts_in_order, in_order);
    // (add_path frees what costs too much. With `force` PostgreSQL has nothing to sort.)
    if (in_order == nullptr || !force)
        add_path(output, &path->path);
    if (in_order != nullptr)
        add_path(output, &in_order->path);
    return true;
}

} // namespace gpuscan
