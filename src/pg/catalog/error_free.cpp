#include "pg/pg.h"

#include "pg/catalog/error_free.h"

#include <algorithm>
#include <iterator>

#include "pg/catalog/constant_argument.h"

namespace gpuscan {
namespace {

// A pattern that ends in a lone escape is an error in PostgreSQL for the entries that get that far.
bool like_pattern_is_sound(const char *pattern) {
    for (; *pattern != '\0'; ++pattern)
        if (*pattern == '\\' && *++pattern == '\0')
            return false;
    return true;
}

// Letters, digits, blanks and a little punctuation, '.', each with at most one of * + ?, branches by '|', anchors:
// enough for everyday patterns, and certainly well formed.
bool regex_is_simple(const char *pattern) {
    bool atom = false;
    for (const char *c = pattern; *c != '\0'; ++c) {
        if (*c == '^' && (c == pattern || c[-1] == '|'))
            atom = false;
        else if (*c == '$' && (c[1] == '\0' || c[1] == '|'))
            atom = false;
        else if (*c == '|') {
            if (c == pattern || c[1] == '\0' || c[-1] == '|' || c[-1] == '^')
                return false;
            atom = false;
        } else if (*c == '*' || *c == '+' || *c == '?') {
            if (!atom)
                return false;
            atom = false;
        } else if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                   strchr(" _-,:/#@.", *c) != nullptr)
            atom = true;
        else
            return false;
    }
    return true;
}

bool is_sound(const Const *pattern, bool (*is_text_sound)(const char *)) {
    return pattern != nullptr && is_text_sound(TextDatumGetCString(pattern->constvalue));
}

// A field that every date, or every timestamp, has.
bool is_field(const Const *field, bool of_timestamp) {
    static constexpr const char *of_dates[] = {"year", "month",  "day",     "dow",        "isodow", "doy",    "quarter",
                                               "week", "decade", "century", "millennium", "epoch",  "isoyear"};
    static constexpr const char *of_times[] = {"hour", "minute", "second", "milliseconds", "microseconds"};
    if (field == nullptr)
        return false;
    const char *name = TextDatumGetCString(field->constvalue);
    const auto is_name = [name](const char *known) { return pg_strcasecmp(name, known) == 0; };
    return std::any_of(std::begin(of_dates), std::end(of_dates), is_name) ||
           (of_timestamp && std::any_of(std::begin(of_times), std::end(of_times), is_name));
}

bool are_shown_without_error(const List *args) {
    ListCell *cell;
    foreach (cell, args)
        if (!is_error_free_as_text(exprType(static_cast<const Node *>(lfirst(cell)))))
            return false;
    return true;
}

// ---- of texts ----

// By a collation.
bool compares_texts(Oid function) {
    switch (function) {
    case F_TEXTEQ:
    case F_TEXTNE:
    case F_TEXT_LT:
    case F_TEXT_LE:
    case F_TEXT_GT:
    case F_TEXT_GE:
    case F_BPCHAREQ:
    case F_BPCHARNE:
    case F_BPCHARLT:
    case F_BPCHARLE:
    case F_BPCHARGT:
    case F_BPCHARGE:
        return true;
    default:
        return false;
    }
}

// LIKE and ILIKE.
bool matches_like(Oid function) {
    switch (function) {
    case F_TEXTLIKE:
    case F_TEXTNLIKE:
    case F_LIKE_TEXT_TEXT:
    case F_NOTLIKE_TEXT_TEXT:
    case F_BPCHARLIKE:
    case F_BPCHARNLIKE:
    case F_TEXTICLIKE:
    case F_TEXTICNLIKE:
    case F_BPCHARICLIKE:
    case F_BPCHARICNLIKE:
        return true;
    default:
        return false;
    }
}

// A regular expression.
bool matches_regex(Oid function) {
    switch (function) {
    case F_TEXTREGEXEQ:
    case F_TEXTREGEXNE:
    case F_BPCHARREGEXEQ:
    case F_BPCHARREGEXNE:
    case F_TEXTICREGEXEQ:
    case F_TEXTICREGEXNE:
    case F_BPCHARICREGEXEQ:
    case F_BPCHARICREGEXNE:
    case F_SUBSTRING_TEXT_TEXT:
        return true;
    default:
        return false;
    }
}

// ---- by what they need ----

// No certain arguments.
bool is_total(Oid function) {
    if (compares_texts(function))
        return true;
    switch (function) {
    // conversions that lose nothing
    case F_INT4_INT2:
    case F_INT8_INT2:
    case F_INT8_INT4:
    case F_FLOAT8_INT2:
    case F_FLOAT8_INT4:
    case F_FLOAT8_INT8:
    case F_FLOAT8_FLOAT4:
    case F_TEXT_BPCHAR:
    case F_TEXT_NAME:
    case F_TEXT_CHAR:
    case F_TEXT_BOOL:
    case F_INT4_BOOL:
    case F_BOOL_INT4:
    // bits and signs
    case F_INT2AND:
    case F_INT2OR:
    case F_INT2XOR:
    case F_INT2NOT:
    case F_INT4AND:
    case F_INT4OR:
    case F_INT4XOR:
    case F_INT4NOT:
    case F_INT8AND:
    case F_INT8OR:
    case F_INT8XOR:
    case F_INT8NOT:
    case F_INT2UP:
    case F_INT4UP:
    case F_INT8UP:
    case F_FLOAT4UM:
    case F_FLOAT4ABS:
    case F_ABS_FLOAT4:
    case F_FLOAT8UP:
    case F_FLOAT8UM:
    case F_FLOAT8ABS:
    case F_ABS_FLOAT8:
    case F_SIGN_FLOAT8:
    case F_FLOOR_FLOAT8:
    case F_CEIL_FLOAT8:
    case F_CEILING_FLOAT8:
    case F_ROUND_FLOAT8:
    case F_TRUNC_FLOAT8:
    // times
    case F_TIME_TIMESTAMP:
    case F_INTERVAL_TIME:
    case F_TIME_MI_TIME:
    // texts
    case F_TEXT_PATTERN_LT:
    case F_TEXT_PATTERN_LE:
    case F_TEXT_PATTERN_GT:
    case F_TEXT_PATTERN_GE:
    case F_UPPER_TEXT:
    case F_LOWER_TEXT:
    case F_INITCAP:
    case F_STRPOS:
    case F_POSITION_TEXT_TEXT:
    case F_STARTS_WITH:
    case F_LENGTH_TEXT:
    case F_CHAR_LENGTH_TEXT:
    case F_CHARACTER_LENGTH_TEXT:
    case F_OCTET_LENGTH_TEXT:
    case F_LENGTH_BPCHAR:
    case F_CHAR_LENGTH_BPCHAR:
    case F_CHARACTER_LENGTH_BPCHAR:
    case F_OCTET_LENGTH_BPCHAR:
    case F_LENGTH_BYTEA:
    case F_OCTET_LENGTH_BYTEA:
    case F_LTRIM_TEXT:
    case F_LTRIM_TEXT_TEXT:
    case F_RTRIM_TEXT:
    case F_RTRIM_TEXT_TEXT:
    case F_BTRIM_TEXT:
    case F_BTRIM_TEXT_TEXT:
    case F_LEFT:
    case F_RIGHT:
    case F_REVERSE:
    case F_TRANSLATE:
    case F_SUBSTR_TEXT_INT4:
    case F_SUBSTRING_TEXT_INT4:
    case F_TEXTCAT:
    case F_BYTEACAT:
    case F_QUOTE_LITERAL_TEXT:
    // jsonb and arrays
    case F_JSONB_TYPEOF:
    case F_JSONB_OBJECT_FIELD:
    case F_JSONB_OBJECT_FIELD_TEXT:
    case F_JSONB_ARRAY_ELEMENT:
    case F_JSONB_ARRAY_ELEMENT_TEXT:
    case F_JSONB_EXTRACT_PATH:
    case F_JSONB_EXTRACT_PATH_TEXT:
    case F_JSONB_CONTAINS:
    case F_JSONB_CONTAINED:
    case F_JSONB_EXISTS:
    case F_JSONB_EXISTS_ANY:
    case F_JSONB_EXISTS_ALL:
    case F_CARDINALITY:
    case F_ARRAY_LENGTH:
    case F_ARRAY_NDIMS:
        return true;
    default:
        return false;
    }
}

// Some arguments, which must be constants for that.
bool is_total_over(Oid function, const List *args) {
    if (matches_like(function))
        return is_sound(constant_argument(args, 1), like_pattern_is_sound);
    if (matches_regex(function))
        return is_sound(constant_argument(args, 1), regex_is_simple);
    const Const *flag;
    int64 number;
    switch (function) {
    case F_REPLACE:
        return replaces_by_no_more(args);
    case F_SPLIT_PART: // part 0 is an error
        return integer_argument(args, 2, &number) && number != 0;
    case F_SUBSTR_TEXT_INT4_INT4:
    case F_SUBSTRING_TEXT_INT4_INT4:
        return integer_argument(args, 2, &number) && number >= 0;
    case F_VARCHAR_VARCHAR_INT4_BOOL:
    case F_BPCHAR_BPCHAR_INT4_BOOL: // an explicit cast cuts what is too long
        flag = constant_argument(args, 2);
        return flag != nullptr && DatumGetBool(flag->constvalue);
    case F_INT2DIV:
    case F_INT4DIV:
    case F_INT8DIV:
    case F_INT24DIV:
    case F_INT42DIV:
    case F_INT48DIV:
    case F_INT84DIV:
    case F_INT28DIV:
    case F_INT82DIV: // -1 times the smallest integer is none
        return integer_argument(args, 1, &number) && number != 0 && number != -1;
    case F_INT2MOD:
    case F_INT4MOD:
    case F_INT8MOD:
    case F_MOD_INT2_INT2:
    case F_MOD_INT4_INT4:
    case F_MOD_INT8_INT8:
        return integer_argument(args, 1, &number) && number != 0;
    case F_EXTRACT_TEXT_DATE:
        return is_field(constant_argument(args, 0), false);
    case F_EXTRACT_TEXT_TIMESTAMP:
    case F_DATE_PART_TEXT_TIMESTAMP:
        return is_field(constant_argument(args, 0), true);
    case F_CONCAT:
    case F_CONCAT_WS:
        return are_shown_without_error(args);
    default:
        return false;
    }
}

// Letters change by a locale; and nondeterministic collations know nothing of parts of texts.
bool can_use(Oid collation, Oid function) {
    const bool is_valid = OidIsValid(collation);
    if (compares_texts(function))
        return is_valid;
    if (matches_like(function) || matches_regex(function))
        return is_valid && get_collation_isdeterministic(collation);
    switch (function) {
    case F_UPPER_TEXT:
    case F_LOWER_TEXT:
    case F_INITCAP:
        return is_valid;
    case F_STRPOS:
    case F_POSITION_TEXT_TEXT:
    case F_STARTS_WITH:
    case F_REPLACE:
    case F_SPLIT_PART:
        return is_valid && get_collation_isdeterministic(collation);
    default:
        return true;
    }
}

} // namespace

