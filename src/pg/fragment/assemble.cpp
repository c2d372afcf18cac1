// FragmentSpec -> Fragment: translates its expressions into pipelines; write_program.cpp makes the program of them.
//
// The table of source i is probed by the pipeline of the source that it is joined into, the main one or that of a later source,
// in the step that its number among those gives it. All is translated before the build sides are written down, because that decides which
// columns they must carry as payload; columns of what was joined into a table are first in the payload of their own.
#include "pg/pg.h"

#include <algorithm>

#include "pg/catalog/error_free.h"
#include "pg/fragment/assembly.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// ---- the parts ----

static void begin(Assembly *a, const FragmentSpec *spec, bool binding) {
    const Size n = static_cast<Size>(spec->nsources);
    *a = Assembly{};
    a->spec = spec;
    a->t.binding = binding;
    a->t.nsources = spec->nsources;
    a->top = a->top_offset = ir::none;
    a->having_exact = true;
    a->t.sources = static_cast<TranslatedSource *>(palloc0(sizeof(TranslatedSource) * n));
    a->parts = static_cast<PipelineParts *>(palloc0(sizeof(PipelineParts) * n));
    for (int i = 0; i < spec->nsources; ++i) {
        TranslatedSource *source = &a->t.sources[i];
        static_cast<FragmentSource &>(*source) = spec->sources[i];
        for (int k = 1; k <= i; ++k)
            source->step += spec->sources[k].join.into == source->join.into;
    }
}

bool is_guarded(const Assembly *a, int pipeline, Node *clause) {
    return a->t.sources[pipeline].hides_rows && contain_leaked_vars(clause);
}

// The first `policy_quals` are policies', or stand before one.
static bool add_conjuncts(Assembly *a, int pipeline, List *quals, int after, int policy_quals = 0) {
    a->t.pipeline = pipeline;
    ListCell *cell;
    foreach (cell, quals) {
        ir::Conjunct conjunct{};
        Expr *qual = static_cast<Expr *>(lfirst(cell));
        a->t.of_policy = foreach_current_index(cell) < policy_quals;
        const bool translated = translate_qual(&a->t, qual, &conjunct.expr);
        conjunct.guarded = !a->t.of_policy && is_guarded(a, pipeline, reinterpret_cast<Node *>(qual)) ? 1 : 0;
        a->t.of_policy = false;
        if (!translated)
            return false;
        conjunct.after = static_cast<ir::Index>(after);
        append(&a->parts[pipeline].conjuncts, conjunct);
    }
    return true;
}

// Does the expression read columns of the table alone?
static bool needs_only(const Assembly *a, Node *node, int table) {
    List *vars = pull_var_clause(node, PVC_RECURSE_PLACEHOLDERS);
    ListCell *cell;
    foreach (cell, vars) {
        bool found = false;
        for (int i = 1; i <= table && !found; ++i)
            found = static_cast<Index>(static_cast<Var *>(lfirst(cell))->varno) == a->t.sources[i].rti &&
                    table_of_source(&a->t, a->t.sources[table].join.into, i) == table;
        if (!found)
            return false;
    }
    return vars != NIL;
}

// Floats of either width are compared as doubles, and equal ones have equal bits.
static bool add_float_key(Assembly *a, int source, const TypedExpr &left, const TypedExpr &right) {
    ir::Index probe, build;
    if (!as_node(&a->t, left, Type::F64, 0, &probe) || !as_node(&a->t, right, Type::F64, 0, &build))
        return false;
    a->parts[source].nullable_keys = a->parts[source].nullable_keys || right.nullable;
    append(&a->parts[source].probe_keys, add_call(&a->t, ir::Function::FloatBits, probe));
    append(&a->parts[source].build_keys, add_call(&a->t, ir::Function::FloatBits, build));
    return true;
}

