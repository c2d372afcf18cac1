// The arithmetic of tier_cost.hpp: the table of counts with default weights, prices, and the work of each step of a fragment.
//
//   feed   = max(feeding processes: pages (storage + pin, and of a team more) + pages by row, link: bytes of pages, decoding: pages + values + texts)
//   scan   = rows * (columns * (value + bytes) + conjuncts)
//   build  = rows * (row + a random write of the table); probe = rows * (row + a random read of it), or every pair
//   group  = rows * (a random write of the groups, if there are keys, + states) + groups merged, and aggregated again
//   texts  = entries numbered (of what is brought), evaluated natively or by PostgreSQL, read back
//   sort   = rows * (log2 rows * comparison + values gathered)
//   fetch  = bytes, through a file beyond what is kept; emit = rows and values, or groups
//
// Defaults. The host device's rates are those of one core with AVX-512 (SSB and TPC-H at SF 1 on two cores), a GPU's are an H200's
// (doc/performance.md and the tables there): 4.56 TB/s read, 51.4 GB/s by kernels over the link and 52.8 back, 48 million random
// accesses a second over it; 25 G random reads a second in device memory, and of joins and groups what beyond 50 MB (the far cache)
// and below it takes longer per row than within a multiprocessor's own: 2^10, 2^20, 2^24 and 2^28 entries are probed at 169, 92, 36
// and 32 G rows/s, rows go into 16,384, 65,536 and 16.8 million groups at 400, 49 and 14 G rows/s, tables are built at 56 and
// 17 G rows/s. Bringing TPC-H's columns at SF 0.1 took a core with AVX2 1.3 us a page, 7 ns an integer, 10 ns a numeric, 17 ns a text of
// few values, on a machine that does work in 0.76 of the time for which defaults are given. Texts: 1.5 million rows of 1, 20,000 and 1.5
// million different ones took a core 20, 53 and 220 ns each beside their decoding; on an H200 12 million values of few texts 10 ms, and
// 150 to 300 ns a text where all are different, of one thread of several. What a device measures at its first start replaces what it can measure (`gpuscan.cost_profile_file`).
#include "engine/cost/tier_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gpuscan::tier {

