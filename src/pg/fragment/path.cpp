// The path: a candidate plus what the query aggregates, and the plan node that comes of it.
//
// The node delivers scan tuples (group keys and finished aggregates); PostgreSQL's own qual and projection on the node
// evaluate HAVING and everything above the aggregates. Its first child is the fallback: PostgreSQL's cheapest aggregation
// of the same input, copied and told to deliver just the same scan tuples, without HAVING, which the node tests.
#include "pg/pg.h"

#include "pg/fragment/path.h"

#include <algorithm>
#include <cmath>

#include "engine/ir/program.hpp"
#include "pg/catalog/sql_type.h"
#include "pg/catalog/type_operators.h"
#include "pg/catalog/unique_keys.h"
#include "pg/cost/cache_admission.h"
#include "pg/cost/cached_join_tables.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/distinct_bits.h"
#include "pg/cost/estimate.h"
#include "pg/cost/group_count.h"
#include "pg/cost/outer_values.h"
#include "pg/cost/own_selectivity.h"
#include "pg/fragment/candidate_cost.h"
#include "pg/fragment/init_plans.h"
#include "pg/fragment/plan_data.h"
#include "pg/fragment/sort_keys.h"
#include "pg/fragment/stage.h"
#include "pg/fragment/text_work.h"
#include "pg/fragment/wanted_groups.h"
#include "pg/guc.h"
#include "pg/plan_time/plan_time.h"
#include "pg/refusal.h"

