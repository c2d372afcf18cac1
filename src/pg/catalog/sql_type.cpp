// SQL types as the device sees them. Everything here is decided by the type's OID; domains count as their base types.
#include "pg/pg.h"

#include "pg/catalog/sql_type.h"

namespace gpuscan {

static SqlKind builtin_kind(Oid typid) {
    switch (typid) {
    case BOOLOID:
        return SqlKind::Bool;
    case INT2OID:
        return SqlKind::Int2;
    case INT4OID:
        return SqlKind::Int4;
    case INT8OID:
        return SqlKind::Int8;
    case FLOAT4OID:
        return SqlKind::Float4;
    case FLOAT8OID:
        return SqlKind::Float8;
    case NUMERICOID:
        return SqlKind::Numeric;
    case DATEOID:
        return SqlKind::Date;
    case TIMESTAMPOID:
        return SqlKind::Timestamp;
    case TIMESTAMPTZOID:
        return SqlKind::Timestamptz;
    case TEXTOID:
    case VARCHAROID:
        return SqlKind::Text;
    case BPCHAROID:
        return SqlKind::Bpchar;
    case MONEYOID:
        return SqlKind::Money;
    case TIMEOID:
        return SqlKind::Time;
    case OIDOID:
        return SqlKind::Oid;
    case UUIDOID:
        return SqlKind::Uuid;
    case INTERVALOID:
        return SqlKind::Interval;
    case BYTEAOID:
    case INETOID:
    case CIDROID:
    case MACADDROID:
    case MACADDR8OID:
    case TIMETZOID:
        return SqlKind::Bytes;
    default:
        return SqlKind::None;
    }
}

// Whatever stands in a tuple as so many bytes, or with its length, can be handed through.
static SqlKind other_kind(Oid typid) {
    int16 length;
    bool by_value;
    if (type_is_enum(typid))
        return SqlKind::Enum;
    if (get_typtype(typid) == TYPTYPE_PSEUDO)
        return SqlKind::None;
    get_typlenbyval(typid, &length, &by_value);
    return !by_value && (length == -1 || (length > 0 && length <= 256)) ? SqlKind::Opaque : SqlKind::None;
}

SqlKind sql_kind(Oid typid) {
    SqlKind kind = builtin_kind(typid);
    if (kind != SqlKind::None || !OidIsValid(typid))
        return kind;
    Oid base = typid < FirstNormalObjectId ? typid : getBaseType(typid);
    kind = builtin_kind(base);
    return kind != SqlKind::None ? kind : other_kind(base);
}

Type engine_type(SqlKind kind) {
    switch (kind) {
    case SqlKind::Bool:
        return Type::Bool;
    case SqlKind::Int2:
        return Type::I16;
    case SqlKind::Int4:
    case SqlKind::Date:
    case SqlKind::Oid:
    case SqlKind::Enum:
        return Type::I32;
    case SqlKind::Int8:
    case SqlKind::Timestamp:
    case SqlKind::Timestamptz:
    case SqlKind::Money:
    case SqlKind::Time:
        return Type::I64;
    case SqlKind::Uuid:
    case SqlKind::Interval:
        return Type::I128;
    case SqlKind::Float4:
        return Type::F32;
    case SqlKind::Float8:
        return Type::F64;
    case SqlKind::Text:
    case SqlKind::Bpchar:
    case SqlKind::Bytes:
    case SqlKind::Opaque:
        return Type::Code;
    case SqlKind::Numeric:
    case SqlKind::None:
        break;
    }
    elog(ERROR, "gpuscan: kind %d has no engine type of its own", static_cast<int>(kind));
    pg_unreachable();
}

int integer_digits(SqlKind kind) {
    switch (kind) {
    case SqlKind::Int2:
        return 5;
    case SqlKind::Int4:
        return 10;
    default:
        return 19;
    }
}

bool integer_of(Oid type, Datum value, int64 *number) {
    switch (type) {
    case INT2OID:
        *number = DatumGetInt16(value);
        return true;
    case INT4OID:
        *number = DatumGetInt32(value);
        return true;
    case INT8OID:
        *number = DatumGetInt64(value);
        return true;
    default:
        return false;
    }
}

// As numeric.c packs them: precision in the upper half, scale in the lower 11 bits, biased by VARHDRSZ.
bool numeric_typmod(int32 typmod, int *precision, int *scale) {
    if (typmod < static_cast<int32>(VARHDRSZ))
        return false;
    int32 packed = typmod - static_cast<int32>(VARHDRSZ);
    *precision = (packed >> 16) & 0xffff;
    *scale = ((packed & 0x7ff) ^ 1024) - 1024;
    return true;
}

int32 numeric_typmod_of(int precision, int scale) { return ((precision << 16) | scale) + static_cast<int32>(VARHDRSZ); }

Expr *strip_relabels(Expr *expr) {
    while (expr != nullptr && IsA(expr, RelabelType))
        expr = reinterpret_cast<RelabelType *>(expr)->arg;
    return expr;
}

} // namespace gpuscan
