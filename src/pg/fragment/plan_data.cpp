// FragmentSpec <-> CustomScan.
//
//   custom_scan_tlist  outputs (group keys, Aggrefs, GROUPING(); or a row's columns), every other Var that is read, then one Var of tableoid per
//                      source: setrefs.c renumbers its varno, which is how the node knows its relations later
//   custom_exprs       (filters per source) (per join: (clauses partner filters, filters)) (aggregates' arguments and filters)
//                      (of groups: (conditions) (sort keys) (how many are wanted, and how many more))
//   custom_private     (version, sources, keys, aggregates, has_group_by, delivers_rows, columns, limit, groupings,
//                      hides_counts) (per source:
//                      is_relation, child, rows, kind of its join, source that it is joined to, policy_quals or -1, is_empty, then of a CPU plan attnos, of a parent its leaves' distances from it in
//                      the range table, which setrefs.c moves as a whole) (grouping sets) (per GROUPING(): keys) (flags of sort keys,
//                      and whether ties are wanted, and sorted groups)
//
// setrefs.c rewrites custom_exprs to INDEX_VARs that point into custom_scan_tlist, whole group key expressions included;
// reading back replaces them by what they point to, so the translator sees plain Vars with final range table indexes.
#include "pg/pg.h"

#include "pg/fragment/plan_data.h"