// A table has no rows with a NULL key, but a join that keeps its rows wants them, too: there NULL becomes some value, and
// one key more says so. No row that probes has that key.
static void admit_null_keys(Assembly *a, int source) {
    Array<ir::Index> *keys = &a->parts[source].build_keys;
    if (!a->parts[source].nullable_keys || keys->count == 0)
        return;
    ir::Index any = ir::none;
    for (int i = 0; i < keys->count; ++i) {
        const ir::Index key = (*keys)[i];
        const Type type = a->t.exprs[static_cast<int>(key)].type;
        const ir::Index null = add_expr(&a->t, ir::Op::IsNull, Type::Bool, key);
        any = any == ir::none ? null : add_expr(&a->t, ir::Op::Or, Type::Bool, any, null);
        (*keys)[i] = add_expr(&a->t, ir::Op::Coalesce, type, key, add_constant(&a->t, type, 0, false));
    }
    append(keys, any);
    append(&a->parts[source].probe_keys, add_constant(&a->t, Type::Bool, 0, false));
}

// One equality: the side over the table's sources is the build key, the other one the probe key, both of one type.
static bool add_join_key(Assembly *a, int source, const OpExpr *clause) {
    const int into = a->t.sources[source].join.into;
    Expr *probe = static_cast<Expr *>(linitial(clause->args)), *build = static_cast<Expr *>(lsecond(clause->args));
    if (!needs_only(a, reinterpret_cast<Node *>(build), source))
        std::swap(probe, build);
    Oid funcid = OidIsValid(clause->opfuncid) ? clause->opfuncid : get_opcode(clause->opno);
    if (!is_hashable_equality(funcid))
        return refuse("a join by %s", format_procedure(funcid));
    if (!may_execute(&a->t, funcid))
        return false;
    if (OidIsValid(clause->inputcollid) && !is_sound_collation(clause->inputcollid))
        return refuse("a join under a nondeterministic collation");

    TypedExpr left, right;
    a->t.pipeline = into;
    if (!translate(&a->t, probe, &left))
        return false;
    a->t.pipeline = source;
    if (!translate(&a->t, build, &right))
        return false;
    if (is_float_kind(left.kind) && is_float_kind(right.kind))
        return add_float_key(a, source, left, right);
    if (left.kind != right.kind && !(is_integer_kind(left.kind) && is_integer_kind(right.kind)))
        return refuse("a join of different types");
    int32 scale = std::max(left.scale, right.scale);
    Type type = static_cast<int>(left.type) > static_cast<int>(right.type) ? left.type : right.type;
    if (left.kind == SqlKind::Numeric) {
        int digits = std::max(left.precision - left.scale, right.precision - right.scale) + scale;
        type = numeric_type(digits);
    }
    ir::Index probe_node, build_node;
    a->parts[source].nullable_keys = a->parts[source].nullable_keys || right.nullable;
    if (left.kind == SqlKind::Opaque)
        return refuse("a join by values that a device can only store and deliver");
    if (is_coded_kind(left.kind)) { // equal texts have equal codes in one unified dictionary
        int unified = new_unified_dictionary(&a->t);
        bool is_bpchar = left.kind == SqlKind::Bpchar;
        a->t.pipeline = into;
        if (!as_unified_node(&a->t, left, unified, is_bpchar, &probe_node))
            return false;
        a->t.pipeline = source;
        if (!as_unified_node(&a->t, right, unified, is_bpchar, &build_node))
            return false;
        append(&a->parts[source].probe_keys, probe_node);
        append(&a->parts[source].build_keys, build_node);
        return true;
    }
    if (!as_node(&a->t, left, type, scale, &probe_node) || !as_node(&a->t, right, type, scale, &build_node))
        return false;
    if (left.kind == SqlKind::Interval) {
        probe_node = order_node(&a->t, left.kind, probe_node);
        build_node = order_node(&a->t, right.kind, build_node);
    }
    append(&a->parts[source].probe_keys, probe_node);
    append(&a->parts[source].build_keys, build_node);
    return true;
}