namespace {

struct Row {
    CountInfo info;
    double host, gpu; // default weights
};

using T = Tier;
using P = Pattern;
using S = Sharing;

// Storage, and the cost of plans, are priced by the planner's own settings.
constexpr Row table[counts] = {
    {{"storage_seq_read", T::Storage, P::SequentialRead, S::One, "page", "a page of a relation or a temporary file"},
     0,
     0},
    {{"storage_random_read", T::Storage, P::RandomRead, S::One, "page", "a page out of order"}, 0, 0},
    {{"storage_seq_write", T::Storage, P::SequentialWrite, S::One, "page", "a page of a temporary file"}, 0, 0},
    {{"storage_random_write", T::Storage, P::RandomWrite, S::One, "page", "a page of one of several temporary files"},
     0,
     0},
    {{"host_seq_read", T::Host, P::SequentialRead, S::Threads, "byte", "columns, read by one core"}, 0.1, 0.1},
    {{"host_seq_write", T::Host, P::SequentialWrite, S::Threads, "byte", "rows and tables, written by one core"},
     0.15,
     0.15},
    {{"host_random_read_near", T::Host, P::RandomRead, S::Threads, "access", "within the second-level cache"},
     0.5,
     0.5},
    {{"host_random_read_far", T::Host, P::RandomRead, S::Threads, "access", "within the last-level cache"}, 2, 2},
    {{"host_random_read_memory", T::Host, P::RandomRead, S::Threads, "access", "beyond the caches"}, 8, 8},
    {{"host_random_write_near", T::Host, P::RandomWrite, S::Threads, "access", "within the second-level cache"},
     0.5,
     0.5},
    {{"host_random_write_far", T::Host, P::RandomWrite, S::Threads, "access", "within the last-level cache"}, 3, 3},
    {{"host_random_write_memory", T::Host, P::RandomWrite, S::Threads, "access", "beyond the caches"}, 15, 15},
    {{"link_seq_read", T::Link, P::SequentialRead, S::One, "byte", "pages that the device reads in place"}, 0, 0.01946},
    {{"link_random_read", T::Link, P::RandomRead, S::One, "access", "of the device to the host's memory"}, 0, 20.8},
    {{"link_seq_write", T::Link, P::SequentialWrite, S::One, "byte", "results to the host's memory"}, 0, 0.01894},
    {{"link_random_write", T::Link, P::RandomWrite, S::One, "access", "of the device to the host's memory"}, 0, 20.8},
    {{"device_seq_read", T::Device, P::SequentialRead, S::One, "byte", "columns"}, 0, 0.00022},
    {{"device_seq_write", T::Device, P::SequentialWrite, S::One, "byte", "rows and tables"}, 0, 0.00024},
    {{"device_random_read_near", T::Device, P::RandomRead, S::One, "access", "within a multiprocessor's cache"},
     0,
     0.001},
    {{"device_random_read_far", T::Device, P::RandomRead, S::One, "access", "within the cache of all"}, 0, 0.006},
    {{"device_random_read_memory", T::Device, P::RandomRead, S::One, "access", "beyond the caches"}, 0, 0.026},
    {{"device_random_write_near", T::Device, P::RandomWrite, S::One, "access", "within a multiprocessor's memory"},
     0,
     0.001},
    {{"device_random_write_far", T::Device, P::RandomWrite, S::One, "access", "atomic, within the cache of all"},
     0,
     0.02},
    {{"device_random_write_memory", T::Device, P::RandomWrite, S::One, "access", "atomic, beyond the caches"}, 0, 0.07},
    {{"page_decoded", T::Processor, P::None, S::Threads, "page", "a heap page is taken apart"}, 1700, 40},
    {{"value_decoded", T::Processor, P::None, S::Threads, "value", "... and a value of it becomes one of a column"},
     9,
     0.2},
    {{"value_read", T::Processor, P::None, S::Threads, "value", "a value of a column is looked at"}, 0.1, 0},
    {{"condition", T::Processor, P::None, S::Threads, "row", "a condition is evaluated"}, 1, 0.0005},
    {{"row_built", T::Processor, P::None, S::One, "row", "a row of a build is collected and inserted"}, 12, 0.05},
    {{"row_probed", T::Processor, P::None, S::Threads, "row", "a row's key is looked up"}, 1.5, 0.002},
    {{"pair_compared", T::Processor, P::None, S::Threads, "pair", "a row is looked at with an entry"}, 4, 0.0014},
    {{"mark_asked", T::Processor, P::None, S::One, "entry", "whether an entry was a row's partner"}, 2, 2},
    {{"row_grouped", T::Processor, P::None, S::Threads, "row", "a row's group is found"}, 3, 0.003},
    {{"state_updated", T::Processor, P::None, S::Threads, "row", "an aggregate's state is updated"}, 1.5, 0.002},
    {{"group_merged", T::Processor, P::None, S::One, "group", "groups of threads, or of passes, become one"}, 100, 0.1},
    {{"comparison", T::Processor, P::None, S::Cores, "row", "two rows by their sort keys"}, 5, 5},
    {{"value_gathered", T::Processor, P::None, S::Cores, "value", "a value of a row goes to its place"}, 5, 5},
    {{"varlena_decoded", T::Processor, P::None, S::Threads, "value", "... which takes longer without a fixed length"},
     4,
     0},
    {{"text_encoded", T::Processor, P::None, S::Threads, "value", "... and a text becomes its number"}, 10, 0.8},
    {{"entry_numbered", T::Processor, P::None, S::Feeders, "entry", "a text that no row had before"}, 330, 60},
    {{"entry_native", T::Processor, P::None, S::TextThreads, "entry", "LIKE and its like for a text"}, 60, 60},
    {{"page_pinned", T::Backend, P::None, S::One, "page", "a page is found, pinned and vouched for"}, 450, 490},
    {{"page_by_row", T::Backend, P::None, S::One, "page", "the visibility of each row of a page"}, 5000, 5000},
    {{"page_in_team", T::Backend, P::None, S::One, "page", "what a page takes a feeding worker more"}, 700, 700},
    {{"plan_row", T::Backend, P::None, S::One, "row", "a tuple of a CPU plan is copied"}, 60, 60},
    {{"group_aggregated_again", T::Backend, P::None, S::One, "group", "a group that is aggregated once more"},
     100,
     100},
    {{"entry_evaluated", T::Backend, P::None, S::One, "entry", "PostgreSQL evaluates an expression for a text"},
     200,
     200},
    {{"entry_read", T::Backend, P::None, S::One, "entry", "a text is read by the backend"}, 40, 40},
    {{"result_byte", T::Backend, P::None, S::One, "byte", "rows on their way to the backend"}, 0.7, 0.7},
    {{"row_emitted", T::Backend, P::None, S::One, "row", "a row becomes a tuple"}, 25, 25},
    {{"value_emitted", T::Backend, P::None, S::One, "value", "... and each of its columns"}, 5, 5},
    {{"group_emitted", T::Backend, P::None, S::One, "group", "a group becomes a tuple"}, 150, 150},
    {{"plan_cost", T::Backend, P::None, S::One, "unit", "what PostgreSQL says that a part of the plan costs"}, 0, 0},
    {{"fragment_started", T::Latency, P::None, S::One, "fragment", "binding, constants, locks"}, 150000, 610000},
    {{"source_opened", T::Latency, P::None, S::One, "source", "a relation's columns are looked up"}, 50000, 50000},
    {{"lookup_opened", T::Latency, P::None, S::One, "lookup", "a table over a dictionary is asked for"},
     100000,
     100000},
    {{"round_trip", T::Latency, P::None, S::One, "request", "to the device process and back"}, 25000, 25000},
    {{"launch", T::Latency, P::None, S::One, "kernel", "a kernel is started and waited for"}, 0, 8000},
    {{"kernel_compiled", T::Latency, P::None, S::One, "kernel", "a kernel that nobody has compiled before"}, 0, 80e6},
    {{"team_started", T::Latency, P::None, S::One, "team", "feeding workers are started and waited for"}, 4e6, 4e6},
};

constexpr double page_bytes = 8192;
constexpr double fragment_requests = 4; // open, stage, run, fetch
constexpr double host_near_bytes = 1e6, host_far_bytes = 32e6;
constexpr double gpu_near_bytes = 200e3, gpu_far_bytes = 50e6;
// 8 sessions get 5.2 times one's throughput out of an H200 (each waits 8 / 5.2 times as long); cores are divided.
constexpr double gpu_contention = 0.08, host_contention = 1;

Weights defaults(bool gpu) {
    Weights weights = {};
    for (int i = 0; i < counts; ++i)
        weights.ns[i] = gpu ? table[i].gpu : table[i].host;
    weights.near_bytes = gpu ? gpu_near_bytes : host_near_bytes;
    weights.far_bytes = gpu ? gpu_far_bytes : host_far_bytes;
    weights.contention = gpu ? gpu_contention : host_contention;
    return weights;
}

// Does another request that runs on the device make it slower?
bool is_device_work(const Row &row, bool gpu) {
    return row.info.tier == Tier::Processor
               ? row.info.sharing != Sharing::Cores && row.info.sharing != Sharing::TextThreads &&
                     row.info.sharing != Sharing::Feeders
               : row.info.tier == (gpu ? Tier::Device : Tier::Host);
}

double sharers(Sharing sharing, const Machine &machine) {
    switch (sharing) {
    case Sharing::Threads:
        return std::max(machine.threads, 1.0);
    case Sharing::Feeders:
        return machine.gpu ? 1 : std::max(machine.threads, 1.0);
    case Sharing::TextThreads:
        return std::max(machine.text_threads, 1.0);
    case Sharing::Cores:
        return std::max(machine.cores, 1.0);
    default:
        return 1;
    }
}

} // namespace

