// One program running on the host device (see execution.hpp).
#include "host/execution.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "engine/ir/build_identity.hpp"
#include "host/distinct_values.hpp"
#include "host/pipeline.hpp"
#include "host/row_sink.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

// Large enough that taking a morsel costs nothing, small enough that threads end together and the pool serves others.
constexpr uint32_t morsel_rows = piece_rows;

constexpr size_t interval_bytes = 6 * sizeof(int64_t); // of an entry while entries are put in the order of their bounds

struct Morsel {
    const ChunkView *chunk;
    uint32_t begin, end;
    uint32_t part; // of the rows' partners
};

class Stopwatch {
  public:
    explicit Stopwatch(uint64_t &total) : total_(total) {}
    ~Stopwatch() {
        auto spent = std::chrono::steady_clock::now() - start_;
        total_ += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
    }

  private:
    uint64_t &total_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace

HostExecution::HostExecution(const WorkContext &work, const Program &program)
    : work_(work), context_(program), builds_(program.pipelines.size()) {
    context_.memory = work.memory;
    for (size_t i = 0; i < program.joins.size(); ++i)
        matched_rows_.emplace_back(work.memory);
    stats_.joins.resize(program.pipelines.size() - 1);
}

void HostExecution::set_lookup(Index lookup, LookupRef table) { context_.lookups.at(lookup) = std::move(table); }

void HostExecution::set_constant(Index constant, uint32_t code) {
    context_.program.constants.at(constant).low = code;
    context_.constants.at(constant) = code;
}

void HostExecution::check_chunks(Index pipeline, const std::vector<ChunkView> &chunks) const {
    const Program &p = context_.program;
    const Pipeline &own = p.pipelines[pipeline];
    Range columns = p.sources[own.source].columns;
    for (const ChunkView &chunk : chunks) {
        if (chunk.columns.size() != columns.count)
            throw DeviceError("chunk does not have the columns of its source");
        for (Index c = 0; c < columns.count; ++c)
            if (chunk.columns[c].type != p.source_columns[columns.first + c].type)
                throw DeviceError("chunk column does not have the type of its source");
    }
    for (Index j = 0; j < own.joins.count; ++j)
        if (!context_.tables[p.joins[own.joins.first + j].build])
            throw DeviceError("join table not finished");
}

// Room for which entries were partners, from the first run on.
void HostExecution::note_partners_of(Index pipeline) {
    const Program &p = context_.program;
    const Range joins = p.pipelines[pipeline].joins;
    for (Index j = joins.first; j < joins.first + joins.count; ++j) {
        if (!keeps_table(p.joins[j].kind) || context_.matched_rows[j] != nullptr)
            continue;
        matched_rows_[j].resize(std::max<size_t>(context_.tables[p.joins[j].build]->rows(), 1), uint8_t(0));
        context_.matched_rows[j] = matched_rows_[j].data();
    }
}

std::vector<uint64_t> HostExecution::unmatched(Index join) {
    const size_t rows = context_.tables[context_.program.joins.at(join).build]->rows();
    std::vector<uint64_t> bits((rows + 63) / 64, 0);
    const uint8_t *matched_rows = context_.matched_rows[join];
    work_.pieces(rows, piece_rows, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            bits[i / 64] |= uint64_t(matched_rows == nullptr || matched_rows[i] == 0) << (i % 64);
    });
    return bits;
}

ChunkView HostExecution::table_rows(Index pipeline, std::shared_ptr<void> &memory) {
    const std::shared_ptr<JoinTable> table = context_.tables.at(pipeline);
    auto copies = std::make_shared<std::vector<WorkArray<uint8_t>>>();
    ChunkView chunk;
    chunk.nrows = static_cast<uint32_t>(table->rows());
    for (Index c = 0; c < table->payload_columns(); ++c) {
        const PayloadColumn &from = table->payload(c);
        const size_t width = type_width(from.type);
        copies->emplace_back(work_.memory);
        WorkArray<uint8_t> &to = copies->back();
        to.resize((table->rows() + batch_slack) * width);
        work_.pieces(table->rows(), piece_rows, [&](size_t begin, size_t end) {
            std::vector<uint8_t> values((piece_rows + batch_slack) * width); // stores may write too many
            kernels().gather_narrow(width, from.stored, static_cast<uint32_t>(end - begin),
                                    from.values.data() + begin * from.stored, from.low, nullptr, values.data());
            std::copy_n(values.data(), (end - begin) * width, to.data() + begin * width);
        });
        ColumnView view;
        view.type = from.type;
        view.values = to.data();
        view.nulls = from.nulls.empty() ? nullptr : from.nulls.data();
        view.has_range = from.has_range;
        view.min = from.min;
        view.max = from.max;
        chunk.columns.push_back(view);
    }
    memory = copies;
    return chunk;
}

