// See numeric_form.h.
#include "pg/pg.h"

#include "pg/cost/numeric_form.h"

#include <algorithm>

#include "pg/catalog/encode.h"
#include "pg/catalog/sql_type.h"
#include "pg/service/area.h"

namespace gpuscan {
namespace {

constexpr int precisions[] = {9, 15, 18, 36}; // products of 64 bits; exact as double precision; 64 bits; 128 bits
constexpr int spare_digits = 1;               // that a sample may not have seen
constexpr int spare_decimals = 6;             // that are taken when it has not, and of an expression
constexpr int max_misfits = 2;

struct Key {
    Oid database, relid;
    uint32 number, inherited;
    TransactionId xmin; // of the statistics, Invalid without them
};

struct Digits {
    bool any, finite;
    int whole;        // before the point, at most
    int least, scale; // after it, as shown
};

// What a backend has read of a column's statistics.
struct Known {
    Key key;
    ItemPointerData place; // of their row
    Digits digits;
};

HTAB *known_columns = nullptr;

bool is_expression(const Key *key) { return key->number > MaxAttrNumber; }

uint64 fingerprint(const Key *key) {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(key), sizeof *key, 0) | 1;
}

void read_values(HeapTuple statistics, int kind, Digits *digits) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
        return;
    const int count = getBaseType(slot.valuetype) == NUMERICOID ? slot.nvalues : 0;
    for (int i = 0; i < count; ++i) {
        int whole, scale;
        if (!digits_of_numeric(slot.values[i], &whole, &scale)) {
            digits->finite = false;
            continue;
        }
        digits->least = digits->any ? std::min(digits->least, scale) : scale;
        digits->scale = std::max(digits->scale, scale);
        digits->whole = std::max(digits->whole, whole);
        digits->any = true;
    }
    free_attstatsslot(&slot);
}

Known *remember(const Key *key) {
    if (known_columns == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(Key);
        control.entrysize = sizeof(Known);
        known_columns = hash_create("gpuscan numerics", 256, &control, HASH_ELEM | HASH_BLOBS);
    }
    bool found;
    Known *known = static_cast<Known *>(hash_search(known_columns, key, HASH_ENTER, &found));
    if (!found)
        ItemPointerSetInvalid(&known->place);
    return known;
}

// Also completes the key.
Digits read_statistics(Key *key) {
    Digits digits{false, true, 0, 0, 0};
    if (is_expression(key))
        return {true, true, 0, 0, spare_decimals};
    HeapTuple statistics =
        SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(key->relid), Int16GetDatum(static_cast<int16>(key->number)),
                        BoolGetDatum(key->inherited != 0));
    if (!HeapTupleIsValid(statistics))
        return digits;
    key->xmin = HeapTupleHeaderGetRawXmin(statistics->t_data);
    Known *known = remember(key);
    if (!ItemPointerIsValid(&known->place) || !ItemPointerEquals(&known->place, &statistics->t_self)) {
        ItemPointerSetInvalid(&known->place);
        read_values(statistics, STATISTIC_KIND_MCV, &digits);
        read_values(statistics, STATISTIC_KIND_HISTOGRAM, &digits);
        known->digits = digits;
        known->place = statistics->t_self;
    }
    digits = known->digits;
    ReleaseSysCache(statistics);
    return digits;
}

Key key_of(const TableColumn &column) {
    Key key;
    memset(&key, 0, sizeof key);
    key.database = MyDatabaseId;
    key.relid = column.relid;
    key.number = column.number;
    key.inherited = column.inherited ? 1 : 0;
    return key;
}

// How often a value did not fit since the statistics were made.
uint64 misfits_of(const Key *key) {
    const protocol::Area *area = service_area();
    return area != nullptr ? area->unfit_numerics.count(fingerprint(key)) : 0;
}

} // namespace

bool find_numeric_form(const TableColumn &column, int32 typmod, NumericForm *form) {
    const int most = precisions[lengthof(precisions) - 1];
    Key key = key_of(column);
    Digits digits = read_statistics(&key);
    int precision, scale;
    const bool is_declared = numeric_typmod(typmod, &precision, &scale);
    if (is_declared) { // every value but NaN is shown with this scale
        if (!digits.any)
            digits.whole = std::min(precision - scale, most - spare_digits - scale);
        digits.any = true;
        digits.least = digits.scale = std::max(scale, 0);
    }
    const uint64 misfits = misfits_of(&key);
    if (!digits.any || !digits.finite || misfits >= max_misfits)
        return false;
    form->mixed = digits.least != digits.scale || (misfits > 0 && !is_declared);
    if (misfits > 0 && !is_declared)
        digits.scale += spare_decimals;
    const int *found = std::find_if(std::begin(precisions), std::end(precisions),
                                    [&digits](int wide) { return digits.whole + spare_digits + digits.scale <= wide; });
    if (found == std::end(precisions))
        return false;
    form->precision = misfits > 0 || is_expression(&key) ? most : *found;
    form->scale = digits.scale;
    return true;
}

void note_unfit_numeric(const TableColumn &column) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    Key key = key_of(column);
    read_statistics(&key);
    const uint64 wanted = fingerprint(&key);
    if (auto *slot = area->unfit_numerics.find(wanted))
        slot->count.fetch_add(1, std::memory_order_relaxed);
    else
        area->unfit_numerics.take(area->unfit_numerics.least(wanted), wanted, 1);
}

} // namespace gpuscan