// What makes a row of the build side a partner, beside the keys.
static bool add_partner_filters(Assembly *a, int source, List *filters) {
    const FragmentJoin *join = &a->t.sources[source].join;
    a->t.pipeline = join->into;
    ListCell *cell;
    foreach (cell, filters) {
        ir::Index node;
        if (!translate_condition(&a->t, static_cast<Expr *>(lfirst(cell)), &node))
            return false;
        // How many pairs are looked at until one is found depends on the order of the rows.
        if (!ir::delivers_payload(join->kind) && may_raise(&a->t, node))
            return refuse("a condition of a semi or anti join with %s, which can raise an error",
                          name_of_raising_function(static_cast<Node *>(lfirst(cell))));
        if (is_deferred(&a->t, node))
            return refuse("a function of a text in the condition of an outer join");
        append(&a->parts[source].filters, node);
    }
    return true;
}

static bool add_rows(Assembly *a, int source);

static bool add_join(Assembly *a, int source) {
    const FragmentJoin *join = &a->spec->sources[source].join;
    const int into = join->into, step = a->t.sources[source].step;
    const bool keeps_table = ir::keeps_table(join->kind);
    const int max_keys = ir::max_join_keys - (keeps_table ? 1 : 0);
    List *filters = NIL;
    ListCell *cell;
    // Before the keys, which can read what is left of a row behind the joins of the build side alone.
    if (!add_rows(a, source))
        return false;
    foreach (cell, join->clauses) {
        if (a->parts[source].probe_keys.count == max_keys)
            filters = lappend(filters, lfirst(cell));
        else if (!add_join_key(a, source, static_cast<OpExpr *>(lfirst(cell))))
            return false;
    }
    if (keeps_table)
        admit_null_keys(a, source);
    if (join->kind == ir::JoinKind::Inner) {
        if (!add_conjuncts(a, into, filters, step))
            return false;
    } else if (!add_partner_filters(a, source, list_concat(filters, join->partner_filters))) {
        return false;
    }
    a->t.sources[source].joined = true;
    return add_conjuncts(a, into, join->filters, step);
}

// The rows of a source, with all that is joined to them.
static bool add_rows(Assembly *a, int source) {
    const FragmentSource *from = &a->spec->sources[source];
    if (!add_conjuncts(a, source, from->quals, 0, from->policy_quals))
        return false;
    for (int i = 1; i < a->spec->nsources; ++i)
        if (a->t.sources[i].join.into == source && !add_join(a, i))
            return false;
    return true;
}

// Is there one way only to write each value? (Of numerics, where their scale is known.)
static bool is_spelled_once(SqlKind kind) {
    switch (kind) {
    case SqlKind::Bool:
    case SqlKind::Int2:
    case SqlKind::Int4:
    case SqlKind::Int8:
    case SqlKind::Numeric:
    case SqlKind::Date:
    case SqlKind::Time:
    case SqlKind::Timestamp:
    case SqlKind::Timestamptz:
        return true;
    default:
        return false;
    }
}

// A float's sign of zero, a text's bytes are those of its column.
static bool translate_shown(Translation *t, Expr *expr, bool plain, TypedExpr *value) {
    if (!plain && !is_spelled_once(sql_kind(exprType(reinterpret_cast<Node *>(expr)))))
        return refuse("a row needs an expression that is not a column");
    return translate(t, expr, value);
}

// A numeric's display scale is in what its column has stored.
static bool as_stored(Translation *t, Expr *expr, bool plain, TypedExpr *value) {
    return !value->mixed_scale || (plain ? translate_column(t, reinterpret_cast<Var *>(expr), value, true)
                                         : refuse("a row needs numerics of different scales"));
}

bool translate_row_value(Translation *t, Expr *expr, TypedExpr *value, ir::Index *node) {
    const bool plain = IsA(seen_through(t, expr), Var);
    return translate_shown(t, expr, plain, value) && as_stored(t, expr, plain, value) && as_own_node(t, *value, node);
}

bool translate_row_column(Translation *t, Expr *expr, TypedExpr *value, ir::Index *node, ir::Index *scale) {
    const bool plain = IsA(seen_through(t, expr), Var);
    *scale = ir::none;
    if (!translate_shown(t, expr, plain, value))
        return false;
    if (value->mixed_scale && value->scale_node != ir::none)
        *scale = add_expr(t, ir::Op::Cast, Type::I64, display_scale(t, *value));
    else if (!as_stored(t, expr, plain, value))
        return false;
    return as_own_node(t, *value, node);
}