namespace gpuscan {

struct GpuScanPath {
    CustomPath custom;
    FragmentSpec *spec;
    List *having;
    const Fragment *stage;            // as it has been translated, if it may be one (stage.h); else NULL
    const tier::Breakdown *breakdown; // what its costs are made of
    double ns_per_unit;               // of its costs
    const List *missing_columns;      // of MissingColumns *: that are in its costs, with those of the paths below
    const List *bought;               // the same: that it brings itself, the texts that the device keeps among them
    double cpu_plan_ns;               // what PostgreSQL's own paths take
    double cpu_first_ns;              // exec/cpu_first.h
};

// ---- what is grouped ----

bool removes_duplicates(const Query *query) {
    return query->commandType == CMD_SELECT && query->distinctClause != NIL && !query->hasDistinctOn &&
           !query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs && query->groupClause == NIL &&
           query->groupingSets == NIL && query->havingQual == nullptr;
}

List *grouping_clause(const PlannerInfo *root) {
    return removes_duplicates(root->parse) ? root->parse->distinctClause : root->parse->groupClause;
}

// ---- outputs ----

struct OutputWalk {
    const PlannerInfo *root;
    FragmentSpec *spec;
    bool impossible;
};

// Of a group key that the query refers to.
static int number_of_key(const PlannerInfo *root, const FragmentSpec *spec, int reference) {
    const Expr *key = get_sortgroupref_tle(static_cast<Index>(reference), root->processed_tlist)->expr;
    int number = 0;
    ListCell *cell;
    foreach (cell, spec->keys) {
        if (equal(lfirst(cell), key))
            break;
        ++number;
    }
    return number;
}

static void add_grouping(const PlannerInfo *root, GroupingFunc *grouping, FragmentSpec *spec) {
    if (list_member(spec->groupings, grouping))
        return;
    List *keys = NIL;
    ListCell *cell;
    foreach (cell, grouping->refs)
        keys = lappend_int(keys, number_of_key(root, spec, lfirst_int(cell)));
    spec->groupings = lappend(spec->groupings, grouping);
    spec->asked = lappend(spec->asked, keys);
}

// Are the columns of the relation's primary key among the group keys?
static bool has_primary_key(const RangeTblEntry *rte, Index relation, const List *keys) {
    Oid constraint;
    Bitmapset *lacking =
        rte->rtekind == RTE_RELATION ? get_primary_key_attnos(rte->relid, false, &constraint) : nullptr;
    if (lacking == nullptr)
        return false;
    ListCell *cell;
    foreach (cell, keys) {
        const Var *var = static_cast<const Var *>(lfirst(cell));
        if (IsA(var, Var) && var->varno == static_cast<int>(relation) && var->varlevelsup == 0)
            lacking = bms_del_member(lacking, var->varattno - FirstLowInvalidHeapAttributeNumber);
    }
    return bms_is_empty(lacking);
}

// Has every group one value of the column, which is no group key? PostgreSQL has found the relation's primary key among the
// group keys. But it is the key of this relation alone: tables that inherit from it may have more rows of it, and so may an
// older snapshot. (PostgreSQL shows any of the values then.) Or the column was in an expression like a key's, which has been simplified
// since: NOT (a > b) is a <= b. That is the same for all rows of a group, but a and b are not.
static bool depends_on_keys(const PlannerInfo *root, const Var *var, const List *keys) {
    const RangeTblEntry *rte = planner_rt_fetch(var->varno, root);
    if (!has_primary_key(rte, var->varno, keys))
        return refuse("an expression of a group key that the planner has simplified");
    if (rte->rtekind == RTE_RELATION && rte->inh && rte->relkind != RELKIND_PARTITIONED_TABLE)
        return refuse("a column that depends on a primary key of %s, which its children do not have",
                      rte->eref->aliasname);
    return !bms_is_member(var->varno, relations_with_newer_keys(root)) ||
           refuse("a column that depends on a primary key that is newer than the snapshot");
}

// Collects Aggrefs, and Vars outside of them that are no group keys: those depend functionally on the keys, so grouping by
// them too changes nothing.
static bool collect_outputs(Node *node, void *context) {
    OutputWalk *walk = static_cast<OutputWalk *>(context);
    FragmentSpec *spec = walk->spec;
    if (node == nullptr || list_member(spec->keys, node))
        return false;
    switch (nodeTag(node)) {
    case T_Aggref:
        spec->aggrefs = list_append_unique(spec->aggrefs, node);
        return false;
    case T_Var:
        if (!depends_on_keys(walk->root, reinterpret_cast<Var *>(node), spec->keys))
            return walk->impossible = true;
        spec->keys = lappend(spec->keys, node);
        return false;
    case T_GroupingFunc:
        if (spec->sets != NIL && reinterpret_cast<GroupingFunc *>(node)->agglevelsup == 0) {
            add_grouping(walk->root, reinterpret_cast<GroupingFunc *>(node), spec);
            return false;
        }
        refuse("GROUPING() without grouping sets, or of an outer query");
        return walk->impossible = true;
    case T_PlaceHolderVar:
        refuse("a value that an outer join computes");
        return walk->impossible = true;
    default:
        return walk_expression(node, collect_outputs, context);
    }
}

// The query's grouping sets, which the planner has written out as lists of references to group keys, as bits of the keys.
static bool add_sets(const PlannerInfo *root, FragmentSpec *spec) {
    ListCell *set, *cell;
    if (list_length(root->parse->groupingSets) > ir::max_grouping_sets || list_length(spec->keys) > ir::max_group_keys)
        return refuse("too many grouping sets");
    if (root->parse->groupingSets != NIL)
        foreach (cell, spec->keys)
            if (!contain_var_clause(
                    static_cast<Node *>(lfirst(cell)))) // setrefs.c would show it where it is to be NULL
                return refuse("a constant among the keys of grouping sets");
    foreach (set, root->parse->groupingSets) {
        int members = 0;
        if (lfirst(set) != nullptr && !IsA(lfirst(set), IntList))
            return refuse("GROUPING SETS, ROLLUP or CUBE");
        foreach (cell, static_cast<const List *>(lfirst(set)))
            members |= 1 << number_of_key(root, spec, lfirst_int(cell));
        spec->sets = lappend_int(spec->sets, members);
    }
    return true;
}

// (What a device cannot group by at all is refused with the key; what is only handed through is grouped by its default equality.)
static bool is_grouped_as_on_devices(const SortGroupClause *clause, const Expr *key) {
    const Oid type = exprType(reinterpret_cast<const Node *>(key));
    const SqlKind kind = sql_kind(type);
    return kind == SqlKind::None || is_device_equality(clause->eqop, type) ||
           (kind == SqlKind::Opaque && clause->eqop == lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr) ||
           refuse("values of %s that are equal by operator %s", format_type_be(type), format_operator(clause->eqop));
}

// `results` is what is computed from the groups.
static bool add_outputs(PlannerInfo *root, List *results, Node *having, FragmentSpec *spec) {
    ListCell *cell;
    foreach (cell, grouping_clause(root)) {
        const SortGroupClause *clause = static_cast<const SortGroupClause *>(lfirst(cell));
        Expr *key = get_sortgroupclause_tle(const_cast<SortGroupClause *>(clause), root->processed_tlist)->expr;
        if (!is_grouped_as_on_devices(clause, key))
            return false;
        if (root->parse->groupingSets != NIL &&
            list_member(spec->keys, key)) // setrefs.c would show one where the other is to be NULL
            return refuse("keys of grouping sets that come to the same expression");
        spec->keys = list_append_unique(spec->keys, key);
    }
    spec->has_group_by = grouping_clause(root) != NIL;
    if (!add_sets(root, spec))
        return false;
    const int in_sets = list_length(spec->keys);
    OutputWalk walk{root, spec, false};
    collect_outputs(reinterpret_cast<Node *>(results), &walk);
    collect_outputs(having, &walk);
    if (walk.impossible)
        return false;
    if (spec->sets != NIL && list_length(spec->keys) > in_sets)
        return refuse("a column that depends on the keys of grouping sets");
    return output_count(spec) > 0 || refuse("neither a group key nor an aggregate");
}

// ---- the fallback ----

static PathTarget *output_target(PlannerInfo *root, const FragmentSpec *spec) {
    PathTarget *target = create_empty_pathtarget();
    ListCell *cell;
    foreach (cell, spec->keys) {
        Index sortgroupref = 0;
        ListCell *entry;
        foreach (entry, root->processed_tlist) {
            const TargetEntry *tle = static_cast<const TargetEntry *>(lfirst(entry));
            if (tle->ressortgroupref != 0 && equal(tle->expr, lfirst(cell)) &&
                get_sortgroupref_clause_noerr(tle->ressortgroupref, grouping_clause(root)) != nullptr)
                sortgroupref = tle->ressortgroupref;
        }
        add_column_to_pathtarget(target, static_cast<Expr *>(lfirst(cell)), sortgroupref);
    }
    for (const List *outputs : {spec->aggrefs, spec->groupings})
        foreach (cell, outputs)
            add_column_to_pathtarget(target, static_cast<Expr *>(lfirst(cell)), 0);
    set_pathtarget_cost_width(root, target);
    return target;
}

// The aggregation above the cheapest path of its input, where PostgreSQL has another idea of it.
static Path *simple_aggregate_path(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output, PathTarget *target) {
    List *clause = removes_duplicates(root->parse) ? root->parse->distinctClause : group_clause_of(root);
    if ((clause != NIL && !grouping_is_hashable(clause)) || input->cheapest_total_path->param_info != nullptr ||
        root->parse->groupingSets != NIL || root->numOrderedAggs > 0)
        return nullptr;
    AggClauseCosts costs{};
    get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
    // (Keys of which there is but one value need no sorting.)
    AggStrategy strategy = clause != NIL ? AGG_HASHED : root->parse->groupClause != NIL ? AGG_SORTED : AGG_PLAIN;
    double groups = 1;
    if (clause != NIL && output->pathlist != NIL)
        groups = static_cast<const Path *>(linitial(output->pathlist))->rows;
    return reinterpret_cast<Path *>(create_agg_path(root, output, input->cheapest_total_path, target, strategy,
                                                    AGGSPLIT_SIMPLE, clause, NIL, &costs, groups));
}

Path *copy_of_path(const Path *path) {
    static const struct {
        NodeTag tag;
        Size size;
    } known[] = {{T_Path, sizeof(Path)},
                 {T_IndexPath, sizeof(IndexPath)},
                 {T_BitmapHeapPath, sizeof(BitmapHeapPath)},
                 {T_TidPath, sizeof(TidPath)},
                 {T_TidRangePath, sizeof(TidRangePath)},
                 {T_NestPath, sizeof(NestPath)},
                 {T_MergePath, sizeof(MergePath)},
                 {T_HashPath, sizeof(HashPath)},
                 {T_AppendPath, sizeof(AppendPath)},
                 {T_MergeAppendPath, sizeof(MergeAppendPath)},
                 {T_GroupResultPath, sizeof(GroupResultPath)},
                 {T_MaterialPath, sizeof(MaterialPath)},
                 {T_ProjectionPath, sizeof(ProjectionPath)},
                 {T_GatherPath, sizeof(GatherPath)},
                 {T_GatherMergePath, sizeof(GatherMergePath)},
                 {T_AggPath, sizeof(AggPath)},
                 {T_WindowAggPath, sizeof(WindowAggPath)},
                 {T_GroupPath, sizeof(GroupPath)},
                 {T_GroupingSetsPath, sizeof(GroupingSetsPath)}};
    for (const auto &kind : known)
        if (nodeTag(path) == kind.tag)
            return static_cast<Path *>(memcpy(palloc(kind.size), path, kind.size));
    return nullptr; // one of an extension, which may be longer than its type
}

// add_path frees the nodes that it displaces, so the fallback's top node must be ours.
static Path *fallback_path(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output, PathTarget *target) {
    Path *best = nullptr;
    ListCell *cell;
    foreach (cell, output->pathlist) {
        Path *path = static_cast<Path *>(lfirst(cell));
        if ((IsA(path, AggPath) || IsA(path, GroupPath) || IsA(path, GroupingSetsPath)) &&
            path->param_info == nullptr && (best == nullptr || compare_path_costs(path, best, TOTAL_COST) < 0))
            best = path;
    }
    if (best == nullptr) // min and max by an index, partition-wise aggregation, or sorted rows without duplicates
        return simple_aggregate_path(root, input, output, target);
    Path *copy = copy_of_path(best);
    copy->pathtarget = target;
    (IsA(copy, AggPath)            ? reinterpret_cast<AggPath *>(copy)->qual
     : IsA(copy, GroupingSetsPath) ? reinterpret_cast<GroupingSetsPath *>(copy)->qual
                                   : reinterpret_cast<GroupPath *>(copy)->qual) = NIL;
    return copy;
}

// The cheap conjuncts first, as PostgreSQL has them in its aggregation nodes (create_agg_plan and create_group_plan, not
// create_groupingsets_plan): which of two is evaluated decides which errors are met.
static List *in_postgres_order(PlannerInfo *root, List *having) {
    if (root->parse->groupingSets != NIL)
        return static_cast<List *>(copyObject(having));
    Cost *costs = static_cast<Cost *>(palloc(sizeof(Cost) * static_cast<Size>(list_length(having) + 1)));
    List *result = NIL;
    ListCell *cell;
    foreach (cell, having) {
        QualCost cost;
        cost_qual_eval_node(&cost, static_cast<Node *>(lfirst(cell)), root);
        int at = list_length(result);
        for (; at > 0 && costs[at - 1] > cost.per_tuple; --at)
            costs[at] = costs[at - 1];
        costs[at] = cost.per_tuple;
        result = list_insert_nth(result, at, copyObjectImpl(lfirst(cell)));
    }
    return result;
}

// ---- path and plan ----

int planned_nodes = 0;

constexpr double max_exchange = 100; // of what a unit of PostgreSQL's costs usually takes

extern "C" {
static Plan *plan_gpuscan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
                          List *custom_plans);
}