const CountInfo &info(Count count) { return table[static_cast<int>(count)].info; }

const char *name_of(Tier tier) {
    static constexpr const char *names[tiers] = {"storage",   "host memory", "link",   "device memory",
                                                 "processor", "backend",     "latency"};
    return names[static_cast<int>(tier)];
}

const char *name_of(Pattern pattern) {
    static constexpr const char *names[] = {"", "sequential read", "random read", "sequential write", "random write"};
    return names[static_cast<int>(pattern)];
}

const char *name_of(Stage stage) {
    static constexpr const char *names[stages] = {"start", "feed",  "texts", "scan",  "build",
                                                  "probe", "group", "sort",  "fetch", "emit"};
    return names[static_cast<int>(stage)];
}

const Weights &default_weights(bool gpu) {
    static const Weights host = defaults(false), cuda = defaults(true);
    return gpu ? cuda : host;
}

Prices prices(const Weights &weights, const Machine &machine) {
    Prices result = {};
    const double crowd = 1 + weights.contention * machine.busy;
    // Cores that others use as well are so many fewer, but never less than one.
    const double host_contention_at = std::min(crowd, std::max(machine.threads, 1.0));
    for (int i = 0; i < counts; ++i) {
        result.ns[i] = weights.ns[i] / sharers(table[i].info.sharing, machine);
        if (is_device_work(table[i], machine.gpu))
            result.ns[i] *= machine.gpu ? crowd : table[i].info.sharing == Sharing::Threads ? host_contention_at : 1;
    }
    for (int i = 0; i < 4; ++i)
        result.ns[i] = machine.page_costs[i] * machine.ns_per_unit;
    result.ns[static_cast<int>(Count::PlanCost)] = machine.ns_per_unit;
    result.near_bytes = weights.near_bytes;
    result.far_bytes = weights.far_bytes;
    return result;
}

