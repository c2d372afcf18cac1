// Datums to the engine's values and back.
//
// A numeric's digits are private to numeric.c, but they are a disk format (the device decodes them from heap pages as
// well), so they are read here as they are stored: a 16-bit header with sign, display scale and weight (short form) or
// header and weight (long form), then base-10000 digits. They are written in the same form.
#include "pg/catalog/encode.h"

extern "C" {}

namespace gpuscan {
namespace {

constexpr uint16 numeric_kind = 0xC000, numeric_negative = 0x4000, numeric_short = 0x8000, numeric_special = 0xC000,
                 numeric_special_kind = 0xF000, numeric_minus_infinity = 0xF000;

constexpr int max_shown_scale = 63; // as the decoders say
constexpr int numeric_short_max_scale = 63;

struct NumericParts {
    uint16 special; // 0; or NaN, Infinity, -Infinity
    bool negative;
    int dscale, weight, ndigits;
    const char *digits; // int16 each, not aligned
};

int digit_at(const NumericParts *parts, int i) {
    int16 digit;
    memcpy(&digit, parts->digits + i * sizeof(int16), sizeof digit);
    return digit;
}

bool read_parts(const struct varlena *value, NumericParts *parts, const char **reason) {
    const char *data = VARDATA_ANY(value);
    int size = VARSIZE_ANY_EXHDR(value);
    uint16 header;
    if (size < static_cast<int>(sizeof header)) {
        *reason = "a numeric value is damaged";
        return false;
    }
    memcpy(&header, data, sizeof header);
    int header_size = sizeof header;
    *parts = NumericParts{};
    if ((header & numeric_kind) == numeric_special) {
        parts->special = header & numeric_special_kind;
        return true;
    }
    if ((header & numeric_kind) == numeric_short) {
        parts->negative = (header & 0x2000) != 0;
        parts->dscale = (header & 0x1F80) >> 7;
        parts->weight = (header & 0x0040 ? ~0x3F : 0) | (header & 0x003F);
    } else {
        int16 weight;
        parts->negative = (header & numeric_kind) == numeric_negative;
        parts->dscale = header & 0x3FFF;
        memcpy(&weight, data + sizeof header, sizeof weight);
        parts->weight = weight;
        header_size += sizeof weight;
    }
    parts->ndigits = (size - header_size) / static_cast<int>(sizeof(int16));
    parts->digits = data + header_size;
    return true;
}

bool multiply_add(int128 *value, int factor, int digit) {
    return !__builtin_mul_overflow(*value, static_cast<int128>(factor), value) &&
           !__builtin_add_overflow(*value, static_cast<int128>(digit), value);
}

// The digits' value times 10^scale, exactly.
bool scale_digits(const NumericParts *parts, int32 scale, int128 *to) {
    int128 value = 0;
    int left = scale; // decimal places still to come after the digit last taken
    for (int i = 0; i < parts->ndigits || parts->weight >= i; ++i) {
        int digit = i < parts->ndigits ? digit_at(parts, i) : 0;
        if (i <= parts->weight) {
            if (!multiply_add(&value, 10000, digit))
                return false;
            continue;
        }
        // The first fractional digit may lie further right: -weight-1 groups of zeros come before it.
        if (i == 0)
            left -= 4 * (-parts->weight - 1);
        if (left >= 4) {
            if (!multiply_add(&value, 10000, digit))
                return false;
        } else {
            static const int powers[] = {1, 10, 100, 1000};
            int kept = left > 0 ? left : 0;
            int cut = kept == 0 ? 10000 : powers[4 - kept];
            if (digit % cut != 0) // more decimals than the target has
                return false;
            if (!multiply_add(&value, powers[kept], digit / cut))
                return false;
        }
        left -= 4;
    }
    for (; left > 0 && value != 0; --left)
        if (!multiply_add(&value, 10, 0))
            return false;
    *to = parts->negative ? -value : value;
    return true;
}

// The digits' value times 10^scale without its fraction, at most `limit`, which counts as exact.
int128 cut_digits(const NumericParts *parts, int32 scale, int128 limit, bool *exact) {
    static const int powers[] = {1, 10, 100, 1000, 10000};
    const int full = scale / 4, rest = scale % 4; // base-10000 digits after the point, and decimal ones of the next
    int128 value = 0;
    *exact = true;
    for (int i = 0; i < parts->ndigits || i <= parts->weight + full + (rest > 0 ? 1 : 0); ++i) {
        int digit = i < parts->ndigits ? digit_at(parts, i) : 0;
        int kept = i <= parts->weight + full ? 4 : i == parts->weight + full + 1 ? rest : 0;
        if (digit % powers[4 - kept] != 0)
            *exact = false;
        if (kept > 0 && !multiply_add(&value, powers[kept], digit / powers[4 - kept])) {
            *exact = true;
            return limit;
        }
    }
    if (value > limit)
        *exact = true;
    return value > limit ? limit : value;
}

int128 round_parts(const NumericParts *parts, int32 scale, Rounding rounding, int128 limit) {
    bool exact;
    int128 value = cut_digits(parts, scale, limit, &exact);
    if (parts->negative)
        value = -value;
    if (exact)
        return value;
    switch (rounding) {
    case Rounding::Up:
        return parts->negative || value == limit ? value : value + 1;
    case Rounding::Down:
        return !parts->negative || value == -limit ? value : value - 1;
    default:
        return limit;
    }
}

} // namespace

bool encode_rounded(Datum value, Type type, int32 scale, Rounding rounding, ir::Value *to, const char **reason) {
    int128 limit = 1; // no number of so many digits reaches it
    for (int i = 0; i < (type == Type::I64 ? 18 : 38); ++i)
        limit *= 10;
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
    NumericParts parts;
    bool encoded = read_parts(packed, &parts, reason);
    if (encoded && parts.special != 0)
        set_wide(to, parts.special == numeric_minus_infinity ? -limit : limit);
    else if (encoded)
        set_wide(to, round_parts(&parts, scale, rounding, limit));
    if (reinterpret_cast<Pointer>(packed) != DatumGetPointer(value))
        pfree(packed);
    return encoded;
}

bool digits_of_numeric(Datum value, int *whole, int *scale) {
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
    NumericParts parts;
    const char *reason;
    const bool finite = read_parts(packed, &parts, &reason) && parts.special == 0;
    *scale = parts.dscale;
    *whole = finite && parts.ndigits > 0 && parts.weight >= 0 ? 4 * parts.weight : 0;
    for (int first = *whole > 0 || (finite && parts.weight == 0 && parts.ndigits > 0) ? digit_at(&parts, 0) : 0;
         first > 0; first /= 10)
        ++*whole;
    if (reinterpret_cast<Pointer>(packed) != DatumGetPointer(value))
        pfree(packed);
    return finite;
}

bool encode_numeric(Datum value, int32 scale, bool exact_scale, int128 *to, const char **reason) {
    struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
    NumericParts parts;
    bool encoded = read_parts(packed, &parts, reason);
    if (encoded && parts.special != 0) {
        *reason = "a numeric value is NaN or infinite";
        encoded = false;
    }
    if (encoded && exact_scale && parts.dscale != scale) {
        *reason = "a numeric value has another scale than its column";
        encoded = false;
    }
    if (encoded && !scale_digits(&parts, scale, to)) {
        *reason = "a numeric value does not fit the device's type";
        encoded = false;
    }
    if (reinterpret_cast<Pointer>(packed) != DatumGetPointer(value))
        pfree(packed);
    return encoded;
}

int128 uuid_value(Datum value) {
    uint128 number = 0;
    for (int i = 0; i < UUID_LEN; ++i)
        number = number << 8 | DatumGetUUIDP(value)->data[i];
    return static_cast<int128>(number ^ static_cast<uint128>(1) << 127);
}

void write_uuid(int128 value, char *to) {
    uint128 number = static_cast<uint128>(value) ^ static_cast<uint128>(1) << 127;
    for (int i = UUID_LEN; i-- > 0; number >>= 8)
        to[i] = static_cast<char>(number);
}

int128 interval_value(Datum value) {
    int128 fields;
    memcpy(&fields, DatumGetIntervalP(value), sizeof fields);
    return fields;
}

void write_interval(int128 value, char *to) { memcpy(to, &value, sizeof(Interval)); }

bool encode_value(Datum value, Oid typid, Type type, int32 scale, bool exact_scale, ir::Value *to,
                  const char **reason) {
    int128 integer = 0;
    switch (typid) {
    case BOOLOID:
        integer = DatumGetBool(value) ? 1 : 0;
        break;
    case INT2OID:
        integer = DatumGetInt16(value);
        break;
    case INT4OID:
    case DATEOID:
        integer = DatumGetInt32(value);
        break;
    case INT8OID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
    case MONEYOID:
    case TIMEOID:
        integer = DatumGetInt64(value);
        break;
    case OIDOID: // as a column has it
        integer = type == Type::I32 ? static_cast<int32>(DatumGetObjectId(value)) : int128(DatumGetObjectId(value));
        break;
    case UUIDOID:
        integer = uuid_value(value);
        break;
    case INTERVALOID:
        integer = interval_value(value);
        break;
    case FLOAT4OID:
    case FLOAT8OID: {
        uint64 bits = 0;
        if (type == Type::F32) {
            float4 number = typid == FLOAT4OID ? DatumGetFloat4(value) : static_cast<float4>(DatumGetFloat8(value));
            memcpy(&bits, &number, sizeof number);
        } else {
            float8 number = typid == FLOAT4OID ? DatumGetFloat4(value) : DatumGetFloat8(value);
            memcpy(&bits, &number, sizeof number);
        }
        to->low = bits;
        to->high = 0;
        return true;
    }
    case NUMERICOID:
        if (!encode_numeric(value, scale, exact_scale, &integer, reason))
            return false;
        break;
    default:
        if (getBaseType(typid) != typid) // a domain
            return encode_value(value, getBaseType(typid), type, scale, exact_scale, to, reason);
        if (type_is_enum(typid))
            return encode_value(value, OIDOID, type, scale, exact_scale, to, reason);
        *reason = psprintf("values of type %s are unknown to the device", format_type_be(typid));
        return false;
    }
    bool fits = true;
    switch (type) {
    case Type::Bool:
    case Type::I128:
        break;
    case Type::I16:
        fits = integer == static_cast<int16>(integer);
        break;
    case Type::I32:
        fits = integer == static_cast<int32>(integer);
        break;
    case Type::I64:
        fits = integer == static_cast<int64>(integer);
        break;
    default:
        *reason = "a value has another type than the device expects";
        return false;
    }
    if (!fits)
        *reason = "a value does not fit the device's type";
    set_wide(to, integer);
    return fits;
}

bool encode_column(Datum value, const FragmentColumn *column, ir::Value *to, const char **reason) {
    if (column->rounding != Rounding::None)
        return encode_rounded(value, column->type, column->scale, column->rounding, to, reason);
    int whole, scale;
    if (column->codec == Codec::NumericScale) {
        if (digits_of_numeric(value, &whole, &scale) && scale <= max_shown_scale) {
            set_wide(to, scale);
            return true;
        }
        *reason = "a numeric value is NaN, infinite or shown with too many decimals";
        return false;
    }
    if (column->digits > 0 && digits_of_numeric(value, &whole, &scale) && whole + column->scale > column->digits) {
        *reason = "a numeric value has more digits than its column's statistics say";
        return false;
    }
    return encode_value(value, column->typid, column->type, column->scale, column->codec != Codec::MixedNumeric, to,
                        reason);
}

void store_value(char *to, Type type, const ir::Value *value) {
    if (type == Type::I128) {
        memcpy(to, &value->low, sizeof value->low);
        memcpy(to + sizeof value->low, &value->high, sizeof value->high);
    } else {
        memcpy(to, &value->low, type_width(type)); // little-endian
    }
}

namespace {

// Base-10000 digits from the right.
int take_digits(uint64 left, int16 *digits, int count) {
    for (; left > 0; left /= 10000)
        digits[count++] = static_cast<int16>(left % 10000);
    return count;
}

// A digit that is fractional only in part stands at the right; 128-bit divisions only where they must be.
template <uint32 power, class Unsigned> Unsigned cut(Unsigned left, int16 *digit) {
    *digit = static_cast<int16>(static_cast<uint32>(left % power) * (10000 / power));
    return left / power;
}

template <class Unsigned> Unsigned take_part(Unsigned left, int part, int16 *digit) {
    return part == 1 ? cut<10>(left, digit) : part == 2 ? cut<100>(left, digit) : cut<1000>(left, digit);
}

} // namespace

// As make_result() in numeric.c: no zero digits at either end, the short form where the scale that is shown is small enough for it (the
// weight is).
void write_numeric(int128 value, int32 scale, int32 shown, char *to) {
    constexpr uint64 four_digits = 10000000000000000;
    int16 digits[16];
    uint128 left = value < 0 ? -static_cast<uint128>(value) : static_cast<uint128>(value);
    const int part = scale % 4;
    int count = part > 0 ? 1 : 0, first = 0, weight = 0;

    if (left <= UINT64_MAX) {
        uint64 small = static_cast<uint64>(left);
        count = take_digits(part > 0 ? take_part(small, part, digits) : small, digits, count);
    } else {
        if (part > 0)
            left = take_part(left, part, digits);
        for (; left > UINT64_MAX; left /= four_digits) {
            const int end = count + 4;
            count = take_digits(static_cast<uint64>(left % four_digits), digits, count);
            while (count < end)
                digits[count++] = 0;
        }
        count = take_digits(static_cast<uint64>(left), digits, count);
    }
    while (count > 0 && digits[count - 1] == 0)
        --count;
    while (first < count && digits[first] == 0)
        ++first;
    if (first < count)
        weight = count - 1 - (scale + 3) / 4;
    const int ndigits = count - first;

    uint16 header[2];
    Size header_size = sizeof header;
    if (shown <= numeric_short_max_scale) {
        header[0] = static_cast<uint16>(numeric_short | (value < 0 ? 0x2000 : 0) | (shown << 7) | (weight & 0x7F));
        header_size = sizeof header[0];
    } else {
        header[0] = static_cast<uint16>((value < 0 ? numeric_negative : 0) | shown);
        header[1] = static_cast<uint16>(weight);
    }
    SET_VARSIZE(to, VARHDRSZ + header_size + static_cast<Size>(ndigits) * sizeof(int16));
    memcpy(VARDATA(to), header, header_size);
    char *at = VARDATA(to) + header_size;
    for (int i = count - 1; i >= first; --i, at += sizeof(int16))
        memcpy(at, &digits[i], sizeof(int16));
}

Datum make_numeric(int128 value, int32 scale) {
    if (scale < 0 || scale > 60)
        elog(ERROR, "gpuscan: numeric scale %d is out of range", scale);
    char *numeric = static_cast<char *>(palloc(numeric_room));
    write_numeric(value, scale, scale, numeric);
    return PointerGetDatum(numeric);
}

Datum with_scale(Datum numeric, int32 scale, int32 shown) {
    return shown == scale ? numeric : DirectFunctionCall2(numeric_round, numeric, Int32GetDatum(shown));
}

double float_of_value(Type type, const ir::Value *value) {
    float8 wide_number;
    float4 number;
    if (type == Type::F64) {
        memcpy(&wide_number, &value->low, sizeof wide_number);
        return wide_number;
    }
    memcpy(&number, &value->low, sizeof number);
    return number;
}

Datum make_value(Oid typid, Type type, int32 scale, const ir::Value *value) {
    switch (typid) {
    case BOOLOID:
        return BoolGetDatum(value->low != 0);
    case INT2OID:
        return Int16GetDatum(static_cast<int16>(value->low));
    case INT4OID:
    case DATEOID:
        return Int32GetDatum(static_cast<int32>(value->low));
    case INT8OID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
    case MONEYOID:
    case TIMEOID:
        return Int64GetDatum(static_cast<int64>(value->low));
    case UUIDOID: {
        char *uuid = static_cast<char *>(palloc(UUID_LEN));
        write_uuid(wide(value), uuid);
        return PointerGetDatum(uuid);
    }
    case INTERVALOID: {
        char *interval = static_cast<char *>(palloc(sizeof(Interval)));
        write_interval(wide(value), interval);
        return PointerGetDatum(interval);
    }
    case OIDOID:
        return ObjectIdGetDatum(static_cast<Oid>(value->low));
    case FLOAT4OID:
        return Float4GetDatum(static_cast<float4>(float_of_value(type, value)));
    case FLOAT8OID:
        if (is_integer(type)) // a whole number, as a group key
            return Float8GetDatum(static_cast<float8>(static_cast<int64>(value->low)));
        return Float8GetDatum(float_of_value(type, value));
    case NUMERICOID:
        return make_numeric(wide(value), scale);
    default:
        if (getBaseType(typid) != typid) // a domain
            return make_value(getBaseType(typid), type, scale, value);
        if (type_is_enum(typid))
            return ObjectIdGetDatum(static_cast<Oid>(value->low));
        elog(ERROR, "gpuscan: type %u of a result with engine type %d", typid, static_cast<int>(type));
    }
    return 0; // not reached
}

} // namespace gpuscan
