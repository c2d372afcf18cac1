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
constexpr int usual_whole = 6;    // digits before the point that any column has room for, if there is such a form
constexpr int spare_decimals = 6; // that are taken when it has not, and of an expression
constexpr int max_misfits = 2;

// (Hashed as bytes.)
struct Key {
    Oid database, relid;
    uint32 number, inherited;
};

struct Digits {
    bool any, finite;
    int whole;        // before the point, at most
    int least, scale; // after it, as shown
    uint64 made;      // when the statistics were, in a way: another number after each ANALYZE
};

// What a backend has read of a column's statistics.
struct Known {
    Key key;
    Digits digits;
};

HTAB *known_columns = nullptr;
bool outdated = false; // what is known

bool is_expression(const Key *key) { return key->number > MaxAttrNumber; }

void note_value(Digits *digits, Datum value) {
    int whole, scale;
    if (!digits_of_numeric(value, &whole, &scale)) {
        digits->finite = false;
        return;
    }
    digits->least = digits->any ? std::min(digits->least, scale) : scale;
    digits->scale = std::max(digits->scale, scale);
    digits->whole = std::max(digits->whole, whole);
    digits->any = true;
}

void read_values(HeapTuple statistics, int kind, Digits *digits) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, statistics, kind, InvalidOid, ATTSTATSSLOT_VALUES))
        return;
    const int count = getBaseType(slot.valuetype) == NUMERICOID ? slot.nvalues : 0;
    for (int i = 0; i < count; ++i)
        note_value(digits, slot.values[i]);
    free_attstatsslot(&slot);
}

bool read_statistics_of(Oid relid, AttrNumber attnum, bool inherited, Digits *digits) {
    HeapTuple statistics =
        SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid), Int16GetDatum(attnum), BoolGetDatum(inherited));
    if (!HeapTupleIsValid(statistics))
        return false;
    digits->made = hash_combine64(digits->made, HeapTupleHeaderGetRawXmin(statistics->t_data));
    read_values(statistics, STATISTIC_KIND_MCV, digits);
    read_values(statistics, STATISTIC_KIND_HISTOGRAM, digits);
    ReleaseSysCache(statistics);
    return true;
}

// Nobody but ANALYZE by hand makes statistics of a partitioned table; its partitions have their own.
void read_statistics_of_children(const Key *key, Digits *digits) {
    char *name = get_attname(key->relid, static_cast<AttrNumber>(key->number), true);
    ListCell *cell;
    foreach (cell, name != nullptr ? find_all_inheritors(key->relid, NoLock, nullptr) : NIL) {
        const AttrNumber attnum = get_attnum(lfirst_oid(cell), name);
        if (attnum != InvalidAttrNumber)
            read_statistics_of(lfirst_oid(cell), attnum, false, digits);
    }
}

Digits read_statistics(const Key *key) {
    Digits digits{false, true, 0, 0, 0, 0};
    if (is_expression(key)) {
        digits.any = true;
        digits.scale = spare_decimals;
    } else if (!read_statistics_of(key->relid, static_cast<AttrNumber>(key->number), key->inherited != 0, &digits) &&
               key->inherited != 0) {
        read_statistics_of_children(key, &digits);
    }
    return digits;
}

void note_statistics(Datum, int, uint32) { outdated = true; }
void note_relation(Datum, Oid) { outdated = true; } // it may have got a partition

void begin_known() {
    if (known_columns != nullptr && !outdated)
        return;
    if (known_columns == nullptr) {
        CacheRegisterSyscacheCallback(STATRELATTINH, note_statistics, 0);
        CacheRegisterRelcacheCallback(note_relation, 0);
    } else {
        hash_destroy(known_columns);
    }
    HASHCTL control{};
    control.keysize = sizeof(Key);
    control.entrysize = sizeof(Known);
    known_columns = hash_create("gpuscan numerics", 256, &control, HASH_ELEM | HASH_BLOBS);
    outdated = false;
}

Digits digits_of(const Key *key) {
    begin_known();
    const Known *known = static_cast<const Known *>(hash_search(known_columns, key, HASH_FIND, nullptr));
    if (known != nullptr)
        return known->digits;
    const Digits digits = read_statistics(key);
    static_cast<Known *>(hash_search(known_columns, key, HASH_ENTER, nullptr))->digits = digits;
    return digits;
}