static const CustomPathMethods gpuscan_path_methods = {"GpuScan", plan_gpuscan, nullptr};

CustomPath *make_gpuscan_path(RelOptInfo *rel, FragmentSpec *spec, List *having, Path *fallback, List *children,
                              const tier::Breakdown *breakdown) {
    GpuScanPath *path = static_cast<GpuScanPath *>(palloc0(sizeof(GpuScanPath)));
    CustomPath *custom = &path->custom;
    custom->path.type = T_CustomPath;
    custom->path.pathtype = T_CustomScan;
    custom->path.parent = rel;
    custom->path.pathtarget = rel->reltarget;
    custom->path.parallel_safe = false;
    count_disabled_nodes(&custom->path, children);
    custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    custom->custom_paths = lcons(fallback, list_copy(children));
    custom->methods = &gpuscan_path_methods;
    path->spec = spec;
    path->having = having;
    path->breakdown = breakdown;
    path->ns_per_unit = device_ns_per_unit();
    return custom;
}

bool is_gpuscan_path(const Path *path) {
    return IsA(path, CustomPath) && reinterpret_cast<const CustomPath *>(path)->methods == &gpuscan_path_methods;
}

CpuBaseline cpu_baseline_of(PlannerInfo *root, const RelOptInfo *rel) {
    const Path *best = nullptr;
    ListCell *cell;
    foreach (cell, rel->pathlist) {
        const Path *path = static_cast<const Path *>(lfirst(cell));
        if (path->param_info == nullptr && !path_is_disabled(path) && path->total_cost < disable_cost &&
            (best == nullptr || path->total_cost < best->total_cost))
            best = path;
    }
    if (best == nullptr || best->total_cost <= 0)
        return CpuBaseline{1, device_ns_per_unit()};
    const double ns = path_ns(root, best);
    return std::isfinite(ns) ? CpuBaseline{best->total_cost, ns}
                             : CpuBaseline{best->total_cost, best->total_cost * device_ns_per_unit()};
}

