// FragmentSpec <-> CustomScan.
//
//   custom_scan_tlist  outputs (group keys, Aggrefs, GROUPING(); or a row's columns and WindowFuncs), every other Var that is read, then one Var of tableoid per
//                      source: setrefs.c renumbers its varno, which is how the node knows its relations later
//   custom_exprs       (what for_each_expression() visits) (arguments and filters of aggregates and window functions: not read back, but
//                      PostgreSQL finds their parameters here)
//   custom_private     (numbers of outputs by kind, then what for_each_number() visits) (per source: (the same) (of a CPU plan attnos, of a
//                      parent its leaves' distances from it in the range table, which setrefs.c moves as a whole) (typmods of a stage))
//                      (grouping sets) (per GROUPING(): keys) ((flags of sort keys) (of windows' keys) (numbers of windows)), and behind these the path's estimate
//   custom_plans       [0] the CPU plan of the same rows (the fallback); [1..] CPU plans that feed sources
//
// setrefs.c rewrites custom_exprs to INDEX_VARs that point into custom_scan_tlist, whole group key expressions included;
// reading back replaces them by what they point to, so the translator sees plain Vars with final range table indexes.
#include "pg/pg.h"

#include "pg/fragment/plan_data.h"

#include <algorithm>
#include <type_traits>