FragmentOutput row_output(const TypedExpr &value, const Expr *expr) {
    int32 typmod = exprTypmod(reinterpret_cast<const Node *>(expr));
    const Oid typid = getBaseTypeAndTypmod(exprType(reinterpret_cast<const Node *>(expr)), &typmod);
    return output_of_value(OutputKind::Row, value, value.type, typid, typmod);
}

// What a row delivers: the outputs in their order, then the scales of some of them.
static bool add_row_columns(Assembly *a) {
    a->t.pipeline = 0;
    ListCell *cell;
    Array<ir::Index> scales{};
    foreach (cell, a->spec->columns) {
        Expr *expr = static_cast<Expr *>(lfirst(cell));
        TypedExpr value;
        ir::Index node, scale;
        if (!translate_row_column(&a->t, expr, &value, &node, &scale))
            return false;
        FragmentOutput output = row_output(value, expr);
        output.key = append(&a->row_columns, node);
        append(&a->outputs, output);
        append(&scales, scale);
    }
    for (int i = 0; i < scales.count; ++i)
        if (scales[i] != ir::none)
            a->outputs[i].scale_column = append(&a->row_columns, scales[i]);
    a->delivered = a->row_columns.count;
    return a->delivered <= static_cast<int>(ir::max_row_outputs) ||
           refuse("more than %d columns of rows", ir::max_row_outputs);
}

// Texts have the order of their ranks under the key's collation.
bool translate_sort_key(Translation *t, Expr *expr, ir::Index *node) {
    TypedExpr value;
    if (!translate(t, expr, &value))
        return false;
    if (is_text_kind(value.kind)) {
        TypedExpr rank;
        int lookup;
        if (!make_text_node(t, &value) || !translate_rank(t, value, exprCollation(reinterpret_cast<Node *>(expr)),
                                                          exprType(reinterpret_cast<Node *>(expr)), &lookup, &rank))
            return false;
        value = rank;
    }
    if (!is_in_order(value.kind) || value.kind == SqlKind::Uuid)
        return refuse("rows in an order that is not that of the device's values");
    return as_own_node(t, value, node);
}

ir::OrderKey order_key(int flags) {
    ir::OrderKey key{};
    key.descending = (flags & ORDER_DESCENDING) != 0;
    key.nulls_first = (flags & ORDER_NULLS_FIRST) != 0;
    return key;
}

// As many sort keys as can be done, from the first on.
static void add_row_order(Assembly *a) {
    a->t.pipeline = 0;
    ListCell *cell, *flags;
    forboth (cell, a->spec->order, flags, a->spec->order_flags) {
        ir::OrderKey key = order_key(lfirst_int(flags));
        if (!translate_sort_key(&a->t, static_cast<Expr *>(lfirst(cell)), &key.expr))
            return;
        bool there = false;
        for (int i = 0; i < a->row_columns.count; ++i)
            there |= a->row_columns[i] == key.expr;
        if (!there && a->row_columns.count == static_cast<int>(ir::max_row_outputs))
            return;
        if (!there)
            append(&a->row_columns, key.expr);
        append(&a->order, key);
    }
}

static bool add_outputs(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    if (spec->delivers_rows) {
        if (!add_row_columns(a))
            return false;
        add_row_order(a);
        return spec->windows == NIL || add_windows(a);
    }
    if (list_length(spec->keys) > ir::max_group_keys)
        return refuse("more than %d group keys", ir::max_group_keys);
    a->t.pipeline = 0;
    ListCell *cell;
    foreach (cell, spec->keys) {
        FragmentOutput output;
        ir::Index node;
        if (!translate_group_key(&a->t, static_cast<Expr *>(lfirst(cell)), &a->states, &node, &output))
            return false;
        output.key = append(&a->states.keys, node);
        append(&a->outputs, output);
    }
    a->group_keys = a->states.keys.count;
    foreach (cell, spec->aggrefs) {
        FragmentOutput output;
        if (!translate_aggregate(&a->t, static_cast<Aggref *>(lfirst(cell)), &a->states, &output))
            return false;
        append(&a->outputs, output);
    }
    foreach (cell, spec->asked) {
        FragmentOutput output{};
        output.kind = OutputKind::Grouping;
        output.arguments = static_cast<List *>(lfirst(cell));
        append(&a->outputs, output);
    }
    for (int i = 0; i < a->outputs.count; ++i)
        if (a->outputs[i].distinct)
            a->outputs[i].agg += a->states.states.count;
        else if (a->outputs[i].ordered)
            a->outputs[i].agg += a->states.states.count + a->states.distincts.count;
    if (a->states.keys.count > ir::max_group_keys)
        return refuse("more than %d group keys and arguments of DISTINCT aggregates", ir::max_group_keys);
    return true;
}

