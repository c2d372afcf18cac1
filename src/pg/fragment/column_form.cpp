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

int32 typmod_of_numeric(int precision, int32 scale) {
    return static_cast<int32>(VARHDRSZ) + (precision << 16 | (scale & 0x7ff));
}

bool describe_column(Oid type, int32 typmod, Oid collation, const TableColumn &place, FragmentColumn *column,
                     SqlKind *described) {
    *column = FragmentColumn{};
    column->typmod = typmod;
    column->typid = getBaseTypeAndTypmod(type, &column->typmod);
    column->collation = collation;
    SqlKind kind = sql_kind(column->typid);
    if (kind == SqlKind::None)
        return refuse("a column has type %s, which no device knows", format_type_be(type));
    int precision, scale;
    NumericForm form{};
    const bool is_scaled = kind == SqlKind::Numeric && numeric_typmod(column->typmod, &precision, &scale) &&
                           precision <= max_precision && scale >= 0 && scale <= max_precision;
    if (is_scaled && OidIsValid(place.relid) && has_unfit_numeric(place)) {
        kind = SqlKind::Opaque;
    } else if (kind == SqlKind::Numeric && !is_scaled) {
        if (OidIsValid(place.relid) && find_numeric_form(place, column->typmod, &form)) {
            column->digits = precision = form.precision;
            scale = form.scale;
            column->typmod = typmod_of_numeric(precision, scale);
            column->tied = form.tied;
            column->misfits = form.misfits;
        } else {
            kind = SqlKind::Opaque;
        }
    } else if (kind == SqlKind::Bpchar && column->typmod < static_cast<int32>(VARHDRSZ)) {
        kind = SqlKind::Opaque; // equal ones may end in any number of blanks
    }
    *described = kind;
    column->codec = codec_of(kind);
    if (is_coded_kind(kind))
        column->codec = get_typlen(column->typid) > 0 ? Codec::Fixed : Codec::Text;
    if (kind == SqlKind::Numeric) {
        column->codec = form.mixed ? Codec::MixedNumeric : Codec::Numeric;
        column->type = numeric_type(precision);
        column->scale = scale;
        return true;
    }
    column->type = engine_type(kind);
    if (is_text_kind(kind)) {
        if (!OidIsValid(column->collation) || !get_collation_isdeterministic(column->collation))
            return refuse_with("give the column a deterministic collation",
                               "a text column has a nondeterministic collation");
    }
    return true;
}

FragmentColumn scale_of(const FragmentColumn &column) {
    FragmentColumn scale = column;
    scale.codec = Codec::NumericScale;
    scale.type = Type::I32;
    return scale;
}

uint32 column_number(const FragmentColumn *column) {
    return column->expr != nullptr ? expression_number(expression_key(column->expr))
                                   : static_cast<uint32>(column->attnum);
}

} // namespace gpuscan