// Into how many parts the partners of rows are divided, where there are fewer morsels than threads: one for each batch of pairs, as far
// as threads go. (Filters of the last join are looked at before its pairs are divided, so there would be nothing to gain.)
uint32_t HostExecution::partner_parts(Index pipeline, const std::vector<ChunkView> &chunks) const {
    size_t morsels = 0;
    double pairs = 0;
    for (const ChunkView &chunk : chunks) {
        morsels += (chunk.nrows + morsel_rows - 1) / morsel_rows;
        pairs += chunk.nrows;
    }
    const Pipeline &p = context_.program.pipelines[pipeline];
    if (morsels == 0 || morsels >= work_.pool.workers())
        return 1;
    const Index last = PipelineRunner::last_multiplier(context_, p);
    if (last == none || context_.program.joins[p.joins.first + last].filters.count > 0)
        return 1;
    for (Index j = 0; j <= last; ++j) {
        const Join &join = context_.program.joins[p.joins.first + j];
        const JoinTable &table = *context_.tables[join.build];
        if (delivers_payload(join.kind) && !table.unique())
            pairs = pairs_of_join(pairs, table.rows(), join.keys.count > 0);
    }
    const double batches = pairs / static_cast<double>(morsels * batch_rows);
    const double idle = static_cast<double>(work_.pool.workers() / morsels);
    return static_cast<uint32_t>(std::max(1.0, std::min(idle, batches)));
}

// Runs a pipeline with one runner per worker; `sink(worker)` makes its sink. Answers the rows that reached the sink.
// No morsel begins once *enough is true.
template <class MakeSink>
uint64_t HostExecution::run(Index pipeline, const std::vector<ChunkView> &chunks, MakeSink sink,
                            const std::atomic<bool> *enough) {
    check_chunks(pipeline, chunks);
    note_partners_of(pipeline);
    Stopwatch watch(stats_.kernel_us);
    std::vector<Morsel> morsels;
    const uint32_t parts = partner_parts(pipeline, chunks);
    for (const ChunkView &chunk : chunks)
        for (uint32_t begin = 0; begin < chunk.nrows; begin += morsel_rows)
            for (uint32_t part = 0; part < parts; ++part)
                morsels.push_back({&chunk, begin, begin + std::min(morsel_rows, chunk.nrows - begin), part});
    std::vector<std::unique_ptr<PipelineRunner>> runners(work_.pool.workers());
    work_.pool.run(morsels.size(), [&](size_t index, unsigned worker) {
        if (enough != nullptr && enough->load(std::memory_order_relaxed))
            return;
        auto &runner = runners[worker];
        if (!runner)
            runner = std::make_unique<PipelineRunner>(context_, pipeline, work_.cancel, sink(worker));
        runner->run(*morsels[index].chunk, morsels[index].begin, morsels[index].end, morsels[index].part, parts);
    });
    uint64_t rows_out = 0;
    for (auto &runner : runners) {
        if (!runner)
            continue;
        stats_.rows_in += runner->rows_in();
        rows_out += runner->rows_out();
    }
    return rows_out;
}

namespace {

// Columns for the rows of a Build sink.
BuildRows make_rows(const Program &p, const Pipeline &pipeline, const WorkMemoryRef &memory) {
    BuildRows rows;
    for (Index i = 0; i < pipeline.keys.count; ++i)
        rows.keys.emplace_back(p.exprs[p.lists[pipeline.keys.first + i]].type, memory);
    for (Index i = 0; i < pipeline.payload.count; ++i)
        rows.payload.emplace_back(p.exprs[p.lists[pipeline.payload.first + i]].type, memory);
    return rows;
}

// Collects the rows of a Build sink that have no NULL key.
void collect(const Program &p, const Pipeline &pipeline, const Batch &batch, Evaluator &evaluator, BuildRows &rows,
             BatchStorage &storage) {
    uint8_t absent[batch_rows];
    bool any_absent = false;
    for (Index k = 0; k < pipeline.keys.count; ++k) {
        Vec v = evaluator.evaluate_full(p.lists[pipeline.keys.first + k], batch);
        if (v.nulls == nullptr)
            continue;
        if (!any_absent)
            memset(absent, 0, sizeof(absent));
        any_absent = true;
        kernels().either(batch.n, absent, v.nulls, absent);
    }
    Batch part;
    const Batch *kept = &batch;
    if (any_absent) {
        uint32_t positions[batch_rows + batch_slack];
        uint8_t present[batch_rows];
        kernels().invert(batch.n, absent, present);
        uint32_t n = kernels().select(batch.n, present, nullptr, positions);
        if (n == 0)
            return;
        if (n < batch.n) {
            Evaluator::subset(batch, positions, n, storage, part);
            kept = &part;
        }
    }
    for (Index k = 0; k < pipeline.keys.count; ++k) {
        Vec v = evaluator.evaluate_full(p.lists[pipeline.keys.first + k], *kept);
        v.nulls = nullptr;
        rows.append(rows.keys[k], v, kept->n);
    }
    for (Index i = 0; i < pipeline.payload.count; ++i)
        rows.append(rows.payload[i], evaluator.evaluate_full(p.lists[pipeline.payload.first + i], *kept), kept->n);
    rows.n += kept->n;
}

} // namespace