// How many: a constant of the program. NULL or a negative number is all (PostgreSQL reports that before it asks for a row).
bool add_number(Assembly *a, Expr *number, ir::Index *constant) {
    TypedExpr value;
    ir::Index node;
    *constant = ir::none;
    if (number == nullptr)
        return true;
    const bool late = !IsA(number, Const) && is_late_constant(number);
    if (!(late ? translate_late_constant(&a->t, number, &value) : translate(&a->t, number, &value)) ||
        value.kind != SqlKind::Int8 || !as_node(&a->t, value, Type::I64, 0, &node))
        return false;
    *constant = a->t.exprs[static_cast<int>(node)].a;
    return a->t.exprs[static_cast<int>(node)].op == ir::Op::Const;
}

// The numbers of LIMIT and OFFSET; without one of them the first groups or rows are not known.
static void add_limit(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    if (!add_number(a, spec->top, &a->top) || !add_number(a, spec->top_offset, &a->top_offset))
        a->top = ir::none;
}

// The device looks at the sums whose results have a range: PostgreSQL's error is not lost with a group that is dropped.
static void narrow_sum(Assembly *a, int agg, uint8_t bytes, bool *narrow) {
    const int plain = a->states.states.count;
    uint8_t *to = agg < plain ? &a->states.states[agg].narrow : &a->states.distincts[agg - plain].narrow;
    *to = *to == 0 ? bytes : std::min(*to, bytes);
    narrow[agg] = true;
}

static void narrow_sums(Assembly *a, bool *narrow) {
    for (int i = 0; i < a->outputs.count; ++i) {
        const FragmentOutput *output = &a->outputs[i];
        if (output->kind == OutputKind::SumInt8) {
            narrow_sum(a, output->agg, sizeof(int64), narrow);
        } else if (output->kind == OutputKind::SumInterval || output->kind == OutputKind::AvgInterval) {
            narrow_sum(a, output->agg, sizeof(int64), narrow);
            narrow_sum(a, output->days, sizeof(int32), narrow);
            narrow_sum(a, output->months, sizeof(int32), narrow);
        }
    }
}

// A filter of groups has no tables of results (of zones, long lists); those that sort groups have.
static bool can_filter_groups(const Translation *t, ir::Index node) {
    return !looks_up(t, node) || refuse("a condition or an order of groups that looks into a table");
}

// Two groups that PostgreSQL may have as one: it counts with what both have.
static bool may_drop_groups(const Assembly *a) {
    for (int i = 0; i < a->outputs.count; ++i)
        if (a->outputs[i].by_bytes)
            return refuse("a condition or a limit of groups by values that a device can only store and deliver");
    return true;
}

static int state_count(const AggregateStates *states) {
    return states->states.count + states->distincts.count + states->ordered_sets.count;
}