namespace gpuscan {

constexpr int payload_version = 8;

static void add_column(List **tlist, Expr *expr) {
    AttrNumber resno = static_cast<AttrNumber>(list_length(*tlist) + 1);
    *tlist = lappend(*tlist, makeTargetEntry(static_cast<Expr *>(copyObject(expr)), resno, nullptr, false));
}

static List *aggregate_inputs(List *aggrefs) {
    List *result = NIL;
    ListCell *cell;
    foreach (cell, aggrefs) {
        const Aggref *aggref = static_cast<const Aggref *>(lfirst(cell));
        ListCell *argument;
        foreach (argument, aggref->args)
            result = lappend(result, static_cast<TargetEntry *>(lfirst(argument))->expr);
        if (aggref->aggfilter != nullptr)
            result = lappend(result, aggref->aggfilter);
    }
    return result;
}

static List *attnos_of(const Plan *plan, Index rti) {
    List *result = NIL;
    ListCell *cell;
    foreach (cell, plan->targetlist) {
        const Var *var = reinterpret_cast<const Var *>(static_cast<TargetEntry *>(lfirst(cell))->expr);
        bool ours = IsA(var, Var) && static_cast<Index>(var->varno) == rti;
        result = lappend_int(result, ours ? var->varattno : 0);
    }
    return result;
}

static List *moved(const List *range_table_indexes, int by) {
    List *result = NIL;
    ListCell *cell;
    foreach (cell, range_table_indexes)
        result = lappend_int(result, lfirst_int(cell) + by);
    return result;
}

// A copy in which each Var is nulled by the outer joins (18: and by the grouping) that null it in the outputs, or by none. setrefs.c wants one
// opinion on that of everything that reads the scan tuple; the device knows by itself where a join makes a NULL.
static Node *as_in_outputs(Node *node, void *outputs) {
    if (node == nullptr || !IsA(node, Var))
        return mutate_expression(node, as_in_outputs, outputs);
    Var *var = static_cast<Var *>(copyObject(reinterpret_cast<Var *>(node)));
    const Var *output = nullptr;
    ListCell *cell;
    foreach (cell, static_cast<List *>(outputs)) {
        const Var *other = reinterpret_cast<const Var *>(static_cast<TargetEntry *>(lfirst(cell))->expr);
        if (IsA(other, Var) && other->varno == var->varno && other->varattno == var->varattno)
            output = other;
    }
    take_nulling_joins(var, output);
    return reinterpret_cast<Node *>(var);
}

static int clamped(double rows) { return rows < 2e9 ? static_cast<int>(rows) : 2000000000; }

void spec_to_node(const FragmentSpec *spec, List *plans, CustomScan *node) {
    List *filters = NIL, *joins = NIL, *sources = NIL, *tlist = NIL;
    ListCell *cell;
    for (int i = 0; i < spec->nsources; ++i) {
        const SpecSource *s = &spec->sources[i];
        filters = lappend(filters, s->quals);
        const int kind = i > 0 ? static_cast<int>(spec->joins[i - 1].kind) : 0;
        const int into = i > 0 ? spec->joins[i - 1].into : 0;
        List *description = list_make5_int(s->is_relation ? 1 : 0, s->child, clamped(s->rows), kind, into);
        description = lappend_int(description, s->hides_rows ? s->policy_quals : -1);
        description = lappend_int(description, s->is_empty ? 1 : 0);
        if (s->is_relation)
            description = list_concat(description, moved(s->leaves, -static_cast<int>(s->rti)));
        else
            description = list_concat(description, attnos_of(static_cast<Plan *>(list_nth(plans, s->child)), s->rti));
        sources = lappend(sources, description);
        if (i > 0)
            joins = lappend(joins, list_make3(spec->joins[i - 1].clauses, spec->joins[i - 1].partner_filters,
                                              spec->joins[i - 1].filters));
    }
    node->custom_exprs = list_make3(filters, joins, aggregate_inputs(spec->aggrefs));
    foreach (cell, spec->keys)
        add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    foreach (cell, spec->aggrefs)
        add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    foreach (cell, spec->groupings)
        add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    foreach (cell, spec->columns)
        add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    node->custom_exprs = reinterpret_cast<List *>(as_in_outputs(reinterpret_cast<Node *>(node->custom_exprs), tlist));
    Node *read = as_in_outputs(
        reinterpret_cast<Node *>(list_make4(node->custom_exprs, spec->keys, spec->columns, spec->checks)), tlist);
    foreach (cell, pull_var_clause(read, PVC_RECURSE_PLACEHOLDERS))
        if (tlist_member(static_cast<Expr *>(lfirst(cell)), tlist) == nullptr)
            add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    for (int i = 0; i < spec->nsources; ++i)
        add_column(&tlist, reinterpret_cast<Expr *>(makeVar(static_cast<int>(spec->sources[i].rti),
                                                            TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0)));
    node->custom_scan_tlist = tlist;
    // Group keys and aggregates of these, or the columns of rows, are in the target list just as they are.
    List *top = spec->top != nullptr ? list_make1(spec->top) : NIL;
    if (spec->top_offset != nullptr)
        top = lappend(top, spec->top_offset);
    List *order = spec->order;
    if (spec->delivers_rows)
        order = reinterpret_cast<List *>(as_in_outputs(reinterpret_cast<Node *>(order), tlist));
    Node *checks = as_in_outputs(reinterpret_cast<Node *>(spec->checks), tlist);
    node->custom_exprs = lappend(node->custom_exprs, list_make4(spec->having, order, top, checks));
    List *header = list_make4_int(payload_version, spec->nsources, list_length(spec->keys), list_length(spec->aggrefs));
    header = lappend_int(header, spec->has_group_by ? 1 : 0);
    header = lappend_int(header, spec->delivers_rows ? 1 : 0);
    header = lappend_int(header, list_length(spec->columns));
    header = lappend_int(header, spec->limit);
    header = lappend_int(header, list_length(spec->groupings));
    header = lappend_int(header, spec->hides_counts ? 1 : 0);
    // (A path may become a plan twice, as a fallback's part and as a source: the spec stays as it is.)
    List *flags = list_concat(list_make1_int((spec->ties ? 1 : 0) | (spec->sorted ? 2 : 0)), spec->order_flags);
    node->custom_private = list_make5(header, sources, spec->sets, spec->asked, flags);
}

static Node *look_through(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, Var) && reinterpret_cast<Var *>(node)->varno == INDEX_VAR) {
        List *tlist = static_cast<List *>(context);
        return static_cast<Node *>(copyObjectImpl(
            static_cast<TargetEntry *>(list_nth(tlist, reinterpret_cast<Var *>(node)->varattno - 1))->expr));
    }
    return mutate_expression(node, look_through, context);
}

static List *restored(const CustomScan *node, void *list) {
    return reinterpret_cast<List *>(look_through(static_cast<Node *>(list), node->custom_scan_tlist));
}

static Expr *column(const CustomScan *node, int position) {
    return static_cast<TargetEntry *>(list_nth(node->custom_scan_tlist, position))->expr;
}

