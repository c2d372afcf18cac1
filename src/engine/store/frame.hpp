// How the values of a column are stored: whole, or in fewer bytes relative to a base ("frame of reference").
//
// A chunk's values are decoded whole. When the chunk is complete the bounds of every column are known, and the values are
// moved into the narrowest frame that holds them: 4, 2 or 1 bytes, or none at all where all values are equal. A value is
// base + what is stored, an unsigned number. Engines read frames directly (Yuan, Lee and Zhang, "The Yin and Yang of
// Processing Data Warehousing Queries on GPU Devices", section 4.2: bit and dictionary encoding, and operators that work
// on them), so that what narrow storage saves in memory it saves in bandwidth, too. Widths are bytes, not bits: a load of
// consecutive rows stays one aligned load. Run-length encoding, the third of that section's schemes, pays on sorted
// columns only, and a heap's rows are in no order that we choose (doc/performance.md).
//
// Rows that nobody decoded, and rows under a NULL, hold any value of the frame.
#pragma once

#include <vector>

#include "engine/store/decode.hpp"

namespace gpuscan {

struct Frame {
    static constexpr uint8_t whole = 0xff; // as the type stores it, base is not used

    uint8_t width = whole; // bytes of a stored value: whole, 0, 1, 2, 4, or 8 (of I128)
    int64_t base = 0;

    constexpr bool is_whole() const { return width == whole; }
    constexpr size_t bytes(Type type) const { return is_whole() ? type_width(type) : width; }
    bool operator==(const Frame &o) const { return width == o.width && base == o.base; }
};

// The narrowest frame for values within these bounds. Base 0 where that costs nothing: a repair may bring smaller values.
Frame frame_for(Type type, const ColumnStats &stats);
// Does the frame hold every value within these bounds?
bool frame_holds(Frame frame, const ColumnStats &stats);

// Moving rows from one frame into another. What the target does not hold becomes its base: it is the value of no row that
// anybody may look at.
struct RowRun {
    uint32_t from, to, count;
};
struct PackJob {
    Type type = Type::I32;
    Frame from_frame, to_frame;
    const Buffer *from = nullptr; // values; nullptr where the frame stores nothing
    Buffer *to = nullptr;
    const Buffer *from_nulls = nullptr; // nullptr: no row is NULL
    Buffer *to_nulls = nullptr;         // nullptr: not wanted
    std::vector<RowRun> runs;           // no two of a call meet in a target
};

// The job is possible: frames of the type, and buffers that hold the rows. Throws DeviceError.
void check_pack(const PackJob &job);

} // namespace gpuscan
