// See distinct_bits.h. A device numbers values between their bounds (host/distinct_values.hpp): integers and dates, codes of texts. The bounds
// are those of the column's statistics. Of an expression only its values are counted: what gives few of them (parts of dates, remainders)
// mostly gives small ones.
#include "pg/pg.h"

#include "pg/cost/distinct_bits.h"

#include <algorithm>
#include <cmath>

#include "pg/catalog/sql_type.h"
#include "pg/cost/group_count.h"

namespace gpuscan {
namespace {

constexpr double word_bits = 64;

double number_of(SqlKind kind, Datum value) {
    return kind == SqlKind::Int8   ? static_cast<double>(DatumGetInt64(value))
           : kind == SqlKind::Int2 ? static_cast<double>(DatumGetInt16(value))
                                   : static_cast<double>(DatumGetInt32(value));
}

// HUGE_VAL: there are no statistics.
double span_of_column(PlannerInfo *root, Expr *column, SqlKind kind) {
    VariableStatData statistics;
    examine_variable(root, reinterpret_cast<Node *>(column), 0, &statistics);
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int slot_kind : {STATISTIC_KIND_MCV, STATISTIC_KIND_HISTOGRAM}) {
        AttStatsSlot slot;
        if (!HeapTupleIsValid(statistics.statsTuple) || !statistics.acl_ok ||
            !get_attstatsslot(&slot, statistics.statsTuple, slot_kind, InvalidOid, ATTSTATSSLOT_VALUES))
            continue;
        for (int i = 0; i < slot.nvalues && sql_kind(slot.valuetype) == kind; ++i) {
            least = std::min(least, number_of(kind, slot.values[i]));
            most = std::max(most, number_of(kind, slot.values[i]));
        }
        free_attstatsslot(&slot);
    }
    ReleaseVariableStats(statistics);
    return least <= most ? most - least + 1 : HUGE_VAL;
}

double span_of(PlannerInfo *root, Expr *value, double rows) {
    value = strip_relabels(value);
    const SqlKind kind = sql_kind(exprType(reinterpret_cast<Node *>(value)));
    if (kind == SqlKind::Bool)
        return 2;
    const bool is_number = is_integer_kind(kind) || kind == SqlKind::Date;
    if (is_number && IsA(value, Var))
        return span_of_column(root, value, kind);
    return is_number || is_coded_kind(kind) ? expected_groups(root, list_make1(value), rows) : HUGE_VAL;
}

} // namespace

NotedValues noted_values(PlannerInfo *root, const List *keys, const List *arguments, double rows) {
    double groups = 1, bits = 0; // (with one value more, for NULL)
    ListCell *cell;
    foreach (cell, keys)
        groups *= span_of(root, static_cast<Expr *>(lfirst(cell)), rows) + 1;
    foreach (cell, arguments)
        bits += std::ceil((span_of(root, static_cast<Expr *>(lfirst(cell)), rows) + 1) / word_bits) * word_bits;
    return {groups, groups * bits / 8};
}

} // namespace gpuscan
