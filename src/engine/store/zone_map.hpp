// Bounds of a column's values by zone: every 65,536 rows of a chunk.
//
// The rows of a heap often lie in the order in which they came, and so do dates and numbers that count up; then a zone holds
// a small part of a column's values, and a filter can tell by its bounds alone that no row of the zone passes (skip.hpp).
// The bounds come from decoding, which notes them for every window of pages; a zone has those of all windows that reach into
// it. They bound every value that was ever decoded into its rows, as a column's own do.
#pragma once

#include <memory>
#include <vector>

#include "engine/store/decode.hpp"

namespace gpuscan {

constexpr uint32_t zone_rows = 65536;

using ZoneMap = std::vector<ColumnStats>;
using ZoneMapRef = std::shared_ptr<const ZoneMap>;

// Rows [first, first + count) hold values within `stats`.
void widen_zone_map(ZoneMap &zones, uint32_t first, uint32_t count, const ColumnStats &stats);
// Rows [to, to + count) become what rows [from, from + count) of `old` are.
void move_zone_map(const ZoneMap &old, uint32_t from, uint32_t count, ZoneMap &zones, uint32_t to);
// Do the zones say more than the bounds of the whole column?
bool zone_map_narrows(const ZoneMap &zones, const ColumnStats &all);

} // namespace gpuscan