double stage_ns(const Account &account, const Prices &prices, Stage stage) {
    const int s = static_cast<int>(stage);
    double ns = -account.hidden_ns[s];
    for (int i = 0; i < counts; ++i)
        ns += account.amount[s][i] * prices.ns[i];
    return ns;
}

double total_ns(const Account &account, const Prices &prices) {
    double ns = 0;
    for (int s = 0; s < stages; ++s)
        ns += stage_ns(account, prices, static_cast<Stage>(s));
    return ns;
}

Levels levels(double bytes, double near_bytes, double far_bytes) {
    const double near = bytes > near_bytes ? near_bytes / bytes : 1;
    const double both = bytes > far_bytes ? std::max(far_bytes / bytes, near) : 1;
    return {near, both - near, 1 - both};
}

double passes(double table_bytes, double work_bytes) {
    return work_bytes > 0 && table_bytes > work_bytes ? std::ceil(table_bytes / work_bytes) : 1;
}

// A scan larger than the cache keeps its first part and streams the rest.
double missing_share(const RelationWork &work, double cache_bytes) {
    if (work.brought_before)
        return 0;
    const double bytes = work.rows * work.absent.all * value_bytes;
    const double fitting = bytes > cache_bytes && bytes > 0 ? cache_bytes / bytes : 1;
    const double kept = work.cached_share < 0 ? fitting * (1 - expected_missing) : work.cached_share;
    return 1 - std::clamp(kept, 0.0, 1.0);
}

void Ledger::sequential(Stage stage, bool write, double bytes) {
    if (machine_.gpu)
        add(stage, write ? Count::DeviceSeqWrite : Count::DeviceSeqRead, bytes);
    else
        add(stage, write ? Count::HostSeqWrite : Count::HostSeqRead, bytes);
}

