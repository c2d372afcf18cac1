// FragmentSpec -> program. Puts translated expressions into pipelines and writes the engine's wire format.
//
// Order of the program: the pipelines that build hash tables, source 1 first, then the main one. Source numbers in the
// program are those of the FragmentSpec; the main source is 0. The table of source i is probed by the pipeline of the source
// that it is joined into, the main one or that of a later source, in the step that its number among those gives it.
//
// All is translated before the build sides are written down, because that decides which columns they must carry as
// payload; columns of what was joined into a table are first in the payload of their own.
#include "pg/pg.h"

#include <algorithm>

#include "engine/ir/program.hpp"
#include "pg/catalog/never_null.h"
#include "pg/fragment/fragment_spec.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

struct Assembly {
    const FragmentSpec *spec;
    Translation t;
    Array<ir::Conjunct> *conjuncts; // per pipeline: 0 the main one, i the build of source i
    Array<ir::Index> *build_keys;   // per source
    Array<ir::Index> *probe_keys;   // per source
    Array<ir::Index> *filters;      // per source: of its join, where that is not an inner one
    bool *nullable_keys;            // per source: a build key may be NULL
    Array<ir::Index> row_columns;
    int delivered;          // of them: the others are there for the order
    AggregateStates states; // and the group keys, which come first
    int group_keys;
    Array<FragmentOutput> outputs;
    // Of the groups that are wanted.
    Array<ir::Index> having;
    bool having_exact;
    Array<ir::OrderKey> order; // ... or of rows
    ir::Index top, top_offset; // constants
};

// ---- the parts ----

// A table that inherits may lack its parent's NOT NULL, a partition may not.
static Bitmapset *not_null_attributes(const SpecSource *source) {
    Bitmapset *result = nullptr;
    Relation relation = RelationIdGetRelation(source->relid);
    if (!RelationIsValid(relation))
        return nullptr;
    TupleDesc descriptor = RelationGetDescr(relation);
    bool everywhere = source->leaves == NIL || relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    for (int i = 0; everywhere && i < descriptor->natts; ++i)
        if (is_never_null(relation, static_cast<AttrNumber>(i + 1), source->leaves != NIL, Reliance::Execution))
            result = bms_add_member(result, i + 1);
    RelationClose(relation);
    return result;
}

static void begin(Assembly *a, const FragmentSpec *spec, bool binding) {
    *a = Assembly{};
    a->spec = spec;
    a->t.binding = binding;
    a->t.nsources = spec->nsources;
    Size n = static_cast<Size>(spec->nsources);
    a->t.sources = static_cast<TranslatedSource *>(palloc0(sizeof(TranslatedSource) * n));
    a->conjuncts = static_cast<Array<ir::Conjunct> *>(palloc0(sizeof(Array<ir::Conjunct>) * n));
    a->build_keys = static_cast<Array<ir::Index> *>(palloc0(sizeof(Array<ir::Index>) * n));
    a->probe_keys = static_cast<Array<ir::Index> *>(palloc0(sizeof(Array<ir::Index>) * n));
    a->filters = static_cast<Array<ir::Index> *>(palloc0(sizeof(Array<ir::Index>) * n));
    a->nullable_keys = static_cast<bool *>(palloc0(sizeof(bool) * n));
    for (int i = 0; i < spec->nsources; ++i) {
        const SpecSource *from = &spec->sources[i];
        TranslatedSource *to = &a->t.sources[i];
        to->is_relation = from->is_relation;
        to->rti = from->rti;
        to->relid = from->relid;
        to->child_attnos = from->child_attnos;
        to->not_null = from->is_relation ? not_null_attributes(from) : nullptr;
        to->hides_rows = from->hides_rows;
        to->kind = i > 0 ? spec->joins[i - 1].kind : ir::JoinKind::Inner;
        to->into = i > 0 ? spec->joins[i - 1].into : 0;
        for (int k = 1; k <= i; ++k)
            to->step += spec->joins[k - 1].into == to->into;
    }
}