namespace gpuscan {

// ---- what is stored, in both directions ----

template <class Source, class Visit> static void for_each_number_of_source(Source *source, Visit visit) {
    visit(source->is_relation);
    visit(source->is_empty);
    visit(source->child);
    visit(source->rows);
    visit(source->hides_rows);
    visit(source->policy_quals);
    visit(source->join.kind);
    visit(source->join.into);
}

template <class Spec, class Visit> static void for_each_number(Spec *spec, Visit visit) {
    visit(spec->nsources);
    visit(spec->has_group_by);
    visit(spec->ties);
    visit(spec->sorted);
    visit(spec->delivers_rows);
    visit(spec->limit);
    visit(spec->hides_counts);
}

// Lists and single expressions. `of_rows`: read columns, where others read what the target list has just as it is.
template <class Spec, class Visit> static void for_each_expression(Spec *spec, Visit visit) {
    for_each_condition(spec, [&visit](auto &conditions) { visit(conditions, true); });
    visit(spec->checks, true);
    visit(spec->window_keys, true);
    visit(spec->window_offsets, false);
    visit(spec->window_tests, false);
    visit(spec->order, spec->delivers_rows);
    visit(spec->having, false);
    visit(spec->top, false);
    visit(spec->top_offset, false);
}

// ---- writing ----

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

static List *window_inputs(List *functions) {
    List *result = NIL;
    ListCell *cell;
    foreach (cell, functions) {
        const WindowFunc *function = static_cast<const WindowFunc *>(lfirst(cell));
        result = list_concat(result, function->args);
        if (function->aggfilter != nullptr)
            result = lappend(result, function->aggfilter);
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

template <class Number> static List *with_number(List *numbers, Number number) {
    return lappend_int(numbers, static_cast<int>(std::min(static_cast<double>(number), 2e9))); // rows may be more
}

static List *source_to_node(const FragmentSource *source, const List *plans) {
    List *numbers = NIL;
    for_each_number_of_source(source, [&numbers](auto number) { numbers = with_number(numbers, number); });
    List *others = source->is_relation
                       ? moved(source->leaves, -static_cast<int>(source->rti))
                       : attnos_of(static_cast<const Plan *>(list_nth(plans, source->child)), source->rti);
    return list_make3(numbers, others, source->stage_columns);
}

void spec_to_node(const FragmentSpec *spec, List *plans, CustomScan *node) {
    List *tlist = NIL, *numbers = NIL, *sources = NIL, *exprs = NIL;
    ListCell *cell;
    for (const List *outputs : {spec->keys, spec->aggrefs, spec->groupings, spec->columns, spec->window_functions}) {
        numbers = lappend_int(numbers, list_length(outputs));
        foreach (cell, outputs)
            add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    }
    for_each_number(spec, [&numbers](auto number) { numbers = with_number(numbers, number); });
    const auto as_in_tlist = [outputs = tlist](const void *expressions) {
        return as_in_outputs(static_cast<Node *>(const_cast<void *>(expressions)), outputs);
    };
    Node *inputs = as_in_tlist(list_concat(aggregate_inputs(spec->aggrefs), window_inputs(spec->window_functions)));
    List *read = list_make3(inputs, as_in_tlist(spec->keys), as_in_tlist(spec->columns));
    for_each_expression(spec, [&](const auto &field, bool of_rows) {
        exprs = lappend(exprs, of_rows ? static_cast<void *>(as_in_tlist(field)) : field);
        if (of_rows)
            read = lappend(read, llast(exprs));
    });
    foreach (cell, pull_var_clause(reinterpret_cast<Node *>(read), PVC_RECURSE_PLACEHOLDERS))
        if (tlist_member(static_cast<Expr *>(lfirst(cell)), tlist) == nullptr)
            add_column(&tlist, static_cast<Expr *>(lfirst(cell)));
    for (int i = 0; i < spec->nsources; ++i) {
        add_column(&tlist, reinterpret_cast<Expr *>(makeVar(static_cast<int>(spec->sources[i].rti),
                                                            TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0)));
        sources = lappend(sources, source_to_node(&spec->sources[i], plans));
    }
    node->custom_scan_tlist = tlist;
    node->custom_exprs = list_make2(exprs, inputs);
    // (A path may become a plan twice, as a fallback's part and as a source: the spec stays as it is.)
    List *flags = list_make3(list_copy(spec->order_flags), list_copy(spec->window_key_flags), list_copy(spec->windows));
    node->custom_private = list_make5(numbers, sources, spec->sets, spec->asked, flags);
}

// ---- window functions, while EXPLAIN looks at the node ----

constexpr const char *shown_window_function =
    "window %u %d %d %d"; // TargetEntry.resname: winref, winstar, winagg, and whether a FILTER is the last argument

static void show_as_function(TargetEntry *entry) {
    const WindowFunc *function = reinterpret_cast<const WindowFunc *>(entry->expr);
    List *args = list_copy(function->args);
    if (function->aggfilter != nullptr)
        args = lappend(args, function->aggfilter);
    entry->resname = psprintf(shown_window_function, function->winref, function->winstar, function->winagg,
                              function->aggfilter != nullptr);
    entry->expr = reinterpret_cast<Expr *>(makeFuncExpr(
        function->winfnoid, function->wintype, args, function->wincollid, function->inputcollid, COERCE_EXPLICIT_CALL));
}

void show_window_functions(CustomScan *node) {
    ListCell *cell;
    foreach (cell, node->custom_scan_tlist)
        if (TargetEntry *entry = lfirst_node(TargetEntry, cell); IsA(entry->expr, WindowFunc))
            show_as_function(entry);
}

static Expr *original(const TargetEntry *entry) {
    unsigned winref;
    int winstar, winagg, filtered;
    if (entry->resname == nullptr || !IsA(entry->expr, FuncExpr) ||
        sscanf(entry->resname, shown_window_function, &winref, &winstar, &winagg, &filtered) != 4)
        return entry->expr;
    const FuncExpr *call = reinterpret_cast<const FuncExpr *>(entry->expr);
    WindowFunc *function = makeNode(WindowFunc);
    function->winfnoid = call->funcid;
    function->wintype = call->funcresulttype;
    function->wincollid = call->funccollid;
    function->inputcollid = call->inputcollid;
    function->args = filtered != 0 ? list_copy_head(call->args, list_length(call->args) - 1) : call->args;
    function->aggfilter = filtered != 0 ? static_cast<Expr *>(llast(call->args)) : nullptr;
    function->winref = winref;
    function->winstar = winstar != 0;
    function->winagg = winagg != 0;
    function->location = -1;
    return reinterpret_cast<Expr *>(function);
}

// ---- reading ----

static Node *look_through(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, Var) && reinterpret_cast<Var *>(node)->varno == INDEX_VAR) {
        List *tlist = static_cast<List *>(context);
        return static_cast<Node *>(copyObjectImpl(
            original(static_cast<TargetEntry *>(list_nth(tlist, reinterpret_cast<Var *>(node)->varattno - 1)))));
    }
    return mutate_expression(node, look_through, context);
}

static Expr *column(const CustomScan *node, int position) {
    return original(static_cast<const TargetEntry *>(list_nth(node->custom_scan_tlist, position)));
}

// Takes numbers from a list, from `at` on.
struct NumberReader {
    const List *numbers;
    int at;
    template <class Number> void operator()(Number &number) {
        number = static_cast<Number>(list_nth_int(numbers, at++));
    }
};

static void source_of_node(List *stored, const Var *anchor, const List *range_table, FragmentSource *source) {
    for_each_number_of_source(source, NumberReader{static_cast<const List *>(linitial(stored)), 0});
    List *others = static_cast<List *>(lsecond(stored));
    source->rti = static_cast<Index>(anchor->varno);
    const RangeTblEntry *rte = rt_fetch(source->rti, range_table);
    source->relid = source->is_relation ? rte->relid : InvalidOid;
    source->alias = rte->eref->aliasname;
    source->child_attnos = source->is_relation ? NIL : others;
    source->stage_columns = static_cast<List *>(lthird(stored));
    source->leaves = source->is_relation ? moved(others, static_cast<int>(source->rti)) : NIL;
}

static FragmentSpec *spec_of_node(const CustomScan *node, const List *range_table) {
    const List *numbers = static_cast<const List *>(linitial(node->custom_private));
    const List *sources = static_cast<const List *>(lsecond(node->custom_private));
    FragmentSpec *spec = static_cast<FragmentSpec *>(palloc0(sizeof(FragmentSpec)));
    int kind = 0, at = 0;
    for (List **outputs : {&spec->keys, &spec->aggrefs, &spec->groupings, &spec->columns, &spec->window_functions})
        for (int left = list_nth_int(numbers, kind++); left > 0; --left)
            *outputs = lappend(*outputs, column(node, at++));
    for_each_number(spec, NumberReader{numbers, kind});
    spec->sources = static_cast<FragmentSource *>(palloc0(sizeof(FragmentSource) * static_cast<Size>(spec->nsources)));
    const int first_anchor = list_length(node->custom_scan_tlist) - spec->nsources;
    for (int i = 0; i < spec->nsources; ++i)
        source_of_node(static_cast<List *>(list_nth(sources, i)),
                       reinterpret_cast<const Var *>(column(node, first_anchor + i)), range_table, &spec->sources[i]);
    const List *exprs = reinterpret_cast<const List *>(
        look_through(static_cast<Node *>(linitial(node->custom_exprs)), node->custom_scan_tlist));
    at = 0;
    for_each_expression(spec, [exprs, &at](auto &field, bool) {
        field = static_cast<std::remove_reference_t<decltype(field)>>(list_nth(exprs, at++));
    });
    spec->sets = static_cast<List *>(lthird(node->custom_private));
    spec->asked = static_cast<List *>(lfourth(node->custom_private));
    const List *flags = static_cast<const List *>(list_nth(node->custom_private, 4));
    spec->order_flags = static_cast<List *>(linitial(flags));
    spec->window_key_flags = static_cast<List *>(lsecond(flags));
    spec->windows = static_cast<List *>(lthird(flags));
    return spec;
}

Fragment *fragment_bind(const CustomScan *node, const List *range_table) {
    return assemble(spec_of_node(node, range_table), true);
}

} // namespace gpuscan
