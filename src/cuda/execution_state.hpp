// The state of one execution, shared by the files that carry it out: execution.cpp (what all runs do), grouping.cpp,
// group_values.cpp, rows.cpp and the folder joins.
#pragma once

#include "cuda/execution.hpp"
#include "cuda/windows/windows.hpp"
#include "device/gather_groups.cuh"
#include "device/group_columns.cuh"
#include "device/tables.cuh"
#include "engine/codegen/codegen.hpp"
#include "engine/ir/value_range.hpp"

namespace gpuscan::cuda {

using namespace ir;
using codegen::Kernel;
using codegen::TableKind;

// A collected or finished build.
struct Table : BuiltTable {
    codegen::TableShape shape;
    bool collected = false;
    bool row_cache = false; // a run has gathered rows in shared memory; later ones have the same kernel
    bool finished = false;
    uint64_t rows = 0;
    uint64_t capacity = 0;
    std::vector<BufferRef> keys, payload, payload_nulls; // by row
    std::vector<tables::ColumnRange> ranges;             // keys, then payload
    std::vector<uint8_t> payload_nullable;
    std::vector<uint64_t> words; // for a kernel that probes it
    BufferRef entries, next;
    BufferRef low, reach;      // of each row (joins/join_intervals.cpp)
    bool no_bound = false;     // a bound of some row is an error
    bool repeats_keys = false; // so the table did of which it was made
    size_t entries_bytes = 0;
    std::string description;

    // What was collected, as kernels read it.
    tables::Column key_column(size_t i) const {
        return {keys[i]->data, nullptr, static_cast<uint32_t>(shape.keys[i]), 0};
    }
    tables::Column payload_column(size_t i) const {
        return {payload[i]->data, payload_nullable[i] ? static_cast<const uint8_t *>(payload_nulls[i]->data) : nullptr,
                static_cast<uint32_t>(shape.payload[i]), 0};
    }
    std::vector<tables::Column> columns() const {
        std::vector<tables::Column> columns;
        for (size_t i = 0; i < keys.size(); ++i)
            columns.push_back(key_column(i));
        for (size_t i = 0; i < payload.size(); ++i)
            columns.push_back(payload_column(i));
        return columns;
    }

    size_t bytes() const override {
        size_t bytes = 0;
        for (const std::vector<BufferRef> *buffers : {&keys, &payload, &payload_nulls})
            for (const BufferRef &buffer : *buffers)
                bytes += buffer ? buffer->size : 0;
        for (const BufferRef &buffer : {entries, next, low, reach})
            bytes += buffer ? buffer->size : 0;
        return bytes;
    }

