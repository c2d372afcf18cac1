// Operators are told by their functions, as in translate_function.cpp: what another operator of the same function means is the same.
#include "pg/pg.h"

#include "pg/catalog/type_operators.h"

namespace gpuscan {
namespace {

// Of a type that devices know (sql_type.h); domains are looked through before.
struct Comparison {
    Oid type;
    Oid less, equal, greater, compare; // functions
    Oid input;                         // the type that the operators are declared for
};

const Comparison comparisons[] = {
    {BOOLOID, F_BOOLLT, F_BOOLEQ, F_BOOLGT, F_BTBOOLCMP, BOOLOID},
    {INT2OID, F_INT2LT, F_INT2EQ, F_INT2GT, F_BTINT2CMP, INT2OID},
    {INT4OID, F_INT4LT, F_INT4EQ, F_INT4GT, F_BTINT4CMP, INT4OID},
    {INT8OID, F_INT8LT, F_INT8EQ, F_INT8GT, F_BTINT8CMP, INT8OID},
    {FLOAT4OID, F_FLOAT4LT, F_FLOAT4EQ, F_FLOAT4GT, F_BTFLOAT4CMP, FLOAT4OID},
    {FLOAT8OID, F_FLOAT8LT, F_FLOAT8EQ, F_FLOAT8GT, F_BTFLOAT8CMP, FLOAT8OID},
    {NUMERICOID, F_NUMERIC_LT, F_NUMERIC_EQ, F_NUMERIC_GT, F_NUMERIC_CMP, NUMERICOID},
    {DATEOID, F_DATE_LT, F_DATE_EQ, F_DATE_GT, F_DATE_CMP, DATEOID},
    {TIMESTAMPOID, F_TIMESTAMP_LT, F_TIMESTAMP_EQ, F_TIMESTAMP_GT, F_TIMESTAMP_CMP, TIMESTAMPOID},
    {TIMESTAMPTZOID, F_TIMESTAMPTZ_LT, F_TIMESTAMPTZ_EQ, F_TIMESTAMPTZ_GT, F_TIMESTAMPTZ_CMP, TIMESTAMPTZOID},
    {TEXTOID, F_TEXT_LT, F_TEXTEQ, F_TEXT_GT, F_BTTEXTCMP, TEXTOID},
    {VARCHAROID, F_TEXT_LT, F_TEXTEQ, F_TEXT_GT, F_BTTEXTCMP, TEXTOID},
    {BPCHAROID, F_BPCHARLT, F_BPCHAREQ, F_BPCHARGT, F_BPCHARCMP, BPCHAROID},
    {MONEYOID, F_CASH_LT, F_CASH_EQ, F_CASH_GT, F_CASH_CMP, MONEYOID},
    {TIMEOID, F_TIME_LT, F_TIME_EQ, F_TIME_GT, F_TIME_CMP, TIMEOID},
    {OIDOID, F_OIDLT, F_OIDEQ, F_OIDGT, F_BTOIDCMP, OIDOID},
    {UUIDOID, F_UUID_LT, F_UUID_EQ, F_UUID_GT, F_UUID_CMP, UUIDOID},
    {INTERVALOID, F_INTERVAL_LT, F_INTERVAL_EQ, F_INTERVAL_GT, F_INTERVAL_CMP, INTERVALOID},
    {BYTEAOID, F_BYTEALT, F_BYTEAEQ, F_BYTEAGT, F_BYTEACMP, BYTEAOID},
    {INETOID, F_NETWORK_LT, F_NETWORK_EQ, F_NETWORK_GT, F_NETWORK_CMP, INETOID},
    {CIDROID, F_NETWORK_LT, F_NETWORK_EQ, F_NETWORK_GT, F_NETWORK_CMP, INETOID},
    {MACADDROID, F_MACADDR_LT, F_MACADDR_EQ, F_MACADDR_GT, F_MACADDR_CMP, MACADDROID},
    {MACADDR8OID, F_MACADDR8_LT, F_MACADDR8_EQ, F_MACADDR8_GT, F_MACADDR8_CMP, MACADDR8OID},
    {TIMETZOID, F_TIMETZ_LT, F_TIMETZ_EQ, F_TIMETZ_GT, F_TIMETZ_CMP, TIMETZOID},
    {ANYENUMOID, F_ENUM_LT, F_ENUM_EQ, F_ENUM_GT, F_ENUM_CMP, ANYENUMOID},
};

const Comparison *comparison_of(Oid typid) {
    Oid type = getBaseType(typid);
    if (type >= FirstNormalObjectId && type_is_enum(type))
        type = ANYENUMOID;
    for (const Comparison &comparison : comparisons)
        if (comparison.type == type)
            return &comparison;
    return nullptr;
}

// (No operator has no function.)
Oid function_of(Oid opno) { return OidIsValid(opno) ? get_opcode(opno) : InvalidOid; }

} // namespace

bool is_device_equality(Oid opno, Oid typid) {
    const Comparison *known = comparison_of(typid);
    return known != nullptr && function_of(opno) == known->equal;
}

Oid device_equality_function(Oid typid) {
    const Comparison *known = comparison_of(typid);
    return known != nullptr ? known->equal : InvalidOid;
}

bool is_device_order(Oid opno, Oid typid, bool *descending) {
    const Comparison *known = comparison_of(typid);
    const Oid function = function_of(opno);
    *descending = known != nullptr && function == known->greater;
    return known != nullptr && (function == known->less || function == known->greater);
}

bool is_device_family(Oid opfamily, Oid typid) {
    const Comparison *known = comparison_of(typid);
    bool descending;
    return known != nullptr &&
           is_device_order(get_opfamily_member(opfamily, known->input, known->input, BTLessStrategyNumber), typid,
                           &descending);
}

bool has_device_equality(Oid typid) {
    return is_device_equality(lookup_type_cache(typid, TYPECACHE_EQ_OPR)->eq_opr, typid);
}

bool has_device_comparison(Oid typid) {
    const Comparison *known = comparison_of(typid);
    return known != nullptr && lookup_type_cache(typid, TYPECACHE_CMP_PROC)->cmp_proc == known->compare;
}

} // namespace gpuscan