// What the build collects of these rows, by thread.
std::vector<BuildRows> HostExecution::build_rows(Index pipeline, const std::vector<ChunkView> &chunks) {
    const Program &p = context_.program;
    if (pipeline + 1 >= p.pipelines.size() || context_.tables[pipeline])
        throw DeviceError("not an open build pipeline");
    std::vector<BuildRows> parts(work_.pool.workers());
    std::vector<BatchStorage> storage(work_.pool.workers());
    run(pipeline, chunks, [&](unsigned worker) {
        parts[worker] = make_rows(p, p.pipelines[pipeline], work_.memory);
        return [&, worker](const Batch &batch, Evaluator &evaluator) {
            collect(p, p.pipelines[pipeline], batch, evaluator, parts[worker], storage[worker]);
        };
    });
    parts.erase(std::remove_if(parts.begin(), parts.end(), [](const BuildRows &part) { return part.n == 0; }),
                parts.end());
    return parts;
}

void HostExecution::run_build(Index pipeline, const std::vector<ChunkView> &chunks) {
    for (BuildRows &part : build_rows(pipeline, chunks))
        builds_[pipeline].push_back(std::move(part));
}

bool HostExecution::change_build(Index pipeline, const BuiltTableRef &former, const std::vector<ChunkView> &gone,
                                 const std::vector<ChunkView> &come) {
    const auto before = std::dynamic_pointer_cast<JoinTable>(former);
    if (!before)
        throw DeviceError("not a table of this device");
    const Program &p = context_.program;
    std::vector<BuildRows> lost = build_rows(pipeline, gone), found = build_rows(pipeline, come);
    if (lost.empty() && found.empty()) {
        use_build(pipeline, former);
        return true;
    }
    if (is_set_of_keys(p, pipeline) && !lost.empty()) // (another row may have the key)
        return false;
    BuildRows rows = make_rows(p, p.pipelines[pipeline], work_.memory);
    if (!before->read(work_, lost, rows))
        return false;
    if (rows.n > 0)
        found.push_back(std::move(rows));
    builds_[pipeline] = std::move(found);
    finish_build(pipeline);
    return true;
}

// A bound of each entry of the table of a build that a join of `pipeline` asks, NULL as the one that no value reaches.
void HostExecution::bounds_of_entries(const IntervalBound &of, const Pipeline &pipeline, Index join, int64_t null,
                                      WorkArray<int64_t> &bounds) {
    const size_t entries = context_.tables[context_.program.joins[pipeline.joins.first + join].build]->entries();
    bounds.resize(entries);
    work_.pieces(entries, piece_rows, [&](size_t begin, size_t end) {
        Evaluator evaluator(context_, pipeline);
        Batch batch;
        uint32_t numbers[batch_rows + batch_slack];
        batch.identity = true; // of a chunk that nobody asks for
        batch.entries[join] = numbers;
        for (size_t at = begin; at < end; at += batch.n) {
            batch.n = static_cast<uint32_t>(std::min<size_t>(batch_rows, end - at));
            std::iota(numbers, numbers + batch.n, static_cast<uint32_t>(at));
            Evaluator::renew(batch);
            const Vec v = evaluator.evaluate_full(of.bound, batch);
            for (uint32_t i = 0; i < batch.n; ++i)
                bounds[at + i] = v.nulls != nullptr && v.nulls[i]
                                     ? null
                                     : integer_at(context_.program.exprs[of.bound].type, v.values, i);
        }
    });
}

// Where rows will ask for intervals of their partners. An error in a bound stays to be met by the pair that meets it, and without
// memory for bounds all pairs of a key are looked at.
void HostExecution::order_by_intervals(Index build) {
    Index by = none, at = none;
    const IntervalCondition asked = interval_condition_of_build(context_.program, build, &by, &at);
    JoinTable &table = *context_.tables[build];
    if (!asked.any() || table.unique())
        return;
    const Pipeline &pipeline = context_.program.pipelines[by];
    const size_t room = table.entries() * interval_bytes + table.bytes();
    try {
        work_.if_there_is_room(room, [&] {
            WorkArray<int64_t> low(work_.memory), high(work_.memory);
            if (asked.low.bound != none)
                bounds_of_entries(asked.low, pipeline, at, INT64_MAX, low);
            if (asked.high.bound != none)
                bounds_of_entries(asked.high, pipeline, at, INT64_MIN, high);
            table.order_by_intervals(work_, std::move(low), std::move(high));
        });
    } catch (const RowError &) {
    }
}