static Cost cost_of(const List *missing_columns) {
    Cost cost = 0;
    ListCell *cell;
    foreach (cell, missing_columns)
        cost += static_cast<const MissingColumns *>(lfirst(cell))->price -
                static_cast<const MissingColumns *>(lfirst(cell))->saved;
    return cost;
}

// What the credit of the relations leaves for the texts that the device keeps. The path does not pay that.
static void spend_on_texts(const Candidate *candidate, const TextWork *texts, CustomPath *custom) {
    const List *columns = candidate_missing_columns(candidate);
    const tier::Breakdown *breakdown = reinterpret_cast<const GpuScanPath *>(custom)->breakdown;
    Cost spent = 0;
    ListCell *cell, *other;
    foreach (cell, texts->kept) {
        MissingColumns *kept = static_cast<MissingColumns *>(lfirst(cell));
        Cost credit = admission_credit(kept->relid);
        for (const List *others : {columns, const_cast<const List *>(texts->kept)})
            foreach (other, others)
                if (const MissingColumns *before = static_cast<const MissingColumns *>(lfirst(other));
                    before != kept && before->relid == kept->relid)
                    credit -= before->saved;
        kept->saved = std::clamp(credit, 0.0, kept->price);
        spent += kept->saved;
    }
    if (breakdown != nullptr)
        const_cast<tier::Breakdown *>(breakdown)->hidden_ns[static_cast<int>(tier::Stage::Texts)] += device_ns(spent);
    custom->path.startup_cost = std::max(custom->path.startup_cost - spent, 0.0);
    custom->path.total_cost -= spent;
}

