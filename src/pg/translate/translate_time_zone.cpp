// Time zones: between timestamps with time zone, which are instants, and the clocks of a zone.
//
// What a clock shows is the instant and an offset that is constant from one transition of the zone to the next, so a search
// among the transitions finds it (translate_table.cpp). They are read from PostgreSQL's own zone, anew for every execution:
// no table outlives a change of the session's TimeZone. The other way round PostgreSQL takes the offset after a
// transition for what a clock shows from the transition on, as it is counted with the new offset; what a clock shows twice, or
// never, follows from that (DetermineTimeZoneOffset), which is asked about each transition whether it does.
//
// A zone whose rules go on for ever is known until 2200; later timestamps are a row error, and so is every timestamp of a zone
// that is not as described.
#include "pg/pg.h"

#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {
namespace {

constexpr pg_time_t first_second = -210866803200; // 4714-11-24 BC, before any timestamp
constexpr pg_time_t end_second = 7258118400;      // 2200-01-01
constexpr int64 epoch_seconds = int64(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

int64 micros_of(pg_time_t second) { return (static_cast<int64>(second) - epoch_seconds) * USECS_PER_SEC; }

// What PostgreSQL says the offset is where a clock of the zone shows this second.
long offset_of_clock(pg_time_t shown, pg_tz *zone) {
    struct pg_tm tm;
    fsec_t fraction;
    memset(&tm, 0, sizeof tm);
    if (timestamp2tm(micros_of(shown), nullptr, &tm, &fraction, nullptr, nullptr) != 0)
        return LONG_MIN;
    return -static_cast<long>(DetermineTimeZoneOffset(&tm, zone));
}

bool is_offset(pg_time_t second, pg_tz *zone, long offset) {
    const struct pg_tm *tm = pg_localtime(&second, zone);
    return tm != nullptr && tm->tm_gmtoff == offset;
}

struct Transitions {
    Array<int64> instants, clocks, offsets;
};

void add_transition(Transitions *to, pg_time_t second, long offset) {
    append(&to->instants, micros_of(second));
    append(&to->clocks, micros_of(second + offset));
    append(&to->offsets, static_cast<int64>(offset) * USECS_PER_SEC);
}

// False if the zone is not what this file takes zones for.
bool read_transitions(pg_tz *zone, Transitions *to, bool *ends) {
    pg_time_t at = first_second, boundary;
    long before, after;
    int before_dst, after_dst;
    *ends = false;
    for (;;) {
        const int found = pg_next_dst_boundary(&at, &before, &before_dst, &boundary, &after, &after_dst, zone);
        if (found < 0)
            return false;
        if (to->instants.count == 0) {
            if (!is_offset(first_second, zone, before))
                return false;
            add_transition(to, first_second, before);
        }
        if (found == 0)
            return true;
        if (boundary >= end_second) {
            *ends = true;
            return is_offset(end_second - 1, zone, before);
        }
        if (!is_offset(boundary - 1, zone, before) || !is_offset(boundary, zone, after) ||
            offset_of_clock(boundary + after - 1, zone) != before || offset_of_clock(boundary + after, zone) != after ||
            micros_of(boundary + after) <= to->clocks[to->clocks.count - 1])
            return false;
        add_transition(to, boundary, after);
        at = boundary;
    }
}

} // namespace

const TimeZoneTables *time_zone_tables(Translation *t, pg_tz *zone) {
    for (int i = 0; i < t->time_zones.count; ++i)
        if (t->time_zones[i]->zone == zone)
            return t->time_zones[i];
    TimeZoneTables *tables = static_cast<TimeZoneTables *>(palloc0(sizeof(TimeZoneTables)));
    tables->zone = zone;
    Transitions transitions{};
    tables->usable = read_transitions(zone, &transitions, &tables->ends);
    if (tables->usable) {
        const uint32 count = static_cast<uint32>(transitions.instants.count);
        tables->instants = add_table(t, transitions.instants.at, count);
        tables->clocks = add_table(t, transitions.clocks.at, count);
        tables->offsets = add_table(t, transitions.offsets.at, count);
    } else if (!t->binding) {
        refuse("the time zone %s", pg_get_timezone_name(zone));
        return nullptr;
    }
    append(&t->time_zones, static_cast<const TimeZoneTables *>(tables));
    return tables;
}

// The node's offset, where it stands in `table`.
static ir::Index offset(Translation *t, const TimeZoneTables *zone, int table, ir::Index node) {
    if (!zone->usable)
        return raise_node(t, Type::I64);
    ir::Index found = step_function(t, node, table, zone->offsets);
    if (!zone->ends)
        return found;
    // (a day before the year begins, so that no clock has to be told from an instant)
    ir::Index late = add_expr(t, ir::Op::Ge, Type::Bool, node,
                              add_constant(t, Type::I64, micros_of(end_second) - USECS_PER_DAY, false));
    return add_expr(t, ir::Op::Case, Type::I64, late, raise_node(t, Type::I64), found);
}

ir::Index time_zone_offset(Translation *t, const TimeZoneTables *zone, ir::Index instant) {
    return offset(t, zone, zone->instants, instant);
}

ir::Index to_clock(Translation *t, const TimeZoneTables *zone, ir::Index instant) {
    return add_expr(t, ir::Op::Add, Type::I64, instant, time_zone_offset(t, zone, instant));
}

ir::Index from_clock(Translation *t, const TimeZoneTables *zone, ir::Index clock) {
    return add_expr(t, ir::Op::Sub, Type::I64, clock, offset(t, zone, zone->clocks, clock));
}

// A zone by a constant name, as timestamptz_zone() and timestamp_zone() find it; abbreviations are refused.
pg_tz *named_time_zone(Expr *argument) {
    const Const *constant = reinterpret_cast<const Const *>(strip_relabels(argument));
    if (!IsA(constant, Const) || constant->constisnull || constant->consttype != TEXTOID) {
        refuse("a time zone that is not constant");
        return nullptr;
    }
    char name[TZ_STRLEN_MAX + 1];
    text_to_cstring_buffer(DatumGetTextPP(constant->constvalue), name, sizeof name);
    if (pg_strcasecmp(name, "utc") == 0)
        strlcpy(name, "UTC", sizeof name);
    else if (strchr(name, '/') == nullptr) {
        refuse("the abbreviation of a time zone");
        return nullptr;
    }
    pg_tz *zone = pg_tzset(name);
    if (zone == nullptr)
        refuse("a time zone that does not exist");
    return zone;
}

} // namespace gpuscan