    ColumnStats key_bounds(Index key) const override {
        ColumnStats bounds;
        if (rows == 0)
            return bounds;
        const Type type = shape.keys[key];
        bounds.any_value = true;
        bounds.any_wide = is_float(type) || type == Type::I128 || ranges[key].min > ranges[key].max;
        bounds.min = ranges[key].min;
        bounds.max = ranges[key].max;
        return bounds;
    }
};

// A lookup's table in device memory: values, then NULL flags. That of a table which is kept stays with it.
struct LookupCopy : LookupTable::DeviceCopy {
    BufferRef buffer;
    CUdeviceptr values = 0;
    CUdeviceptr nulls = 0;
};

struct DeviceLookup {
    LookupRef table; // nullptr: not set
    std::shared_ptr<LookupCopy> copy;
    ValueRange range() const {
        if (!table || !table->has_range)
            return ValueRange();
        return ValueRange::of(table->min, table->max);
    }
};

// A group key in a result: how a kernel's words become its value.
struct KeyPlan {
    Type type;
    bool nullable = false;
    int128 min = 0;
    uint64_t extent = 1;  // numbers it takes, NULL included
    uint64_t factor = 1;  // the key's part of a group number is (value - min) * factor
    uint64_t modulus = 1; // and comes back as number / factor % modulus
};

// Where a key stands in the slot of a group whose key has words of its own.
struct WideKey {
    uint32_t word = 0, null_word = 0; // its first; where bit `index` says that it is NULL
    bool any_null = false;            // there is such a word
};
WideKey wide_key(const std::vector<KeyPlan> &plan, Index index);

// How the values of one DISTINCT argument are noted.
struct NotedValues {
    Distinct distinct;
    Type type;
    int64_t min = 0;
    uint64_t values = 0; // between the bounds
    codegen::ValuesBy by = codegen::ValuesBy::Bits;
    uint64_t words = 0; // of a group's bits
    uint64_t slots = 0; // of the set
    uint64_t bytes = 0;
    bool adds() const { return !distinct.counts_only && is_integer(type); }
};

// How a run finds its groups, and the kernel that does.
struct GroupPlan {
    codegen::Request request;
    std::vector<KeyPlan> keys;
    uint64_t extent = 1; // of group numbers
    size_t shared = 0;   // bytes of shared memory
    Kernel kernel;
    std::vector<NotedValues>
        noted; // with GroupShape::values, of each DISTINCT aggregate; empty: that is no way for them
};

// A kernel that was begun before the pipeline's tables were there.
struct SpeculativeKernel {
    codegen::Request request;
    uint64_t extent = 1; // of GroupPlan
    size_t shared = 0;
    std::string source;
};

inline uint64_t power_of_two(uint64_t at_least) {
    uint64_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

class CudaExecution : public Execution {
  public:
    CudaExecution(std::shared_ptr<SharedState> state, const Program &program, const std::atomic<uint32_t> *cancel)
        : state_(std::move(state)), program_(program), cancel_(cancel), streams_(state_->stream_contexts->borrow()),
          tables_(program.pipelines.size()), lookups_(program.lookups.size()) {
        for (std::shared_ptr<Table> &table : tables_)
            table = std::make_shared<Table>();
        matched_rows_.resize(program.joins.size());
        add_bounds();
        stats_.joins.resize(program.pipelines.size() - 1);
    }

    ~CudaExecution() override { streams_->drain(); }

    void set_lookup(Index lookup, LookupRef table) override {
        quietly([&] { put_lookup(lookup, std::move(table)); });
    }
    void set_constant(Index constant, uint32_t code) override { program_.constants.at(constant).low = code; }
    bool wants_speculation() override { return state_->prepared->is_new(shape()); }
    void speculate(const std::vector<std::vector<ChunkView>> &chunks) override;
    void run_build(Index pipeline, const std::vector<ChunkView> &chunks) override {
        quietly([&] { collect(pipeline, chunks); });
    }
    void finish_build(Index pipeline) override {
        quietly([&] { finish(pipeline); });
    }
    void use_build(Index pipeline, BuiltTableRef table) override;
    bool changes_builds(Index pipeline, uint64_t rows) const override;
    bool change_build(Index pipeline, const BuiltTableRef &former, const std::vector<ChunkView> &gone,
                      const std::vector<ChunkView> &come) override;
    BuiltTableRef finished_build(Index pipeline) override {
        return tables_.at(pipeline)->finished ? tables_[pipeline] : nullptr;
    }
    GroupTable run_aggregate(const std::vector<ChunkView> &chunks) override { return groups_of(chunks, false); }
    GroupTable start_aggregate(const std::vector<ChunkView> &chunks) override { return groups_of(chunks, true); }
    bool run_to_result(const std::vector<ChunkView> &chunks, GroupTable &groups) override {
        keep_groups_ = complete_ = false;
        bool done = false;
        quietly([&] { done = aggregate_with_values(chunks, groups); });
        return done;
    }
    uint64_t groups_dropped() const override { return groups_dropped_; }
    bool group_columns(const std::vector<StageColumn> &fields, DeviceRows &result) override;
    uint64_t groups_left() const override { return gathered_ ? gathered_->count - gathered_->next : 0; }
    GroupTable more_groups() override {
        GroupTable groups(state_->work_memory);
        quietly([&] { take_groups(*gathered_, state_->groups.kept_groups, groups); });
        if (groups_left() == 0)
            gathered_.reset();
        return groups;
    }
    RowTable run_rows(const std::vector<ChunkView> &chunks) override {
        RowTable rows;
        quietly([&] { rows = deliver(chunks); });
        return rows;
    }
    bool run_windows(const std::vector<ChunkView> &chunks, DeviceRows &result) override;
    RowTable copy_rows(const DeviceRows &rows, size_t first, size_t count) override;
    void cast_column(const DeviceRows &rows, DeviceRows::Column &column, Type type, int128 limit) override;
    std::vector<uint64_t> unmatched(Index join) override;
    ChunkView table_rows(Index pipeline, std::shared_ptr<void> &memory) override;
    ExecutionStats stats() const override { return stats_; }

  private:
    // Whatever happens in `work`: afterwards no kernel uses the chunks any more.
    template <class Work> void quietly(const Work &work) {
        streams_->use();
        poll();
        try {
            work();
        } catch (...) {
            streams_->drain();
            throw;
        }
    }

    GroupTable groups_of(const std::vector<ChunkView> &chunks, bool complete) {
        keep_groups_ = complete_ = complete;
        GroupTable groups;
        quietly([&] { groups = aggregate(chunks); });
        return groups;
    }

    // The chunks of one run, described in device memory.
    struct Input {
        BufferRef words, uploaded_masks, patched_masks;
        uint64_t chunks = 0;
        uint64_t tiles = 0;
        uint64_t rows = 0;
        double partners = 0;            // of a row, on average, in the join tables that multiply rows
        std::vector<uint8_t> nullable;  // per source column
        std::vector<uint8_t> forms;     // per source column: of all chunks, or form_any
        std::vector<ValueRange> ranges; // per source column
    };

    // what all runs do (execution.cpp)
    Input survey(const Pipeline &pipeline, const std::vector<ChunkView> &chunks) const;
    Input describe(const Pipeline &pipeline, const std::vector<ChunkView> &chunks);
    codegen::Request request(Index pipeline, const Input &input);
    const std::string &shape() {
        if (shape_.empty())
            shape_ = PreparedKernels::shape_of(program_);
        return shape_;
    }
    Kernel generate(const codegen::Request &request) { return state_->prepared->generate(shape(), request); }
    std::vector<uint64_t> argument(const Kernel &kernel, Index pipeline, const Input &input);
    static unsigned partner_parts(const Kernel &kernel, const Input &input, uint64_t idle);
    void run_slices(const Kernel &kernel, ModuleRef module, std::vector<uint64_t> &words, const Input &input,
                    unsigned threads, size_t shared, double rows_per_ms);
    double passing(const Pipeline &pipeline, Index join);
    double passing(const Pipeline &pipeline);
    std::vector<Index> probe_order(const Pipeline &pipeline);
    void check_status(bool may_be_full = false);
    ValueRanges ranges(const Pipeline &pipeline, const Input &input);
    void put_lookup(Index index, LookupRef table);
    Table &table_of(const Pipeline &pipeline, Index join) {
        return *tables_[program_.joins[pipeline.joins.first + join].build];
    }
    void poll() const {
        if (cancel_ && cancel_->load(std::memory_order_relaxed))
            throw Cancelled();
    }
    BufferRef zeroed(size_t bytes) {
        BufferRef buffer = streams_->allocate(bytes);
        streams_->fill(address_of(*buffer), 0, bytes);
        return buffer;
    }
    // The kernel's module; one that could be better is asked for in catch_up().
    ModuleRef get_module(const std::string &source) {
        bool quick = false;
        ModuleRef module = state_->prepared->get(source, cancel_, &stats_.compile_us, &quick);
        if (quick)
            quick_.push_back(source);
        return module;
    }
    bool take_better(const Kernel &kernel, ModuleRef &module);
    static constexpr unsigned tables_threads = 256; // a block of the kernels of tables.cuh and gather_groups.cuh
    CUfunction tables_function(const char *name) {
        tables_module_ = state_->prepared->get(tables_source, cancel_, &stats_.compile_us);
        return tables_module_->resident(name, tables_threads, 0).function;
    }

    // kernels before their tables (speculative_compilation.cpp)
    void compile_speculatively(Index pipeline, const std::vector<ChunkView> &chunks);
    std::shared_ptr<Table> expected_table(Index pipeline, const Kernel &kernel, const Input &input);
    const SpeculativeKernel *in_the_making(Index pipeline, const std::string &source) const;
    static bool adapt(codegen::Request &request, const SpeculativeKernel &speculative);
    bool widen(Index pipeline, const SpeculativeKernel &speculative);
    Kernel kernel_for(Index pipeline, codegen::Request request);
    void catch_up();

    // join tables (joins/join_build.cpp)
    void collect(Index pipeline, const std::vector<ChunkView> &chunks);
    void start_collecting(Index pipeline, Table &table, const Kernel &kernel);
    void reserve_rows(Table &table, uint64_t capacity);
    std::unique_ptr<PinnedMemory::Piece> queue_ranges(const Table &table, uint64_t first,
                                                      const tables::Column *columns);
    void finish(Index pipeline);
    bool plan_packed(const Table &table, tables::BuildArgument &argument) const;
    bool dense_extent(const Table &table, tables::BuildArgument &argument, uint64_t &extent) const;
    TableKind choose_form(Index pipeline, const Table &table, tables::BuildArgument &argument, uint64_t &extent) const;
    bool build(Table &table, tables::BuildArgument &argument, TableKind kind, uint64_t extent, bool keys_only);

    // tables made of others (joins/join_change.cpp)
    bool may_collect(Index pipeline, const std::vector<ChunkView> &chunks);
    std::shared_ptr<Table> collected(Index pipeline, const std::vector<ChunkView> &chunks);
    bool add_rows_left(Table &next, const Table &former, const Table &lost);
    bool change(Index pipeline, const std::shared_ptr<Table> &former, const std::vector<ChunkView> &gone,
                const std::vector<ChunkView> &come);

    // partners between bounds (joins/join_intervals.cpp)
    struct Bounds {
        Index low = none, high = none; // payload columns of the build; none: not asked
        Index added = 0;               // of them, behind the program's own
    };
    void add_bounds();
    Index bound_column(Index bound, const std::vector<Index> &payload, std::vector<Index> &added);
    void order_by_intervals(Index build);
    void launch_over_rows(CUfunction function, uint64_t rows, void *argument);

    // groups (grouping.cpp)
    GroupTable aggregate(const std::vector<ChunkView> &chunks);
    GroupPlan plan_groups(codegen::Request request, const Input &input,
                          codegen::GroupingKind best = codegen::GroupingKind::Dense);
    bool plan_as_speculated(const SpeculativeKernel &speculative, const Input &input, GroupPlan &plan);
    bool plan_dense(const Pipeline &pipeline, const Input &input, ValueRanges &ranges, codegen::GroupingKind best,
                    codegen::Request &request, std::vector<KeyPlan> &keys, uint64_t &extent);
    void use_speculative(Index pipeline, const Input &input, GroupPlan &plan);
    void plan_sums(const Pipeline &pipeline, const Input &input, ValueRanges &ranges, codegen::GroupShape &group,
                   bool loops);
    void plan_block(codegen::Request &request, uint64_t extent, size_t &shared);
    void put_keys(const Kernel &kernel, const codegen::GroupShape &group, const std::vector<KeyPlan> &keys,
                  std::vector<uint64_t> &words) const;
    static codegen::Request counting(codegen::Request request);
    uint64_t count_groups(const codegen::Request &grouping, const Input &input, const std::vector<KeyPlan> &keys);
    size_t table_room() const;
    GroupTable aggregate_by_number(const GroupPlan &plan, const ModuleRef &module, std::vector<uint64_t> &words,
                                   const Input &input);
    GroupTable aggregate_by_hash(const GroupPlan &plan, const ModuleRef &module, std::vector<uint64_t> &words,
                                 const Input &input);

    // values of DISTINCT aggregates (distinct_values.cpp)
    bool plan_argument(const Distinct &distinct, ValueRanges &ranges, uint64_t extent, double rows,
                       NotedValues &noted) const;
    std::vector<NotedValues> plan_values(ValueRanges &ranges, uint64_t extent, double rows) const;
    bool aggregate_with_values(const std::vector<ChunkView> &chunks, GroupTable &groups);
    void count_values(const GroupPlan &plan, const std::vector<uint64_t> &words, CUdeviceptr counts);
    GroupTable with_values(GroupTable &&groups, const GroupPlan &plan, const uint64_t *counted) const;

    // their values (group_values.cpp)
    // The groups of a table, as records in device memory.
    struct Gathered {
        Kernel kernel;
        codegen::GroupShape group;
        std::vector<KeyPlan> plan;
        BufferRef records;
        uint64_t words = 0; // of a record, without the group's number
        bool hashed = false;
        uint64_t count = 0, next = 0; // groups, and the first that has not been taken

        size_t record() const { return (words + (hashed ? 0 : 1)) * sizeof(uint64_t); }
    };
    GroupTable read_few_entries(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table,
                                uint64_t entries, const std::vector<KeyPlan> &plan);
    tables::GatherArgument gather_argument(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table,
                                           uint64_t entries) const;
    void launch_over_entries(const char *name, tables::GatherArgument argument);
    Gathered gather(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table, uint64_t entries,
                    const std::vector<KeyPlan> &plan);
    void take_groups(Gathered &gathered, uint64_t most, GroupTable &groups);
    void read_entries(const Kernel &kernel, const codegen::GroupShape &group, const Buffer &table, uint64_t entries,
                      const std::vector<KeyPlan> &plan, GroupTable &groups);
    static void make_room(GroupTable &groups, uint64_t more, size_t nkeys, const Kernel &kernel);
    uint64_t put_group(GroupTable &groups, uint64_t at, const Kernel &kernel, const codegen::GroupShape &group,
                       const uint64_t *record, uint64_t number, const std::vector<KeyPlan> &plan) const;

    // their fields for the next program (group_columns.cpp)
    void plan_key(const Gathered &gathered, Index index, group_columns::Argument &a) const;
    bool plan_aggregate(const Gathered &gathered, const StageColumn &column, group_columns::Argument &a) const;

    // which of them are wanted (wanted_groups.cpp)
    bool may_drop_groups(const codegen::GroupShape &group) const;
    bool put_order(const Kernel &kernel, const codegen::GroupShape &group, const std::vector<KeyPlan> &plan,
                   uint64_t groups, tables::GatherArgument &argument) const;
    BufferRef find_last_group(tables::GatherArgument &argument);
    void put_conditions(const Kernel &kernel, const codegen::GroupShape &group, tables::GatherArgument &argument) const;

    // rows (rows.cpp)
    struct RowArea;
    RowTable deliver(const std::vector<ChunkView> &chunks);
    uint64_t row_bound_ = UINT64_MAX; // of the first rows (engine/result/first_rows.hpp) of the passes before
    void make_area(RowArea &area, uint64_t capacity, uint64_t least, bool host);
    void hand_over(RowArea &area, RowTable &rows);
    uint64_t collect_rows(const std::vector<ChunkView> &chunks, std::vector<HeldColumn> &columns);
    RowKernels row_kernels(const char *source);

    std::shared_ptr<SharedState> state_;
    Program program_;            // with the bounds that are added to builds
    std::vector<Bounds> bounds_; // by pipeline
    std::string shape_;          // of the program, for prepared kernels
    const std::atomic<uint32_t> *cancel_;
    std::shared_ptr<StreamContext> streams_;
    std::vector<std::shared_ptr<Table>> tables_; // finished ones may be others' too: they do not change any more
    std::vector<std::shared_ptr<Table>> narrow_; // in whose place tables_ has wider copies
    std::vector<DeviceLookup> lookups_;
    std::vector<std::shared_ptr<Table>> expected_;                // what speculative kernels probe
    std::vector<std::unique_ptr<SpeculativeKernel>> speculative_; // by pipeline; empty: nobody has looked
    std::vector<std::string> missed_;                             // kernels in whose place speculative ones have run
    std::vector<std::string> quick_;                              // kernels that ran as they were compiled quickly
    ModuleRef running_module_;                                    // of what run_slices has launched
    ModuleRef tables_module_;                                     // its functions are in use
    std::vector<BufferRef>
        matched_rows_;         // by join: bytes by row of its table, 1: it was a row's partner (if anybody asks)
    bool keep_groups_ = false; // those beyond the first ones stay in device memory,
    std::unique_ptr<Gathered> gathered_; // here
    // The groups of the run are those of the result: conditions over groups hold, and their order does.
    bool complete_ = false;
    uint64_t groups_dropped_ = 0; // by conditions, or for their place in the order
    bool table_full_ = false;     // a kernel has said so since this was set
    ExecutionStats stats_;
};

} // namespace gpuscan::cuda
