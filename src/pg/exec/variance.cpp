// Variances and standard deviations of integers and numerics, bit for bit PostgreSQL's.
//
// For these types PostgreSQL keeps exact sums of x and of x * x in a structure that only numeric.c knows; how many digits a
// variance and its root are computed with is decided there as well. But the structure has a form in which parallel workers
// hand it over: count, both sums, and what a moving aggregate needs. The device's sums are written in that form, and
// PostgreSQL's own functions make the structure and the result of it.
#include "pg/exec/variance.h"

#include "pg/catalog/encode.h"

namespace gpuscan {
namespace {

// As numericvar_serialize(): digits, weight, sign, scale, then the digits. numeric_send has the same, in 16 bits each.
void put_sum(StringInfo to, Datum sum, int32 scale, int32 shown) {
    bytea *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send, with_scale(sum, scale, shown)));
    StringInfoData from;
    initStringInfo(&from);
    appendBinaryStringInfo(&from, VARDATA_ANY(sent), static_cast<int>(VARSIZE_ANY_EXHDR(sent)));
    const int32 digits = static_cast<int16>(pq_getmsgint(&from, 2));
    pq_sendint32(to, static_cast<uint32>(digits));
    pq_sendint32(to, static_cast<uint32>(static_cast<int32>(static_cast<int16>(pq_getmsgint(&from, 2)))));
    pq_sendint32(to, pq_getmsgint(&from, 2));
    pq_sendint32(to, pq_getmsgint(&from, 2));
    for (int32 i = 0; i < digits; ++i)
        pq_sendint16(to, static_cast<uint16>(pq_getmsgint(&from, 2)));
    pfree(from.data);
}

bytea *serialized(int64 count, Datum sum, Datum squares, int32 scale, int32 shown) {
    StringInfoData state;
    pq_begintypsend(&state);
    pq_sendint64(&state, static_cast<uint64>(count));
    put_sum(&state, sum, scale, shown);
    put_sum(&state, squares, 2 * scale, 2 * shown);
    pq_sendint32(&state, static_cast<uint32>(shown)); // largest scale, and how many values have it
    pq_sendint64(&state, static_cast<uint64>(count));
    for (int special = 0; special < 3; ++special) // NaN and both infinities
        pq_sendint64(&state, 0);
    return pq_endtypsend(&state);
}

// Functions of internal states want to be called by an aggregation; which one it is they do not ask.
Datum call_in_aggregation(PGFunction function, Datum argument, bool *null) {
    WindowAggState aggregation;
    memset(static_cast<void *>(&aggregation), 0, sizeof aggregation);
    aggregation.ss.ps.type = T_WindowAggState;
    aggregation.curaggcontext = CurrentMemoryContext;
    LOCAL_FCINFO(call, 2);
    InitFunctionCallInfoData(*call, nullptr, 2, InvalidOid, reinterpret_cast<Node *>(&aggregation), nullptr);
    call->args[0].value = argument;
    call->args[0].isnull = false;
    call->args[1].value = 0; // numeric_deserialize has a second argument that says nothing
    call->args[1].isnull = false;
    const Datum result = function(call);
    *null = call->isnull;
    return result;
}

PGFunction final_function(OutputKind kind) {
    switch (kind) {
    case OutputKind::VarPop:
        return numeric_var_pop;
    case OutputKind::VarSamp:
        return numeric_var_samp;
    case OutputKind::StddevPop:
        return numeric_stddev_pop;
    default:
        return numeric_stddev_samp;
    }
}

} // namespace

Datum variance_of(OutputKind kind, int64 count, Datum sum, Datum squares, int32 scale, int32 shown, bool *null) {
    const Datum state =
        call_in_aggregation(numeric_deserialize, PointerGetDatum(serialized(count, sum, squares, scale, shown)), null);
    return call_in_aggregation(final_function(kind), state, null);
}

} // namespace gpuscan
