// The first honest cost of a device fragment: nanoseconds by fixed rates, converted to the planner's units.
//
//   fragment = setup
//            + sum over sources (pages read + rows * (columns * column_ns + conjuncts * conjunct_ns))
//            + sum over builds  (rows * build_ns)
//            + sum over joins   (rows that reach it * probe_ns(entries); without a key rows * entries * pair_ns;
//                                right and full ones source_setup_ns + entries * unmet_ns)
//            + rows that survive * (group_ns + aggregates * aggregate_ns) + groups * emit_ns
//            + groups of DISTINCT values * regroup_ns
//         or + rows that survive * (columns * column_ns + bytes * byte_ns) + dictionary entries * entry_ns
//            + (in order) rows * (log2 rows * compare_ns + columns * gather_ns), shared by the machine's cores
//            + rows * (row_ns + columns * datum_ns), which is paid row by row, the rest before the first row
//            + dictionary entries * (number_ns, shared by threads and like decoding paid once; where expressions are evaluated
//              for them native_ns, likewise, or evaluate_ns by the backend and what PostgreSQL takes a user's function to cost;
//              half of a set-up for finding out which entries such a function needs)
//
// Work on rows is shared by the host device's threads, or runs at the GPU's rate. Decoding of pages is shared as well;
// what the backend does itself (visibility of pages that are not all-visible, CPU plans, emission) is not.
//
// Units. cpu_tuple_cost + cpu_operator_cost (0.0125) is a row that a sequential scan looks at and a qual rejects. That
// takes PostgreSQL 50 ns on current hardware (6 M rows in 0.3 s), hence 4000 ns per unit of cost. Settings of the page
// and CPU costs move PostgreSQL's side of the comparison; ours stays in time.
//
// Rates of the host device are those of one core (vectorized, columns in L2 or streamed from memory); rates of the GPU
// are from SSB kernels on an H200 (120 M rows: 0.12 to 0.94 ms, that is 1 to 8 ps a row) with the link at 50 GB/s for
// pages that are not cached. They only have to be right within a factor of two: the two sides differ by more.
#include "pg/pg.h"

#include "pg/cost/device_cost.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "engine/decode.hpp"
#include "engine/dictionary.hpp"
#include "pg/cost/feed_workers.h"
#include "pg/guc.h"
#include "pg/service/area.h"

