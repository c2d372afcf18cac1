// The interface that every device implements: memory, decoding of heap pages, execution of programs.
//
// Two implementations: host/host_device.hpp (vectorized, multi-threaded CPU) and cuda/cuda_device.hpp (NVIDIA GPU).
// All calls throw DeviceError (or a subclass) on failure; none of them is an error for the user: the session answers
// the backend with the reason and the backend runs its CPU plan. Thread-safe: several sessions use one device at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/ir/program.hpp"
#include "engine/store/decode.hpp"
#include "engine/store/frame.hpp"
#include "engine/store/lookup_table.hpp"
#include "engine/store/zone_map.hpp"
#include "engine/util/work_memory.hpp"

namespace gpuscan {

namespace tier {
struct Measurement;
}

struct DeviceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct OutOfDeviceMemory : DeviceError { // the caller may evict and try again
    using DeviceError::DeviceError;
};
struct OutOfWorkMemory : OutOfDeviceMemory { // of host memory (work_memory.hpp): evicting columns does not help
    using OutOfDeviceMemory::OutOfDeviceMemory;
};
struct DeviceLost : DeviceError { // nothing will work any more; the device process must be restarted
    using DeviceError::DeviceError;
};
struct Cancelled : DeviceError {
    Cancelled() : DeviceError("cancelled") {}
};
// A row met an SQL error (overflow, division by zero): the CPU plan decides whether the user sees it.
struct RowError : DeviceError {
    using DeviceError::DeviceError;
};

// Memory of a device. `data` is an address of that device (host pointer, or CUdeviceptr as pointer).
class Buffer {
  public:
    virtual ~Buffer() = default;
    void *data = nullptr;
    size_t size = 0;           // bytes
    bool comes_zeroed = false; // all of them were 0 when it was handed out
};
using BufferRef = std::shared_ptr<Buffer>;

// The values of one column for the rows of one chunk, in device memory.
struct ColumnView {
    Type type = Type::I32;
    Frame frame;                    // how a value is stored
    const void *values = nullptr;   // nrows values of frame.bytes(type) bytes
    const uint8_t *nulls = nullptr; // nrows bytes, 1 = NULL; nullptr: no NULLs
    bool has_range = false;         // min and max below bound every value that is not NULL (integer types, Code)
    int64_t min = 0, max = 0;
    const ColumnStats *zones = nullptr; // bounds by zone, for all of the rows; nullptr: not known
};

// Rows [first, end) of a chunk.
struct RowRange {
    uint32_t first, end;
};

// The rows of one chunk, or of a slice of it. Views stay valid until the call they are passed to returns.
struct ChunkView {
    uint32_t nrows = 0;
    const uint64_t *row_mask = nullptr; // HOST memory, bit r = row r takes part; nullptr: every row does
    const void *device_mask = nullptr;  // the same in device memory, if it is there, or ...
    bool device_mask_is_whole = false;  // ... what comes of it without the ranges
    // HOST memory, may be nullptr: ranges of the chunk's rows that take no part whatever the mask says, in order, none meets another
    const std::vector<RowRange> *without = nullptr;
    uint32_t first_row = 0;          // of the slice, in the chunk: a multiple of 64
    std::vector<ColumnView> columns; // one per source column

    // The first of the ranges that ends behind a row of the view.
    std::vector<RowRange>::const_iterator without_from(uint32_t row) const {
        return std::lower_bound(without->begin(), without->end(), first_row + row,
                                [](const RowRange &range, uint32_t at) { return range.end <= at; });
    }
};

// The groups that one pass produced, in host memory, no two with the same keys. Without GROUP BY there is exactly one
// group, always.
struct GroupTable {
    GroupTable() = default;
    explicit GroupTable(const WorkMemoryRef &memory) : keys(memory), key_nulls(memory), states(memory) {}
    size_t ngroups = 0;
    WorkArray<ir::Value> keys;            // ngroups * nkeys
    WorkArray<uint8_t> key_nulls;         // ngroups * nkeys, 1 = NULL
    WorkArray<ir::AggregateState> states; // ngroups * naggregates

    // The groups of another table with the same keys and aggregates.
    void append(const GroupTable &other) {
        ngroups += other.ngroups;
        keys.append(other.keys.data(), other.keys.size());
        key_nulls.append(other.key_nulls.data(), other.key_nulls.size());
        states.append(other.states.data(), other.states.size());
    }
};

// Rows that a pipeline delivered, in host memory and in no particular order.
struct RowBlock {
    struct Column {
        const uint8_t *values = nullptr; // nrows values of type_width(the expression's type) bytes
        const uint8_t *nulls = nullptr;  // nrows bytes, 1 = NULL; nullptr: no NULL
    };
    size_t nrows = 0;
    std::vector<Column> columns;  // one per expression of the pipeline's payload
    std::shared_ptr<void> memory; // holds the columns, and is charged to the device's work memory
};

// The rows of one pass: as many blocks as were handy for the device.
struct RowTable {
    size_t nrows = 0;
    std::vector<RowBlock> blocks;

