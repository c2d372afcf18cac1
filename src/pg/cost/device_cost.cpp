// The planner's side of the device's costs; the arithmetic, its rates and their sources are in engine/cost/tier_cost.cpp.
//
// Units. cpu_tuple_cost + cpu_operator_cost (0.0125) is a row that a sequential scan looks at and a qual rejects. That takes PostgreSQL 50 ns
// on current hardware (6 M rows in 0.3 s), hence some 4000 ns per unit of cost; how many on this machine is a number of its profile.
// Settings of CPU costs move PostgreSQL's side of the comparison only; ours stays in time. Settings of page costs move both: pages that are not
// in shared buffers cost the device what they cost PostgreSQL.
//
// Which device a plan will meet is not known before it runs: the one that the executor would get now is taken.
#include "pg/pg.h"

#include "pg/cost/device_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/store/decode.hpp"
#include "engine/store/dictionary.hpp"
#include "engine/util/machine.hpp"
#include "pg/cost/feed_workers.h"
#include "pg/guc.h"
#include "pg/page_costs/page_cost_model.h"
#include "pg/service/area.h"

namespace gpuscan {

constexpr double max_text_threads = 8;
constexpr double max_sort_threads = 32; // engine/result/row_sort.cpp
constexpr double min_work_bytes = 256.0 * 1024 * 1024;
constexpr double doubtful = 2; // estimates that are wrong by less than this do not keep a device away

static tier::Machine machine;
static tier::Prices prices;
static tier::Profile profile;
static executor::Rates executor_rates;
static uint32 profile_generation;
static bool priced = false;

// The device that the executor would get: the one asked for, else the GPU if it is there.
static bool use_gpu() {
    if (guc_device != DEVICE_AUTO)
        return guc_device == DEVICE_CUDA;
    const protocol::Area *area = service_area();
    return area && area->devices[1].state == static_cast<uint32>(protocol::ServiceState::Ready);
}

bool device_has_failed() {
    const protocol::Area *area = service_area();
    return area != nullptr && (guc_device == DEVICE_CUDA || guc_device == DEVICE_HOST) &&
           area->devices[guc_device == DEVICE_CUDA ? 1 : 0].state ==
               static_cast<uint32>(protocol::ServiceState::Failed);
}

// Bytes of columns that the device can keep.
static double cache_bytes(bool gpu) {
    if (gpu)
        if (const protocol::Area *area = service_area())
            return static_cast<double>(area->devices[1].memory_limit.load(std::memory_order_relaxed));
    return guc_cache_size * 1024.0;
}

double device_cores() { return machine_cores(); }

// Of what executions may take (server/device_setup.cpp).
static double work_bytes(bool gpu) {
    const double quarter = static_cast<double>(machine_memory()) / 4;
    return gpu ? cache_bytes(true) : std::min(std::max(guc_cache_size * 1024.0, min_work_bytes), quarter);
}

// What other sessions do on the device. The last second's requests may be this session's own, one at a time.
static double busy(bool gpu) {
    const protocol::Area *area = service_area();
    return area != nullptr ? std::max(area->devices[gpu].busy.load(std::memory_order_relaxed) / 1000.0 - 1, 0.0) : 0;
}

storage::PageCosts device_page_costs() {
    const PageCostModel *storage = page_cost_model();
    return storage != nullptr ? storage->costs : storage::neutral_costs(seq_page_cost, random_page_cost);
}

// The rates under the session's settings. Asked before each statement, and seldom other than before.
static void price_steps(bool profile_is_new) {
    // By executor::Setting: the price, as a multiple of its default.
    const double now[] = {1,
                          cpu_tuple_cost / DEFAULT_CPU_TUPLE_COST,
                          cpu_index_tuple_cost / DEFAULT_CPU_INDEX_TUPLE_COST,
                          cpu_operator_cost / DEFAULT_CPU_OPERATOR_COST,
                          parallel_tuple_cost / DEFAULT_PARALLEL_TUPLE_COST,
                          parallel_setup_cost / DEFAULT_PARALLEL_SETUP_COST};
    static double before[lengthof(now)];
    if (!profile_is_new && memcmp(now, before, sizeof now) == 0)
        return;
    memcpy(before, now, sizeof now);
    for (int i = 0; i < executor::steps; ++i)
        executor_rates.ns[i] =
            profile.executor.ns[i] * now[static_cast<int>(executor::info(static_cast<executor::Step>(i)).setting)];
}

const executor::Rates *device_executor_rates() { return &executor_rates; }

static tier::Machine machine_now() {
    tier::Machine now = {};
    const storage::PageCosts pages = device_page_costs();
    now.gpu = use_gpu();
    now.cores = std::min(device_cores(), max_sort_threads);
    now.threads = now.gpu ? 1 : guc_host_threads > 0 ? guc_host_threads : device_cores();
    // That evaluate texts: on a GPU's behalf those that feed it.
    now.text_threads = now.gpu ? std::min(device_cores(), max_text_threads) : now.threads;
    now.cache_bytes = cache_bytes(now.gpu);
    now.work_bytes = work_bytes(now.gpu);
    now.busy = busy(now.gpu);
    now.ns_per_unit = profile.ns_per_unit;
    now.page_read = pages.seq_read;
    now.page_write = pages.seq_write;
    return now;
}

// True: the weights are others than before.
static bool read_profile() {
    const protocol::Area *area = service_area();
    if (area == nullptr || area->profile.generation() == 0) {
        if (profile.ns_per_unit > 0 && profile_generation == 0)
            return false;
        profile = tier::default_profile();
        profile_generation = 0;
        return true;
    }
    if (area->profile.generation() == profile_generation)
        return false;
    profile_generation = area->profile.read(&profile);
    return true;
}

void device_costs_begin() {
    const bool read = read_profile();
    price_steps(read);
    const tier::Machine now = machine_now();
    if (priced && !read && memcmp(&now, &machine, sizeof now) == 0)
        return;
    machine = now;
    prices = tier::prices(profile.devices[now.gpu], now);
    priced = true;
}

const tier::Prices *device_prices() { return &prices; }

double device_ns_per_unit() { return machine.ns_per_unit; }

bool device_is_gpu() { return machine.gpu; }

double device_ns(Cost cost) { return cost * machine.ns_per_unit; }
Cost device_units(double ns) { return ns / machine.ns_per_unit; }

tier::Breakdown *new_breakdown() { return static_cast<tier::Breakdown *>(palloc0(sizeof(tier::Breakdown))); }

tier::Ledger device_ledger(tier::Breakdown *breakdown) { return tier::Ledger(machine, prices, breakdown); }

Cost device_cost(const tier::Ledger &ledger) { return device_units(ledger.ns()); }

Cost device_relation_cost(const tier::RelationWork *work, tier::Breakdown *breakdown) {
    tier::Ledger l = device_ledger(breakdown);
    tier::RelationWork relation = *work;
    const double decoded = work->pages * tier::decoded_share(relation, machine.cache_bytes);
    const double missing = decoded * tier::missing_share(relation, machine.cache_bytes);
    const double rowwise = work->pages - decoded;
    const double chunks = std::ceil(work->pages / pages_per_chunk);
    const FeedWorkers workers = feed_workers_worth(missing, 0, missing * work->expressions, chunks);
    relation.workers = workers.count;
    relation.row_workers = feed_workers_worth(0, rowwise, 0, chunks).count;
    relation.chunk_pages = workers.in_parts ? 0 : pages_per_chunk;
    l.relation(relation);
    return device_cost(l);
}

Cost device_missing_cost(const tier::RelationWork *work) {
    const double kept = tier::fitting_share(*work, machine.cache_bytes);
    if (work->brought_before || work->cached_share >= kept || tier::decoded_share(*work, machine.cache_bytes) == 0)
        return 0;
    tier::RelationWork cached = *work;
    cached.cached_share = kept;
    return device_relation_cost(work) - device_relation_cost(&cached);
}

double dictionary_bytes(double entries, double width) { return entries * (width + Dictionary::entry_bytes); }

bool dictionary_fits(double entries, double width) {
    return entries < Dictionary::max_entry_count &&
           dictionary_bytes(entries, width) <= dictionary_limit(guc_cache_size * Size(1024), machine.gpu);
}

bool tables_fit(double rows) {
    return tier::passes(rows * tier::table_entry_bytes, machine.work_bytes * doubtful) <= 1;
}

} // namespace gpuscan
