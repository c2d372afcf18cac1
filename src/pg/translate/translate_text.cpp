// Texts that are not simply the codes of a column: what an expression makes of one column, texts that are known when the
// plan starts, the arms of a CASE, and two columns side by side.
//
// Every column has a dictionary of its own, so the codes of two columns say nothing about each other, and two entries of
// one dictionary may become the same text. A *space* numbers texts anew, for one execution (exec/text_space.cpp): equal
// texts have equal codes in it. Lookups lead from a column's codes into a space, and constants get their codes in it when
// the program is sent. Wherever texts of two spaces meet, the spaces become one; nothing has been numbered yet then.
//
// Only bytes are compared, so every collation must be deterministic. For char(n) trailing blanks are left out.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

bool is_sound_collation(Oid collation) { return OidIsValid(collation) && get_collation_isdeterministic(collation); }

int new_space(Translation *t) { return append(&t->spaces, 0) + 1; }

int space_root(const Translation *t, int space) {
    while (space != 0 && t->spaces[space - 1] != 0)
        space = t->spaces[space - 1];
    return space;
}

static void join_spaces(Translation *t, int a, int b) {
    a = space_root(t, a);
    b = space_root(t, b);
    if (a != b)
        t->spaces[b - 1] = a;
}

// An entry of the column itself, as lookups read it.
static Expr *entry_itself(const Translation *t, const Value &column) {
    const FragmentColumn *described = t->probing ? nullptr : &t->sources[column.source].columns[column.column];
    return reinterpret_cast<Expr *>(makeVar(1, 1, described != nullptr ? described->typid : TEXTOID,
                                            described != nullptr ? described->typmod : -1,
                                            described != nullptr ? described->collation : DEFAULT_COLLATION_OID, 0));
}

bool as_space_node(Translation *t, const Value &value, int space, bool is_bpchar, ir::Index *out) {
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
        constant.space = space;
        constant.is_bpchar = is_bpchar;
        append(&t->late_constants, constant);
        return true;
    }
    if (value.space != 0) {
        if (is_bpchar)
            return refuse("a comparison of an expression of type character");
        join_spaces(t, space, value.space);
        *out = value.expr;
        return true;
    }
    if (t->exprs[static_cast<int>(value.expr)].type != Type::Code)
        return refuse("a text that is no code");
    Value text;
    add_text_lookup(t, value, entry_itself(t, value), is_bpchar, space, &text);
    *out = text.expr;
    return true;
}

bool settle_text(Translation *t, Value *value) {
    if (!value->literal || !is_coded_kind(value->kind))
        return true;
    int space = new_space(t);
    if (!as_space_node(t, *value, space, false, &value->expr))
        return false;
    value->text = nullptr;
    value->literal = false;
    value->space = space;
    return true;
}

bool translate_text_comparison(Translation *t, ir::Op op, const Value &a, const Value &b, Value *out) {
    if (op != ir::Op::Eq && op != ir::Op::Ne)
        return refuse("the order of two texts");
    const bool is_bpchar = a.kind == SqlKind::Bpchar;
    const int space = new_space(t);
    ir::Index left, right;
    if (!as_space_node(t, a, space, is_bpchar, &left) || !as_space_node(t, b, space, is_bpchar, &right))
        return false;
    bool_value(out, add_expr(t, op, Type::Bool, left, right), a.nullable || b.nullable);
    return true;
}

} // namespace gpuscan
