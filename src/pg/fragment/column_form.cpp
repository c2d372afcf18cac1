#include "pg/pg.h"

#include "pg/fragment/column_form.h"

#include "pg/catalog/expression_text.h"
#include "pg/refusal.h"

namespace gpuscan {

static Codec codec_of(SqlKind kind) {
    switch (kind) {
    case SqlKind::Bool:
        return Codec::Bool;
    case SqlKind::Int2:
        return Codec::Int16;
    case SqlKind::Int4:
    case SqlKind::Date:
    case SqlKind::Oid:
    case SqlKind::Enum:
        return Codec::Int32;
    case SqlKind::Float4:
        return Codec::Float4;
    case SqlKind::Float8:
        return Codec::Float8;
    case SqlKind::Numeric:
        return Codec::Numeric;
    case SqlKind::Text:
    case SqlKind::Bpchar:
        return Codec::Text;
    case SqlKind::Uuid:
        return Codec::Uuid;
    case SqlKind::Interval:
        return Codec::Interval;
    default:
        return Codec::Int64;
    }
}

bool describe_column(Oid type, int32 typmod, Oid collation, FragmentColumn *column, SqlKind *described) {
    *column = FragmentColumn{};
    column->typmod = typmod;
    column->typid = getBaseTypeAndTypmod(type, &column->typmod);
    column->collation = collation;
    SqlKind kind = sql_kind(column->typid);
    if (kind == SqlKind::None)
        return refuse("a column has type %s, which no device knows", format_type_be(type));
    int precision, scale;
    const bool has_scale = numeric_typmod(column->typmod, &precision, &scale);
    if (kind == SqlKind::Numeric && !has_scale)
        kind = SqlKind::Opaque; // any scale, and NaN
    *described = kind;
    column->codec = codec_of(kind);
    if (is_coded_kind(kind))
        column->codec = get_typlen(column->typid) > 0 ? Codec::Fixed : Codec::Text;
    if (kind == SqlKind::Numeric) {
        if (precision > 36 || scale < 0 || scale > 36)
            return refuse("a column has type %s, which does not fit into 128 bits",
                          format_type_with_typemod(column->typid, column->typmod));
        column->type = numeric_type(precision);
        column->scale = scale;
        return true;
    }
    column->type = engine_type(kind);
    if (is_text_kind(kind)) {
        if (!OidIsValid(column->collation) || !get_collation_isdeterministic(column->collation))
            return refuse_with("give the column a deterministic collation",
                               "a text column has a nondeterministic collation");
        if (kind == SqlKind::Bpchar && column->typmod < static_cast<int32>(VARHDRSZ))
            return refuse_with("declare the column as text, or as character with a length",
                               "a column has type character without a length");
    }
    return true;
}

uint32 column_number(const FragmentColumn *column) {
    return column->expr != nullptr ? expression_number(expression_key(column->expr))
                                   : static_cast<uint32>(column->attnum);
}

} // namespace gpuscan