// Which groups are wanted. The planner asks for more than may be possible, and keeps what is; see wanted_groups.cpp.
static void add_wanted_groups(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    if ((spec->having == NIL && spec->top == nullptr && !spec->sorted) || !may_drop_groups(a))
        return;
    const int naggregates = state_count(&a->states);
    bool *narrow = static_cast<bool *>(palloc0(sizeof(bool) * static_cast<Size>(naggregates + 1)));
    narrow_sums(a, narrow);
    const GroupScope scope{spec, a->outputs.at, narrow};
    a->t.groups = &scope;
    ListCell *cell, *flags;
    foreach (cell, spec->having) {
        ir::Index condition;
        if (!translate_group_condition(&a->t, static_cast<Expr *>(lfirst(cell)), &condition, &a->having_exact) ||
            !can_filter_groups(&a->t, condition))
            break;
        append(&a->having, condition);
    }
    forboth (cell, spec->order, flags, spec->order_flags) {
        ir::OrderKey key = order_key(lfirst_int(flags));
        if (!translate_group_order(&a->t, static_cast<Expr *>(lfirst(cell)), spec->sorted, &key.expr) ||
            ((!spec->sorted || spec->top != nullptr) && !can_filter_groups(&a->t, key.expr)))
            break;
        append(&a->order, key);
    }
    a->t.groups = nullptr;
    add_limit(a);
}

// How many of the rows that have an order are wanted; see wanted_groups.cpp.
static void add_wanted_rows(Assembly *a) {
    if (a->spec->top != nullptr && a->order.count != 0)
        add_limit(a);
}

// True, once the expression has been evaluated.
static Expr *evaluated(Expr *expr) {
    NullTest *test = makeNode(NullTest);
    test->arg = expr;
    test->nulltesttype = IS_NULL;
    test->location = -1;
    NullTest *other = static_cast<NullTest *>(copyObject(test));
    other->nulltesttype = IS_NOT_NULL;
    return makeBoolExpr(OR_EXPR, list_make2(test, other), -1);
}

// Conditions that hold for every row, behind all others.
static bool add_checks(Assembly *a) {
    int steps = 0;
    for (int i = 1; i < a->t.nsources; ++i)
        steps += a->t.sources[i].join.into == 0;
    List *conditions = NIL;
    ListCell *cell;
    foreach (cell, a->spec->checks)
        conditions = lappend(conditions, evaluated(static_cast<Expr *>(lfirst(cell))));
    return add_conjuncts(a, 0, conditions, steps);
}

// What a stage computes, and somebody has asked for, is computed of all its rows, before any condition.
static bool add_computed(Assembly *a, int source) {
    const TranslatedSource *of = &a->t.sources[source];
    const Array<ir::Conjunct> others = a->parts[source].conjuncts;
    a->parts[source].conjuncts = Array<ir::Conjunct>{};
    a->t.pipeline = source;
    for (int attnum = -1; (attnum = bms_next_member(of->computed, attnum)) >= 0;) {
        Expr *expr = static_cast<Expr *>(list_nth(of->stage_columns, attnum - 1));
        ir::Conjunct conjunct{};
        a->t.stage = source;
        if (!translate_condition(&a->t, evaluated(expr), &conjunct.expr))
            return false;
        if (may_raise(&a->t, conjunct.expr))
            append(&a->parts[source].conjuncts, conjunct);
    }
    for (int i = 0; i < others.count; ++i)
        append(&a->parts[source].conjuncts, others[i]);
    return true;
}

static bool add_computed(Assembly *a) {
    for (int i = 0; i < a->t.nsources; ++i)
        if (a->t.sources[i].computed != nullptr && !add_computed(a, i))
            return false;
    return true;
}

// The rows of a right or full join's second pass come when nobody can be asked any more.
static bool are_deferrals_possible(const Assembly *a) {
    bool keeps_table = false;
    for (int i = 1; i < a->t.nsources; ++i)
        keeps_table |= a->t.sources[i].join.into == 0 && ir::keeps_table(a->t.sources[i].join.kind);
    for (int i = 0; keeps_table && i < a->t.lookups.count; ++i)
        if (a->t.lookups[i].deferred)
            return refuse("a function of a text beside a right or full join");
    return true;
}

static bool translate_all(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    if (spec->nsources > ir::max_joins + 1)
        return refuse("more than %d joins", ir::max_joins);
    if (!add_rows(a, 0) || !add_outputs(a) || !add_checks(a) || !add_computed(a) || !are_deferrals_possible(a))
        return false;
    if (spec->delivers_rows)
        add_wanted_rows(a);
    else
        add_wanted_groups(a);
    return true;
}

// ---- the fragment ----