// Would it show something of rows that a policy hides, if it were asked of them?
static bool is_guarded(const Assembly *a, int pipeline, Node *clause) {
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
        append(&a->conjuncts[pipeline], conjunct);
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
                    table_of_source(&a->t, a->t.sources[table].into, i) == table;
        if (!found)
            return false;
    }
    return vars != NIL;
}

// Floats of either width are compared as doubles, and equal ones have equal bits.
static bool add_float_key(Assembly *a, int source, const Value &left, const Value &right) {
    ir::Index probe, build;
    if (!as_node(&a->t, left, Type::F64, 0, &probe) || !as_node(&a->t, right, Type::F64, 0, &build))
        return false;
    a->nullable_keys[source] = a->nullable_keys[source] || right.nullable;
    append(&a->probe_keys[source], add_call(&a->t, ir::Function::FloatBits, probe));
    append(&a->build_keys[source], add_call(&a->t, ir::Function::FloatBits, build));
    return true;
}

// A table has no rows with a NULL key, but a join that keeps its rows wants them, too: there NULL becomes some value, and
// one key more says so. No row that probes has that key.
static void admit_null_keys(Assembly *a, int source) {
    Array<ir::Index> *keys = &a->build_keys[source];
    if (!a->nullable_keys[source] || keys->count == 0)
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
    append(&a->probe_keys[source], add_constant(&a->t, Type::Bool, 0, false));
}

// One equality: the side over the table's sources is the build key, the other one the probe key, both of one type.
static bool add_join_key(Assembly *a, int source, const OpExpr *clause) {
    const int into = a->t.sources[source].into;
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

    Value left, right;
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
    a->nullable_keys[source] = a->nullable_keys[source] || right.nullable;
    if (left.kind == SqlKind::Opaque)
        return refuse("a join by values that are only handed through");
    if (is_coded_kind(left.kind)) { // equal texts have equal codes in one space
        int space = new_space(&a->t);
        bool is_bpchar = left.kind == SqlKind::Bpchar;
        a->t.pipeline = into;
        if (!as_space_node(&a->t, left, space, is_bpchar, &probe_node))
            return false;
        a->t.pipeline = source;
        if (!as_space_node(&a->t, right, space, is_bpchar, &build_node))
            return false;
        append(&a->probe_keys[source], probe_node);
        append(&a->build_keys[source], build_node);
        return true;
    }
    if (!as_node(&a->t, left, type, scale, &probe_node) || !as_node(&a->t, right, type, scale, &build_node))
        return false;
    if (left.kind == SqlKind::Interval) {
        probe_node = order_node(&a->t, left.kind, probe_node);
        build_node = order_node(&a->t, right.kind, build_node);
    }
    append(&a->probe_keys[source], probe_node);
    append(&a->build_keys[source], build_node);
    return true;
}

// What makes a row of the build side a partner, beside the keys.
static bool add_partner_filters(Assembly *a, int source, List *filters) {
    a->t.pipeline = a->t.sources[source].into;
    ListCell *cell;
    foreach (cell, filters) {
        ir::Index node;
        if (!translate_condition(&a->t, static_cast<Expr *>(lfirst(cell)), &node))
            return false;
        // How many pairs are looked at until one is found depends on the order of the rows.
        if (!ir::delivers_payload(a->t.sources[source].kind) && may_raise(&a->t, node))
            return refuse("a condition of a semi or anti join that can raise an error");
        if (is_demanded(&a->t, node))
            return refuse("a function of a text in the condition of an outer join");
        append(&a->filters[source], node);
    }
    return true;
}

static bool add_rows(Assembly *a, int source);

