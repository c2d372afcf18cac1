// From one pipeline of a program to the text of one CUDA kernel; plain text, so that it can be tested without a GPU.
//
// What decides the text: the pipeline, which columns and lookups can be NULL, the form of the join tables it probes and
// of the group table it fills. What does not: constants, ranges, sizes and addresses. Those are 64-bit words of one
// kernel argument; Kernel says which word is what. The next execution with other constants finds the kernel in a cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ir/program.hpp"
#include "engine/store/frame.hpp"

namespace gpuscan::codegen {

// Rows that one thread block takes at once: four per thread (compiled quickly: one after the other).
constexpr uint32_t block_threads = 256;
constexpr uint32_t tile_rows = 4 * block_threads;

// ---- join tables (device/runtime.cuh) --------------------------------------------------------------------------------

enum class TableKind : uint8_t { Packed, Rows, Hash };

struct TableShape {
    TableKind kind = TableKind::Hash;
    bool unique = false;     // no two rows have equal keys (Packed: always)
    uint8_t entry_bytes = 1; // Packed: 1, 2, 4, 8
    bool exact_tag = false;  // Hash: the tag in a slot is the whole key
    // Without keys: its rows lie in the order of the lower bound (the upper one, if there is no other) of the interval for which its join
    // asks (engine/ir/interval_condition.hpp), with arrays of lower bounds, and of the highest upper bounds so far.
    bool by_low = false, by_reach = false;
    std::vector<Type> keys;
    std::vector<Type> payload;
    std::vector<uint8_t> payload_nullable;
};

// The words that describe a table to a kernel, from the first of that join on.
struct TableWords {
    static constexpr unsigned entries = 0; // address: packed entries, heads, or slots
    static constexpr unsigned next = 1;    // address of the chains
    static constexpr unsigned extent = 2;  // Packed, Rows: entries of the table; Hash: slots - 1; without keys: rows
    // Three words per key: Packed, Rows: smallest value, stride, number of values; Hash: address of the keys by row.
    static unsigned key(size_t i) { return 3 + 3 * static_cast<unsigned>(i); }
    // Three words per payload column: Packed: shift, mask, bias; else: address of values, address of NULL flags.
    static unsigned payload(size_t nkeys, size_t i) { return key(nkeys) + 3 * static_cast<unsigned>(i); }
    // Two words behind them: addresses of the lower bounds and of the highest upper ones.
    static unsigned bounds(const TableShape &shape) { return payload(shape.keys.size(), shape.payload.size()); }
    static unsigned count(const TableShape &shape) { return bounds(shape) + (shape.by_low || shape.by_reach ? 2 : 0); }
};

// ---- group tables --------------------------------------------------------------------------------------------------

enum class GroupingKind : uint8_t {
    None,   // no keys: registers, then one atomic per block
    Shared, // group number by arithmetic, table in shared memory, merged at the end
    Dense,  // group number by arithmetic, table in device memory
    Hash,   // table in device memory, found by the key in one word
    Wide,   // the same with keys of several words
};

enum class SumKind : uint8_t {
    Narrow, // 64 bits are enough for all rows
    Halves, // a 64-bit value: its low half unsigned, its high half signed
    Digits, // a 128-bit value: four 32-bit digits, the last one signed
    Double, // and beside it the number of values that were not finite: an infinite sum of finite values is an overflow
};

// How the values that a group has had are noted, for its DISTINCT aggregates: a bit for each group and value, or a set of pairs of both.
enum class ValuesBy : uint8_t { Bits, Set };

struct GroupShape {
    GroupingKind grouping = GroupingKind::None;
    unsigned threads = block_threads; // of a block, a multiple of block_threads
    unsigned cells = 0;               // Dense, Hash: groups that a block may keep in shared memory, a power of two
    unsigned copies = 1;              // Shared, or with cells: copies of each group in shared memory, a power of two
    bool side_by_side = false;        // a thread's four rows are in flight at once: most rows live
    bool combine = false;             // Dense: rows of one group in a warp are added up before they are stored
    bool count_only = false;          // Hash, Wide: only a sketch of how many groups there are
    std::vector<ValuesBy>
        values;                // None, Shared, Dense: groups of the result, by its keys alone; per DISTINCT aggregate
    std::vector<SumKind> sums; // one per aggregate of the pipeline (anything for those that are no sums)
};

// Where the parts of an aggregate stand in an entry of the group table, in 64-bit words. Word 0 counts the group's rows.
struct Components {
    unsigned count = 0; // rows where the argument was not NULL
    unsigned value =
        0; // Sum: 1, 2 or 4 words; LongSum: 3; Min, Max: an order-preserving code, 128 bits of it behind a lock word
};

// ---- kernels -------------------------------------------------------------------------------------------------------

struct Request {
    const Program *program = nullptr;
    ir::Index pipeline = 0;
    std::vector<uint8_t> source_nullable;   // per column of the pipeline's source: some chunk has NULLs
    std::vector<uint8_t> source_form;       // per column: how every chunk stores its values, or form_any
    std::vector<uint8_t> lookup_nullable;   // per lookup: some entry is NULL
    std::vector<const TableShape *> tables; // per join of the pipeline
    std::vector<ir::Index> probe_order;     // the joins in the order in which to probe; empty: their own
    GroupShape group;
    bool row_cache = true; // sinks that write rows: gather them in shared memory first
    ir::Index tried = 0;   // Build: the last payload columns, whose errors are only told, as status_no_bound
};

// How a column's values are stored, as kernels know it (device/runtime.cuh: Form): the low bits of the values' address.
constexpr uint8_t form_any = 255;
constexpr uint8_t form_of(Frame frame) { return frame.is_whole() ? 0 : static_cast<uint8_t>(frame.width + 1); }

// The words of a chunk's description, an array in device memory.
struct ChunkWords {
    static constexpr unsigned tile_end = 0; // tiles are counted through all chunks
    static constexpr unsigned tile_first = 1;
    static constexpr unsigned nrows = 2;
    static constexpr unsigned mask = 3; // address of the row mask or 0
    static unsigned values(size_t column) { return 4 + 3 * static_cast<unsigned>(column); } // address and form
    static unsigned base(size_t column) { return 5 + 3 * static_cast<unsigned>(column); }
    static unsigned nulls(size_t column) { return 6 + 3 * static_cast<unsigned>(column); }
    static unsigned count(size_t columns) { return values(columns); }
};

struct Kernel {
    static constexpr const char *name = "pipeline";
    std::string source;
    unsigned words = 0; // of the kernel's argument
    // Words that every kernel has. Teams of block_threads threads take `turn` consecutive tiles in turn.
    static constexpr unsigned chunks = 0, chunk_count = 1, tile_begin = 2, tile_end = 3, status = 4, cancel = 5,
                              turn = 6;
    std::vector<unsigned> constants;    // per constant of the program: first of two words, 0: not used
    std::vector<unsigned> lookups;      // per lookup: first of three words (values, NULL flags, entries), 0: not used
    std::vector<unsigned> joins;        // per join: first word of its table
    std::vector<unsigned> matched_rows; // per join: word with the address of bytes by row of its table that are set for
                                        // partners, 0: nobody will ask
    // Build, Rows: address of the counter, capacity; Rows: two words for the limit; then per key its address, then per
    // payload column values and NULL flags.
    // Aggregate: address of the table (count_only: of the sketch); Hash, Wide: address of the counter, slots;
    // Dense, Shared: extent; Hash, Wide: the number of parts of the groups, and the part that is wanted; then per key
    // two words: bias and factor (not None, not Wide): group = sum of (value - bias) * factor, where bias is the
    // smallest value, or one less if the key can be NULL (NULL counts as 0).
    unsigned sink = 0;
    std::vector<uint8_t> key_nullable;           // per key of the pipeline
    std::vector<uint8_t> payload_nullable;       // Build, Rows
    uint32_t cached_rows = 0;                    // Build, Rows: rows in a block's result cache, 0: it has none
    uint32_t flush_rows = 0;                     // and from how many on it is emptied
    static constexpr unsigned words_of_rows = 3; // of Rows, between the sink's words and those of the columns:
    unsigned limit = 0;                          // first of two words: rows that are enough, flush_rows; 0: no limit
    unsigned bound = 0;                 // what the number of a row may be (engine/result/first_rows.hpp); 0: no bound
    std::vector<Components> components; // Aggregate: per aggregate
    unsigned entry_words = 1;           // Aggregate: words of a group's entry
    unsigned key_words = 0;             // Hash, Wide: words of a key, before the entry (Wide: the first is its state,
                                        // the last holds the NULL flags if any key can be NULL)
    unsigned slot_words = 0;            // Aggregate: from one entry of the table to the next
    unsigned cell_bytes = 0;            // Shared, or with cells: of a group's copy in shared memory
    unsigned tag_bytes = 0;             // with cells: of a cell, beside its copies
    bool loops = false;                 // along a join table's chains: time per row is not bounded
    // A grid may have several rows of blocks: all of them take the same rows, and each its part of those rows' partners.
    bool divides_partners = false;
};

// A sketch of how many different groups there are: registers of Flajolet et al., "HyperLogLog: the analysis of a
// near-optimal cardinality estimation algorithm" (2007). The standard error is 1.04 / sqrt(registers), 1.6 %.
constexpr unsigned sketch_registers = 4096;

struct AggregateWords {
    static constexpr unsigned table = 0, counter = 1, slots = 2, extent = 3, parts = 4, part = 5;
    static unsigned key(size_t i) { return 6 + 2 * static_cast<unsigned>(i); }
    // With GroupShape::values, four words per DISTINCT aggregate: the address of its bits or set, the smallest value, how many there are
    // between the bounds, bits of a group or slots of the set.
    static unsigned values(size_t nkeys, size_t i) { return key(nkeys) + 4 * static_cast<unsigned>(i); }
};

// Throws std::runtime_error where a pipeline uses something the device cannot do.
Kernel generate(const Request &request);

// May the pipeline's joins be probed in any order? Then no row comes out of any of them more than once, no key depends on
// another join, and none can raise an error.
bool order_is_free(const Request &request);

// Can this expression be NULL at this place of the pipeline?
bool nullable(const Request &request, ir::Index expr);

} // namespace gpuscan::codegen
