// Decoding of PostgreSQL heap pages to columns: what goes in, what comes out, for every device.
//
// The page may change while it is read (line pointers and tuples that were not vouched for), and may hold arbitrary
// bytes: a decoder never reads outside the 8192 bytes of the page, never writes outside the rows assigned to the
// page, and always ends. Whether the result may be used is decided elsewhere (doc/architecture.md).
//
// Tuple format: src/include/access/htup_details.h, itemid.h, bufpage.h, varatt.h (postgres.h before 16) and numeric.c
// of PostgreSQL 15 to 18; little-endian machines, BLCKSZ 8192.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/ir/types.hpp"

namespace gpuscan {

class Buffer;
class Dictionary;

constexpr uint32_t page_size = 8192;
constexpr uint32_t max_tuples_per_page = 291; // MaxHeapTuplesPerPage
// Heap pages that one page of the visibility map covers, and so the most pages of one chunk (visibilitymap.c:
// HEAPBLOCKS_PER_PAGE = (8192 - 24) * 4).
constexpr uint32_t pages_per_chunk = 32672;
constexpr uint32_t max_expressions = 32; // of one source that are columns

// One attribute that must be walked over to reach a column (pg_attribute's attlen, attalign).
struct AttributeLayout {
    int16_t length; // attlen: > 0 fixed, -1 varlena, -2 cstring
    uint8_t align;  // 1, 2, 4, 8
    uint8_t unused = 0;
};

// How to find and read one column.
struct ColumnLayout {
    std::vector<AttributeLayout> attributes; // of columns 1..attnum; the last is the column itself
    Codec codec = Codec::Int32;
    Type type = Type::I32;
    int32_t scale = 0;  // Numeric: value * 10^scale
    uint8_t digits = 0; // Numeric: a value of more decimal digits is unrepresentable; 0: what the type holds
    // Not 0: no attribute of the heap's tuples, but an expression over them, by its number (beyond all attributes'). The backend
    // evaluates it and hands the values over as pages whose tuples have this one attribute, at the line pointers of the heap's.
    uint32_t expression = 0;
    std::string expression_text; // as PostgreSQL writes nodes, for those who ask what is cached
    // The value of tuples that are too short to hold the column (ALTER TABLE ADD COLUMN ... DEFAULT).
    bool missing_null = true;
    uint64_t missing_low = 0; // the value in `type` (not for Text)
    int64_t missing_high = 0;
    std::string missing_text; // Text
};

// Which line pointers of a page count (bit i = line pointer i + 1).
struct TupleMask {
    uint64_t bits[5] = {};
};

struct PageRef {
    const uint8_t *page;   // host address, 8192 bytes: in shared_buffers (GPU: read over UVA) or in a copy window
    uint32_t row_start;    // first row to write
    uint16_t ntuples;      // rows to write: exactly rows [row_start, row_start + ntuples)
    uint16_t in_place;     // 1: `page` lies in the registered shared_buffers; 0: in the copy window
    const TupleMask *mask; // nullptr: every LP_NORMAL line pointer in order; else those of the mask, in order
};

enum class PageStatus : uint8_t {
    Ok = 0,
    NeedsCpu =
        1, // a needed value is toasted, compressed or an expression that failed: the backend decodes this page row by row
    Broken = 2,          // not the promised tuples (changed meanwhile, or corrupt): the backend must read it itself
    Unrepresentable = 3, // a value does not fit the column's type (numeric NaN, too many digits, other scale)
};

// Where one column's rows go.
struct ColumnTarget {
    const ColumnLayout *layout = nullptr;
    Buffer *values = nullptr;         // row r at r * type_width
    Buffer *nulls = nullptr;          // row r at byte r; written for every row
    Dictionary *dictionary = nullptr; // Text only; grows
};

struct BufferEnd { // bytes from there on
    std::shared_ptr<Buffer> buffer;
    size_t from;
};

struct DecodeJob {
    std::vector<PageRef> pages;
    std::vector<ColumnTarget> columns;
    std::vector<BufferEnd> zeros; // filled before anything is decoded
    const Buffer *wanted_on_host =
        nullptr; // its bytes are, too, when all is decoded (not where the device's memory is the host's)
};

// Per column, over all rows of pages with status Ok (rows of other pages may be included: bounds, not exact).
struct ColumnStats {
    bool any_value = false; // a value that is not NULL was seen
    bool any_null = false;
    bool any_wide = false;   // I128: a value that 64 bits do not hold was seen; min and max are of the others
    int64_t min = INT64_MAX; // integer types, Bool and Code
    int64_t max = INT64_MIN;

    void merge(const ColumnStats &other) {
        any_value |= other.any_value;
        any_null |= other.any_null;
        any_wide |= other.any_wide;
        min = other.min < min ? other.min : min;
        max = other.max > max ? other.max : max;
    }
};

struct DecodeResult {
    std::vector<PageStatus> pages;    // one per page of the job
    std::vector<ColumnStats> columns; // one per column of the job
    bool dictionary_full = false;     // a dictionary reached its limit: the job's text is not usable
    std::vector<uint8_t> on_host;     // what was wanted there; empty: without the memory for it, or a page
};

// What a column's scaled numerics must stay below, without their sign; 0: what the type holds.
int128 numeric_limit(const ColumnLayout &layout);
// What a decoder builds on: the codec is that of the attribute, and the buffers have room for so many rows. Throws DeviceError.
void check_column(const ColumnTarget &target, uint64_t rows);
// Is one layout found on the way to the other?
bool is_prefix(const std::vector<AttributeLayout> &part, const std::vector<AttributeLayout> &whole);

} // namespace gpuscan