// See FragmentSource. (A qual behind one that cannot be asked would be asked of rows for which PostgreSQL does not.)
static int count_asked_quals(const FragmentSource *source) {
    const auto is_expression = [](const FragmentColumn &column) { return column.expr != nullptr; };
    if (std::none_of(source->columns.at, source->columns.at + source->columns.count, is_expression))
        return 0;
    int count = 0;
    ListCell *cell;
    foreach (cell, source->quals) {
        Expr *qual = static_cast<Expr *>(lfirst(cell));
        Index relation;
        if (!IsA(qual, Var) && !is_column_expression(qual, &relation))
            break;
        ++count;
    }
    return count;
}

static void describe(Assembly *a, Fragment *out) {
    const FragmentSpec *spec = a->spec;
    static_cast<FragmentSpec &>(*out) = *spec;
    out->sources = static_cast<FragmentSource *>(palloc(sizeof(FragmentSource) * static_cast<Size>(spec->nsources)));
    for (int i = 0; i < spec->nsources; ++i) {
        out->sources[i] = a->t.sources[i];
        out->sources[i].asked_quals = count_asked_quals(&out->sources[i]);
    }
    out->having = list_copy_head(spec->having, a->having.count);
    out->having_exact =
        a->having_exact && a->having.count == list_length(spec->having) && a->tests == list_length(spec->window_tests);
    out->order = list_copy_head(spec->order, a->order.count);
    out->order_flags = list_copy_head(spec->order_flags, a->order.count);
    out->top = a->top != ir::none ? spec->top : nullptr;
    out->nconstants = a->t.late_constants.count;
    out->constants = a->t.late_constants.at;
    out->nlookups = a->t.lookups.count;
    out->lookups = a->t.lookups.at;
    out->nunified = a->t.unified_dictionaries.count;
    out->noutputs = a->outputs.count;
    out->outputs = a->outputs.at;
    out->nrow_columns = a->delivered + a->window_functions.count;
    for (int i = 0; i < out->nlookups; ++i)
        out->lookups[i].unified = unified_root(&a->t, out->lookups[i].unified);
    for (int i = 0; i < out->nconstants; ++i)
        out->constants[i].unified = unified_root(&a->t, out->constants[i].unified);
    for (int i = 0; i < out->noutputs; ++i)
        out->outputs[i].unified = unified_root(&a->t, out->outputs[i].unified);
    out->nkeys = a->group_keys + (list_length(spec->sets) > 1 ? 1 : 0);
    out->naggregates = state_count(&a->states);
    out->narguments = a->states.arguments.count;
}

static Fragment *make_fragment(Assembly *a) {
    Fragment *fragment = static_cast<Fragment *>(palloc0(sizeof(Fragment)));
    write_program(a, fragment);
    describe(a, fragment);
    return fragment;
}

// For the CPU plan, and for EXPLAIN.
static Fragment *describe_only(const FragmentSpec *spec) {
    Fragment *fragment = static_cast<Fragment *>(palloc0(sizeof(Fragment)));
    static_cast<FragmentSpec &>(*fragment) = *spec;
    fragment->noutputs = output_count(spec);
    return fragment;
}

Fragment *assemble(const FragmentSpec *spec, bool binding) {
    Assembly a;
    begin(&a, spec, binding);
    const bool possible = translate_all(&a) && within_budget(&a.t) && within_deferral_budget(&a.t);
    if (!binding)
        return possible ? make_fragment(&a) : nullptr;
    // What the planner has found possible is so now, too, unless a function or a type has changed: a cursor is bound again when it is read in
    // another time zone.
    const bool as_planned = possible && a.having.count == list_length(spec->having) &&
                            a.order.count == list_length(spec->order) && (spec->top == nullptr || a.top != ir::none);
    return as_planned ? make_fragment(&a) : describe_only(spec);
}

Fragment *assemble_count(FragmentSource *source) {
    FragmentSpec spec{};
    spec.nsources = 1;
    spec.sources = source;
    Assembly a;
    begin(&a, &spec, true);
    ir::Aggregate count{};
    count.kind = ir::AggregateKind::CountRows;
    append(&a.states.states, count);
    return make_fragment(&a);
}

} // namespace gpuscan
