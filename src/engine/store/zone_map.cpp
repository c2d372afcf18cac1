// Bounds of a column's values by zone; see zone_map.hpp.
#include "engine/store/zone_map.hpp"

#include <algorithm>

namespace gpuscan {
namespace {

// Zones are looked at where they cover on average at most this part of the column's own bounds.
constexpr double telling_part = 0.75;

double span(const ColumnStats &stats) { return static_cast<double>(stats.max) - static_cast<double>(stats.min); }

} // namespace

void widen_zone_map(ZoneMap &zones, uint32_t first, uint32_t count, const ColumnStats &stats) {
    if (count == 0)
        return;
    const size_t last = (size_t(first) + count - 1) / zone_rows;
    if (zones.size() <= last)
        zones.resize(last + 1);
    for (size_t zone = first / zone_rows; zone <= last; ++zone)
        zones[zone].merge(stats);
}

void move_zone_map(const ZoneMap &old, uint32_t from, uint32_t count, ZoneMap &zones, uint32_t to) {
    for (uint32_t done = 0; done < count;) {
        const size_t zone = (from + done) / zone_rows;
        const uint32_t n = std::min(count - done, zone_rows - (from + done) % zone_rows);
        if (zone < old.size())
            widen_zone_map(zones, to + done, n, old[zone]);
        done += n;
    }
}

bool zone_map_narrows(const ZoneMap &zones, const ColumnStats &all) {
    double sum = 0, n = 0;
    for (const ColumnStats &zone : zones) {
        if (!zone.any_value || zone.any_wide)
            continue;
        n += 1;
        sum += span(zone);
    }
    return n > 1 && sum <= telling_part * n * span(all);
}

} // namespace gpuscan
