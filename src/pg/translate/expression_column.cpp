// Which expressions are columns that nobody has stored yet?
//
// An expression over the columns of one row that no device knows is evaluated by PostgreSQL's own code while pages are brought
// into the cache (feed/expression_pages.cpp), and kept there like any other column: Oracle calls such columns in-memory
// expressions. The largest expression is taken of which the device does not know something; what is around it stays native, and
// what is in it needs no column of its own.
//
// It is evaluated for rows that PostgreSQL would not evaluate it for, and once for all users. So its functions are PostgreSQL's own:
// they show their arguments to nobody, their errors are caught, and nothing decides the value but the row and the settings by
// which the cache knows the column (expression_key).
#include "pg/pg.h"

#include <algorithm>

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {
namespace {

struct ColumnWalk {
    Index relation; // whose columns are read; 0: none yet
};

// Functions that are stable because of settings alone: no clock, no table, no user. They print and read values by time zone, date
// style and locale. One that looks at another setting must not be here before expression_key has that setting.
constexpr Oid by_settings[] = {
    F_DATE_PART_TEXT_TIMESTAMPTZ,
    F_EXTRACT_TEXT_TIMESTAMPTZ,
    F_TIMESTAMPTZ_DATE,
    F_DATE_TIMESTAMPTZ,
    F_TIMESTAMPTZ_PL_INTERVAL,
    F_TIMESTAMPTZ_MI_INTERVAL,
    F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
    F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT,
    F_TIME_TIMESTAMPTZ,
    F_TIMETZ_TIMESTAMPTZ,
    F_TIMESTAMP_TIMESTAMPTZ,
    F_TIMESTAMPTZ_TIMESTAMP,
    F_TO_CHAR_TIMESTAMPTZ_TEXT,
    F_TO_CHAR_TIMESTAMP_TEXT,
    F_TO_CHAR_NUMERIC_TEXT,
    F_TO_CHAR_INT4_TEXT,
    F_TO_CHAR_INT8_TEXT,
    F_TO_CHAR_FLOAT4_TEXT,
    F_TO_CHAR_FLOAT8_TEXT,
    F_TO_CHAR_INTERVAL_TEXT,
    F_TO_NUMBER,
    F_CONCAT,
    F_CONCAT_WS,
    F_FORMAT_TEXT_ANY,
    F_FORMAT_TEXT,
    F_ARRAY_TO_STRING_ANYARRAY_TEXT,
    F_ARRAY_TO_STRING_ANYARRAY_TEXT_TEXT,
    F_TEXTANYCAT,
    F_ANYTEXTCAT,
    F_DATE_OUT,
    F_TIMESTAMP_OUT,
    F_TIMESTAMPTZ_OUT,
    F_INTERVAL_OUT,
    F_CASH_OUT,
    F_ARRAY_OUT,
    F_DATE_LT_TIMESTAMPTZ,
    F_DATE_LE_TIMESTAMPTZ,
    F_DATE_EQ_TIMESTAMPTZ,
    F_DATE_GT_TIMESTAMPTZ,
    F_DATE_GE_TIMESTAMPTZ,
    F_DATE_NE_TIMESTAMPTZ,
    F_TIMESTAMPTZ_LT_DATE,
    F_TIMESTAMPTZ_LE_DATE,
    F_TIMESTAMPTZ_EQ_DATE,
    F_TIMESTAMPTZ_GT_DATE,
    F_TIMESTAMPTZ_GE_DATE,
    F_TIMESTAMPTZ_NE_DATE,
    F_TO_JSON,
    F_TO_JSONB,
    F_JSON_BUILD_OBJECT_ANY,
    F_JSON_BUILD_ARRAY_ANY,
    F_JSONB_BUILD_OBJECT_ANY,
    F_JSONB_BUILD_ARRAY_ANY,
};

// Functions that are immutable by their word only: they read catalogs, may call users' functions, write in the client's encoding, know
// the timeline, or send messages, which show what they read and which every query of such a row has to send.
constexpr Oid immutable_by_word[] = {
    F_SATISFIES_HASH_PARTITION,
    F_PG_INDEXAM_PROGRESS_PHASENAME,
    F_BTVARSTREQUALIMAGE,
    F_JSON_SEND,
    F_JSONB_SEND,
    F_JSONPATH_SEND,
    F_TSVECTORSEND,
    F_TSQUERYSEND,
    F_UNKNOWNSEND,
    F_PG_WALFILE_NAME,
    F_PG_WALFILE_NAME_OFFSET,
    F_TSQUERYIN,
    F_XML_IS_WELL_FORMED_CONTENT,
    F_XML_IS_WELL_FORMED_DOCUMENT,
};

template <size_t N> bool is_one_of(const Oid (&functions)[N], Oid funcid) {
    return std::find(std::begin(functions), std::end(functions), funcid) != std::end(functions);
}

// In C, and not in SQL, which would run a plan.
bool is_internal(Oid funcid) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
    if (!HeapTupleIsValid(tuple))
        return false;
    const bool internal = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == INTERNALlanguageId;
    ReleaseSysCache(tuple);
    return internal;
}

// A user's function could show what it sees, or look at anything; a stable one at the clock or a table.
bool is_unfit_function(Oid funcid, void *) {
    if (funcid >= FirstGenbkiObjectId || !is_internal(funcid))
        return true;
    const char volatility = func_volatile(funcid);
    return volatility == PROVOLATILE_IMMUTABLE ? is_one_of(immutable_by_word, funcid)
                                               : volatility != PROVOLATILE_STABLE || !is_one_of(by_settings, funcid);
}

// Whatever is made of such a value depends on the catalogs: to_tsvector on a configuration, text on a table's name. (Or sends messages: xml.)
bool is_unfit_type(Oid type) {
    switch (type) {
    case XMLOID:
    case ACLITEMOID:
    case REGPROCOID:
    case REGPROCEDUREOID:
    case REGOPEROID:
    case REGOPERATOROID:
    case REGCLASSOID:
    case REGCOLLATIONOID:
    case REGTYPEOID:
    case REGROLEOID:
    case REGNAMESPACEOID:
    case REGCONFIGOID:
    case REGDICTIONARYOID:
        return true;
    default:
        return false;
    }
}

} // namespace

