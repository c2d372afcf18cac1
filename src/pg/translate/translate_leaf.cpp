// What does an expression start from? Columns, constants, and what PostgreSQL knows when the plan starts.
//
// A column is described by its type alone, so that a hook can ask before there are sources; it is then found among the
// columns of its source, or added, and to the payload as well if another pipeline reads it. Constants of integer types
// and numerics stay literals. Parameters and stable functions of them are late constants: nodes whose value PostgreSQL
// computes at each execution.
#include "pg/pg.h"

#include "pg/catalog/encode.h"
#include "pg/catalog/expression_text.h"
#include "pg/catalog/never_null.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// ---- columns ----

static int find_source(const Translation *t, Index rti) {
    for (int i = 0; i < t->nsources; ++i)
        if (t->sources[i].rti == rti)
            return i;
    return -1;
}

// A table that inherits may lack its parent's NOT NULL, a partition may not.
static bool may_be_null(const FragmentSource *source, AttrNumber attnum) {
    Relation relation = RelationIdGetRelation(source->relid);
    if (!RelationIsValid(relation))
        return true;
    const bool everywhere = source->leaves == NIL || relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
    const bool never = everywhere && is_never_null(relation, attnum, source->leaves != NIL, Reliance::Execution);
    RelationClose(relation);
    return !never;
}

// Where the column is in the CPU plan's rows, from 1; 0: it is not. `output`: of a stage, which of its outputs it is; else 0.
static AttrNumber column_of_plan(const FragmentSource *source, AttrNumber attnum, AttrNumber output) {
    for (int i = 0; i < list_length(source->child_attnos); ++i) {
        const int of_child = list_nth_int(source->child_attnos, i);
        const Var *computed = of_child > 0 && of_child <= list_length(source->stage_columns)
                                  ? static_cast<const Var *>(list_nth(source->stage_columns, of_child - 1))
                                  : nullptr;
        if (output == 0 ? of_child == attnum
                        : computed != nullptr && IsA(computed, Var) && computed->varattno == output)
            return static_cast<AttrNumber>(i + 1);
    }
    return 0;
}

// (A numeric may be read in several forms, and its statistics may change while an expression is translated.)
static int find_column(TranslatedSource *source, AttrNumber attnum, const FragmentColumn &described) {
    for (int i = 0; i < source->varattnos.count; ++i) {
        const FragmentColumn &known = source->columns[i];
        if (source->varattnos[i] == attnum && known.output == described.output &&
            known.rounding == described.rounding && known.codec == described.codec && known.scale == described.scale &&
            known.type == described.type && known.digits == described.digits && equal(known.expr, described.expr))
            return i;
    }
    FragmentColumn column = described;
    column.attnum = attnum;
    column.nullable = true;
    if (column.expr != nullptr)
        Assert(attnum == 0);
    else if (source->is_relation)
        column.nullable = may_be_null(source, attnum);
    else
        column.attnum = column_of_plan(source, attnum, described.output);
    append(&source->varattnos, attnum);
    return append(&source->columns, column);
}

int payload_position(TranslatedSource *table, int source, int column) {
    for (int i = 0; i < table->payload.count; ++i)
        if (table->payload[i].source == source && table->payload[i].column == column)
            return i;
    return append(&table->payload, PayloadSource{source, column});
}

int table_of_source(const Translation *t, int pipeline, int source) {
    while (source > 0 && t->sources[source].join.into != pipeline)
        source = t->sources[source].join.into;
    return source > 0 ? source : -1;
}

// The join by which the column got lost on its way to the pipeline at hand; NULL: it did not.
static const TranslatedSource *losing_join(const Translation *t, int source) {
    for (; source > 0 && source != t->pipeline; source = t->sources[source].join.into)
        if (t->sources[source].joined && !ir::delivers_payload(t->sources[source].join.kind))
            return &t->sources[source];
    return nullptr;
}

