// The weights of a device: what one of each kind of work takes it, each with its unit, the benchmark that measures it, and its default.
//
// Tiers and patterns. Each tier that data passes (storage, the memory where the device has its columns, the link) has weights of its own
// for reading and writing, in sequence and at random: Bausch, Petrov and Buchmann's idea for storage (DaMoN 2012), which Kaldewey et
// al. (DaMoN 2012, table 1) measure in device memory: 151 GB/s against 7.7, and 4.6 for compare-and-swap. That memory is the host's for the
// host device, and a GPU's own. Over the link, and to files, a fragment has nothing to read or to write at random. Storage, and
// the cost of plans, are priced by the planner's own settings.
//
// A kind of work that cannot be told apart from another, or decides nothing, has no weight: it counts as so many of the other (the ratios
// below).
//
// Defaults are what the benchmarks have found: for one core with AVX-512 (SSB and TPC-H at SF 1 on two cores), and for an H200
// (doc/performance.md and the tables there): 4.56 TB/s read, 51.4 GB/s by kernels over the link and 52.8 back; 25 G random reads a second in
// device memory; 2^10, 2^20, 2^24 and 2^28 entries are probed at 169, 92, 36 and 32 G rows/s, rows go into 16,384, 65,536 and 16.8
// million groups at 400, 49 and 14 G rows/s, tables are built at 56 and 17 G rows/s. Bringing TPC-H's columns at SF 0.1 took a core with AVX2
// 1.3 us a page, 7 ns an integer, 10 ns a numeric, 17 ns a text of few values, on a machine that does work in 0.76 of the time for which
// defaults are given. Texts: 1.5 million rows of 1, 20,000 and 1.5 million different ones took a core 20, 53 and 220 ns each beside their
// decoding; on an H200 12 million values of few texts 10 ms, and 150 to 300 ns a text where all are different, of one thread of several. 8
// sessions get 5.2 times one's throughput out of an H200 (each waits 8 / 5.2 times as long).
// What a device measures at its first start replaces what it can measure (`gpuscan.cost_profile_file`).
#pragma once

#include <cstdint>

