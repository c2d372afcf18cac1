// A fragment without an aggregation: scan, filter and joins, whose rows PostgreSQL goes on with.
//
// The path belongs to the base or join relation itself, so that anything may stand above it: a sort, a window function, an
// aggregate that no device knows, a join that no device can do, INSERT. It delivers the relation's own target list, plain
// columns; the node's projection evaluates what the query makes of them, volatile functions included. The fallback is the
// relation's cheapest plan of PostgreSQL's, which delivers just the same columns. (A table that is a part of UNION ALL has
// expressions in its target list. They are the node's projection as well, and the fallback delivers the columns below them.)
//
// Where the query level goes on with an order (ORDER BY, a window, sorted groups), there are others, whose rows come in it:
// then PostgreSQL has less to sort, and chooses by cost; where LIMIT wants only the first of them, only these come. Cursors get
// none: they may go backwards over a Sort.
//
// Everything that the device has to say is known before the first row is shown (see exec/rows.cpp), so all of the
// device's work is start-up cost, and what remains is to make tuples of it.
#include "pg/pg.h"

#include "pg/fragment/rows_path.h"

#include "pg/catalog/sql_type.h"
#include "pg/cost/cached_join_tables.h"
#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/group_count.h"
#include "pg/fragment/candidate_cost.h"
#include "pg/fragment/init_plans.h"
#include "pg/fragment/path.h"
#include "pg/fragment/sort_keys.h"
#include "pg/fragment/text_work.h"
#include "pg/fragment/wanted_groups.h"
#include "pg/guc.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/refusal.h"

