// See column_draws.h.
#include "pg/pg.h"

#include "pg/cost/column_draws.h"

#include <algorithm>
#include <cmath>

#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

constexpr int most_common_values = 100; // that are drawn
constexpr double in_order = 0.9;        // the least correlation that says something of a single row

// (An index may keep its values as another type.)
void read_slot_of(ColumnDraws *draws, int kind, int flags, AttStatsSlot *slot) {
    if (get_attstatsslot(slot, draws->statistics.statsTuple, kind, InvalidOid, flags) &&
        getBaseType(slot->valuetype) != getBaseType(draws->column->vartype))
        slot->nvalues = 0;
}

int last_bound(const ColumnDraws *draws) { return draws->histogram.nvalues - 1; }

// A time is a whole number, too: of days, or of microseconds.
bool whole_number(Oid type, Datum value, int64 *number) {
    if (type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID)
        return integer_of(type, value, number);
    *number = type == DATEOID ? DatumGetDateADT(value) : DatumGetTimestamp(value);
    return true;
}

// With as many digits after the point as the bounds have.
Datum numeric_between(Datum from, Datum to, double part) {
    const int32 digits = std::max(DatumGetInt32(DirectFunctionCall1(numeric_scale, from)),
                                  DatumGetInt32(DirectFunctionCall1(numeric_scale, to)));
    const Datum whole = DirectFunctionCall2(numeric_sub, to, from),
                distance =
                    DirectFunctionCall2(numeric_mul, whole, DirectFunctionCall1(float8_numeric, Float8GetDatum(part)));
    return DirectFunctionCall2(numeric_round, DirectFunctionCall2(numeric_add, from, distance), Int32GetDatum(digits));
}

// Between two bounds, so far from the first one, 0 to 1. False: not of this type.
bool value_between(Oid type, Datum from, Datum to, double part, Datum *value) {
    int64 low = 0, high = 0;
    if (type == FLOAT8OID) {
        *value = Float8GetDatum(DatumGetFloat8(from) * (1 - part) + DatumGetFloat8(to) * part);
        return true;
    }
    if (type == NUMERICOID) {
        *value = numeric_between(from, to, part);
        return true;
    }
    if (!whole_number(type, from, &low) || !whole_number(type, to, &high))
        return false;
    const __int128 wide = low + static_cast<__int128>(part * (static_cast<double>(high) - static_cast<double>(low)));
    const int64 between = static_cast<int64>(std::min<__int128>(wide, high));
    if (get_typlen(type) == sizeof(int64))
        *value = Int64GetDatum(between);
    else
        *value = get_typlen(type) == sizeof(int32) ? Int32GetDatum(static_cast<int32>(between))
                                                   : Int16GetDatum(static_cast<int16>(between));
    return true;
}

bool value_at(const ColumnDraws *draws, double position, Datum *value) {
    const AttStatsSlot *slot = &draws->histogram;
    const int step = std::min(static_cast<int>(position), last_bound(draws) - 1);
    return value_between(getBaseType(slot->valuetype), slot->values[step], slot->values[step + 1], position - step,
                         value);
}

// The next one of the histogram's bounds. False: they have all been drawn.
bool next_bound(ColumnDraws *draws, pg_prng_state *random, Datum *value) {
    const int n = draws->histogram.nvalues;
    if (draws->bounds == nullptr) {
        draws->bounds = static_cast<int *>(palloc(sizeof(int) * static_cast<Size>(n)));
        for (int i = 0; i < n; ++i)
            draws->bounds[i] = i;
    }
    if (draws->taken == n)
        return false;
    std::swap(
        draws->bounds[draws->taken],
        draws->bounds[pg_prng_uint64_range(random, static_cast<uint64>(draws->taken), static_cast<uint64>(n - 1))]);
    *value = draws->histogram.values[draws->bounds[draws->taken++]];
    return true;
}

// The share of the rows from whose values the histogram has been made, and that may be drawn.
double histogram_share(const ColumnDraws *draws) {
    if (draws->histogram.nvalues == 0)
        return 0;
    double share = 1 - draws->null_share;
    for (int i = 0; i < draws->common.nvalues && i < most_common_values; ++i)
        share -= draws->common.numbers[i];
    return std::max(share, 0.0) * drawn_part(draws);
}

double correlation_of(const ColumnDraws *draws) {
    AttStatsSlot slot{};
    if (!get_attstatsslot(&slot, draws->statistics.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
                          ATTSTATSSLOT_NUMBERS))
        return 0;
    return slot.nnumbers > 0 ? static_cast<double>(slot.numbers[0]) : 0;
}