namespace gpuscan::tier {

enum class Tier : uint8_t {
    Memory,    // where the device has its columns and tables
    Link,      // between the host's memory and a GPU's; "read" is what the device reads
    Processor, // work of the device's cores
    Backend,   // work of PostgreSQL's processes, and of the device's process on cores of the host
    Latency,   // what is paid once, whatever the size
    Storage,   // files, as PostgreSQL's page costs price them
};

enum class Pattern : uint8_t { None, SequentialRead, RandomRead, SequentialWrite, RandomWrite };

// Who does it: what is divided by how many do it at the same time.
enum class Sharing : uint8_t {
    One,
    Threads, // of the host device
    Feeders, // the same; on a GPU's behalf one thread for each feeding process, by which counts are divided
};

struct CountInfo {
    const char *name; // as in a profile
    Tier tier;
    Pattern pattern;
    Sharing sharing;
    const char *unit;
    // A task of gpuscan-calibrate (calibrate/device_tasks.cpp); "kernels" are those that its queries compile; "first start" is what a device
    // measures by itself (tier_measure.cpp, cuda/measure.cpp); "settings": PostgreSQL's. (page_touched is what the step of that name measures.)
    const char *benchmark;
    double host, gpu; // ns of one core, or of the whole GPU
    const char *meaning;
};

// Each weight once: its enumerator and its entry in the table. A device's own end with TeamStarted; the planner knows the others.
// clang-format off
#define GPUSCAN_DEVICE_COUNTS(X) \
    X(MemorySeqRead, "memory_seq_read", Tier::Memory, Pattern::SequentialRead, Sharing::Threads, "byte", "first start", 0.1, 0.00022, "columns") \
    X(MemorySeqWrite, "memory_seq_write", Tier::Memory, Pattern::SequentialWrite, Sharing::Threads, "byte", "first start", 0.15, 0.00024, "rows") \
    X(MemoryRandomRead, "memory_random_read", Tier::Memory, Pattern::RandomRead, Sharing::Threads, "access", "first start", 8, 0.026, "of a table beyond the caches") \
    X(MemoryRandomReadCached, "memory_random_read_cached", Tier::Memory, Pattern::RandomRead, Sharing::Threads, "access", "first start", 2, 0.006, "... within the far cache") \
    X(MemoryRandomWrite, "memory_random_write", Tier::Memory, Pattern::RandomWrite, Sharing::Threads, "access", "first start", 15, 0.07, "of a table or groups beyond the caches") \
    X(MemoryRandomWriteCached, "memory_random_write_cached", Tier::Memory, Pattern::RandomWrite, Sharing::Threads, "access", "first start", 3, 0.016, "... within the far cache") \
    X(LinkSeqRead, "link_seq_read", Tier::Link, Pattern::SequentialRead, Sharing::One, "byte", "first start", 0, 0.01946, "pages that the device reads in place") \
    X(LinkSeqWrite, "link_seq_write", Tier::Link, Pattern::SequentialWrite, Sharing::One, "byte", "first start", 0, 0.01894, "results to the host's memory") \
    X(PageDecoded, "page_decoded", Tier::Processor, Pattern::None, Sharing::Threads, "page", "bring many pages", 2300, 40, "a heap page is taken apart") \
    X(ValueDecoded, "value_decoded", Tier::Processor, Pattern::None, Sharing::Threads, "value", "bring four integers", 13.5, 0.25, "... and a value of it becomes one of a column") \
    X(ValueStep, "value_step", Tier::Processor, Pattern::None, Sharing::Threads, "step", "three conditions", 1, 0.00035, "a condition is evaluated for a row") \
    X(RowStep, "row_step", Tier::Processor, Pattern::None, Sharing::Threads, "step", "six sums", 1.5, 0.0017, "a row is looked up, or updates an aggregate's state") \
    X(RowBuilt, "row_built", Tier::Processor, Pattern::None, Sharing::One, "row", "join with a large table", 12, 0.05, "a row of a join table is collected and inserted") \
    X(TextNumbered, "text_numbered", Tier::Processor, Pattern::None, Sharing::Feeders, "text", "bring different texts", 220, 60, "a text that no row had before") \
    X(PageFound, "page_found", Tier::Backend, Pattern::None, Sharing::One, "page", "bring many pages", 450, 490, "a page is found, pinned and vouched for") \
    X(PageInTeam, "page_in_team", Tier::Backend, Pattern::None, Sharing::One, "page", "bring many pages, in a team", 700, 700, "what a page takes a feeding worker more") \
    X(PageTouched, "page_touched", Tier::Backend, Pattern::None, Sharing::One, "page", "lookups of parallel workers", 1100, 700, "what a page takes a session more that has not looked at it yet") \
    X(BackendRow, "backend_row", Tier::Backend, Pattern::None, Sharing::One, "row", "rows", 25, 25, "a row becomes a tuple") \
    X(BackendValue, "backend_value", Tier::Backend, Pattern::None, Sharing::One, "value", "rows of six columns", 5, 5, "... and each of its columns") \
    X(BackendByte, "backend_byte", Tier::Backend, Pattern::None, Sharing::One, "byte", "many rows", 0.7, 0.7, "rows on their way to the backend") \
    X(FragmentStarted, "fragment_started", Tier::Latency, Pattern::None, Sharing::One, "fragment", "start", 250000, 710000, "binding, constants, locks, requests to the device process") \
    X(SourceOpened, "source_opened", Tier::Latency, Pattern::None, Sharing::One, "source", "start, three tables", 50000, 58000, "columns are looked up, a kernel is launched") \
    X(KernelCompiled, "kernel_compiled", Tier::Latency, Pattern::None, Sharing::One, "kernel", "kernels", 0, 80e6, "a kernel that nobody has compiled before") \
    X(TeamStarted, "team_started", Tier::Latency, Pattern::None, Sharing::One, "team", "bring a column, in a team", 4e6, 4e6, "feeding workers are started and waited for") \
    X(StorageSeqRead, "storage_seq_read", Tier::Storage, Pattern::SequentialRead, Sharing::One, "page", "settings", 0, 0, "a page of a relation or a temporary file") \
    X(StorageSeqWrite, "storage_seq_write", Tier::Storage, Pattern::SequentialWrite, Sharing::One, "page", "settings", 0, 0, "a page of a temporary file") \
    X(PlanCost, "plan_cost", Tier::Backend, Pattern::None, Sharing::One, "unit", "settings", 0, 0, "what PostgreSQL says that a part of the plan costs")
// What else is known of a device, behind its weights in the table: sizes of caches, and how much longer work takes beside others'.
#define GPUSCAN_DEVICE_FACTS(X) \
    X(near_cache, "near_bytes", Tier::Memory, Pattern::None, Sharing::One, "bytes", "first start", 1e6, 200e3, "the cache of a core, or of a multiprocessor") \
    X(far_cache, "far_bytes", Tier::Memory, Pattern::None, Sharing::One, "bytes", "first start", 32e6, 50e6, "the cache of all of them") \
    X(contention, "contention", Tier::Processor, Pattern::None, Sharing::One, "", "bench/concurrency.sh", 1, 0.08, "how much longer work takes beside one other request that always runs")
// clang-format on

#define GPUSCAN_WEIGHT(name, ...) name,
enum class Count : uint8_t { GPUSCAN_DEVICE_COUNTS(GPUSCAN_WEIGHT) };
constexpr int counts = static_cast<int>(Count::PlanCost) + 1;
enum DeviceValue : int { last_count = counts - 1, GPUSCAN_DEVICE_FACTS(GPUSCAN_WEIGHT) device_values };
#undef GPUSCAN_WEIGHT
#define GPUSCAN_WEIGHT(name, ...) {__VA_ARGS__},
constexpr CountInfo weight_table[] = {GPUSCAN_DEVICE_COUNTS(GPUSCAN_WEIGHT) GPUSCAN_DEVICE_FACTS(GPUSCAN_WEIGHT)};
#undef GPUSCAN_WEIGHT

// Other work, in weights that it goes with.
constexpr double near_reads = 0.25, near_writes = 0.1; // cached ones: in the near cache
constexpr double varlena_values = 0.45;                // values decoded: without a fixed length one takes longer
constexpr double text_values = 1.6;                    // ... and a text, which becomes its number
constexpr double passed_values = 0.25;                 // ... an attribute is stepped over
constexpr double text_reads = 4; // random reads: a text that a thread does not remember is looked up in its dictionary
constexpr double text_entry_bytes = 80;   // ... of which an entry takes so many
constexpr double remembered_texts = 1024; // by a thread that decodes (host/decode/text_codes.hpp)
constexpr double value_read_steps = 0.1;  // value steps: a value of a column is looked at
constexpr double pair_steps = 4;          // ... a row with an entry, in a join without an equality
constexpr double group_steps = 2;         // row steps: a row's group is found
constexpr double bit_steps = 2;           // ... its value's bit is found, and set
constexpr double set_steps = 12;          // ... or its value is put into a set
constexpr double merge_steps = 64;        // ... a group of each thread, or of each pass, becomes one with the others
constexpr double page_by_row_rows = 180;  // backend rows: the visibility of each row of a page
constexpr double expression_row_rows =
    4; // the same: finding a row to evaluate an expression, and putting the value into a page
constexpr double plan_row_rows = 2.4;     // ... a tuple of a CPU plan is copied
constexpr double group_rows = 6;          // ... a group becomes a tuple
constexpr double group_again_rows = 4;    // ... is aggregated once more
constexpr double text_native_rows = 2.4;  // ... LIKE and its like for a text, by a core
constexpr double text_evaluated_rows = 8; // ... PostgreSQL evaluates an expression for a text
constexpr double text_read_rows = 1.6;    // ... a text is read by the backend
constexpr double window_edge_values = 1;  // ... where partitions and rows that tie begin
constexpr double selected_values = 2;     // ... a value joins those of its group, among which some are searched
constexpr double mark_values = 0.4;       // backend values: whether an entry was a row's partner
constexpr double lookup_sources = 2;      // sources: a table over a dictionary is asked for
constexpr double second_run = 0.4;        // fragments: its program runs once more

} // namespace gpuscan::tier