static void convert_costs(PlannerInfo *root, const Candidate *candidate, const CpuBaseline *baseline,
                          const TextWork *texts, CustomPath *custom) {
    GpuScanPath *path = reinterpret_cast<GpuScanPath *>(custom);
    const double usual = device_ns_per_unit();
    path->cpu_plan_ns = baseline->ns;
    if (guc_offload != OFFLOAD_FORCE && asks_for_outer_values(root)) {
        const Cost once = std::min(cost_of(candidate_missing_columns(candidate)), custom->path.total_cost);
        // (An execution that takes longer than that is none to wait for.)
        path->cpu_first_ns = baseline->ns < device_ns(once) ? device_ns(once) : 0;
        custom->path.startup_cost = std::max(custom->path.startup_cost - once, 0.0);
        custom->path.total_cost -= once;
    } else {
        path->missing_columns = all_missing_columns(candidate);
        path->bought = list_concat(candidate_missing_columns(candidate), texts->kept);
    }
    path->ns_per_unit = std::clamp(baseline->ns / baseline->cost, usual / max_exchange, usual * max_exchange);
    custom->path.startup_cost *= usual / path->ns_per_unit;
    custom->path.total_cost *= usual / path->ns_per_unit;
}

void price_path(PlannerInfo *root, const Candidate *candidate, const CpuBaseline *baseline, const TextWork *texts,
                CustomPath *custom) {
    spend_on_texts(candidate, texts, custom);
    convert_costs(root, candidate, baseline, texts, custom);
}

void price_new_path(PlannerInfo *root, const Candidate *candidate, const CpuBaseline *baseline, const TextWork *texts,
                    CustomPath *custom) {
    spend_on_texts(candidate, texts, custom);
    if (guc_offload != OFFLOAD_FORCE && !asks_for_outer_values(root))
        request_admission(device_units(baseline->ns), custom->path.total_cost,
                          list_concat(candidate_missing_columns(candidate), texts->kept));
    convert_costs(root, candidate, baseline, texts, custom);
}

const List *gpuscan_path_missing_columns(const Path *path) {
    return reinterpret_cast<const GpuScanPath *>(path)->missing_columns;
}

double gpuscan_path_ns(const Path *path) {
    return path->total_cost * reinterpret_cast<const GpuScanPath *>(path)->ns_per_unit;
}

void may_be_stage(CustomPath *path, const Fragment *fragment) {
    reinterpret_cast<GpuScanPath *>(path)->stage = fragment;
}

const Fragment *stage_of_path(const Path *path) {
    const GpuScanPath *ours = reinterpret_cast<const GpuScanPath *>(path);
    return is_gpuscan_path(path) && ours->stage != nullptr && can_be_stage(ours->stage, ours->having) ? ours->stage
                                                                                                      : nullptr;
}

double stage_emitted_ns(const Path *path) {
    return tier::stage_ns(*reinterpret_cast<const GpuScanPath *>(path)->breakdown, *device_prices(), tier::Stage::Emit);
}

// The arguments of DISTINCT aggregates, each once (of Expr *).
static List *distinct_arguments(const FragmentSpec *spec) {
    List *arguments = NIL;
    ListCell *cell;
    foreach (cell, spec->aggrefs) {
        const Aggref *aggref = static_cast<const Aggref *>(lfirst(cell));
        if (aggref->aggdistinct != NIL && aggref->args != NIL)
            arguments = list_append_unique(arguments, static_cast<TargetEntry *>(linitial(aggref->args))->expr);
    }
    return arguments;
}