void HostExecution::finish_build(Index pipeline) {
    const Program &p = context_.program;
    if (pipeline + 1 >= p.pipelines.size() || context_.tables[pipeline])
        throw DeviceError("not an open build pipeline");
    Stopwatch watch(stats_.kernel_us);
    std::vector<BuildRows> &parts = builds_[pipeline];
    if (parts.empty()) // no rows: columns of the right types all the same
        parts.push_back(make_rows(p, p.pipelines[pipeline], work_.memory));
    auto table = std::make_shared<JoinTable>();
    table->build(work_, parts,
                 is_set_of_keys(p, pipeline)  ? JoinTable::Use::KeysOnly
                 : are_rows_kept(p, pipeline) ? JoinTable::Use::Rows
                                              : JoinTable::Use::Partners);
    std::vector<BuildRows>().swap(parts);
    context_.tables[pipeline] = table;
    order_by_intervals(pipeline);
    stats_.joins[pipeline] = table->describe();
}

void HostExecution::use_build(Index pipeline, BuiltTableRef table) {
    auto mine = std::dynamic_pointer_cast<JoinTable>(table);
    if (pipeline + 1 >= context_.program.pipelines.size() || context_.tables[pipeline] || !mine)
        throw DeviceError("not a table for an open build pipeline");
    stats_.joins[pipeline] = mine->describe();
    context_.tables[pipeline] = std::move(mine);
}

BuiltTableRef HostExecution::finished_build(Index pipeline) { return context_.tables.at(pipeline); }

GroupTable HostExecution::run_aggregate(const std::vector<ChunkView> &chunks) {
    check_chunks(main_pipeline(), chunks);
    const Grouping grouping = plan_grouping(work_, context_, chunks, context_.program.main().keys.count);
    stats_.grouping = grouping.name();
    return aggregate(chunks, grouping, nullptr);
}

bool HostExecution::run_to_result(const std::vector<ChunkView> &chunks, GroupTable &groups) {
    check_chunks(main_pipeline(), chunks);
    const Grouping grouping = plan_grouping(work_, context_, chunks, context_.program.main().result_keys);
    const std::unique_ptr<DistinctValues> distincts = DistinctValues::plan(work_, context_, chunks, grouping);
    if (!distincts)
        return false;
    stats_.grouping = std::string(grouping.name()) + (distincts->by_bits() ? distinct_by_bits : distinct_by_sets);
    groups = aggregate(chunks, grouping, distincts.get());
    Stopwatch watch(stats_.kernel_us);
    groups = distincts->with_states(std::move(groups));
    return true;
}

GroupTable HostExecution::aggregate(const std::vector<ChunkView> &chunks, const Grouping &grouping,
                                    DistinctValues *distincts) {
    std::vector<std::unique_ptr<Aggregator>> aggregators(work_.pool.workers());
    stats_.rows_out += run(main_pipeline(), chunks, [&](unsigned worker) {
        aggregators[worker] = std::make_unique<Aggregator>(context_, grouping, work_, distincts, worker);
        return
            [&, worker](const Batch &batch, Evaluator &evaluator) { aggregators[worker]->consume(batch, evaluator); };
    });
    Stopwatch watch(stats_.kernel_us);
    return collect_groups(work_, context_, grouping, aggregators);
}

RowTable HostExecution::run_rows(const std::vector<ChunkView> &chunks) {
    const Index pipeline = static_cast<Index>(context_.program.pipelines.size() - 1);
    const uint64_t limit = context_.program.main().limit;
    stats_.grouping = "rows";
    std::atomic<uint64_t> delivered{0};
    std::atomic<bool> enough{false};
    FirstRows first(context_.program); // (what a run that fails has found is lost with its rows)
    first.lower_bound(row_bound_);
    std::vector<std::unique_ptr<RowSink>> sinks(work_.pool.workers());
    stats_.rows_out += run(
        pipeline, chunks,
        [&](unsigned worker) {
            sinks[worker] = std::make_unique<RowSink>(context_.program, context_.program.main(), work_.memory,
                                                      first.all() ? nullptr : &first);
            return [&, worker](const Batch &batch, Evaluator &evaluator) {
                if (limit != 0) {
                    const uint64_t before = delivered.fetch_add(batch.n, std::memory_order_relaxed);
                    if (before + batch.n >= limit)
                        enough.store(true, std::memory_order_relaxed);
                    if (before >= limit)
                        return;
                }
                sinks[worker]->append(batch, evaluator);
            };
        },
        &enough);
    RowTable rows;
    for (std::unique_ptr<RowSink> &sink : sinks)
        if (sink)
            sink->hand_over(rows);
    row_bound_ = first.bound();
    return rows;
}

} // namespace gpuscan::host
