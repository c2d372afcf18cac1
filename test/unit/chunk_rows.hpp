// Which rows of a chunk take part, told row by row: what tests compare words and masks with.
#pragma once

#include <algorithm>

#include "engine/store/chunk.hpp"

namespace gpuscan {

// One bit (behind the mask's end it is set), and one range after the other.
inline bool has_row(const ChunkRows &rows, uint64_t row) {
    if (row >= rows.nrows)
        return false;
    if (rows.mask && row / 64 < rows.mask->size() && ((*rows.mask)[row / 64] >> row % 64 & 1) == 0)
        return false;
    return std::none_of(rows.without.begin(), rows.without.end(),
                        [row](const RowRange &range) { return range.first <= row && row < range.end; });
}

} // namespace gpuscan