bool is_error_free_function(Oid function, const List *args, Oid collation) {
    return (is_total(function) || is_total_over(function, args)) && can_use(collation, function);
}

// (A timestamptz may lie outside of the calendar in the session's time zone; what people's types print is theirs.)
bool is_error_free_as_text(Oid type) {
    switch (type) {
    case BOOLOID:
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case OIDOID:
    case FLOAT4OID:
    case FLOAT8OID:
    case NUMERICOID:
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case NAMEOID:
    case DATEOID:
    case TIMESTAMPOID:
    case UUIDOID:
    case JSONBOID:
    case UNKNOWNOID:
        return true;
    default:
        return false;
    }
}

static bool find_raising(Node *node, void *context) {
    if (node == nullptr || walk_expression(node, find_raising, context))
        return node != nullptr;
    Oid function = InvalidOid, collation = InvalidOid;
    const List *args = NIL;
    if (IsA(node, FuncExpr)) {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(node);
        function = call->funcid, collation = call->inputcollid, args = call->args;
    } else if (IsA(node, OpExpr)) {
        const OpExpr *call = reinterpret_cast<const OpExpr *>(node);
        function = get_opcode(call->opno), collation = call->inputcollid, args = call->args;
    }
    if (!OidIsValid(function) || is_error_free_function(function, args, collation))
        return false;
    *static_cast<Oid *>(context) = function;
    return true;
}

const char *name_of_raising_function(Node *expression) {
    Oid function = InvalidOid;
    return find_raising(expression, &function) ? format_procedure(function) : "an expression";
}

} // namespace gpuscan