// May an outer join on that way make it NULL, or one behind it that has a row of its own table without a partner?
static bool is_nulled(const Translation *t, int source) {
    const int own = table_of_source(t, t->pipeline, source);
    for (int i = source; i > 0 && i != t->pipeline; i = t->sources[i].join.into)
        if (ir::keeps_rows(t->sources[i].join.kind))
            return true;
    for (int i = 1; i < t->nsources; ++i)
        if (i != own && t->sources[i].joined && t->sources[i].join.into == t->pipeline &&
            ir::keeps_table(t->sources[i].join.kind))
            return true;
    return false;
}

// The column as the pipeline at hand sees it: its own source's, or the payload of a join.
static bool column_node(Translation *t, int source, int position, Type type, ir::Index *node) {
    if (losing_join(t, source) != nullptr)
        return refuse("a column that is not there after a semi or anti join");
    int step = 0, at = position;
    if (source != t->pipeline) {
        const int table = table_of_source(t, t->pipeline, source);
        if (table < 0)
            return refuse("a build side needs a column of another relation");
        step = t->sources[table].step;
        at = payload_position(&t->sources[table], source, position);
    }
    *node = add_expr(t, ir::Op::Column, type, static_cast<ir::Index>(step), static_cast<ir::Index>(at));
    return true;
}

bool add_rounded_column(Translation *t, int source, const Var *var, Type type, int32 scale, Rounding rounding,
                        ir::Index *node) {
    FragmentColumn column{};
    column.typid = NUMERICOID;
    column.typmod = -1;
    column.type = type;
    column.codec = Codec::Numeric;
    column.scale = scale;
    column.rounding = rounding;
    return column_node(t, source, find_column(&t->sources[source], var->varattno, column), type, node);
}

static void set_scale(const FragmentColumn &column, TypedExpr *out) {
    if (sql_kind(column.typid) == SqlKind::Numeric)
        numeric_typmod(column.typmod, &out->precision, &out->scale);
    out->mixed_scale = column.codec == Codec::MixedNumeric;
    out->tied = column.tied;
    out->scale_node = out->mixed_scale ? scale_of_column : ir::none;
}

// Above a semi join nobody asks for a column of its other side; above an anti join it is NULL.
static bool absent_column(ir::JoinKind join, Translation *t, const FragmentColumn &column, TypedExpr *out) {
    const SqlKind kind = sql_kind(column.typid);
    if (join != ir::JoinKind::Anti || column.type == Type::Code)
        return refuse("a column that is not there after a semi or anti join");
    node_value(out, kind, column.type, add_constant(t, column.type, 0, true), true);
    set_scale(column, out);
    out->mixed_scale = out->tied = false; // (there is no column that would say how NULL is shown)
    out->scale_node = ir::none;
    return true;
}

TableColumn place_of(const Translation *t, Index relation, uint32 number) {
    if (t->probing) {
        const RangeTblEntry *rte = planner_rt_fetch(relation, t->probing);
        return {rte->rtekind == RTE_RELATION ? rte->relid : InvalidOid, number, rte->inh};
    }
    const int source = find_source(t, relation);
    if (source < 0 || !t->sources[source].is_relation)
        return {InvalidOid, number, false};
    return {t->sources[source].relid, number, t->sources[source].leaves != NIL};
}

TableColumn place_of(const Translation *t, const Var *var) {
    if (var->varno == OUTER_VAR) // (which is no relation of the range table)
        return {InvalidOid, static_cast<uint32>(var->varattno), false};
    return place_of(t, static_cast<Index>(var->varno), static_cast<uint32>(var->varattno));
}

// What a stage computes of its outputs; NULL: it hands it on as it is, or the column is no stage's.
static Expr *computed_by_stage(const Translation *t, int source, const Var *var) {
    const List *columns = t->probing || var->varno == OUTER_VAR ? NIL : t->sources[source].stage_columns;
    return var->varattno > 0 && var->varattno <= list_length(columns)
               ? static_cast<Expr *>(list_nth(columns, var->varattno - 1))
               : nullptr;
}