Key key_of(const TableColumn &column) {
    return {MyDatabaseId, column.relid, column.number, column.inherited ? 1U : 0U};
}

enum class Event { Misfit, Tie };

uint64 fingerprint(const Key *key, const Digits *digits, Event event) {
    const uint64 seed = hash_combine64(digits->made, static_cast<uint64>(event));
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(key), sizeof *key, seed) | 1;
}

// How often that was since the statistics were made.
uint64 count_of(const Key *key, const Digits *digits, Event event) {
    const protocol::Area *area = service_area();
    return area != nullptr ? area->unfit_numerics.count(fingerprint(key, digits, event)) : 0;
}

// Generic plans that hold the form are made anew. (Not CacheInvalidateRelcacheByRelid(), whose messages a commit writes to WAL.)
void invalidate_plans(const Key *key) {
    SharedInvalidationMessage message{};
    message.rc.id = SHAREDINVALRELCACHE_ID;
    message.rc.dbId = key->database;
    message.rc.relId = key->relid;
    SendSharedInvalidMessages(&message, 1);
}

} // namespace

bool find_numeric_form(const TableColumn &column, int32 typmod, NumericForm *form) {
    const int most = precisions[lengthof(precisions) - 1];
    const Key key = key_of(column);
    Digits digits = digits_of(&key);
    const uint64 misfits = count_of(&key, &digits, Event::Misfit);
    int precision, scale;
    const bool is_declared = numeric_typmod(typmod, &precision, &scale);
    if (is_declared) { // every value but NaN is shown with this scale
        if (!digits.any)
            digits.whole = std::max(std::min(precision - scale, most - spare_digits - scale), 0); // numeric(3,40)
        digits.any = true;
        digits.least = digits.scale = std::max(scale, 0);
    }
    if (!digits.any || !digits.finite || misfits >= max_misfits)
        return false;
    form->mixed = digits.least != digits.scale || (misfits > 0 && !is_declared);
    if (misfits > 0 && !is_declared)
        digits.scale += spare_decimals;
    const auto form_for = [&digits](int whole) {
        return std::find_if(std::begin(precisions), std::end(precisions),
                            [&digits, whole](int wide) { return whole + digits.scale <= wide; });
    };
    const int *found = form_for(digits.whole + spare_digits), *usual = form_for(usual_whole);
    if (found == std::end(precisions))
        return false;
    if (usual != std::end(precisions)) // sums of payments, which begin with zeros
        found = std::max(found, usual);
    form->precision = misfits > 0 || is_expression(&key) ? most : *found;
    form->scale = digits.scale;
    form->tied = form->mixed && count_of(&key, &digits, Event::Tie) > 0;
    form->misfits = static_cast<uint8>(misfits);
    if (form->mixed && misfits == 0 && !is_expression(&key)) // what is left of the form costs nothing
        form->scale += std::min((form->precision - (digits.whole + spare_digits + digits.scale)) / 2, spare_decimals);
    return true;
}

static bool has_met(const TableColumn &column, Event event) {
    const Key key = key_of(column);
    const Digits digits = digits_of(&key);
    return count_of(&key, &digits, event) > 0;
}

bool has_unfit_numeric(const TableColumn &column) { return has_met(column, Event::Misfit); }

bool has_tied_values(const TableColumn &column) { return has_met(column, Event::Tie); }

static void note(const TableColumn &column, Event event) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    const Key key = key_of(column);
    const Digits digits = digits_of(&key);
    const uint64 wanted = fingerprint(&key, &digits, event);
    if (auto *slot = area->unfit_numerics.find(wanted))
        slot->count.fetch_add(1, std::memory_order_relaxed);
    else
        // (ANALYZE makes new fingerprints, and what the old ones count would keep their slots for ever.)
        area->unfit_numerics.take(area->unfit_numerics.free_or_any(wanted, pg_prng_uint32(&pg_global_prng_state)),
                                  wanted, 1);
    invalidate_plans(&key);
}

void note_unfit_numeric(const TableColumn &column, uint8 misfits) {
    const Key key = key_of(column);
    const Digits digits = digits_of(&key);
    if (count_of(&key, &digits, Event::Misfit) <= misfits)
        note(column, Event::Misfit);
}

void note_tied_values(const TableColumn &column) { note(column, Event::Tie); }

} // namespace gpuscan