// PostgreSQL's functions of any type call those of the type: its output, and what its default operator classes say, which anybody may
// make for a type that has none of its own (varchar, json).
bool is_foreign_type(Oid type) {
    type = getBaseType(type);
    if (type >= FirstGenbkiObjectId || is_unfit_type(type) || type_is_rowtype(type)) // (a catalog's rows name objects)
        return true;
    const TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_CMP_PROC | TYPECACHE_HASH_PROC);
    if (entry->eq_opr >= FirstGenbkiObjectId || entry->cmp_proc >= FirstGenbkiObjectId ||
        entry->hash_proc >= FirstGenbkiObjectId)
        return true;
    const Oid element = get_element_type(type);
    return OidIsValid(element) && is_foreign_type(element);
}

namespace {

bool has_foreign_type(Node *node) {
    return !IsA(node, List) && !IsA(node, CaseWhen) && is_foreign_type(exprType(node));
}

bool note_relation(const Var *var, ColumnWalk *walk) {
    if (var->varlevelsup != 0 || var->varattno <= 0 || IS_SPECIAL_VARNO(var->varno) ||
        (walk->relation != 0 && walk->relation != static_cast<Index>(var->varno)))
        return false;
    walk->relation = static_cast<Index>(var->varno);
    return true;
}

bool is_no_column(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var:
        if (!note_relation(reinterpret_cast<Var *>(node), static_cast<ColumnWalk *>(context)))
            return true;
        break;
    case T_FuncExpr:
        if (reinterpret_cast<FuncExpr *>(node)->funcretset)
            return true;
        break;
    case T_NullTest:
        if (reinterpret_cast<NullTest *>(node)->argisrow)
            return true;
        break;
    case T_SubscriptingRef: { // an element or a slice; its type's own code finds it
        const SubscriptingRef *subscript = reinterpret_cast<SubscriptingRef *>(node);
        if (subscript->refassgnexpr != nullptr || is_foreign_type(subscript->refcontainertype))
            return true;
        break;
    }
    case T_Const:
    case T_RelabelType:
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
    case T_ScalarArrayOpExpr:
    case T_BoolExpr:
    case T_BooleanTest:
    case T_CaseExpr:
    case T_CaseWhen:
    case T_CaseTestExpr:
    case T_CoalesceExpr:
    case T_MinMaxExpr:
    case T_CoerceViaIO:
    case T_ArrayExpr:
    case T_ArrayCoerceExpr:
    case T_List:
        break;
    default:
        return true;
    }
    return has_foreign_type(node) || check_functions_in_node(node, is_unfit_function, nullptr) ||
           walk_expression(node, is_no_column, context);
}