Expr *seen_through(const Translation *t, Expr *expr) {
    const Var *var = reinterpret_cast<const Var *>(expr);
    const int source = IsA(expr, Var) && !t->probing ? find_source(t, static_cast<Index>(var->varno)) : -1;
    Expr *computed = source < 0 ? nullptr : computed_by_stage(t, source, var);
    return computed != nullptr ? computed : expr;
}

// A column of a subquery whose fragment is a stage: over what that hands on.
static bool translate_computed(Translation *t, int source, Expr *expr, AttrNumber attnum, TypedExpr *out) {
    const int outer = t->stage;
    t->stage = source;
    const bool known = translate(t, expr, out);
    t->stage = outer;
    if (!IsA(expr, Var))
        t->sources[source].computed = bms_add_member(t->sources[source].computed, attnum);
    return known;
}

bool translate_column(Translation *t, Var *var, TypedExpr *out, bool as_stored) {
    if (var->varlevelsup != 0)
        return refuse("a column of an outer query");
    if (var->varattno == InvalidAttrNumber)
        return refuse("a whole row is needed");
    if (var->varattno < 0)
        return refuse("a system column is needed");
    const bool of_stage = var->varno == OUTER_VAR;
    int source = t->probing ? 0 : of_stage ? t->stage : find_source(t, static_cast<Index>(var->varno));
    if (source < 0)
        return refuse("a column of a relation outside of the fragment");
    FragmentColumn column;
    SqlKind kind = SqlKind::None;
    TableColumn place = place_of(t, var);
    if (as_stored)
        place.relid = InvalidOid;
    if (!describe_column(var->vartype, var->vartypmod, var->varcollid, place, &column, &kind))
        return false;
    const TranslatedSource *lost = t->probing ? nullptr : losing_join(t, source);
    if (lost != nullptr)
        return absent_column(lost->join.kind, t, column, out);
    if (Expr *computed = computed_by_stage(t, source, var); computed != nullptr)
        return translate_computed(t, source, computed, var->varattno, out);
    column.output = of_stage ? var->varattno : 0;
    int position = 0;
    bool nullable = true;
    ir::Index node;
    if (t->probing) {
        node = add_expr(t, ir::Op::Column, column.type, 0, 0);
        t->probed = lappend(t->probed, var);
    } else {
        position = find_column(&t->sources[source], var->varattno, column);
        nullable = t->sources[source].columns[position].nullable || is_nulled(t, source);
        if (!column_node(t, source, position, column.type, &node))
            return false;
    }
    node_value(out, kind, column.type, node, nullable);
    out->source = source;
    out->column = position;
    set_scale(column, out);
    return true;
}

ir::Index column_scale(Translation *t, const TypedExpr &value) {
    ir::Index node;
    if (t->probing)
        return add_expr(t, ir::Op::Column, Type::I32, 0, 0);
    TranslatedSource *source = &t->sources[value.source];
    const FragmentColumn column = scale_of(source->columns[value.column]);
    if (!column_node(t, value.source, find_column(source, source->varattnos[value.column], column), Type::I32, &node))
        elog(ERROR, "gpuscan: a numeric without its display scale");
    return node;
}

// (And for the column that says how its values are shown.)
static bool has_room_for_expression(const TranslatedSource *source) {
    uint32 count = 0;
    for (int i = 0; i < source->columns.count; ++i)
        count += source->columns[i].expr != nullptr;
    return count + 1 < max_expressions;
}

bool is_nulled_relation(const Translation *t, Index relation) {
    const int source = t->probing ? -1 : find_source(t, relation);
    return source >= 0 && is_nulled(t, source);
}