namespace gpuscan {

constexpr double max_single_entries = 4096; // that are asked for one by one

// ---- what is there ----

static Path *cheapest(const List *paths) {
    Path *best = nullptr;
    ListCell *cell;
    foreach (cell, paths) {
        Path *path = static_cast<Path *>(lfirst(cell));
        if (path->param_info == nullptr && (best == nullptr || compare_path_costs(path, best, TOTAL_COST) < 0))
            best = path;
    }
    return best;
}

bool is_topmost(const PlannerInfo *root, const RelOptInfo *rel) {
    return bms_equal(rel->relids, all_relations_of(root));
}

// ---- the fallback ----

// PostgreSQL has not made the Gather of the topmost relation yet, which may well be what it would choose.
static Path *gathered(PlannerInfo *root, RelOptInfo *rel) {
    if (!rel->consider_parallel || rel->partial_pathlist == NIL || !is_topmost(root, rel))
        return nullptr;
    Path *partial = copy_of_path(static_cast<Path *>(linitial(rel->partial_pathlist)));
    if (partial == nullptr)
        return nullptr;
    return reinterpret_cast<Path *>(create_gather_path(root, rel, partial, rel->reltarget, nullptr, &rel->rows));
}

// A scan of one table, as expressions over its columns are wanted: delivers the columns.
static Path *fallback_of_columns(PlannerInfo *root, RelOptInfo *rel, List *columns) {
    const Path *best = cheapest(rel->pathlist);
    if (best == nullptr || (!IsA(best, Path) && !IsA(best, IndexPath) && !IsA(best, BitmapHeapPath)))
        return nullptr;
    Path *copy = copy_of_path(best);
    copy->pathtarget = create_empty_pathtarget();
    ListCell *cell;
    foreach (cell, columns)
        add_column_to_pathtarget(copy->pathtarget, static_cast<Expr *>(lfirst(cell)), 0);
    set_pathtarget_cost_width(root, copy->pathtarget);
    return copy;
}

static Path *fallback_path(PlannerInfo *root, RelOptInfo *rel) {
    Path *best = cheapest(rel->pathlist);
    Path *gather = gathered(root, rel);
    if (gather != nullptr && (best == nullptr || compare_path_costs(gather, best, TOTAL_COST) < 0))
        return gather;
    return best != nullptr ? copy_of_path(best) : nullptr;
}

// ---- rows that are wanted ----

static bool is_count(const Node *node, int64 *count) {
    if (node == nullptr || !IsA(node, Const))
        return false;
    const Const *constant = reinterpret_cast<const Const *>(node);
    if (constant->constisnull || constant->consttype != INT8OID)
        return false;
    *count = DatumGetInt64(constant->constvalue);
    return *count >= 0 && *count <= 1000000000;
}

// LIMIT and OFFSET, where nothing between them and the rows drops, joins or orders rows; 0 if all may be wanted. Only
// constants count: root->limit_tuples is an estimate where they are parameters.
static int rows_wanted(const PlannerInfo *root, const RelOptInfo *rel) {
    const Query *query = root->parse;
    int64 count, offset = 0;
    if (!is_topmost(root, rel) || !is_count(query->limitCount, &count))
        return 0;
    if (query->limitOffset != nullptr && !is_count(query->limitOffset, &offset))
        return 0;
    bool direct = !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
                  query->groupingSets == NIL && query->havingQual == nullptr && query->distinctClause == NIL &&
                  query->sortClause == NIL && query->setOperations == nullptr;
    return direct ? static_cast<int>(count + offset > 0 ? count + offset : 1) : 0;
}

// ---- what is done with the rows ----

static bool is_float_type(Oid typid) { return is_float_kind(sql_kind(typid)); }

// Does the result depend on the order in which the rows come, more than gpuscan.exact_float allows? (string_agg and the
// like without ORDER BY take rows as they come; PostgreSQL promises nothing there.)
static bool depends_on_order(Oid aggregate, List *args) {
    if (aggregate == F_SUM_FLOAT4)
        return true;
    if (!guc_exact_float || aggregate == F_MIN_FLOAT4 || aggregate == F_MIN_FLOAT8 || aggregate == F_MAX_FLOAT4 ||
        aggregate == F_MAX_FLOAT8 || aggregate == F_COUNT_ANY)
        return false;
    ListCell *cell;
    foreach (cell, args) {
        const Node *arg = static_cast<const Node *>(lfirst(cell));
        if (is_float_type(exprType(
                IsA(arg, TargetEntry) ? reinterpret_cast<const Node *>(reinterpret_cast<const TargetEntry *>(arg)->expr)
                                      : arg)))
            return true;
    }
    return false;
}

// How a value is stored is not among what a device keeps.
static bool shows_storage(Oid funcid) { return funcid == F_PG_COLUMN_SIZE || funcid == F_PG_COLUMN_COMPRESSION; }

// Notes the reason in *context.
static bool find_unfit(Node *node, void *context) {
    if (node == nullptr)
        return false;
    const char **reason = static_cast<const char **>(context);
    bool storage = IsA(node, FuncExpr) && shows_storage(reinterpret_cast<FuncExpr *>(node)->funcid);
    bool order = false;
    if (IsA(node, Aggref))
        order = depends_on_order(reinterpret_cast<Aggref *>(node)->aggfnoid, reinterpret_cast<Aggref *>(node)->args);
    if (IsA(node, WindowFunc))
        order = depends_on_order(reinterpret_cast<WindowFunc *>(node)->winfnoid,
                                 reinterpret_cast<WindowFunc *>(node)->args);
    if (storage)
        *reason = "a function that shows how values are stored";
    if (order)
        *reason = "rows in another order would change a sum of floats";
    return storage || order || walk_expression(node, find_unfit, context);
}

// Would the rows do, in another order and made anew? Looks at the query levels above as well: rows of a subquery are
// summed there.
bool rows_are_fit(const PlannerInfo *root) {
    const char *reason = nullptr;
    for (; root != nullptr; root = root->parent_root)
        if (find_unfit(reinterpret_cast<Node *>(root->parse->targetList), &reason) ||
            find_unfit(reinterpret_cast<Node *>(root->parse->jointree), &reason) ||
            find_unfit(root->parse->havingQual, &reason))
            return refuse("%s", reason);
    return true;
}

// ---- costs ----

// Entries of dictionaries that the rows' texts are shown from: for a few rows those that they have (exec/rows.cpp), else
// all.
double dictionary_entries(PlannerInfo *root, double rows, const FragmentSpec *spec) {
    double entries = 0;
    ListCell *cell;
    foreach (cell, spec->columns) {
        Node *column = static_cast<Node *>(lfirst(cell));
        if (!is_coded_kind(sql_kind(exprType(column))))
            continue;
        bool is_guess;
        const double distinct = distinct_values(root, column, &is_guess);
        if (!is_guess)
            entries += rows < max_single_entries && rows < distinct ? rows : distinct;
    }
    return entries;
}

double row_bytes(const Fragment *fragment) {
    double bytes = 0;
    for (int i = 0; i < fragment->noutputs; ++i)
        bytes += 1.0 + type_width(fragment->outputs[i].type);
    return bytes + (fragment->nrow_columns - fragment->noutputs) * (1.0 + type_width(Type::I64));
}

// found: rows of which the path delivers those that are wanted. The others cost a look at their sort keys. (The path's own rows are by
// PostgreSQL's estimate.)
static void set_costs(const PlannerInfo *root, const Candidate *candidate, const Fragment *trial, double found,
                      double wanted, double entries, const TextWork *texts, const CpuBaseline *baseline,
                      tier::Breakdown *breakdown, Path *path) {
    const Cost scans =
        candidate_cost(candidate, cached_join_tables(root, trial), device_units(baseline->ns), breakdown);
    tier::Ledger ledger = fragment_ledger(trial, texts, breakdown);
    ledger.fetch_rows(wanted, trial->nrow_columns, row_bytes(trial), entries, work_mem * 1024.0);
    if (trial->order != NIL)
        ledger.sort(wanted, trial->noutputs);
    if (found > wanted)
        ledger.fetch_rows(found - wanted, 1, 0, 0, work_mem * 1024.0);
    path->startup_cost = scans + device_cost(ledger);
    ledger.emit_rows(wanted, trial->noutputs);
    ledger.plan_cost(tier::Stage::Emit, path->pathtarget->cost.startup + wanted * path->pathtarget->cost.per_tuple);
    path->total_cost = scans + device_cost(ledger);
}

// ---- rows in order ----

// Is the order one that the rows have to come in, rather than one in which they could be grouped?
static bool wants_order(const PlannerInfo *root, const List *pathkeys) {
    const Query *query = root->parse;
    return list_length(pathkeys) == list_length(root->query_pathkeys) && !query->hasAggs && query->groupClause == NIL &&
           !removes_duplicates(query);
}

// Computes the checks as well, behind the columns, so that a Sort above it meets their errors first.
static Path *with_checks(PlannerInfo *root, RelOptInfo *rel, Path *fallback, const List *checks) {
    if (checks == NIL)
        return fallback;
    PathTarget *target = copy_pathtarget(fallback->pathtarget);
    ListCell *cell;
    foreach (cell, checks)
        add_column_to_pathtarget(target, static_cast<Expr *>(lfirst(cell)), 0);
    return reinterpret_cast<Path *>(
        create_projection_path(root, rel, fallback, set_pathtarget_cost_width(root, target)));
}

// How many sort keys stand before the first text, whose order costs a look at all of its values.
static int keys_before_texts(const PlannerInfo *root) {
    int keys = 0;
    ListCell *cell;
    foreach (cell, root->query_pathkeys) {
        const PathKey *key = static_cast<const PathKey *>(lfirst(cell));
        const EquivalenceMember *member = linitial_node(EquivalenceMember, key->pk_eclass->ec_members);
        if (is_coded_kind(sql_kind(member->em_datatype)))
            break;
        ++keys;
    }
    return keys;
}

// How many of so many rows are delivered: those that LIMIT wants, and where keys are left those that tie with the last of them.
static double delivered_rows(PlannerInfo *root, const FragmentSpec *spec, double rows) {
    const double wanted = wanted_groups(spec, rows);
    return spec->ties ? std::min(rows, wanted + rows / expected_groups(root, spec->order, rows)) : wanted;
}

// The same path with its rows in the order of these keys. The fallback sorts. With `force` it is the only one where the order
// is wanted. Answers how many of the keys the device knows.
static int add_ordered_path(PlannerInfo *root, const Candidate *candidate, RelOptInfo *rel, List *wanted_pathkeys,
                            const FragmentSpec *unordered, Path *fallback, const CpuBaseline *baseline, List *children,
                            bool force) {
    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc(sizeof(FragmentSpec)));
    *spec = *unordered;
    ask_for_sort_keys(root, wanted_pathkeys, rel->relids, spec);
    ask_for_first_rows(root, spec);
    ask_for_checks(root, spec);
    if (spec->order == NIL || !init_plans_may_be_tried(root, spec))
        return 0;
    const Fragment *trial = assemble(spec, false);
    TextWork texts;
    if (trial == nullptr || trial->order == NIL || !text_work(root, trial, &texts))
        return 0;
    texts.shown = 0;
    finalize_first_rows(root, trial, spec);
    List *pathkeys = list_copy_head(root->query_pathkeys, list_length(spec->order));
    Path *sort = reinterpret_cast<Path *>(
        create_sort_path(root, rel, with_checks(root, rel, fallback, spec->checks), pathkeys, -1.0));
    tier::Breakdown *breakdown = new_breakdown();
    CustomPath *path = make_gpuscan_path(rel, spec, NIL, sort, children, breakdown);
    const double found = expected_rows(root, rel), wanted = delivered_rows(root, spec, found);
    path->path.rows = delivered_rows(root, spec, rel->rows);
    path->path.pathkeys = pathkeys;
    set_costs(root, candidate, trial, found, wanted, dictionary_entries(root, wanted, spec), &texts, baseline,
              breakdown, &path->path);
    price_new_path(root, candidate, baseline, &texts,
                   path); // (of LIMIT's rows it may cost far less than the path of all)
    if (force && wants_order(root, pathkeys))
        rel->pathlist = NIL;
    add_path(rel, &path->path);
    return list_length(spec->order);
}