struct Permission {
    const Translation *t;
    bool granted;
};

bool may_not_execute(Oid funcid, void *context) {
    Permission *permission = static_cast<Permission *>(context);
    permission->granted = permission->granted && may_execute(permission->t, funcid);
    return false;
}

bool ask_permission(Node *node, void *context) {
    if (node == nullptr)
        return false;
    check_functions_in_node(node, may_not_execute, context);
    return walk_expression(node, ask_permission, context);
}

bool may_execute_all(const Translation *t, Expr *expr) {
    Permission permission{t, true};
    ask_permission(reinterpret_cast<Node *>(expr), &permission);
    return permission.granted;
}

// Does ANALYZE say that the column's values become more as the table grows (pg_statistic.stadistinct)?
bool values_grow(Oid relid, AttrNumber column, bool inherited) {
    HeapTuple tuple =
        SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(column), BoolGetDatum(inherited));
    if (!HeapTupleIsValid(tuple))
        return false;
    const bool grow = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(tuple))->stadistinct < 0;
    ReleaseSysCache(tuple);
    return grow;
}

// Their results are as long as 16 significant digits (a float's 15) ask for, so that no scale holds the most of them ...
constexpr Oid long_results[] = {
    F_NUMERIC_DIV,           F_SQRT_NUMERIC,        F_NUMERIC_SQRT,   F_EXP_NUMERIC,
    F_NUMERIC_EXP,           F_LN_NUMERIC,          F_NUMERIC_LN,     F_LOG_NUMERIC,
    F_LOG10_NUMERIC,         F_LOG_NUMERIC_NUMERIC, F_NUMERIC_LOG,    F_NUMERIC_POWER,
    F_POWER_NUMERIC_NUMERIC, F_POW_NUMERIC_NUMERIC, F_NUMERIC_FLOAT4, F_NUMERIC_FLOAT8,
};
// ... but what these leave of them.
constexpr Oid rounding[] = {
    F_ROUND_NUMERIC,   F_ROUND_NUMERIC_INT4, F_TRUNC_NUMERIC,     F_TRUNC_NUMERIC_INT4,   F_CEIL_NUMERIC,
    F_CEILING_NUMERIC, F_FLOOR_NUMERIC,      F_NUMERIC_DIV_TRUNC, F_NUMERIC_NUMERIC_INT4,
};

bool has_long_results(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, OpExpr) || IsA(node, FuncExpr)) {
        const Oid function =
            IsA(node, OpExpr) ? reinterpret_cast<OpExpr *>(node)->opfuncid : reinterpret_cast<FuncExpr *>(node)->funcid;
        if (exprType(node) != NUMERICOID || is_one_of(rounding, function))
            return false;
        if (is_one_of(long_results, function))
            return true;
    }
    return walk_expression(node, has_long_results, context);
}