bool add_expression_column(Translation *t, Index relation, Expr *expr, TypedExpr *out, bool as_stored) {
    const int source = t->probing ? 0 : find_source(t, relation);
    if (source < 0)
        return false;
    TableColumn place = place_of(t, relation, expression_number(expression_key(expr)));
    Node *value = reinterpret_cast<Node *>(expr);
    FragmentColumn column;
    SqlKind kind = SqlKind::None;
    ir::Index node;
    if (!OidIsValid(place.relid))
        return false;
    if (as_stored)
        place.relid = InvalidOid;
    if (!describe_column(exprType(value), exprTypmod(value), exprCollation(value), place, &column, &kind) ||
        (kind == SqlKind::Opaque) != as_stored)
        return false;
    column.attnum = 0;
    column.nullable = true;
    column.expr = expr;
    if (t->probing) {
        t->probed = lappend(t->probed, column.expr);
        node_value(out, kind, column.type, add_expr(t, ir::Op::Column, column.type, 0, 0), true);
        set_scale(column, out);
        return true;
    }
    if (losing_join(t, source) != nullptr || !has_room_for_expression(&t->sources[source]))
        return false;
    const int position = find_column(&t->sources[source], 0, column);
    if (!column_node(t, source, position, column.type, &node))
        return false;
    node_value(out, kind, column.type, node, true);
    out->source = source;
    out->column = position;
    set_scale(column, out);
    return true;
}

// ---- constants ----

static bool numeric_literal(Datum datum, TypedExpr *out) {
    char *text = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
    int128 value = 0;
    int digits = 0, scale = 0;
    bool negative = *text == '-', point = false;
    for (const char *c = text + (negative ? 1 : 0); *c != '\0'; ++c) {
        if (*c == '.') {
            point = true;
            continue;
        }
        if (*c < '0' || *c > '9')
            return refuse("a numeric constant is NaN or infinite");
        if (__builtin_mul_overflow(value, static_cast<int128>(10), &value) ||
            __builtin_add_overflow(value, static_cast<int128>(*c - '0'), &value))
            return refuse("a numeric constant has more than 38 digits");
        if (value != 0)
            ++digits;
        if (point)
            ++scale;
    }
    pfree(text);
    out->literal_value = negative ? -value : value;
    out->scale = scale;
    out->precision = digits > scale ? digits : scale;
    out->type = numeric_type(out->precision);
    return true;
}

bool translate_const(Translation *t, const Const *constant, TypedExpr *out) {
    SqlKind kind = sql_kind(constant->consttype);
    if (kind == SqlKind::None)
        return refuse("a constant has type %s, which no device knows", format_type_be(constant->consttype));
    *out = TypedExpr{};
    out->kind = kind;
    out->expr = ir::none;
    out->literal = true;
    out->nullable = out->literal_null = constant->constisnull;
    if (kind == SqlKind::Opaque && !constant->constisnull)
        return refuse("a constant has type %s, which a device can only store and deliver",
                      format_type_be(constant->consttype));
    if (is_coded_kind(kind)) {
        out->type = Type::Code;
        if (!constant->constisnull)
            out->text = reinterpret_cast<Expr *>(const_cast<Const *>(constant));
        return true;
    }
    if (kind == SqlKind::Numeric) {
        out->type = Type::I64;
        return constant->constisnull || numeric_literal(constant->constvalue, out);
    }
    out->type = engine_type(kind);
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
    if (constant->constisnull)
        return true;
    switch (out->type) {
    case Type::Bool:
        out->literal_value = DatumGetBool(constant->constvalue) ? 1 : 0;
        break;
    case Type::I16:
        out->literal_value = DatumGetInt16(constant->constvalue);
        break;
    case Type::I32:
        out->literal_value = DatumGetInt32(constant->constvalue);
        break;
    case Type::I64:
        out->literal_value = DatumGetInt64(constant->constvalue);
        break;
    case Type::I128:
        out->literal_value =
            kind == SqlKind::Interval ? interval_value(constant->constvalue) : uuid_value(constant->constvalue);
        break;
    default: { // floats: a node at once
        uint64_t bits = 0;
        if (out->type == Type::F32) {
            float4 value = DatumGetFloat4(constant->constvalue);
            memcpy(&bits, &value, sizeof value);
        } else {
            float8 value = DatumGetFloat8(constant->constvalue);
            memcpy(&bits, &value, sizeof value);
        }
        out->literal = false;
        out->expr = add_constant(t, out->type, static_cast<int128>(bits), false);
    }
    }
    return true;
}