// The candidate's relations with what the query makes of them, as far as it can be told; NULL: no device can. `results` is what
// is computed from the groups.
static FragmentSpec *aggregate_spec(PlannerInfo *root, const Candidate *candidate, List *results, List *having,
                                    List **children) {
    FragmentSpec *spec = candidate_spec(root, candidate, children);
    if (!add_outputs(root, results, reinterpret_cast<Node *>(having), spec))
        return nullptr;
    ask_for_groups(root, having, spec);
    return init_plans_may_be_tried(root, spec) ? spec : nullptr;
}

static bool ask_for_the_same(const FragmentSpec *a, const FragmentSpec *b) {
    return equal(a->keys, b->keys) && equal(a->aggrefs, b->aggrefs) && equal(a->sets, b->sets) &&
           equal(a->groupings, b->groupings) && equal(a->asked, b->asked) && equal(a->having, b->having) &&
           equal(a->order, b->order) && equal(a->order_flags, b->order_flags) && equal(a->top, b->top) &&
           equal(a->top_offset, b->top_offset);
}

// What the device would run; NULL: it cannot, and why has been told. A level asks twice, most often for the same: whether it
// needs rows, and for the path.
static const Fragment *try_translation(const Candidate *candidate, const FragmentSpec *spec) {
    if (candidate->trial != nullptr && ask_for_the_same(candidate->tried, spec))
        return candidate->trial;
    Candidate *notes = const_cast<Candidate *>(candidate);
    FragmentSpec *copy = static_cast<FragmentSpec *>(palloc(sizeof(FragmentSpec))); // the other one will be finalized
    *copy = *spec;
    notes->tried = copy;
    notes->trial = assemble(spec, false);
    return notes->trial;
}

bool can_aggregate(PlannerInfo *root, const Candidate *candidate) {
    List *children = NIL;
    List *having = in_postgres_order(root, reinterpret_cast<List *>(root->parse->havingQual));
    const FragmentSpec *spec = aggregate_spec(root, candidate, root->processed_tlist, having, &children);
    return spec != nullptr && reads_own_rows(spec) && try_translation(candidate, spec) != nullptr;
}

// ---- groups in order ----

constexpr double min_sorted_groups = 1000; // PostgreSQL sorts fewer in less time than planning takes to think of it

// What goes on above the groups, if that has an order: windows first, then DISTINCT, then ORDER BY.
static List *order_above(const PlannerInfo *root) {
    const Query *query = root->parse;
    if (removes_duplicates(query))
        return root->sort_pathkeys;
    List *pathkeys = root->sort_pathkeys;
    if (query->distinctClause != NIL && !pathkeys_contained_in(root->distinct_pathkeys, pathkeys))
        pathkeys = root->distinct_pathkeys;
    if (query->hasWindowFuncs && !pathkeys_contained_in(root->window_pathkeys, pathkeys))
        pathkeys = root->window_pathkeys;
    return pathkeys;
}

static double passing_share(PlannerInfo *root, List *having) {
    return having != NIL ? own_selectivity(root, having) : 1;
}

struct GroupNumbers {
    double made, delivered; // by the device, which drops some of them, or groups them once more
    double shown;           // by the node, which tests all of HAVING
};

// Of the result.
static double groups_of_sets(PlannerInfo *root, const FragmentSpec *spec, double rows) {
    double groups = 0;
    ListCell *set, *cell;
    foreach (set, spec->sets) {
        List *keys = NIL;
        foreach (cell, spec->keys)
            if ((lfirst_int(set) & 1 << foreach_current_index(cell)) != 0)
                keys = lappend(keys, lfirst(cell));
        groups += expected_groups(root, keys, rows);
    }
    return groups;
}

// The fallback's rows are those that pass all of HAVING.
static GroupNumbers groups_of(PlannerInfo *root, const Candidate *candidate, const Path *fallback, List *having,
                              const FragmentSpec *spec) {
    double rows = fallback->rows;
    if (IsA(fallback, AggPath))
        rows = reinterpret_cast<const AggPath *>(fallback)->numGroups;
    else if (const double share = passing_share(root, having); share > 0)
        rows /= share;
    if (spec->sets == NIL)
        rows = std::min(
            rows, max_groups(root, keys_of_clauses(root, removes_duplicates(root->parse) ? root->parse->distinctClause
                                                                                         : group_clause_of(root))));
    const double made = spec->sets != NIL ? expected_groups(root, spec->keys, candidate->rows) : rows,
                 all = spec->sets != NIL ? std::min(rows, groups_of_sets(root, spec, candidate->rows)) : made;
    return {made, wanted_groups(spec, std::max(all * passing_share(root, spec->having), 1.0)),
            wanted_groups(spec, clamp_row_est(std::min(fallback->rows, all * passing_share(root, having))))};
}