    void add(RowBlock block) {
        nrows += block.nrows;
        if (block.nrows > 0)
            blocks.push_back(std::move(block));
    }
};

// Rows of a result in the device's memory, each column in one piece, its values as wide as their type and some zeros behind them, for loads of
// several at once. They do not change any more.
struct DeviceRows {
    struct Column {
        Type type = Type::I64;
        BufferRef values, nulls; // nulls: nrows bytes, 1 = NULL; nullptr: no NULL
        ColumnStats stats;       // any_null, any_value: there may be one; of floats no more than that
    };
    size_t nrows = 0;
    std::vector<Column> columns;
};

// The finished table of a build. It does not change any more and may be used by several executions, at once too.
class BuiltTable {
  public:
    virtual ~BuiltTable() = default;
    virtual size_t bytes() const = 0; // of memory that it holds
    // Bounds of a join key over all rows. No value: the table is empty; any_wide: not known.
    virtual ColumnStats key_bounds(ir::Index key) const = 0;
};
using BuiltTableRef = std::shared_ptr<BuiltTable>;

// Behind the strategy of a grouping that run_to_result() did.
constexpr const char *distinct_by_bits = ", DISTINCT by bits";
constexpr const char *distinct_by_sets = ", DISTINCT by sets"; // some of them

// What an execution did, for EXPLAIN and the statistics.
struct ExecutionStats {
    uint64_t rows_in = 0; // rows that entered pipelines
    // rows that reached the main sink (0 where a device does not count them), without those of groups that it dropped
    uint64_t rows_out = 0;
    uint64_t compile_us = 0;        // kernels compiled for this execution (0: found in a cache)
    uint64_t kernel_us = 0;         // time on the device
    uint64_t link_bytes = 0;        // bytes over the link for this execution
    std::string grouping;           // the strategy chosen: "none", "dense", "hash"; "rows": no groups but rows
    std::vector<std::string> joins; // per build pipeline: "dense 2556 entries, 10 kB", "hash ..."