static ir::Index add_late_constant(Translation *t, FragmentConstant constant) {
    ir::Index node = add_constant(t, constant.type, 0, true);
    constant.index = static_cast<int>(t->exprs[static_cast<int>(node)].a);
    append(&t->late_constants, constant);
    return node;
}

bool add_rounded_constant(Translation *t, Expr *expr, Type type, int32 scale, Rounding rounding, ir::Index *node) {
    *node = add_late_constant(t, FragmentConstant{0, expr, NUMERICOID, type, scale, rounding, 0, false});
    return true;
}

// A value that is known when the plan starts: PostgreSQL evaluates it, the program gets it as a constant.
bool translate_late_constant(Translation *t, Expr *expr, TypedExpr *out) {
    Oid typid = exprType(reinterpret_cast<Node *>(expr));
    SqlKind kind = sql_kind(typid);
    if (kind == SqlKind::None)
        return refuse("a parameter has type %s, which no device knows", format_type_be(typid));
    if (kind == SqlKind::Opaque)
        return refuse("a parameter has type %s, which a device can only store and deliver", format_type_be(typid));
    if (is_coded_kind(kind)) {
        *out = TypedExpr{};
        out->kind = kind;
        out->type = Type::Code;
        out->expr = ir::none;
        out->literal = out->nullable = true;
        out->text = expr;
        return true;
    }
    if (kind == SqlKind::Numeric)
        return refuse_with("cast the parameter to numeric(precision, scale)",
                           "a parameter of type numeric, whose scale is not known at plan time");
    Type type = engine_type(kind);
    ir::Index node = add_late_constant(t, FragmentConstant{0, expr, typid, type, 0, Rounding::None, 0, false});
    node_value(out, kind, type, node, true);
    return true;
}

static bool not_constant_walker(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Const:
    case T_Param:
    case T_RelabelType:
    case T_SQLValueFunction:
    case T_CoalesceExpr:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_BoolExpr:
    case T_NullTest:
    case T_BooleanTest:
    case T_ArrayExpr:
    case T_List:
        break;
    case T_MinMaxExpr:
        if (exprType(node) >= FirstNormalObjectId)
            return true;
        break;
    case T_ScalarArrayOpExpr:
        if (reinterpret_cast<ScalarArrayOpExpr *>(node)->opno >= FirstNormalObjectId)
            return true;
        break;
    case T_CoerceViaIO: // by what a user's type prints and reads it might be anything
        if (exprType(node) >= FirstNormalObjectId ||
            exprType(reinterpret_cast<Node *>(reinterpret_cast<CoerceViaIO *>(node)->arg)) >= FirstNormalObjectId)
            return true;
        break;
    case T_FuncExpr:
        if (reinterpret_cast<FuncExpr *>(node)->funcid >= FirstNormalObjectId ||
            reinterpret_cast<FuncExpr *>(node)->funcretset)
            return true;
        break;
    case T_NullIfExpr: // one struct
    case T_DistinctExpr:
    case T_OpExpr:
        if (reinterpret_cast<OpExpr *>(node)->opno >= FirstNormalObjectId)
            return true;
        break;
    default:
        return true;
    }
    return walk_expression(node, not_constant_walker, context);
}

bool is_late_constant(Expr *expr) {
    Node *node = reinterpret_cast<Node *>(expr);
    return !not_constant_walker(node, nullptr) && !contain_volatile_functions(node);
}

bool may_execute(const Translation *t, Oid funcid) {
    const AclResult result = function_aclcheck(funcid, GetUserId());
    if (result == ACLCHECK_OK)
        return true;
    if (t->binding)
        aclcheck_error(result, OBJECT_FUNCTION, get_func_name(funcid));
    return refuse("no privilege to execute %s", format_procedure(funcid));
}

} // namespace gpuscan