// Of making them, from so many rows. For DISTINCT aggregates the arguments' values are noted, or there are groups by them, too.
static void price_groups(PlannerInfo *root, const FragmentSpec *spec, const Fragment *trial, double rows,
                         GroupNumbers groups, tier::Ledger *ledger) {
    // (One argument with several FILTERs is several for the device, and min and max have none.)
    const int distincts = static_cast<int>(reinterpret_cast<const ProgramHeader *>(trial->program)->distincts);
    List *arguments = distincts > 0 ? distinct_arguments(spec) : NIL;
    if (arguments != NIL && spec->sets == NIL) {
        const NotedValues noted = noted_values(root, spec->keys, arguments, rows);
        const double bits = noted.bits * distincts / list_length(arguments);
        if (ledger->notes_values(rows, noted.numbers, bits)) {
            ledger->aggregate(rows, groups.made, groups.delivered, trial->nkeys, trial->naggregates);
            ledger->distinct_values(rows, distincts, bits);
            return;
        }
    }
    double finer = 0;
    if (arguments != NIL || spec->sets != NIL)
        finer = expected_groups(root, list_concat_unique(list_copy(arguments), spec->keys), rows);
    ledger->aggregate(rows, std::max(groups.made, finer), groups.delivered, trial->nkeys + distincts,
                      trial->naggregates);
    ledger->aggregate_again(finer * std::max(list_length(spec->sets), 1));
}

// What groups cost, evaluated as `results`.
static Cost groups_cost(PlannerInfo *root, const Candidate *candidate, const FragmentSpec *spec, const Fragment *trial,
                        const TextWork *texts, const CpuBaseline *baseline, GroupNumbers groups,
                        const PathTarget *results, tier::Breakdown *breakdown) {
    TextWork work = *texts;
    work.shown = std::min(work.shown, groups.delivered * work.shown_columns);
    tier::Ledger ledger = fragment_ledger(trial, &work, breakdown);
    price_groups(root, spec, trial, candidate->rows, groups, &ledger);
    if (trial->narguments > 0) { // whose rows come once more, for each grouping set
        const double rows = candidate->rows * std::max(list_length(spec->sets), 1);
        ledger.ordered_sets(rows, trial->nkeys + trial->narguments, trial->narguments);
    }
    ledger.plan_cost(tier::Stage::Emit, groups.delivered * (cpu_tuple_cost + results->cost.per_tuple));
    if (spec->sorted)
        ledger.sort(groups.delivered, trial->nkeys + trial->naggregates);
    return candidate_cost(candidate, cached_join_tables(root, trial), device_units(baseline->ns), breakdown) +
           device_cost(ledger);
}

// While they are sorted, they are there twice; with more the device gives up.
static bool can_be_sorted(const Fragment *fragment, double groups) {
    const double bytes = fragment->nkeys * (sizeof(ir::Value) + 1) + fragment->naggregates * sizeof(ir::AggregateState);
    return groups * 2 * bytes < guc_cache_size * 1024.0;
}