namespace gpuscan {

constexpr double ns_per_unit = 4000;

struct Rates {
    double column_ns, conjunct_ns, build_ns, probe_ns, probe_miss_ns, pair_ns, group_ns, aggregate_ns, decode_page_ns;
    double setup_ns;
};

// Set-up: GROUP BY over 2,000 and 2,557 cached rows takes 0.8 to 1.1 ms in all on the host device (busy machine), SSB
// Q1.1 over 12 M rows 1.1 ms on the H200.
constexpr Rates host_rates = {0.5, 1.0, 15, 2.0, 6.0, 4.0, 4.0, 1.5, 12000, 500000};
constexpr Rates gpu_rates = {0.0005, 0.0005, 0.2, 0.002, 0.02, 0.002, 0.005, 0.002, 160, 800000};

// 38,217 pages of 157 rows on the H200: 82 ms if all-visible, 115 ms if not, 204 ms out of local buffers.
constexpr double by_row_page_ns = 5000; // backend: lock, check each tuple's visibility, hand over
constexpr double pin_page_ns = 450;     // feeding process: find, pin, vouch for a page that must be decoded
constexpr double plan_row_ns = 60;      // backend: copy a tuple of a CPU plan into a batch
constexpr double emit_group_ns = 300;   // backend: a group to a tuple
constexpr double regroup_ns = 100;      // a group that is grouped once more (a miss or two of the cache)
// Rows: bench/rows.sql on the H200 with 4 M rows, 664 ms for nine columns (54 bytes), 221 ms for three (19 bytes), of which the
// counting consumer takes 20 to 50 ns a row.
constexpr double row_byte_ns = 0.7;       // a byte of a row from the device's memory to the backend's
constexpr double spilled_byte_ns = 1;     // the same, by way of a temporary file
constexpr double entry_ns = 40;           // backend: an entry of a dictionary, read and checked
constexpr double emit_row_ns = 25;        // backend: a row of a batch to a tuple
constexpr double emit_column_ns = 5;      // ... and each of its columns
constexpr double number_entry_ns = 150;   // device: a text that no row had before is numbered (one thread)
constexpr double native_entry_ns = 60;    // device: LIKE and its like are evaluated for an entry (one thread)
constexpr double evaluate_entry_ns = 200; // backend: an entry is read, LIKE is evaluated, and the result sent back
constexpr double most_text_threads = 8;
constexpr double compare_ns = 5;         // a core: two rows by their sort keys
constexpr double gather_ns = 5;          // ... a value of a row that goes to its place
constexpr double most_sort_threads = 32; // engine/row_sort.cpp
constexpr double source_setup_ns = 50000;
constexpr double unmet_ns = 2;             // an entry's mark is asked for
constexpr double lookup_setup_ns = 100000; // kept with the dictionary, so mostly paid once

// Pages are decoded once and then cached; a relation that fits is taken to be queried often enough that one scan pays
// for a tenth of the decoding, and one that does not fit is decoded every time.
constexpr double cached_decode_share = 0.1;

// The device that the executor would get: the one asked for, else the GPU if it is there.
static bool use_gpu() {
    if (guc_device != DEVICE_AUTO)
        return guc_device == DEVICE_CUDA;
    const protocol::Area *area = service_area();
    return area && area->devices[1].state == static_cast<uint32>(protocol::ServiceState::Ready);
}

// Bytes of columns that the device can keep.
static double cache_bytes() {
    if (use_gpu())
        if (const protocol::Area *area = service_area())
            return static_cast<double>(area->devices[1].memory_limit.load(std::memory_order_relaxed));
    return guc_cache_size * 1024.0;
}

static const Rates &rates() { return use_gpu() ? gpu_rates : host_rates; }

static double threads() {
    if (use_gpu())
        return 1;
    static long cores = 0;
    if (guc_host_threads > 0)
        return guc_host_threads;
    if (cores == 0)
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 1 ? static_cast<double>(cores) : 1;
}

// That number and evaluate texts: on a GPU's behalf those that feed it.
static double text_threads() {
    static long cores = 0;
    if (!use_gpu())
        return threads();
    if (cores == 0)
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    return std::clamp(static_cast<double>(cores), 1.0, most_text_threads);
}

static Cost units(double ns) { return ns / ns_per_unit; }

Cost device_source_cost(const SourceWork *work) {
    const Rates &r = rates();
    double rows = work->is_relation ? work->rows : work->child_rows;
    double shared = rows * (work->columns * r.column_ns + work->conjuncts * r.conjunct_ns);
    if (!work->is_relation)
        return work->child_cost + units(work->child_rows * plan_row_ns + shared / threads());

    double column_bytes = rows * work->columns * 4;
    bool fits = column_bytes <= cache_bytes();
    double share = fits ? cached_decode_share : 1.0;
    double visible = work->pages * work->visible_share;
    double by_row = work->pages * (1 - work->visible_share);
    double chunks = work->pages / pages_per_chunk;
    int workers = feed_workers_worth(visible, 0, chunks);
    int row_workers = feed_workers_worth(0, by_row, chunks);
    double feeding = visible * pin_page_ns / (1 + workers) + (workers > 0 ? team_start_ns : 0);
    double row_feeding = by_row * by_row_page_ns / (1 + row_workers) + (row_workers > 0 ? team_start_ns : 0);
    shared += (visible * share + by_row) * r.decode_page_ns;
    return units(shared / threads() + feeding * share + row_feeding);
}

Cost device_build_cost(double rows) { return units(rows * rates().build_ns); }

// Tables beyond the cache of one core miss it on every probe.
Cost device_probe_cost(double rows, double entries) {
    const Rates &r = rates();
    return units(rows * (entries < 100000 ? r.probe_ns : r.probe_miss_ns) / threads());
}

Cost device_pairs_cost(double rows, double entries) { return units(rows * entries * rates().pair_ns / threads()); }

Cost device_unmet_cost(double entries) {
    return units(rates().setup_ns / 2 + entries * (unmet_ns + rates().column_ns / threads()));
}

Cost device_aggregate_cost(double rows, double groups, int keys, int aggregates) {
    const Rates &r = rates();
    double per_row = (keys > 0 ? r.group_ns : 0) + aggregates * r.aggregate_ns;
    return units(rows * per_row / threads() + groups * emit_group_ns * threads());
}

Cost device_regroup_cost(double groups) { return units(groups * regroup_ns); }

Cost device_rows_cost(const RowsWork *work) {
    double bytes = work->rows * work->bytes, kept = work_mem * 1024.0;
    double ns = work->rows * work->columns * rates().column_ns / threads() + bytes * row_byte_ns +
                work->dictionary_entries * entry_ns;
    return units(bytes > kept ? ns + (bytes - kept) * spilled_byte_ns : ns);
}

// On the host's cores, whatever the device.
Cost device_sort_cost(const RowsWork *work) {
    const double cores = std::min(std::max(static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)), 1.0), most_sort_threads);
    const double comparisons = std::log2(std::max(work->rows, 2.0));
    return units(work->rows * (comparisons * compare_ns + work->columns * gather_ns) / cores);
}

Cost emit_rows_cost(const RowsWork *work) { return units(work->rows * (emit_row_ns + work->columns * emit_column_ns)); }

Cost device_text_cost(const TextWork *work) {
    const double once = work->read * number_entry_ns + work->native * native_entry_ns;
    return units(once * cached_decode_share / text_threads() + work->evaluated * evaluate_entry_ns +
                 work->shown * entry_ns + work->demands * rates().setup_ns / 2) +
           work->calls;
}

bool dictionary_fits(double entries, double width) {
    return entries < Dictionary::most_entries &&
           entries * (width + Dictionary::entry_bytes) <= dictionary_limit(guc_cache_size * Size(1024), use_gpu());
}

Cost device_setup_cost(int nsources, int nlookups) {
    return units(rates().setup_ns + nsources * source_setup_ns + nlookups * lookup_setup_ns);
}

} // namespace gpuscan