void Ledger::random(Stage stage, bool write, double accesses, double structure_bytes) {
    const Levels level = levels(structure_bytes, prices_.near_bytes, prices_.far_bytes);
    Count first = write ? Count::HostWriteNear : Count::HostReadNear;
    if (machine_.gpu)
        first = write ? Count::DeviceWriteNear : Count::DeviceReadNear;
    const auto level_count = [first](int level) { return static_cast<Count>(static_cast<int>(first) + level); };
    add(stage, level_count(0), accesses * level.near);
    add(stage, level_count(1), accesses * level.far);
    add(stage, level_count(2), accesses * level.memory);
}

void Ledger::start(int sources, int lookups) {
    add(Stage::Start, Count::FragmentStarted, 1);
    add(Stage::Start, Count::SourceOpened, sources);
    add(Stage::Start, Count::RoundTrip, fragment_requests);
    if (machine_.gpu) {
        add(Stage::Start, Count::Launch, sources);
        add(Stage::Start, Count::KernelCompiled, expected_compiles * sources);
    }
    this->lookups(lookups);
}

void Ledger::lookups(int more) { add(Stage::Start, Count::LookupOpened, more); }

struct Ledger::Piece {
    double pages, by_one;         // that are decoded; of them, the process with most finds
    double by_row, by_row_by_one; // that are read row by row
};

// A worker is a new process, to which each page is new, and its beginning a page fault; and its work is beside that of others. The backend
// that it helps has its page tables.
static double share_of_workers(double workers) { return workers / (1 + workers); }

// Side by side: who feeds, the link, the device.
void Ledger::bring(const RelationWork &work, const Piece &piece) {
    const double pages = piece.pages + piece.by_row, page_rows = work.pages > 0 ? work.rows / work.pages : 0;
    const auto values = [&](double Columns::*kind) {
        return page_rows * (piece.pages * work.absent.*kind + piece.by_row * work.read.*kind);
    };
    const double before = ns_;
    add(Stage::Feed, Count::StorageSeqRead, pages * (1 - work.resident_share));
    add(Stage::Feed, Count::PagePinned, piece.by_one);
    add(Stage::Feed, Count::PageByRow, piece.by_row_by_one);
    add(Stage::Feed, Count::PageInTeam,
        piece.by_one * share_of_workers(work.workers) + piece.by_row_by_one * share_of_workers(work.row_workers));
    const double feeding = ns_ - before;
    if (machine_.gpu)
        add(Stage::Feed, Count::LinkSeqRead, pages * page_bytes);
    const double link = ns_ - before - feeding;
    add(Stage::Feed, Count::PageDecoded, pages);
    add(Stage::Feed, Count::ValueDecoded, values(&Columns::all));
    add(Stage::Feed, Count::VarlenaDecoded, values(&Columns::varlena));
    add(Stage::Feed, Count::TextEncoded, values(&Columns::texts));
    const double decoding = ns_ - before - feeding - link;
    const double hidden = feeding + link + decoding - std::max({feeding, link, decoding});
    ns_ -= hidden;
    if (account_ != nullptr)
        account_->hidden_ns[static_cast<int>(Stage::Feed)] += hidden;
}

void Ledger::relation(const RelationWork &work) {
    const double values = work.rows * work.read.all;
    const double visible = work.pages * work.visible_share, by_row = work.pages - visible;
    const double brought = visible * missing_share(work, machine_.cache_bytes), decoded = brought + by_row;

    const double round = (1 + work.workers) * work.chunk_pages,
                 even = round > 0 ? std::floor(brought / round) * round : brought;
    bring(work, {even, even / (1 + work.workers), 0, 0});
    const double last = brought - even;
    const double chunks =
        work.chunk_pages > 0 ? std::max(std::ceil(brought / work.chunk_pages), 1.0) : 1 + work.workers;
    const double numbering = machine_.gpu ? std::min(1 + work.workers, chunks) : 1;
    bring(work, {last, std::min(last, work.chunk_pages), by_row, by_row / (1 + work.row_workers)});
    if (decoded > 0)
        add(Stage::Feed, Count::TeamStarted, (work.workers > 0 && brought > 0) + (work.row_workers > 0 && by_row > 0));

    if (work.pages > 0)
        add(Stage::Texts, Count::EntryNumbered, brought / work.pages * work.text_entries / numbering);

    if (work.unread)
        return;
    sequential(Stage::Scan, false, values * value_bytes);
    add(Stage::Scan, Count::ValueRead, values);
    add(Stage::Scan, Count::Condition, work.rows * work.conjuncts);
}