// The same path with its groups in the order in which PostgreSQL goes on with them. The fallback sorts. True: PostgreSQL has
// nothing left to sort. (Below a LIMIT only where the device may choose the groups that are wanted: otherwise an error could be
// missed that PostgreSQL's Sort would have met, as it takes all groups.)
static bool add_sorted_path(PlannerInfo *root, const Candidate *candidate, const CustomPath *unsorted,
                            const FragmentSpec *groups, GroupNumbers numbers, const Fragment *unsorted_trial,
                            Path *fallback, const CpuBaseline *baseline, List *children, RelOptInfo *output) {
    const bool chooses = groups->top != nullptr;
    if (!groups->has_group_by || groups->sets != NIL || (has_limit(root->parse) && !chooses) ||
        (unsorted->path.rows < min_sorted_groups && (chooses || guc_offload != OFFLOAD_FORCE)) ||
        !can_be_sorted(unsorted_trial, unsorted->path.rows))
        return false;
    List *pathkeys = order_above(root);
    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc(sizeof(FragmentSpec)));
    *spec = *groups;
    spec->order = spec->order_flags = NIL;
    ask_for_sort_keys(root, pathkeys, nullptr, spec);
    spec->sorted = true;
    const Fragment *trial = spec->order != NIL ? assemble(spec, false) : nullptr;
    TextWork texts;
    if (trial == nullptr || trial->order == NIL || !text_work(root, trial, &texts))
        return false;
    const bool complete = list_length(trial->order) == list_length(pathkeys);
    if (chooses && (!complete || trial->top == nullptr))
        return false;
    spec->order = trial->order;
    spec->order_flags = trial->order_flags;
    pathkeys = list_copy_head(pathkeys, list_length(spec->order));
    Path *sort = reinterpret_cast<Path *>(create_sort_path(root, output, fallback, pathkeys, -1.0));
    List *having = reinterpret_cast<const GpuScanPath *>(unsorted)->having;
    tier::Breakdown *breakdown = new_breakdown();
    CustomPath *path = make_gpuscan_path(output, spec, having, sort, children, breakdown);
    may_be_stage(path, trial);
    path->path.pathtarget = unsorted->path.pathtarget;
    path->path.pathkeys = pathkeys;
    path->path.rows = unsorted->path.rows;
    path->path.total_cost =
        groups_cost(root, candidate, spec, trial, &texts, baseline, numbers, unsorted->path.pathtarget, breakdown);
    path->path.startup_cost = path->path.total_cost;
    price_path(root, candidate, baseline, &texts, path);
    add_path(output, &path->path);
    return complete;
}

bool add_aggregate_path(PlannerInfo *root, const Candidate *candidate, RelOptInfo *input, RelOptInfo *output,
                        PathTarget *results, Node *having, bool force, bool ordered) {
    if (candidate->outer == nullptr && !candidate->main->is_relation && stage_columns(candidate->main->rel) == NIL)
        return false;
    if (expression_returns_set(reinterpret_cast<Node *>(results->exprs)))
        return refuse("a set-returning function");
    List *children = NIL;
    List *ordered_having = in_postgres_order(root, reinterpret_cast<List *>(having));
    FragmentSpec *spec = aggregate_spec(root, candidate, results->exprs, ordered_having, &children);
    if (spec == nullptr)
        return false;
    if (!reads_own_rows(spec))
        return false;
    const Fragment *trial = try_translation(candidate, spec);
    if (trial == nullptr)
        return false;
    finalize_wanted_groups(root, results->exprs, trial, spec);
    TextWork texts;
    if (!text_work(root, trial, &texts) && guc_offload != OFFLOAD_FORCE)
        return false;
    PathTarget *target = output_target(root, spec);
    Path *fallback = fallback_path(root, input, output, target);
    if (fallback == nullptr)
        return refuse("no aggregation plan of PostgreSQL's that could take over");

    tier::Breakdown *breakdown = new_breakdown();
    const CpuBaseline baseline = cpu_baseline_of(root, output);
    CustomPath *path = make_gpuscan_path(output, spec, ordered_having, fallback, children, breakdown);
    may_be_stage(path, trial);
    path->path.pathtarget = results;
    const GroupNumbers groups = groups_of(root, candidate, fallback, ordered_having, spec);
    path->path.rows = groups.shown;
    path->path.total_cost = groups_cost(root, candidate, spec, trial, &texts, &baseline, groups, results, breakdown);
    path->path.startup_cost = path->path.total_cost;
    if (force)
        output->pathlist = NIL; // whatever it costs
    price_new_path(root, candidate, &baseline, &texts, path);
    // (add_path frees what costs too much, so the other one goes first.)
    if (!ordered ||
        !add_sorted_path(root, candidate, path, spec, groups, trial, fallback, &baseline, children, output) || !force)
        add_path(output, &path->path);
    return true;
}

static Plan *plan_gpuscan(PlannerInfo *, RelOptInfo *, CustomPath *path, List *tlist, List *, List *custom_plans) {
    const GpuScanPath *ours = reinterpret_cast<const GpuScanPath *>(path);
    CustomScan *node = makeNode(CustomScan);
    ++planned_nodes;
    note_bought(ours->bought);
    node->scan.plan.targetlist = tlist;
    node->scan.plan.qual = static_cast<List *>(copyObject(ours->having));
    node->scan.scanrelid = 0;
    node->flags = path->flags;
    node->custom_plans = custom_plans;
    node->methods = &gpuscan_scan_methods;
    spec_to_node(ours->spec, custom_plans, node);
    if (ours->breakdown != nullptr)
        node->custom_private = lappend(node->custom_private, estimate_to_node(ours->breakdown, ours->ns_per_unit,
                                                                              ours->cpu_plan_ns, ours->cpu_first_ns));
    return &node->scan.plan;
}

} // namespace gpuscan