    // What another execution did for the same query; how this one did it stays.
    ExecutionStats &operator+=(const ExecutionStats &other) {
        rows_in += other.rows_in;
        rows_out += other.rows_out;
        compile_us += other.compile_us;
        kernel_us += other.kernel_us;
        link_bytes += other.link_bytes;
        return *this;
    }
};

// One execution of one program. Not thread-safe; used by one session thread.
class Execution {
  public:
    virtual ~Execution() = default;
    // The finished table of a lookup, which the execution shares. Must be called for every lookup before the first run of a
    // pipeline that uses it; again when it has grown.
    virtual void set_lookup(ir::Index lookup, LookupRef table) = 0;
    // The code of a constant text that was not known when the program was made; before anything is run.
    virtual void set_constant(ir::Index constant, uint32_t code) = 0;
    // Before anything is run: by pipeline the chunks that it will most likely read (none: nothing is known), so that the
    // device may prepare for all of them at once. Their values are not looked at, and may change. Nothing depends on a call.
    // wants_speculation(): it would be of use.
    virtual bool wants_speculation() { return false; }
    virtual void speculate(const std::vector<std::vector<ChunkView>> &) {}
    // Runs a pipeline over chunks. A Build pipeline collects rows (several calls add up); finish_build ends it.
    // The Aggregate pipeline returns the groups of just these chunks; the session merges passes (group_merge.hpp).
    // The Rows pipeline returns the rows of just these chunks; where the pipeline has a limit, it may stop when it has
    // that many, and may return more.
    virtual void run_build(ir::Index pipeline, const std::vector<ChunkView> &chunks) = 0;
    virtual void finish_build(ir::Index pipeline) = 0;
    // Instead of both: a table that another execution on this device has finished. It is the caller's business that the
    // build would give the same (cached_join_tables.hpp).
    virtual void use_build(ir::Index pipeline, BuiltTableRef table) = 0;
    // Or the table over the rows of `former`, a table of the same build over other rows, without those of `gone` and with those of
    // `come`. False, and nothing is done: the build must be run. changes_builds(): of this build, over so many rows, it may be of use.
    virtual bool changes_builds(ir::Index, uint64_t /* rows */) const { return false; }
    virtual bool change_build(ir::Index, const BuiltTableRef & /* former */, const std::vector<ChunkView> & /* gone */,
                              const std::vector<ChunkView> & /* come */) {
        return false;
    }
    // Are tables of equal rows found to be equal (host::have_same_rows)?
    virtual bool compares_builds() const { return false; }
    virtual BuiltTableRef finished_build(ir::Index pipeline) = 0;
    virtual GroupTable run_aggregate(const std::vector<ChunkView> &chunks) = 0;
    // The same, but the device may keep groups back where there are many, as they are in its own memory: more_groups()
    // brings some of them, until none is left. Nothing else may be run then. These groups are the result's: the device may
    // drop some of which a condition over groups (Pipeline::having) is not true, and says how many, but need not.
    virtual GroupTable start_aggregate(const std::vector<ChunkView> &chunks) { return run_aggregate(chunks); }
    virtual uint64_t groups_left() const { return 0; }
    virtual GroupTable more_groups() { return GroupTable(); }
    virtual uint64_t groups_dropped() const { return 0; }
    // Of groups all of which it keeps: these fields, finished as StageRows does it. False: they are to be brought. Throws DeviceError for a value
    // that a field cannot have.
    virtual bool group_columns(const std::vector<ir::StageColumn> &, DeviceRows &) { return false; }
    // Of a program that groups once more, by all keys of the result (Program::counts_distinct): the groups of the result, where these
    // chunks have all rows and the device need not group by the arguments of DISTINCT aggregates. False, and nothing run: it needs to.
    virtual bool run_to_result(const std::vector<ChunkView> &, GroupTable &) { return false; }
    virtual RowTable run_rows(const std::vector<ChunkView> &chunks) = 0;
    // Of a program with windows, where these chunks have all rows: the result, as apply_windows() makes it of run_rows()'s (window.hpp).
    // False: that is to be done.
    virtual bool run_windows(const std::vector<ChunkView> &, DeviceRows &) { return false; }
    // Rows [first, first + count) of such a result; and its column as who reads it wants it: a type of integers, and what values stay below
    // (0: anything).
    virtual RowTable copy_rows(const DeviceRows &, size_t /* first */, size_t /* count */) { return RowTable(); }
    virtual void cast_column(const DeviceRows &, DeviceRows::Column &, Type, int128 /* limit */) {}
    // Of a join that keeps its table's rows (ir::keeps_table), when its pipeline has run: those that were no row's partner, as
    // bits by row. And the payload of a finished build as a chunk, row by row, if some join keeps its rows; `memory` holds
    // what had to be made for that.
    virtual std::vector<uint64_t> unmatched(ir::Index join) = 0;
    virtual ChunkView table_rows(ir::Index pipeline, std::shared_ptr<void> &memory) = 0;
    virtual ExecutionStats stats() const = 0;
};

struct DeviceInfo {
    std::string name;        // "host" or the GPU's name
    std::string kind;        // "host" or "cuda"
    size_t memory_total = 0; // bytes
    size_t memory_used = 0;  // bytes allocated through allocate()
    size_t memory_limit = 0; // bytes allocate() hands out at most
};

class Device {
  public:
    virtual ~Device() = default;
    virtual DeviceInfo info() const = 0;
    // Comes back when the device answers at all, whatever it answers. Where a driver hangs, so does this.
    virtual void ping() noexcept {}
    // The account of host memory that executions and sessions use beside buffers; no limit until one is set.
    const WorkMemoryRef &work_memory() const { return work_memory_; }
    // Its memory is the host's.
    virtual bool reads_host_memory() const { return false; }
    // Throws OutOfDeviceMemory beyond the limit. Contents are undefined.
    virtual BufferRef allocate(size_t bytes) = 0;
    virtual void set_memory_limit(size_t bytes) = 0;
    virtual void upload(Buffer &to, size_t offset, const void *from, size_t bytes) = 0;
    virtual void download(void *to, const Buffer &from, size_t offset, size_t bytes) = 0;
    virtual void copy(Buffer &to, size_t to_offset, const Buffer &from, size_t from_offset, size_t bytes) = 0;
    virtual void fill(Buffer &to, size_t offset, uint8_t byte, size_t bytes) = 0;
    // Copies `bytes` of a row mask, and clears the bits of these rows, all of which it has: in order, no range meets another.
    virtual void copy_mask(Buffer &to, const Buffer &from, size_t bytes, const std::vector<RowRange> &without) = 0;
    // Decodes heap pages into columns; see decode.hpp. Returns one status per page. `cancel` may be nullptr.
    virtual void decode(const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) = 0;
    // Fills the buffers with zeros, from the offset of each to its end, then moves rows of columns into other frames, all jobs at once: no
    // two of their runs meet in a target, and none reads one; see frame.hpp.
    virtual void pack(const std::vector<PackJob> &jobs, const std::vector<BufferEnd> &zeros = {}) = 0;
    // What its memory can do (tier_measure.hpp), within about a second, beside whatever else runs. False: the host's memory is all
    // that it has.
    virtual bool measure(tier::Measurement &) { return false; }
    // Prepares a program (compiles where needed). `cancel` becomes non-zero when nobody waits any more; an execution
    // notices within 100 ms and throws Cancelled. Lives as long as the execution.
    virtual std::unique_ptr<Execution> prepare(const Program &program, const std::atomic<uint32_t> *cancel) = 0;

  private:
    WorkMemoryRef work_memory_ = std::make_shared<WorkMemory>();
};

} // namespace gpuscan
