// Expressions over one text column as functions that the device process evaluates itself (engine/store/text_function.hpp).
//
// Taken are functions that look at bytes and characters only: no collation plays a part (translate/lookup.cpp has seen to it that
// they are deterministic), and characters are bytes or those of UTF-8. In other server encodings only what looks at whole
// texts is taken. Small letters and capitals are those of a locale of the C library, in UTF-8; PostgreSQL compares without regard to case
// by lower(), of the text and of the pattern (like.c). Whatever is not in the lists below stays with PostgreSQL's own evaluation.
#include "engine/store/text_function.hpp"
#include "pg/catalog/letter_locale.h"
#include "pg/translate/lookup_key.h"

namespace gpuscan {
namespace {

using text::Op;
using text::Relation;
using text::Step;

constexpr int max_depth = 60; // of the device process's stack
constexpr int max_steps = 2000;
constexpr Size max_added_bytes = 1000;   // by ||, to each text
constexpr Size max_trimmed_bytes = 1000; // a set of characters, each of which is looked for at each place

struct Builder {
    StringInfoData steps, bytes;
    int nsteps;
    int depth;         // of the stack where the next part is built
    bool looks_inside; // of a text, where characters of other encodings would not be what they seem
};

bool add(Builder *b, Op op, int64 first = 0, int64 second = 0, const char *bytes = nullptr, Size length = 0) {
    if (b->nsteps >= max_steps || length > MaxAllocSize / 4)
        return false;
    Step step = {};
    step.op = op;
    step.at = b->bytes.len;
    step.length = length;
    step.a = first;
    step.b = second;
    appendBinaryStringInfo(&b->steps, reinterpret_cast<const char *>(&step), sizeof step);
    if (length > 0)
        appendBinaryStringInfo(&b->bytes, bytes, length);
    ++b->nsteps;
    return true;
}

Expr *without_relabels(Node *node) {
    while (IsA(node, RelabelType))
        node = reinterpret_cast<Node *>(reinterpret_cast<RelabelType *>(node)->arg);
    return reinterpret_cast<Expr *>(node);
}

// A constant that is not NULL.
const Const *constant(void *node) {
    Expr *expr = without_relabels(static_cast<Node *>(node));
    if (!IsA(expr, Const) || reinterpret_cast<Const *>(expr)->constisnull)
        return nullptr;
    return reinterpret_cast<Const *>(expr);
}

bool int_constant(void *node, int64 *value) {
    const Const *c = constant(node);
    if (c == nullptr || c->consttype != INT4OID)
        return false;
    *value = DatumGetInt32(c->constvalue);
    return *value != PG_INT32_MIN; // (whose negation overflows)
}

struct Bytes {
    const char *data;
    Size length;
};

Bytes bytes_of(Datum text, bool is_bpchar) {
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(text);
    int length = VARSIZE_ANY_EXHDR(packed);
    if (is_bpchar)
        length = bpchartruelen(VARDATA_ANY(packed), length);
    return {VARDATA_ANY(packed), static_cast<Size>(length)};
}

bool text_constant(void *node, bool is_bpchar, Bytes *out) {
    const Const *c = constant(node);
    if (c == nullptr || c->constlen != -1)
        return false;
    *out = bytes_of(c->constvalue, is_bpchar);
    return true;
}

bool build_truth(Builder *b, Node *node);

struct Call {
    Oid funcid;
    List *args;
    Oid collation;
};

bool call_of(Node *node, Call *call) {
    if (IsA(node, FuncExpr)) {
        const FuncExpr *function = reinterpret_cast<FuncExpr *>(node);
        *call = {function->funcid, function->args, function->inputcollid};
        return true;
    }
    if (IsA(node, OpExpr)) {
        OpExpr *op = reinterpret_cast<OpExpr *>(node);
        *call = {OidIsValid(op->opfuncid) ? op->opfuncid : get_opcode(op->opno), op->args, op->inputcollid};
        return true;
    }
    return false;
}

// The text on the stack in small letters, or in capitals.
bool add_letters(Builder *b, Op op, Oid collation) {
    const char *const locale = GetDatabaseEncoding() == PG_UTF8 ? letter_locale(collation) : nullptr;
    return locale != nullptr && add(b, op, 0, 0, locale, strlen(locale));
}

bool build_text(Builder *b, Node *from);

bool build_trim(Builder *b, const Call *call, int64 sides) {
    Bytes set = {" ", 1};
    b->looks_inside = true;
    return (list_length(call->args) < 2 || text_constant(lsecond(call->args), false, &set)) &&
           set.length <= max_trimmed_bytes && build_text(b, static_cast<Node *>(linitial(call->args))) &&
           add(b, Op::Trim, sides, 0, set.data, set.length);
}

bool build_field(Builder *b, const Call *call) {
    Bytes separator;
    int64 number;
    b->looks_inside = true;
    return text_constant(lsecond(call->args), false, &separator) && int_constant(lthird(call->args), &number) &&
           number != 0 && build_text(b, static_cast<Node *>(linitial(call->args))) &&
           add(b, Op::Field, number, 0, separator.data, separator.length);
}

bool build_replace(Builder *b, const Call *call) {
    Bytes wanted, by;
    b->looks_inside = true;
    if (!text_constant(lsecond(call->args), false, &wanted) || !text_constant(lthird(call->args), false, &by) ||
        by.length > wanted.length || !build_text(b, static_cast<Node *>(linitial(call->args))))
        return false;
    if (wanted.length == 0)
        return true; // the text as it is
    StringInfoData both;
    initStringInfo(&both);
    appendBinaryStringInfo(&both, wanted.data, wanted.length);
    appendBinaryStringInfo(&both, by.data, by.length);
    return add(b, Op::Replace, wanted.length, 0, both.data, both.len);
}

// With a constant on either side.
bool build_concatenation(Builder *b, const List *args) {
    for (int i = 0; i < 2; ++i) {
        Bytes added;
        if (text_constant(list_nth(args, i), false, &added))
            return added.length <= max_added_bytes && build_text(b, static_cast<Node *>(list_nth(args, 1 - i))) &&
                   add(b, i == 0 ? Op::Prepend : Op::Append, 0, 0, added.data, added.length);
    }
    return false;
}

// A text (the bytes of a value) on the stack.
bool build_text(Builder *b, Node *from) {
    Node *node = reinterpret_cast<Node *>(without_relabels(from));
    if (IsA(node, Var))
        return add(b, Op::Entry);
    Call call;
    if (!call_of(node, &call) || call.args == NIL)
        return false;
    int64 first = 0, second = -1;
    switch (call.funcid) {
    case F_TEXT_BPCHAR:
    case F_RTRIM_TEXT:
        return build_text(b, static_cast<Node *>(linitial(call.args))) && add(b, Op::TrimBlanks);
    case F_SUBSTR_TEXT_INT4_INT4:
    case F_SUBSTRING_TEXT_INT4_INT4:
        if (!int_constant(lthird(call.args), &second) || second < 0)
            return false;
        /* fall through */
    case F_SUBSTR_TEXT_INT4:
    case F_SUBSTRING_TEXT_INT4:
        b->looks_inside = true;
        return int_constant(lsecond(call.args), &first) && build_text(b, static_cast<Node *>(linitial(call.args))) &&
               add(b, Op::Part, first, second);
    case F_LEFT:
    case F_RIGHT:
        b->looks_inside = true;
        return int_constant(lsecond(call.args), &first) && build_text(b, static_cast<Node *>(linitial(call.args))) &&
               add(b, call.funcid == F_LEFT ? Op::First : Op::Last, first);
    case F_LTRIM_TEXT:
    case F_LTRIM_TEXT_TEXT:
        return build_trim(b, &call, 1);
    case F_RTRIM_TEXT_TEXT:
        return build_trim(b, &call, 2);
    case F_BTRIM_TEXT:
    case F_BTRIM_TEXT_TEXT:
        return build_trim(b, &call, 3);
    case F_SPLIT_PART:
        return build_field(b, &call);
    case F_REPLACE:
        return build_replace(b, &call);
    case F_TEXTCAT:
        return build_concatenation(b, call.args);
    case F_LOWER_TEXT:
    case F_UPPER_TEXT:
        return build_text(b, static_cast<Node *>(linitial(call.args))) &&
               add_letters(b, call.funcid == F_LOWER_TEXT ? Op::Lower : Op::Upper, call.collation);
    default:
        return false;
    }
}

bool build_number(Builder *b, Node *node) {
    Call call;
    if (!call_of(reinterpret_cast<Node *>(without_relabels(node)), &call) || call.args == NIL)
        return false;
    Node *argument = static_cast<Node *>(linitial(call.args));
    switch (call.funcid) {
    case F_LENGTH_TEXT:
    case F_CHAR_LENGTH_TEXT:
    case F_CHARACTER_LENGTH_TEXT:
        b->looks_inside = true;
        return build_text(b, argument) && add(b, Op::Length);
    case F_LENGTH_BPCHAR:
    case F_CHAR_LENGTH_BPCHAR:
    case F_CHARACTER_LENGTH_BPCHAR:
        b->looks_inside = true;
        return build_text(b, argument) && add(b, Op::TrimBlanks) && add(b, Op::Length);
    case F_OCTET_LENGTH_TEXT:
    case F_OCTET_LENGTH_BPCHAR:
        return build_text(b, argument) && add(b, Op::Bytes);
    case F_STRPOS:
    case F_POSITION_TEXT_TEXT: {
        Bytes wanted;
        b->looks_inside = true;
        return text_constant(lsecond(call.args), false, &wanted) && build_text(b, argument) &&
               add(b, Op::Position, 0, 0, wanted.data, wanted.length);
    }
    default:
        return false;
    }
}

// Equality with a constant on either side; bpchar without blanks at the end.
bool build_equality(Builder *b, List *args, bool is_bpchar) {
    for (int i = 0; i < 2; ++i) {
        Bytes wanted;
        if (text_constant(list_nth(args, i), is_bpchar, &wanted))
            return build_text(b, static_cast<Node *>(list_nth(args, 1 - i))) &&
                   (!is_bpchar || add(b, Op::TrimBlanks)) && add(b, Op::Equal, 0, 0, wanted.data, wanted.length);
    }
    return false;
}

bool build_like(Builder *b, List *args) {
    Bytes pattern;
    b->looks_inside = true;
    return text_constant(lsecond(args), false, &pattern) && build_text(b, static_cast<Node *>(linitial(args))) &&
           add(b, Op::Like, 0, 0, pattern.data, pattern.length);
}

bool build_ilike(Builder *b, const Call *call) {
    Bytes pattern;
    if (!text_constant(lsecond(call->args), false, &pattern) ||
        !build_text(b, static_cast<Node *>(linitial(call->args))) || !add_letters(b, Op::Lower, call->collation))
        return false;
    const Datum text = PointerGetDatum(cstring_to_text_with_len(pattern.data, static_cast<int>(pattern.length)));
    const Bytes small = bytes_of(DirectFunctionCall1Coll(lower, call->collation, text), false);
    b->looks_inside = true;
    return add(b, Op::Like, 0, 0, small.data, small.length);
}

bool build_comparison(Builder *b, List *args, Relation relation, Relation turned) {
    int64 value;
    if (int_constant(lsecond(args), &value))
        return build_number(b, static_cast<Node *>(linitial(args))) &&
               add(b, Op::Compare, static_cast<int64>(relation), value);
    return int_constant(linitial(args), &value) && build_number(b, static_cast<Node *>(lsecond(args))) &&
           add(b, Op::Compare, static_cast<int64>(turned), value);
}

bool build_call(Builder *b, const Call *call) {
    if (list_length(call->args) != 2)
        return false;
    switch (call->funcid) {
    case F_TEXTLIKE:
    case F_LIKE_TEXT_TEXT:
    case F_BPCHARLIKE:
        return build_like(b, call->args);
    case F_TEXTNLIKE:
    case F_NOTLIKE_TEXT_TEXT:
    case F_BPCHARNLIKE:
        return build_like(b, call->args) && add(b, Op::Not);
    case F_TEXTICLIKE:
    case F_BPCHARICLIKE:
        return build_ilike(b, call);
    case F_TEXTICNLIKE:
    case F_BPCHARICNLIKE:
        return build_ilike(b, call) && add(b, Op::Not);
    case F_TEXTEQ:
        return build_equality(b, call->args, false);
    case F_TEXTNE:
        return build_equality(b, call->args, false) && add(b, Op::Not);
    case F_BPCHAREQ:
        return build_equality(b, call->args, true);
    case F_BPCHARNE:
        return build_equality(b, call->args, true) && add(b, Op::Not);
    case F_STARTS_WITH: {
        Bytes prefix;
        return text_constant(lsecond(call->args), false, &prefix) &&
               build_text(b, static_cast<Node *>(linitial(call->args))) &&
               add(b, Op::StartsWith, 0, 0, prefix.data, prefix.length);
    }
    case F_INT4EQ:
        return build_comparison(b, call->args, Relation::Eq, Relation::Eq);
    case F_INT4NE:
        return build_comparison(b, call->args, Relation::Ne, Relation::Ne);
    case F_INT4LT:
        return build_comparison(b, call->args, Relation::Lt, Relation::Gt);
    case F_INT4LE:
        return build_comparison(b, call->args, Relation::Le, Relation::Ge);
    case F_INT4GT:
        return build_comparison(b, call->args, Relation::Gt, Relation::Lt);
    case F_INT4GE:
        return build_comparison(b, call->args, Relation::Ge, Relation::Le);
    default:
        return false;
    }
}

// IN and NOT IN with constants, at least one and none of them NULL. (Of an empty list even NULL says what it says.)
bool build_list(Builder *b, const ScalarArrayOpExpr *expr) {
    const Oid funcid = OidIsValid(expr->opfuncid) ? expr->opfuncid : get_opcode(expr->opno);
    const bool is_bpchar = funcid == F_BPCHAREQ || funcid == F_BPCHARNE;
    if (expr->useOr ? funcid != F_TEXTEQ && funcid != F_BPCHAREQ : funcid != F_TEXTNE && funcid != F_BPCHARNE)
        return false;
    const Const *array = constant(lsecond(expr->args));
    if (array == nullptr)
        return false;
    ArrayType *values = DatumGetArrayTypeP(array->constvalue);
    int16 length;
    bool by_value;
    char align;
    get_typlenbyvalalign(ARR_ELEMTYPE(values), &length, &by_value, &align);
    if (length != -1)
        return false;
    Datum *texts;
    bool *nulls;
    int count;
    deconstruct_array(values, ARR_ELEMTYPE(values), length, by_value, align, &texts, &nulls, &count);
    if (count == 0)
        return false;
    StringInfoData list;
    initStringInfo(&list);
    for (int i = 0; i < count; ++i) {
        if (nulls[i])
            return false;
        const Bytes text = bytes_of(texts[i], is_bpchar);
        const uint32 size = text.length;
        appendBinaryStringInfo(&list, reinterpret_cast<const char *>(&size), sizeof size);
        appendBinaryStringInfo(&list, text.data, size);
    }
    return build_text(b, static_cast<Node *>(linitial(expr->args))) && (!is_bpchar || add(b, Op::TrimBlanks)) &&
           add(b, Op::OneOf, count, 0, list.data, list.len) && (expr->useOr || add(b, Op::Not));
}

bool build_truths(Builder *b, const BoolExpr *expr) {
    ListCell *cell;
    foreach (cell, expr->args)
        if (b->depth > max_depth || !build_truth(b, static_cast<Node *>(lfirst(cell))))
            return false;
        else
            ++b->depth;
    b->depth -= list_length(expr->args);
    if (expr->boolop == NOT_EXPR)
        return add(b, Op::Not);
    return add(b, expr->boolop == AND_EXPR ? Op::And : Op::Or, list_length(expr->args));
}

bool build_truth(Builder *b, Node *node) {
    switch (nodeTag(node)) {
    case T_BoolExpr:
        return build_truths(b, reinterpret_cast<BoolExpr *>(node));
    case T_ScalarArrayOpExpr:
        return build_list(b, reinterpret_cast<ScalarArrayOpExpr *>(node));
    case T_NullTest: {
        const NullTest *test = reinterpret_cast<NullTest *>(node);
        return !test->argisrow && build_text(b, reinterpret_cast<Node *>(test->arg)) && add(b, Op::IsNull) &&
               (test->nulltesttype == IS_NULL || add(b, Op::Not));
    }
    default: {
        Call call;
        return call_of(node, &call) && build_call(b, &call);
    }
    }
}

} // namespace

bool append_native_function(StringInfo out, const FragmentLookup *lookup) {
    text::Header header = {};
    if (GetDatabaseEncoding() == PG_UTF8)
        header.encoding = text::Encoding::Utf8;
    else
        header.encoding = text::Encoding::SingleByte;
    const bool has_other_characters =
        header.encoding == text::Encoding::SingleByte && pg_database_encoding_max_length() > 1;

    Builder b = {};
    initStringInfo(&b.steps);
    initStringInfo(&b.bytes);
    Node *expr = reinterpret_cast<Node *>(lookup->expr);
    bool built = false;
    if (lookup->kind == LookupKind::Text)
        built = build_text(&b, expr) && (!lookup->is_bpchar || add(&b, Op::TrimBlanks));
    else if (lookup->kind == LookupKind::Function && lookup->type == Type::I32 && lookup->typid == INT4OID)
        built = build_number(&b, expr);
    else if (lookup->kind == LookupKind::Function && lookup->type == Type::Bool)
        built = build_truth(&b, expr);
    if (!built || (b.looks_inside && has_other_characters))
        return false;
    header.nsteps = b.nsteps;
    header.nbytes = b.bytes.len;
    appendBinaryStringInfo(out, reinterpret_cast<const char *>(&header), sizeof header);
    appendBinaryStringInfo(out, b.steps.data, b.steps.len);
    appendBinaryStringInfo(out, b.bytes.data, b.bytes.len);
    return true;
}

} // namespace gpuscan