static bool add_join(Assembly *a, int source) {
    const SpecJoin *join = &a->spec->joins[source - 1];
    const int into = join->into, step = a->t.sources[source].step;
    const bool keeps_table = ir::keeps_table(join->kind);
    const int most_keys = ir::max_join_keys - (keeps_table ? 1 : 0);
    List *filters = NIL;
    ListCell *cell;
    if (!add_rows(
            a,
            source)) // before the keys, which can read what is left of a row behind the joins of the build side alone
        return false;
    foreach (cell, join->clauses) {
        if (a->probe_keys[source].count == most_keys)
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
    const SpecSource *from = &a->spec->sources[source];
    if (!add_conjuncts(a, source, from->quals, 0, from->policy_quals))
        return false;
    for (int i = 1; i < a->spec->nsources; ++i)
        if (a->t.sources[i].into == source && !add_join(a, i))
            return false;
    return true;
}

// What a row delivers. A float's sign of zero, a numeric's display scale, a text's bytes are those of its column.
static bool add_row_columns(Assembly *a) {
    a->t.pipeline = 0;
    ListCell *cell;
    foreach (cell, a->spec->columns) {
        Expr *expr = static_cast<Expr *>(lfirst(cell));
        if (!IsA(expr, Var))
            return refuse("a row needs an expression that is not a column");
        Value value;
        ir::Index node;
        if (!translate(&a->t, expr, &value) || !as_own_node(&a->t, value, &node))
            return false;
        FragmentOutput output{};
        output.kind = OutputKind::Row;
        output.attno = static_cast<AttrNumber>(a->outputs.count + 1);
        output.key = append(&a->row_columns, node);
        output.typmod = exprTypmod(reinterpret_cast<Node *>(expr));
        output.typid = getBaseTypeAndTypmod(exprType(reinterpret_cast<Node *>(expr)), &output.typmod);
        if (value.mixed_scale)
            return refuse("a row needs a numeric of which nobody knows the scale");
        output.type = value.type;
        output.value_kind = value.kind;
        output.fixed_length = value.type == Type::Code && get_typlen(output.typid) > 0;
        output.scale = value.scale;
        output.source = value.source;
        output.column = value.column;
        output.rank_lookup = -1;
        append(&a->outputs, output);
    }
    return true;
}

// Texts have the order of their ranks under the key's collation.
static bool translate_sort_key(Translation *t, Expr *expr, ir::Index *node) {
    Value value;
    if (!translate(t, expr, &value))
        return false;
    if (is_text_kind(value.kind)) {
        Value rank;
        int lookup;
        if (!settle_text(t, &value) ||
            !translate_rank(t, value, exprCollation(reinterpret_cast<Node *>(expr)), &lookup, &rank))
            return false;
        value = rank;
    }
    if (!is_in_order(value.kind) || value.kind == SqlKind::Uuid)
        return refuse("rows in an order that is not that of the device's values");
    return as_own_node(t, value, node);
}

// As many sort keys as can be done, from the first on.
static void add_row_order(Assembly *a) {
    a->t.pipeline = 0;
    a->delivered = a->row_columns.count;
    ListCell *cell, *flags;
    forboth (cell, a->spec->order, flags, a->spec->order_flags) {
        ir::OrderKey key{};
        if (!translate_sort_key(&a->t, static_cast<Expr *>(lfirst(cell)), &key.expr))
            return;
        key.descending = (lfirst_int(flags) & ORDER_DESCENDING) != 0;
        key.nulls_first = (lfirst_int(flags) & ORDER_NULLS_FIRST) != 0;
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
        return true;
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
        output.attno = static_cast<AttrNumber>(a->outputs.count + 1);
        append(&a->outputs, output);
    }
    a->group_keys = a->states.keys.count;
    foreach (cell, spec->aggrefs) {
        FragmentOutput output;
        if (!translate_aggregate(&a->t, static_cast<Aggref *>(lfirst(cell)), &a->states, &output))
            return false;
        output.attno = static_cast<AttrNumber>(a->outputs.count + 1);
        append(&a->outputs, output);
    }
    foreach (cell, spec->asked) {
        FragmentOutput output{};
        output.kind = OutputKind::Grouping;
        output.attno = static_cast<AttrNumber>(a->outputs.count + 1);
        output.arguments = static_cast<List *>(lfirst(cell));
        output.rank_lookup = -1;
        append(&a->outputs, output);
    }
    for (int i = 0; i < a->outputs.count; ++i)
        if (a->outputs[i].distinct)
            a->outputs[i].agg += a->states.states.count;
    if (a->states.keys.count > ir::max_group_keys)
        return refuse("more than %d group keys and arguments of DISTINCT aggregates", ir::max_group_keys);
    return true;
}

// How many: a constant of the program. NULL or a negative number is all (PostgreSQL reports that before it asks for a row).
static bool add_number(Assembly *a, Expr *number, ir::Index *constant) {
    Value value;
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

// Which groups are wanted. The planner asks for more than may be possible, and keeps what is; see wanted_groups.cpp.
static void add_wanted_groups(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    a->top = a->top_offset = ir::none;
    a->having_exact = true;
    if (spec->having == NIL && spec->top == nullptr && !spec->sorted)
        return;
    const int naggregates = a->states.states.count + a->states.distincts.count;
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
        ir::OrderKey key{};
        if (!translate_group_order(&a->t, static_cast<Expr *>(lfirst(cell)), spec->sorted, &key.expr) ||
            (!spec->sorted && !can_filter_groups(&a->t, key.expr)))
            break;
        key.descending = (lfirst_int(flags) & ORDER_DESCENDING) != 0;
        key.nulls_first = (lfirst_int(flags) & ORDER_NULLS_FIRST) != 0;
        append(&a->order, key);
    }
    a->t.groups = nullptr;
    add_limit(a);
}

// How many of the rows that have an order are wanted; see wanted_groups.cpp.
static void add_wanted_rows(Assembly *a) {
    a->top = a->top_offset = ir::none;
    if (a->spec->top != nullptr && a->order.count != 0)
        add_limit(a);
}

// Conditions that hold for every row, behind all others.
static bool add_checks(Assembly *a) {
    const SpecJoin *joins = a->spec->joins;
    const int steps = static_cast<int>(
        std::count_if(joins, joins + a->spec->nsources - 1, [](const SpecJoin &join) { return join.into == 0; }));
    List *conditions = NIL;
    ListCell *cell;
    foreach (cell, a->spec->checks) {
        NullTest *test = makeNode(NullTest);
        test->arg = static_cast<Expr *>(lfirst(cell));
        test->nulltesttype = IS_NULL;
        test->location = -1;
        NullTest *other = static_cast<NullTest *>(copyObject(test));
        other->nulltesttype = IS_NOT_NULL;
        conditions = lappend(conditions, makeBoolExpr(OR_EXPR, list_make2(test, other), -1));
    }
    return add_conjuncts(a, 0, conditions, steps);
}

// The rows of a right or full join's second pass come when nobody can be asked any more.
static bool are_demands_possible(const Assembly *a) {
    bool keeps_table = false;
    for (int i = 1; i < a->t.nsources; ++i)
        keeps_table |= a->t.sources[i].into == 0 && ir::keeps_table(a->t.sources[i].kind);
    for (int i = 0; keeps_table && i < a->t.lookups.count; ++i)
        if (a->t.lookups[i].demanded)
            return refuse("a function of a text beside a right or full join");
    return true;
}

static bool translate_all(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    if (spec->nsources > ir::max_joins + 1)
        return refuse("more than %d joins", ir::max_joins);
    if (!add_rows(a, 0) || !add_outputs(a) || !add_checks(a) || !are_demands_possible(a))
        return false;
    if (spec->delivers_rows)
        add_wanted_rows(a);
    else
        add_wanted_groups(a);
    return true;
}

// ---- the wire format ----

struct Writer {
    Array<ir::Conjunct> conjuncts;
    Array<ir::Join> joins;
    Array<ir::Index> lists;
    Array<ir::Pipeline> pipelines;
    Array<ir::Source> sources;
    Array<ir::SourceColumn> columns;
    Array<ir::Lookup> lookups;
    Array<ir::GroupingSet> sets;
};

static ir::Range add_list(Writer *w, const Array<ir::Index> &items) {
    ir::Range range{static_cast<ir::Index>(w->lists.count), static_cast<ir::Index>(items.count)};
    for (int i = 0; i < items.count; ++i)
        append(&w->lists, items[i]);
    return range;
}

static ir::Range add_pipeline_conjuncts(Writer *w, const Array<ir::Conjunct> &items) {
    ir::Range range{static_cast<ir::Index>(w->conjuncts.count), static_cast<ir::Index>(items.count)};
    for (int i = 0; i < items.count; ++i)
        append(&w->conjuncts, items[i]);
    return range;
}

// What the tables carry, as expressions of the pipelines that build them. Those that probe come first: what they carry
// decides what the tables must that they probe.
static Array<ir::Index> *payload_expressions(Assembly *a) {
    Array<ir::Index> *result =
        static_cast<Array<ir::Index> *>(palloc0(sizeof(Array<ir::Index>) * static_cast<Size>(a->t.nsources)));
    for (int i = a->t.nsources - 1; i > 0; --i) {
        for (int k = 0; k < a->t.sources[i].payload.count; ++k) {
            const PayloadColumn from = a->t.sources[i].payload[k];
            int step = 0, at = from.column;
            if (from.source != i) {
                const int table = table_of_source(&a->t, i, from.source);
                step = a->t.sources[table].step;
                at = payload_position(&a->t.sources[table], from.source, from.column);
            }
            append(&result[i], add_expr(&a->t, ir::Op::Column, a->t.sources[from.source].columns[from.column].type,
                                        static_cast<ir::Index>(step), static_cast<ir::Index>(at)));
        }
    }
    return result;
}

static ir::Range write_joins(Assembly *a, Writer *w, int source) {
    ir::Range range{static_cast<ir::Index>(w->joins.count), 0};
    for (int i = 1; i < a->t.nsources; ++i) {
        if (a->t.sources[i].into != source)
            continue;
        ir::Join join{};
        join.build = static_cast<ir::Index>(i - 1);
        join.keys = add_list(w, a->probe_keys[i]);
        join.kind = a->t.sources[i].kind;
        join.guarded = is_guarded(a, source, reinterpret_cast<Node *>(a->spec->joins[i - 1].clauses)) ? 1 : 0;
        join.filters = add_list(w, a->filters[i]);
        append(&w->joins, join);
        ++range.count;
    }
    return range;
}

static void write_build(Assembly *a, Writer *w, int source, const Array<ir::Index> &payload) {
    ir::Pipeline pipeline{};
    pipeline.source = static_cast<ir::Index>(source);
    pipeline.sink = ir::SinkKind::Build;
    pipeline.conjuncts = add_pipeline_conjuncts(w, a->conjuncts[source]);
    pipeline.joins = write_joins(a, w, source);
    pipeline.keys = add_list(w, a->build_keys[source]);
    pipeline.payload = add_list(w, payload);
    append(&w->pipelines, pipeline);
}

static void write_main(Assembly *a, Writer *w) {
    ir::Pipeline pipeline{};
    pipeline.source = 0;
    pipeline.sink = a->spec->delivers_rows ? ir::SinkKind::Rows : ir::SinkKind::Aggregate;
    pipeline.limit = static_cast<uint64_t>(a->spec->limit);
    pipeline.conjuncts = add_pipeline_conjuncts(w, a->conjuncts[0]);
    pipeline.joins = write_joins(a, w, 0);
    pipeline.keys = add_list(w, a->states.keys);
    pipeline.payload = add_list(w, a->row_columns);
    pipeline.aggregates.first = 0;
    pipeline.aggregates.count = static_cast<ir::Index>(a->states.states.count);
    ListCell *cell;
    foreach (cell, a->spec->sets)
        append(&w->sets, ir::GroupingSet{static_cast<uint32_t>(lfirst_int(cell))});
    if (a->spec->sets == NIL && a->states.distincts.count > 0)
        append(&w->sets, ir::GroupingSet{(1u << a->group_keys) - 1});
    if (w->sets.count > 0) {
        pipeline.sets.count = static_cast<ir::Index>(w->sets.count);
        pipeline.distincts.count = static_cast<ir::Index>(a->states.distincts.count);
        pipeline.result_keys = static_cast<ir::Index>(a->group_keys);
    }
    pipeline.order.count = static_cast<ir::Index>(a->order.count);
    if (a->spec->delivers_rows) {
        pipeline.result_keys = static_cast<ir::Index>(a->delivered);
    } else {
        pipeline.having = add_list(w, a->having);
        pipeline.sorted = a->spec->sorted && a->order.count > 0 ? 1 : 0;
    }
    pipeline.top = a->top;
    pipeline.top_offset = a->top_offset;
    pipeline.ties = a->spec->ties ? 1 : 0;
    append(&w->pipelines, pipeline);
}

static void write_sources(Assembly *a, Writer *w) {
    for (int i = 0; i < a->t.nsources; ++i) {
        const TranslatedSource &s = a->t.sources[i];
        ir::Source source{};
        source.columns.first = static_cast<ir::Index>(w->columns.count);
        source.columns.count = static_cast<ir::Index>(s.columns.count);
        source.uncounted = a->spec->hides_counts ? 1 : 0;
        for (int k = 0; k < s.columns.count; ++k) {
            ir::SourceColumn column{};
            column.type = s.columns[k].type;
            column.nullable = s.columns[k].nullable ? 1 : 0;
            append(&w->columns, column);
        }
        append(&w->sources, source);
    }
    for (int i = 0; i < a->t.lookups.count; ++i) {
        const FragmentLookup &from = a->t.lookups[i];
        ir::Lookup lookup{};
        lookup.type = from.type;
        lookup.demanded = from.demanded ? 1 : 0;
        lookup.source = static_cast<ir::Index>(from.source);
        lookup.column = static_cast<ir::Index>(from.column);
        append(&w->lookups, lookup);
    }
}

template <class T> static char *put(char *to, const Array<T> &array) {
    Size bytes = sizeof(T) * static_cast<Size>(array.count);
    if (bytes > 0)
        memcpy(to, array.at, bytes);
    return to + ((bytes + 7) & ~static_cast<Size>(7));
}

template <class T> static Size room(const Array<T> &array) {
    return (sizeof(T) * static_cast<Size>(array.count) + 7) & ~static_cast<Size>(7);
}

static void write_program(Assembly *a, Fragment *out) {
    Writer w{};
    write_sources(a, &w);
    const Array<ir::Index> *payloads = payload_expressions(a);
    for (int i = 1; i < a->t.nsources; ++i)
        write_build(a, &w, i, payloads[i]);
    write_main(a, &w);

    const Translation &t = a->t;
    ProgramHeader header{};
    header.exprs = static_cast<uint32_t>(t.exprs.count);
    header.constants = static_cast<uint32_t>(t.constants.count);
    header.lookups = static_cast<uint32_t>(w.lookups.count);
    header.sources = static_cast<uint32_t>(w.sources.count);
    header.source_columns = static_cast<uint32_t>(w.columns.count);
    header.conjuncts = static_cast<uint32_t>(w.conjuncts.count);
    header.joins = static_cast<uint32_t>(w.joins.count);
    header.lists = static_cast<uint32_t>(w.lists.count);
    header.aggregates = static_cast<uint32_t>(a->states.states.count);
    header.pipelines = static_cast<uint32_t>(w.pipelines.count);
    header.sets = static_cast<uint32_t>(w.sets.count);
    header.distincts = static_cast<uint32_t>(a->states.distincts.count);
    header.orders = static_cast<uint32_t>(a->order.count);

    static_assert(sizeof header % 8 == 0, "arrays follow the header at once");
    out->program_size = sizeof header + room(t.exprs) + room(t.constants) + room(w.lookups) + room(w.sources) +
                        room(w.columns) + room(w.conjuncts) + room(w.joins) + room(w.lists) + room(a->states.states) +
                        room(w.pipelines) + room(w.sets) + room(a->states.distincts) + room(a->order);
    out->program = static_cast<char *>(palloc0(out->program_size));
    char *at = out->program;
    memcpy(at, &header, sizeof header);
    at = put(at + sizeof header, t.exprs);
    out->program_constants = reinterpret_cast<ir::Constant *>(at);
    at = put(at, t.constants);
    at = put(at, w.lookups);
    at = put(at, w.sources);
    at = put(at, w.columns);
    at = put(at, w.conjuncts);
    at = put(at, w.joins);
    at = put(at, w.lists);
    at = put(at, a->states.states);
    at = put(at, w.pipelines);
    at = put(at, w.sets);
    at = put(at, a->states.distincts);
    put(at, a->order);
}

// ---- the description ----

static void describe(Assembly *a, Fragment *out) {
    const FragmentSpec *spec = a->spec;
    out->nsources = spec->nsources;
    out->sources = static_cast<FragmentSource *>(palloc0(sizeof(FragmentSource) * static_cast<Size>(spec->nsources)));
    for (int i = 0; i < spec->nsources; ++i) {
        const SpecSource *from = &spec->sources[i];
        FragmentSource *to = &out->sources[i];
        to->is_relation = from->is_relation;
        to->rti = from->rti;
        to->relid = from->relid;
        to->leaves = from->leaves;
        to->is_empty = from->is_empty;
        to->child = from->child;
        to->alias = from->alias;
        to->ncolumns = a->t.sources[i].columns.count;
        to->columns = a->t.sources[i].columns.at;
        to->quals = from->quals;
        to->rows = from->rows;
    }
    out->main_source = 0;
    out->njoins = spec->nsources - 1;
    out->joins = static_cast<FragmentJoin *>(palloc0(sizeof(FragmentJoin) * static_cast<Size>(spec->nsources)));
    for (int i = 0; i < out->njoins; ++i) {
        out->joins[i].source = i + 1;
        out->joins[i].kind = spec->joins[i].kind;
        out->joins[i].into = spec->joins[i].into;
        out->joins[i].clauses = spec->joins[i].clauses;
        out->joins[i].partner_filters = spec->joins[i].partner_filters;
        out->joins[i].filters = spec->joins[i].filters;
    }
    out->nconstants = a->t.late_constants.count;
    out->constants = a->t.late_constants.at;
    out->nlookups = a->t.lookups.count;
    out->lookups = a->t.lookups.at;
    out->nspaces = a->t.spaces.count;
    for (int i = 0; i < out->nlookups; ++i)
        out->lookups[i].space = space_root(&a->t, out->lookups[i].space);
    for (int i = 0; i < out->nconstants; ++i)
        out->constants[i].space = space_root(&a->t, out->constants[i].space);
    for (int i = 0; i < a->outputs.count; ++i)
        a->outputs[i].space = space_root(&a->t, a->outputs[i].space);
    out->noutputs = a->outputs.count;
    out->outputs = a->outputs.at;
    out->nfallback = a->outputs.count;
    out->fallback_attnos =
        static_cast<AttrNumber *>(palloc(sizeof(AttrNumber) * static_cast<Size>(out->nfallback + 1)));
    for (int i = 0; i < out->nfallback; ++i)
        out->fallback_attnos[i] = static_cast<AttrNumber>(i + 1);
    out->group_exprs = spec->keys;
    out->has_group_by = spec->has_group_by;
    out->having = list_copy_head(spec->having, a->having.count);
    out->having_exact = a->having_exact && a->having.count == list_length(spec->having);
    out->order = list_copy_head(spec->order, a->order.count);
    out->order_flags = list_copy_head(spec->order_flags, a->order.count);
    out->top = a->top != ir::none ? spec->top : nullptr;
    out->top_offset = spec->top_offset;
    out->checks = spec->checks;
    out->sets = spec->sets;
    out->nkeys = a->group_keys + (list_length(spec->sets) > 1 ? 1 : 0);
    out->naggregates = a->states.states.count + a->states.distincts.count;
    out->delivers_rows = spec->delivers_rows;
    out->limit = static_cast<uint64>(spec->limit);
    out->hides_counts = spec->hides_counts;
}

Fragment *assemble(const FragmentSpec *spec, bool binding) {
    Assembly a;
    begin(&a, spec, binding);
    const bool possible = translate_all(&a) && within_budget(&a.t) && within_demand_budget(&a.t);
    // What the planner has found possible must be possible now.
    if (!possible ||
        (binding && (a.having.count < list_length(spec->having) || a.order.count < list_length(spec->order) ||
                     (spec->top != nullptr && a.top == ir::none)))) {
        if (binding)
            ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("a GpuScan node cannot be bound to the device"),
                            errdetail("A function or type that the plan uses has changed since it was made.")));
        return nullptr;
    }
    Fragment *fragment = static_cast<Fragment *>(palloc0(sizeof(Fragment)));
    write_program(&a, fragment);
    describe(&a, fragment);
    return fragment;
}

} // namespace gpuscan
