#include "pg/pg.h"

#include "pg/catalog/expression_text.h"

#include <algorithm>
#include <iterator>

namespace gpuscan {

// Of all nodes that translate/lookup.cpp and translate/expression_column.cpp let through.
static bool forget_places(Node *node, void *context) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_Var: { // of one relation, whatever its number in the query is
        Var *var = reinterpret_cast<Var *>(node);
        var->location = -1;
        var->varno = 1;
        var->varnosyn = 0;
        var->varattnosyn = 0;
        take_nulling_joins(var, nullptr);
        break;
    }
    case T_Const:
        reinterpret_cast<Const *>(node)->location = -1;
        break;
    case T_RelabelType:
        reinterpret_cast<RelabelType *>(node)->location = -1;
        break;
    case T_FuncExpr:
        reinterpret_cast<FuncExpr *>(node)->location = -1;
        break;
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
        reinterpret_cast<OpExpr *>(node)->location = -1;
        break;
    case T_ScalarArrayOpExpr:
        reinterpret_cast<ScalarArrayOpExpr *>(node)->location = -1;
        break;
    case T_ArrayExpr:
        reinterpret_cast<ArrayExpr *>(node)->location = -1;
        break;
    case T_BoolExpr:
        reinterpret_cast<BoolExpr *>(node)->location = -1;
        break;
    case T_NullTest:
        reinterpret_cast<NullTest *>(node)->location = -1;
        break;
    case T_BooleanTest:
        reinterpret_cast<BooleanTest *>(node)->location = -1;
        break;
    case T_CoalesceExpr:
        reinterpret_cast<CoalesceExpr *>(node)->location = -1;
        break;
    case T_CaseExpr:
        reinterpret_cast<CaseExpr *>(node)->location = -1;
        break;
    case T_CaseWhen:
        reinterpret_cast<CaseWhen *>(node)->location = -1;
        break;
    case T_MinMaxExpr:
        reinterpret_cast<MinMaxExpr *>(node)->location = -1;
        break;
    case T_CoerceViaIO:
        reinterpret_cast<CoerceViaIO *>(node)->location = -1;
        break;
    case T_ArrayCoerceExpr:
        reinterpret_cast<ArrayCoerceExpr *>(node)->location = -1;
        break;
    default:
        break;
    }
    return walk_expression(node, forget_places, context);
}

static char *expression_text(const Expr *expr) {
    Node *copy = reinterpret_cast<Node *>(copyObject(const_cast<Expr *>(expr)));
    forget_places(copy, nullptr);
    return nodeToString(copy);
}

// What functions of values depend on that are immutable by their word: how floats, bytea and names are written, what an
// abbreviation of a time zone stands for.
static const char *const settings_of_all[] = {"extra_float_digits", "bytea_output", "quote_all_identifiers",
                                              "timezone_abbreviations"};
// What the stable ones of columns depend on (by_settings in translate/expression_column.cpp), and these, which call themselves
// immutable.
static const Oid by_settings_of_stable[] = {
    F_AGE_TIMESTAMPTZ_TIMESTAMPTZ, F_JSONB_PATH_EXISTS,      F_JSONB_PATH_EXISTS_OPR, F_JSONB_PATH_MATCH,
    F_JSONB_PATH_MATCH_OPR,        F_JSONB_PATH_QUERY_ARRAY, F_JSONB_PATH_QUERY_FIRST};
static const char *const settings_of_stable[] = {"TimeZone",    "DateStyle",  "IntervalStyle",
                                                 "lc_monetary", "lc_numeric", "lc_time"};

static void append_setting(StringInfo key, const char *name) {
    appendStringInfo(key, "\n%s=%s", name, GetConfigOption(name, false, false));
}

static bool is_by_settings_of_stable(Oid funcid, void *) {
    return std::find(std::begin(by_settings_of_stable), std::end(by_settings_of_stable), funcid) !=
           std::end(by_settings_of_stable);
}

static bool calls_by_settings_of_stable(Node *node, void *) {
    return node != nullptr && (check_functions_in_node(node, is_by_settings_of_stable, nullptr) ||
                               walk_expression(node, calls_by_settings_of_stable, nullptr));
}

char *expression_key(const Expr *expr) {
    StringInfoData key;
    initStringInfo(&key);
    Node *node = reinterpret_cast<Node *>(const_cast<Expr *>(expr));
    appendStringInfoString(&key, expression_text(expr));
    for (const char *name : settings_of_all)
        append_setting(&key, name);
    if (contain_mutable_functions(node) || calls_by_settings_of_stable(node, nullptr))
        for (const char *name : settings_of_stable)
            append_setting(&key, name);
    return key.data;
}

uint32 expression_number(const char *key) {
    return hash_bytes(reinterpret_cast<const unsigned char *>(key), static_cast<int>(strlen(key))) |
           UINT32_C(0x80000000);
}

} // namespace gpuscan