// From a place in the order of the rows to one in the order of the values, or back. If ranks x and y are the same but for a random number
// between -a and a, their correlation is 1 - 6 E (x - y)^2 = 1 - 2 a^2.
double along_order(const ColumnDraws *draws, pg_prng_state *random, double place) {
    const double most = std::sqrt(std::max(1 - std::abs(draws->order), 0.0) / 2),
                 moved = std::abs((draws->order < 0 ? 1 - place : place) + (2 * pg_prng_double(random) - 1) * most);
    return moved > 1 ? 2 - moved : moved;
}

double draw_position(const ColumnDraws *draws, pg_prng_state *random, double *place) {
    const bool follows = std::abs(draws->order) >= in_order;
    if (follows && *place >= 0)
        return along_order(draws, random, *place) * last_bound(draws);
    const double position = draws->from + pg_prng_double(random) * (draws->to - draws->from);
    if (follows)
        *place = along_order(draws, random, position / last_bound(draws));
    return position;
}

} // namespace

bool examine_column(PlannerInfo *root, Var *column, ColumnDraws *draws) {
    bool is_default;
    draws->column = column;
    examine_variable(root, reinterpret_cast<Node *>(column), 0, &draws->statistics);
    draws->distinct = get_variable_numdistinct(&draws->statistics, &is_default);
    return HeapTupleIsValid(draws->statistics.statsTuple) && draws->statistics.acl_ok;
}

TupleDesc row_of(const ColumnDraws *columns, int ncolumns) {
    TupleDesc descriptor = CreateTemplateTupleDesc(ncolumns);
    for (int i = 0; i < ncolumns; ++i) {
        int32 typmod = columns[i].column->vartypmod;
        const Oid type = getBaseTypeAndTypmod(columns[i].column->vartype, &typmod);
        TupleDescInitEntry(descriptor, static_cast<AttrNumber>(i + 1), nullptr, type, typmod, 0);
    }
    return descriptor;
}

void read_statistics(ColumnDraws *draws) {
    draws->null_share = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(draws->statistics.statsTuple))->stanullfrac;
    draws->order = correlation_of(draws);
    read_slot_of(draws, STATISTIC_KIND_MCV, ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, &draws->common);
    read_slot_of(draws, STATISTIC_KIND_HISTOGRAM, ATTSTATSSLOT_VALUES, &draws->histogram);
    if (draws->histogram.nvalues < 2)
        draws->histogram.nvalues = 0;
    draws->has_values = draws->common.nvalues > 0 || draws->histogram.nvalues > 0 || draws->null_share >= 1;
    draws->bounds = nullptr;
    draws->taken = 0;
    draws->from = 0;
    draws->to = std::max(last_bound(draws), 0);
}

double drawn_part(const ColumnDraws *draws) {
    return draws->histogram.nvalues > 0 ? (draws->to - draws->from) / last_bound(draws) : 1;
}

bool draw_from_histogram(ColumnDraws *draws, pg_prng_state *random, double *place, Datum *value) {
    return value_at(draws, draw_position(draws, random, place), value) || next_bound(draws, random, value);
}

bool draw_value(ColumnDraws *draws, pg_prng_state *random, double *place, Datum *value, bool *is_null) {
    const int common = std::min(draws->common.nvalues, most_common_values);
    double all = draws->null_share + histogram_share(draws);
    for (int i = 0; i < common; ++i)
        all += draws->common.numbers[i];
    double at = pg_prng_double(random) * all - draws->null_share;
    *is_null = at < 0 || draws->null_share >= 1;
    if (*is_null)
        return true;
    for (int i = 0; i < common; at -= draws->common.numbers[i], ++i)
        if (at < draws->common.numbers[i] || (i == common - 1 && draws->histogram.nvalues == 0)) {
            *value = draws->common.values[i];
            return true;
        }
    return draw_from_histogram(draws, random, place, value);
}

void narrow(ColumnDraws *draws, bool (*passes)(void *context, Datum value), void *context) {
    constexpr int looks = 100, halvings = 20;
    const Datum *bounds = draws->histogram.values;
    const int all = last_bound(draws), step = std::max(all / looks, 1);
    int first = 0, last = all;
    Datum value;
    if (draws->histogram.nvalues == 0 || !value_at(draws, 0, &value))
        return;
    while (first <= all && !passes(context, bounds[first]))
        first += step;
    while (last > first && !passes(context, bounds[last]))
        last -= step;
    if (first > last)
        return; // where between two bounds, nobody knows
    const auto end = [&](double inside, double outside) {
        for (int i = 0; i < halvings; ++i) {
            const double middle = (inside + outside) / 2;
            value_at(draws, middle, &value);
            (passes(context, value) ? inside : outside) = middle;
        }
        return outside;
    };
    draws->from = std::max(draws->from, first > 0 ? end(first, first - step) : 0);
    draws->to = std::min(draws->to, last < all ? end(last, last + step) : all);
}

} // namespace gpuscan