// By all keys; and where LIMIT follows by those before the first text, since the first rows by numbers are found for nearly
// nothing. Where few rows are expected the latter costs what a path of all rows does, and stays because it has an order: however
// wrong the estimate is, the rows that nobody wants do not come.
static void add_ordered_paths(PlannerInfo *root, const Candidate *candidate, RelOptInfo *rel,
                              const FragmentSpec *unordered, Path *fallback, const CpuBaseline *baseline,
                              List *children, bool force) {
    const int known = add_ordered_path(root, candidate, rel, root->query_pathkeys, unordered, copy_of_path(fallback),
                                       baseline, children, force);
    const int keys = keys_before_texts(root);
    if (has_limit(root->parse) && keys > 0 && (known == 0 || keys < known) && !force)
        add_ordered_path(root, candidate, rel, list_copy_head(root->query_pathkeys, keys), unordered,
                         copy_of_path(fallback), baseline, children, force);
}

// ---- the path ----

static bool has_expressions(const RelOptInfo *rel) {
    ListCell *cell;
    foreach (cell, rel->reltarget->exprs)
        if (!IsA(lfirst(cell), Var))
            return rel->reloptkind == RELOPT_OTHER_MEMBER_REL;
    return false;
}

// The columns that expressions in the target list of a part of UNION ALL are made of.
static bool columns_below(const RelOptInfo *rel, List **columns) {
    const char *reason = nullptr;
    Node *exprs = reinterpret_cast<Node *>(rel->reltarget->exprs);
    if (find_unfit(exprs, &reason))
        return refuse("%s", reason);
    if (contain_subplans(exprs))
        return refuse("a subquery in a part of UNION ALL");
    ListCell *cell;
    *columns = NIL;
    foreach (cell,
             pull_var_clause(exprs, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS)) {
        if (!IsA(lfirst(cell), Var))
            return refuse("a value that an outer join computes");
        *columns = list_append_unique(*columns, lfirst(cell));
    }
    return true;
}