void Ledger::plan_rows(double cost, double rows, double columns) {
    add(Stage::Feed, Count::PlanCost, cost);
    add(Stage::Feed, Count::PlanRow, rows);
    if (machine_.gpu)
        add(Stage::Feed, Count::LinkSeqRead, rows * columns * value_bytes);
    sequential(Stage::Scan, false, rows * columns * value_bytes);
    add(Stage::Scan, Count::ValueRead, rows * columns);
}

void Ledger::build(double rows) {
    add(Stage::Build, Count::RowBuilt, rows);
    random(Stage::Build, true, rows, rows * table_entry_bytes);
}

void Ledger::probe(double rows, double entries) {
    add(Stage::Probe, Count::RowProbed, rows);
    random(Stage::Probe, false, rows, entries * table_entry_bytes);
}

void Ledger::pairs(double rows, double entries) { add(Stage::Probe, Count::PairCompared, rows * entries); }

void Ledger::unmatched(double entries) {
    add(Stage::Start, Count::FragmentStarted, 0.5);
    add(Stage::Probe, Count::MarkAsked, entries);
    add(Stage::Probe, Count::ValueRead, entries);
}

void Ledger::aggregate(double rows, double groups, double delivered, int keys, int states) {
    if (keys > 0) {
        add(Stage::Group, Count::RowGrouped, rows);
        random(Stage::Group, true, rows, groups * (keys + states) * group_state_bytes);
    }
    add(Stage::Group, Count::StateUpdated, rows * states);
    add(Stage::Group, Count::GroupMerged, groups);
    if (machine_.gpu)
        add(Stage::Fetch, Count::LinkSeqWrite, groups * (keys + states) * value_bytes);
    add(Stage::Emit, Count::GroupEmitted, delivered);
}

void Ledger::aggregate_again(double groups) { add(Stage::Group, Count::GroupAggregatedAgain, groups); }

void Ledger::fetch_rows(double rows, double columns, double row_bytes, double entries, double kept_bytes) {
    const double bytes = rows * row_bytes;
    sequential(Stage::Fetch, true, bytes);
    add(Stage::Fetch, Count::ValueRead, rows * columns);
    if (machine_.gpu)
        add(Stage::Fetch, Count::LinkSeqWrite, bytes);
    add(Stage::Fetch, Count::ResultByte, bytes);
    add(Stage::Fetch, Count::EntryRead, entries);
    const double spilled = std::max(bytes - kept_bytes, 0.0) / page_bytes;
    add(Stage::Fetch, Count::StorageSeqWrite, spilled);
    add(Stage::Emit, Count::StorageSeqRead, spilled);
}

void Ledger::emit_rows(double rows, double columns) {
    add(Stage::Emit, Count::RowEmitted, rows);
    add(Stage::Emit, Count::ValueEmitted, rows * columns);
}

void Ledger::sort(double rows, double columns) {
    add(Stage::Sort, Count::Comparison, rows * std::log2(std::max(rows, 2.0)));
    add(Stage::Sort, Count::ValueGathered, rows * columns);
}

// Native evaluation is kept, so mostly paid once, like decoding.
void Ledger::texts(const Texts &work) {
    add(Stage::Texts, Count::EntryNative, work.native);
    add(Stage::Texts, Count::EntryEvaluated, work.evaluated);
    add(Stage::Texts, Count::EntryRead, work.shown);
    add(Stage::Texts, Count::FragmentStarted, work.demands / 2);
}

} // namespace gpuscan::tier