FragmentSpec *spec_of_node(const CustomScan *node, const List *range_table) {
    List *header = static_cast<List *>(linitial(node->custom_private));
    List *sources = static_cast<List *>(lsecond(node->custom_private));
    if (linitial_int(header) != payload_version)
        elog(ERROR, "gpuscan: plan of another version");
    List *filters = restored(node, linitial(node->custom_exprs));
    List *joins = restored(node, lsecond(node->custom_exprs));

    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc0(sizeof(FragmentSpec)));
    spec->nsources = lsecond_int(header);
    Size n = static_cast<Size>(spec->nsources);
    spec->sources = static_cast<SpecSource *>(palloc0(sizeof(SpecSource) * n));
    spec->joins = static_cast<SpecJoin *>(palloc0(sizeof(SpecJoin) * n));
    int first_anchor = list_length(node->custom_scan_tlist) - spec->nsources;
    for (int i = 0; i < spec->nsources; ++i) {
        SpecSource *s = &spec->sources[i];
        List *description = static_cast<List *>(list_nth(sources, i));
        s->is_relation = linitial_int(description) != 0;
        s->child = lsecond_int(description);
        s->rows = lthird_int(description);
        s->hides_rows = list_nth_int(description, 5) >= 0;
        s->policy_quals = s->hides_rows ? list_nth_int(description, 5) : 0;
        s->rti = static_cast<Index>(reinterpret_cast<Var *>(column(node, first_anchor + i))->varno);
        s->is_empty = list_nth_int(description, 6) != 0;
        List *tail = list_copy_tail(description, 7);
        s->child_attnos = s->is_relation ? NIL : tail;
        s->leaves = s->is_relation ? moved(tail, static_cast<int>(s->rti)) : NIL;
        const RangeTblEntry *rte =
            static_cast<const RangeTblEntry *>(list_nth(range_table, static_cast<int>(s->rti) - 1));
        s->relid = s->is_relation ? rte->relid : InvalidOid;
        s->alias = rte->eref->aliasname;
        s->quals = static_cast<List *>(list_nth(filters, i));
        if (i > 0) {
            List *join = static_cast<List *>(list_nth(joins, i - 1));
            spec->joins[i - 1].kind = static_cast<ir::JoinKind>(lfourth_int(description));
            spec->joins[i - 1].into = list_nth_int(description, 4);
            spec->joins[i - 1].clauses = static_cast<List *>(linitial(join));
            spec->joins[i - 1].partner_filters = static_cast<List *>(lsecond(join));
            spec->joins[i - 1].filters = static_cast<List *>(lthird(join));
        }
    }
    int keys = lthird_int(header), aggrefs = lfourth_int(header);
    for (int i = 0; i < keys; ++i)
        spec->keys = lappend(spec->keys, column(node, i));
    for (int i = 0; i < aggrefs; ++i)
        spec->aggrefs = lappend(spec->aggrefs, column(node, keys + i));
    spec->has_group_by = list_nth_int(header, 4) != 0;
    spec->delivers_rows = list_nth_int(header, 5) != 0;
    for (int i = 0; i < list_nth_int(header, 6); ++i)
        spec->columns = lappend(spec->columns, column(node, i));
    spec->limit = list_nth_int(header, 7);
    spec->hides_counts = list_nth_int(header, 9) != 0;
    for (int i = 0; i < list_nth_int(header, 8); ++i)
        spec->groupings = lappend(spec->groupings, column(node, keys + aggrefs + i));
    spec->sets = static_cast<List *>(lthird(node->custom_private));
    spec->asked = static_cast<List *>(lfourth(node->custom_private));
    List *wanted = restored(node, lfourth(node->custom_exprs));
    List *top = static_cast<List *>(lthird(wanted)), *flags = static_cast<List *>(list_nth(node->custom_private, 4));
    spec->having = static_cast<List *>(linitial(wanted));
    spec->order = static_cast<List *>(lsecond(wanted));
    spec->checks = static_cast<List *>(lfourth(wanted));
    spec->top = top != NIL ? static_cast<Expr *>(linitial(top)) : nullptr;
    spec->top_offset = list_length(top) > 1 ? static_cast<Expr *>(lsecond(top)) : nullptr;
    spec->ties = (linitial_int(flags) & 1) != 0;
    spec->sorted = (linitial_int(flags) & 2) != 0;
    spec->order_flags = list_copy_tail(flags, 1);
    return spec;
}

} // namespace gpuscan