// Of a numeric that has no form nobody guesses the form of what is made of it.
bool reads_formless_numeric(Node *node, void *context) {
    const Translation *t = static_cast<const Translation *>(context);
    if (node == nullptr)
        return false;
    if (!IsA(node, Var))
        return walk_expression(node, reads_formless_numeric, context);
    const Var *var = reinterpret_cast<const Var *>(node);
    FragmentColumn column;
    SqlKind kind = SqlKind::None;
    return getBaseType(var->vartype) == NUMERICOID &&
           (!describe_column(var->vartype, var->vartypmod, var->varcollid, place_of(t, var), &column, &kind) ||
            kind == SqlKind::Opaque);
}

bool can_guess_form(const Translation *t, Node *node) {
    return !has_long_results(node, nullptr) && !reads_formless_numeric(node, const_cast<Translation *>(t));
}

// A document is seldom the same as another one, and where no two texts are, a function of each is one of each row.
bool reads_different_values(Node *node, void *context) {
    const Translation *t = static_cast<const Translation *>(context);
    if (node == nullptr)
        return false;
    if (!IsA(node, Var))
        return walk_expression(node, reads_different_values, context);
    const Var *var = reinterpret_cast<const Var *>(node);
    if (sql_kind(var->vartype) == SqlKind::Opaque)
        return true;
    const TableColumn place = place_of(t, var);
    return OidIsValid(place.relid) && values_grow(place.relid, var->varattno, place.inherited);
}

} // namespace

bool is_column_expression(Expr *expr, Index *relation) {
    Node *node = reinterpret_cast<Node *>(expr);
    ColumnWalk walk{0};
    if (IsA(expr, Var) || IsA(expr, Const) || is_no_column(node, &walk) || walk.relation == 0)
        return false;
    *relation = walk.relation;
    return true;
}

// Of a row that an outer join adds the column is NULL. The expression may be something else of its columns' NULLs.
static bool is_column_here(const Translation *t, Expr *expr, Index *relation) {
    return is_column_expression(expr, relation) &&
           !(is_nulled_relation(t, *relation) && contain_nonstrict_functions(reinterpret_cast<Node *>(expr)));
}

bool is_better_a_column(const Translation *t, Expr *expr) {
    Index relation;
    return reads_different_values(reinterpret_cast<Node *>(expr), const_cast<Translation *>(t)) &&
           is_column_here(t, expr, &relation);
}

bool translate_expression_column(Translation *t, Expr *expr, TypedExpr *out) {
    Node *node = reinterpret_cast<Node *>(expr);
    Index relation;
    return is_column_here(t, expr, &relation) && may_execute_all(t, expr) &&
           (!is_bare_numeric(expr) || can_guess_form(t, node)) && add_expression_column(t, relation, expr, out);
}

bool translate_stored_expression(Translation *t, Expr *expr, TypedExpr *out) {
    Index relation;
    return is_column_here(t, expr, &relation) && may_execute_all(t, expr) &&
           add_expression_column(t, relation, expr, out, true);
}

// (Where an outer join adds a row, the column is NULL, and so is the expression, or it is none here.)
bool translate_presence(Translation *t, Expr *expr, TypedExpr *out) {
    NullTest *test = makeNode(NullTest);
    test->arg = expr;
    test->nulltesttype = IS_NOT_NULL;
    test->location = -1;
    Index relation;
    if (!is_column_here(t, expr, &relation) || !may_execute_all(t, expr) ||
        !add_expression_column(t, relation, reinterpret_cast<Expr *>(test), out))
        return false;
    bool_value(out,
               add_expr(t, ir::Op::Case, Type::Bool, out->expr, add_constant(t, Type::Bool, 1, false),
                        add_constant(t, Type::Bool, 0, true)),
               true);
    return true;
}

} // namespace gpuscan
