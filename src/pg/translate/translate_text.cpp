// Texts that are not simply the codes of a column: what an expression makes of one column, texts that are known when the
// plan starts, the arms of a CASE, and two columns side by side.
//
// Every column has a dictionary of its own, so the codes of two columns say nothing about each other, and two entries of
// one dictionary may become the same text. A *unified dictionary* numbers texts anew, for one execution (exec/unified_dictionary.cpp):
// equal texts have equal codes in it. Lookups lead from a column's codes into a unified dictionary, and constants get their codes in it
// when the program is sent. Wherever texts of two unified dictionaries meet, the unified dictionaries become one; nothing has been numbered
// yet then.
//
// Only bytes are compared, so every collation must be deterministic. For char(n) trailing blanks are left out.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

bool is_sound_collation(Oid collation) { return OidIsValid(collation) && get_collation_isdeterministic(collation); }

int new_unified_dictionary(Translation *t) { return append(&t->unified_dictionaries, 0) + 1; }

int unified_root(const Translation *t, int unified) {
    while (unified != 0 && t->unified_dictionaries[unified - 1] != 0)
        unified = t->unified_dictionaries[unified - 1];
    return unified;
}

static void merge_unified_dictionaries(Translation *t, int a, int b) {
    a = unified_root(t, a);
    b = unified_root(t, b);
    if (a != b)
        t->unified_dictionaries[b - 1] = a;
}

// An entry of the column itself, as lookups read it.
static Expr *entry_itself(const Translation *t, const TypedExpr &column) {
    const FragmentColumn *described = t->probing ? nullptr : &t->sources[column.source].columns[column.column];
    return reinterpret_cast<Expr *>(makeVar(1, 1, described != nullptr ? described->typid : TEXTOID,
                                            described != nullptr ? described->typmod : -1,
                                            described != nullptr ? described->collation : DEFAULT_COLLATION_OID, 0));
}

bool as_unified_node(Translation *t, const TypedExpr &value, int unified, bool is_bpchar, ir::Index *out) {
    if (value.literal && value.text == nullptr) { // NULL
        *out = add_constant(t, Type::Code, 0, true);
        return true;
    }
    if (value.text != nullptr) {
        *out = add_constant(t, Type::Code, 0, true);
        FragmentConstant constant{};
        constant.index = static_cast<int>(t->exprs[static_cast<int>(*out)].a);
        constant.expr = value.text;
        constant.typid = exprType(reinterpret_cast<Node *>(value.text));
        constant.type = Type::Code;
        constant.unified = unified;
        constant.is_bpchar = is_bpchar;
        append(&t->late_constants, constant);
        return true;
    }
    if (value.unified != 0) {
        if (is_bpchar)
            return refuse("a comparison of an expression of type character");
        merge_unified_dictionaries(t, unified, value.unified);
        *out = value.expr;
        return true;
    }
    if (t->exprs[static_cast<int>(value.expr)].type != Type::Code)
        return refuse("a text that is no code");
    TypedExpr text;
    add_text_lookup(t, value, entry_itself(t, value), is_bpchar, unified, &text);
    *out = text.expr;
    return true;
}

bool make_text_node(Translation *t, TypedExpr *value) {
    if (!value->literal || !is_coded_kind(value->kind))
        return true;
    int unified = new_unified_dictionary(t);
    if (!as_unified_node(t, *value, unified, false, &value->expr))
        return false;
    value->text = nullptr;
    value->literal = false;
    value->unified = unified;
    return true;
}

bool translate_text_comparison(Translation *t, ir::Op op, const TypedExpr &a, const TypedExpr &b, TypedExpr *out) {
    if (op != ir::Op::Eq && op != ir::Op::Ne)
        return refuse("the order of two texts");
    const bool is_bpchar = a.kind == SqlKind::Bpchar;
    const int unified = new_unified_dictionary(t);
    ir::Index left, right;
    if (!as_unified_node(t, a, unified, is_bpchar, &left) || !as_unified_node(t, b, unified, is_bpchar, &right))
        return false;
    bool_value(out, add_expr(t, op, Type::Bool, left, right), a.nullable || b.nullable);
    return true;
}

} // namespace gpuscan
