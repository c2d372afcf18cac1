// The arithmetic of tier_cost.hpp: prices, and the work of each step of a fragment. Multiples of a weight are those of tier_weights.hpp.
//
//   feed   = max(feeding processes: pages (storage + found, and of a team more) + pages by row, link: bytes of pages, decoding: pages + values;
//            of the host device also: what feeding and decoding take its cores together)
//   scan   = rows * (columns * (a look + bytes) + conditions)
//   build  = rows * (row + a random write of the table); probe = rows * (row + a random read of it), or every pair
//   group  = rows * (a random write of the groups, if there are keys, + states) + groups merged, and aggregated again (or bits of DISTINCT values)
//   texts  = texts numbered (of what is brought), evaluated natively or by PostgreSQL, read back
//   sort   = rows * (log2 rows + columns) values, by all cores; and windows: rows * (edges + functions) values
//   fetch  = bytes, through a file beyond what is kept; emit = rows and values, or groups
#include "engine/cost/tier_cost.hpp"

#include <algorithm>
#include <cmath>

#include "engine/util/value_bits.hpp"

namespace gpuscan::tier {

namespace {

constexpr double page_bytes = 8192;

Weights defaults(bool gpu) {
    Weights weights = {};
    for (int i = 0; i < device_values; ++i)
        weights.values[i] = gpu ? weight_table[i].gpu : weight_table[i].host;
    return weights;
}

// Does another request that runs on the device make it slower?
bool is_device_work(const CountInfo &row) {
    return row.tier == Tier::Memory || (row.tier == Tier::Processor && row.sharing != Sharing::Feeders);
}

bool is_shared(Sharing sharing, bool gpu) {
    return sharing == Sharing::Threads || (sharing == Sharing::Feeders && !gpu);
}

} // namespace

const char *name_of(Tier tier, bool gpu) {
    static constexpr const char *names[] = {"host memory", "link", "processor", "backend", "latency", "storage"};
    return gpu && tier == Tier::Memory ? "device memory" : names[static_cast<int>(tier)];
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
    const double crowd = 1 + weights.values[contention] * machine.busy, threads = std::max(machine.threads, 1.0);
    for (int i = 0; i < counts; ++i) {
        const CountInfo &row = weight_table[i];
        const bool shared = is_shared(row.sharing, machine.gpu);
        result.ns[i] = weights.values[i] / (shared ? threads : 1);
        // Cores that others use as well are so many fewer, but never less than one.
        if (is_device_work(row))
            result.ns[i] *= machine.gpu ? crowd : shared ? std::min(crowd, threads) : 1;
    }
    const auto put = [&](Count count, double units) {
        result.ns[static_cast<int>(count)] = units * machine.ns_per_unit;
    };
    put(Count::StorageSeqRead, machine.page_read);
    put(Count::StorageSeqWrite, machine.page_write);
    put(Count::PlanCost, 1);
    result.near_bytes = weights.values[near_cache];
    result.far_bytes = weights.values[far_cache];
    return result;
}

double stage_ns(const Breakdown &breakdown, const Prices &prices, Stage stage) {
    const int s = static_cast<int>(stage);
    double ns = -breakdown.hidden_ns[s];
    for (int i = 0; i < counts; ++i)
        ns += breakdown.amount[s][i] * prices.ns[i];
    return ns;
}

double total_ns(const Breakdown &breakdown, const Prices &prices) {
    double ns = 0;
    for (int s = 0; s < stages; ++s)
        ns += stage_ns(breakdown, prices, static_cast<Stage>(s));
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

// A chunk is cached with all of its columns that are read, or read row by row.
double decoded_share(const RelationWork &work, double cache_bytes) {
    const bool fits = work.cached_share >= 1 || work.chunk_rows * work.read.all * value_bytes <= cache_bytes;
    return fits ? work.cacheable_share : 0;
}

// A scan larger than the cache keeps its first part and streams the rest.
double fitting_share(const RelationWork &work, double cache_bytes) {
    const double bytes = work.rows * work.read.all * value_bytes;
    return bytes > cache_bytes && bytes > 0 ? cache_bytes / bytes : 1;
}

double missing_share(const RelationWork &work, double cache_bytes) {
    if (work.brought_before)
        return 0;
    const double kept =
        work.cached_share < 0 ? fitting_share(work, cache_bytes) * (1 - expected_missing) : work.cached_share;
    return 1 - std::clamp(kept, 0.0, 1.0);
}

void Ledger::sequential(Stage stage, bool write, double bytes) {
    add(stage, write ? Count::MemorySeqWrite : Count::MemorySeqRead, bytes);
}

void Ledger::random(Stage stage, bool write, double accesses, double structure_bytes) {
    const Levels level = levels(structure_bytes, prices_.near_bytes, prices_.far_bytes);
    add(stage, write ? Count::MemoryRandomWrite : Count::MemoryRandomRead, accesses * level.memory);
    add(stage, write ? Count::MemoryRandomWriteCached : Count::MemoryRandomReadCached,
        accesses * (level.far + level.near * (write ? near_writes : near_reads)));
}

void Ledger::start(int sources, int lookups) {
    add(Stage::Start, Count::FragmentStarted, 1);
    add(Stage::Start, Count::SourceOpened, sources);
    if (machine_.gpu)
        add(Stage::Start, Count::KernelCompiled, expected_compiles * sources);
    this->lookups(lookups);
}

void Ledger::lookups(int more) { add(Stage::Start, Count::SourceOpened, lookup_sources * more); }

struct Ledger::Piece {
    double pages, by_one;           // that are decoded; of them, the process with most finds
    double rowwise, rowwise_by_one; // that are read row by row
};

// A worker is a new process, to which each page is new, and its beginning a page fault; and its work is beside that of others. To a session
// pages that it brings are taken to be new, too; of those that it reads row by row, each time, it has page tables.
static double share_of_workers(double workers) { return workers / (1 + workers); }

// Side by side: who feeds, the link, the device. But the host device decodes by the cores that the feeding processes need, too.
void Ledger::bring(const RelationWork &work, const Piece &piece) {
    const double pages = piece.pages + piece.rowwise, page_rows = work.pages > 0 ? work.rows / work.pages : 0;
    const double by_one = piece.by_one + piece.rowwise_by_one;
    const auto values = [&](double Columns::*kind) {
        return page_rows * (piece.pages * work.absent.*kind + piece.rowwise * work.read.*kind);
    };
    const double before = ns_;
    add(Stage::Feed, Count::StorageSeqRead, pages * (1 - work.resident_share));
    const double stored = ns_ - before;
    add(Stage::Feed, Count::PageFound, by_one);
    add(Stage::Feed, Count::BackendRow, piece.rowwise_by_one * page_by_row_rows);
    add(Stage::Feed, Count::PageTouched, piece.by_one * (1 - share_of_workers(work.workers)));
    add(Stage::Feed, Count::PageInTeam,
        piece.by_one * share_of_workers(work.workers) + piece.rowwise_by_one * share_of_workers(work.row_workers));
    add(Stage::Feed, Count::PlanCost, piece.by_one * work.evaluated);
    add(Stage::Feed, Count::BackendRow, piece.by_one * page_rows * work.expressions * expression_row_rows);
    const double feeding = ns_ - before;
    if (machine_.gpu)
        add(Stage::Feed, Count::LinkSeqRead, pages * page_bytes);
    const double link = ns_ - before - feeding;
    add(Stage::Feed, Count::PageDecoded, pages);
    add(Stage::Feed, Count::ValueDecoded,
        values(&Columns::all) + varlena_values * values(&Columns::varlena) + text_values * values(&Columns::texts) +
            passed_values * values(&Columns::passed));
    if (!machine_.gpu)
        random(Stage::Feed, false, text_reads * values(&Columns::unfamiliar), work.text_entries * text_entry_bytes);
    const double decoding = ns_ - before - feeding - link;
    const double processes = by_one > 0 ? pages / by_one : 1, cores = std::max(machine_.cores, machine_.threads);
    const double together =
        machine_.gpu ? 0 : ((feeding - stored) * processes + decoding * machine_.threads) / std::max(cores, 1.0);
    const double longest = std::max({feeding, link, decoding, std::min(together, feeding + decoding)});
    const double hidden = feeding + link + decoding - longest;
    ns_ -= hidden;
    if (breakdown_ != nullptr)
        breakdown_->hidden_ns[static_cast<int>(Stage::Feed)] += hidden;
}

void Ledger::relation(const RelationWork &work) {
    const double values = work.rows * work.read.all;
    const double visible = work.pages * decoded_share(work, machine_.cache_bytes), rowwise = work.pages - visible;
    const double brought = visible * missing_share(work, machine_.cache_bytes), decoded = brought + rowwise;

    const double round = (1 + work.workers) * work.chunk_pages,
                 even = round > 0 ? std::floor(brought / round) * round : brought;
    bring(work, {even, even / (1 + work.workers), 0, 0});
    const double last = brought - even;
    const double chunks = work.chunk_pages > 0 ? std::max(std::ceil(brought / work.chunk_pages), 1.0) : 1;
    const double numbering = machine_.gpu ? std::min(1 + work.workers, chunks) : 1;
    bring(work, {last, std::min(last, work.chunk_pages), rowwise, rowwise / (1 + work.row_workers)});
    if (decoded > 0)
        add(Stage::Feed, Count::TeamStarted, (work.workers > 0 && brought > 0) + (work.row_workers > 0 && rowwise > 0));

    // The host's cores read them; the backend finds those that are not in shared buffers.
    const double hashed = visible > 0 ? work.hashed : 0, elsewhere = hashed * (1 - work.resident_share);
    add(Stage::Feed, machine_.gpu ? Count::LinkSeqRead : Count::MemorySeqRead, hashed * page_bytes);
    add(Stage::Feed, Count::StorageSeqRead, elsewhere);
    add(Stage::Feed, Count::PageFound, elsewhere);

    if (work.pages > 0)
        add(Stage::Texts, Count::TextNumbered, brought / work.pages * work.text_entries / numbering);

    if (work.unread)
        return;
    sequential(Stage::Scan, false, values * value_bytes);
    add(Stage::Scan, Count::ValueStep, value_read_steps * values + work.rows * work.conjuncts);
}

void Ledger::plan_rows(double cost, double rows, double columns) {
    add(Stage::Feed, Count::PlanCost, cost);
    add(Stage::Feed, Count::BackendRow, plan_row_rows * rows);
    transient(rows, columns);
}

void Ledger::stage_rows(double cost, double rows, double columns) {
    add(Stage::Feed, Count::PlanCost, cost);
    add(Stage::Feed, Count::BackendValue, rows * columns);
    transient(rows, columns);
}

void Ledger::transient(double rows, double columns) {
    if (machine_.gpu)
        add(Stage::Feed, Count::LinkSeqRead, rows * columns * value_bytes);
    sequential(Stage::Scan, false, rows * columns * value_bytes);
    add(Stage::Scan, Count::ValueStep, value_read_steps * rows * columns);
}

void Ledger::build(double rows) {
    add(Stage::Build, Count::RowBuilt, rows);
    random(Stage::Build, true, rows, rows * table_entry_bytes);
}

void Ledger::probe(double rows, double entries) {
    add(Stage::Probe, Count::RowStep, rows);
    random(Stage::Probe, false, rows, entries * table_entry_bytes);
}

void Ledger::pairs(double rows, double entries) { add(Stage::Probe, Count::ValueStep, pair_steps * rows * entries); }

void Ledger::intervals(double rows, double entries, double found) {
    const double halvings = std::log2(std::max(entries, 2.0));
    random(Stage::Probe, false, 2 * rows * halvings, entries * bound_bytes);
    pairs(found, 1);
}

void Ledger::unmatched(double entries) {
    add(Stage::Start, Count::FragmentStarted, second_run);
    add(Stage::Probe, Count::BackendValue, mark_values * entries);
    add(Stage::Probe, Count::ValueStep, value_read_steps * entries);
}

void Ledger::aggregate(double rows, double groups, double delivered, int keys, int states) {
    if (keys > 0) {
        add(Stage::Group, Count::RowStep, group_steps * rows);
        random(Stage::Group, true, rows, groups * (keys + states) * group_state_bytes);
    }
    add(Stage::Group, Count::RowStep, rows * states);
    add(Stage::Group, Count::RowStep, merge_steps * groups * std::max(machine_.threads, 1.0));
    if (machine_.gpu)
        add(Stage::Fetch, Count::LinkSeqWrite, groups * (keys + states) * value_bytes);
    add(Stage::Emit, Count::BackendRow, group_rows * delivered);
}

void Ledger::aggregate_again(double groups) { add(Stage::Group, Count::BackendRow, group_again_rows * groups); }

static const BitsWorth &bits_worth(const Machine &machine) { return machine.gpu ? gpu_bits : host_bits; }

bool Ledger::notes_values(double rows, double numbers, double bits) const {
    const BitsWorth &worth = bits_worth(machine_);
    return bits <= worth.most(rows) || numbers <= worth.groups;
}

void Ledger::distinct_values(double rows, int arguments, double bits) {
    const bool by_bits = bits <= bits_worth(machine_).most(rows);
    const double bytes = by_bits ? bits : rows * arguments * set_bytes;
    add(Stage::Group, Count::RowStep, (by_bits ? bit_steps : set_steps) * rows * arguments);
    random(Stage::Group, true, rows * arguments, bytes);
    sequential(Stage::Group, true, bytes);
    sequential(Stage::Group, false, bytes);
}

void Ledger::fetch_rows(double rows, double columns, double row_bytes, double entries, double kept_bytes) {
    const double bytes = rows * row_bytes;
    sequential(Stage::Fetch, true, bytes);
    add(Stage::Fetch, Count::ValueStep, value_read_steps * rows * columns);
    if (machine_.gpu)
        add(Stage::Fetch, Count::LinkSeqWrite, bytes);
    add(Stage::Fetch, Count::BackendByte, bytes);
    add(Stage::Fetch, Count::BackendRow, text_read_rows * entries);
    const double spilled = std::max(bytes - kept_bytes, 0.0) / page_bytes;
    add(Stage::Fetch, Count::StorageSeqWrite, spilled);
    add(Stage::Emit, Count::StorageSeqRead, spilled);
}

void Ledger::emit_rows(double rows, double columns) {
    add(Stage::Emit, Count::BackendRow, rows);
    add(Stage::Emit, Count::BackendValue, rows * columns);
}

void Ledger::sort(double rows, double columns) {
    add(Stage::Sort, Count::BackendValue,
        rows * (std::log2(std::max(rows, 2.0)) + columns) / std::max(machine_.cores, 1.0));
}

void Ledger::windows(double rows, double functions) {
    add(Stage::Sort, Count::BackendValue, rows * (window_edge_values + functions) / std::max(machine_.cores, 1.0));
}

void Ledger::ordered_sets(double rows, double columns, double arguments) {
    const double bytes = rows * columns * 2 * value_bytes;
    sequential(Stage::Group, true, bytes);
    if (machine_.gpu)
        add(Stage::Fetch, Count::LinkSeqWrite, bytes);
    add(Stage::Sort, Count::BackendValue,
        rows * (columns + selected_values * arguments) / std::max(machine_.cores, 1.0));
}

// Native evaluation is kept, so mostly paid once, like decoding.
void Ledger::texts(const Texts &work) {
    add(Stage::Texts, Count::BackendRow,
        text_native_rows * work.native / std::max(machine_.text_threads, 1.0) + text_evaluated_rows * work.evaluated +
            text_read_rows * work.shown);
    add(Stage::Texts, Count::FragmentStarted, second_run * work.deferred);
}

} // namespace gpuscan::tier