bool add_rows_path(PlannerInfo *root, const Candidate *candidate, RelOptInfo *rel, bool force, bool ordered) {
    if (candidate->outer == nullptr && !candidate->main->is_relation)
        return false;
    if (!rows_are_fit(root))
        return false;
    List *children = NIL;
    FragmentSpec *spec = candidate_spec(root, candidate, &children);
    if (!reads_relation(spec))
        return false;
    spec->delivers_rows = true;
    spec->columns = rel->reltarget->exprs;
    const bool expressions = has_expressions(rel);
    if (expressions && !columns_below(rel, &spec->columns))
        return false;
    spec->limit = rows_wanted(root, rel);
    if (!init_plans_may_be_tried(root, spec))
        return false;
    const Fragment *trial = assemble(spec, false);
    if (trial == nullptr)
        return false;
    TextWork texts;
    if (!text_work(root, trial, &texts) && guc_offload != OFFLOAD_FORCE)
        return false;
    texts.shown = 0; // counted by the rows
    Path *fallback = expressions ? fallback_of_columns(root, rel, spec->columns) : fallback_path(root, rel);
    if (fallback == nullptr)
        return refuse("no plan of PostgreSQL's that could take over");

    tier::Breakdown *breakdown = new_breakdown();
    const CpuBaseline baseline = cpu_baseline_of(root, rel);
    CustomPath *path = make_gpuscan_path(rel, spec, NIL, fallback, children, breakdown);
    const double found = expected_rows(root, rel);
    path->path.rows = rel->rows;
    set_costs(root, candidate, trial, found, found, dictionary_entries(root, found, spec), &texts, &baseline, breakdown,
              &path->path);
    if (force) { // whatever it costs
        rel->pathlist = NIL;
        rel->partial_pathlist = NIL;
    }
    price_new_path(root, candidate, &baseline, &texts, path);
    add_path(rel, &path->path);
    if (ordered && is_topmost(root, rel) && root->query_pathkeys != NIL)
        add_ordered_paths(root, candidate, rel, spec, fallback, &baseline, children, force);
    return true;
}

} // namespace gpuscan
