// The number of feed workers; see feed_workers.h and feed/parallel_feed.cpp.
//
// A feeding process keeps one core busy and its thread in the device process half of another one. Measured on an H200 with 16
// cores, SSB SF 20 (1.57 M pages) cold: no worker 720 ms, 3 workers 380, 5 workers 323, 7 workers 300, 9 to 15 workers 295
// to 300. So more than 7 are not started unless somebody says so. Where expressions are evaluated the threads of the device process
// have next to nothing to do, and each process is worth a core.
//
// A chunk that one process brings needs no agreement with others. Where there are too few chunks for all who could help, they share each.
#include "pg/cost/feed_workers.h"

#include <algorithm>
#include <cmath>

#include "engine/util/machine.hpp"
#include "pg/guc.h"

namespace gpuscan {

constexpr int max_auto_workers = 7;

static int auto_workers(bool evaluate) {
    return evaluate ? machine_cores() - 1 : std::min(machine_cores() / 2 - 1, max_auto_workers);
}

static double processes(double work, double most) {
    return 1 + std::max(std::floor(std::min(work / pages_per_worker, most)), 0.0);
}

FeedWorkers feed_workers_worth(double pages, double rowwise, double evaluated, double chunks) {
    const int most =
        std::min(guc_max_feed_workers < 0 ? auto_workers(evaluated > 0) : guc_max_feed_workers, max_parallel_workers);
    const double round_trips = pages > 0 ? chunks * chunk_work : 0;
    const double decoding = pages + round_trips + evaluated * evaluated_page_work, reading = rowwise * row_page_work;
    const double by_chunks = processes(decoding + reading, std::min<double>(most, chunks - 1));
    const double by_parts = processes(decoding, most); // (rows are left to the leader)
    const bool in_parts = decoding / by_parts + reading < (decoding + reading) / by_chunks;
    return {static_cast<int>(in_parts ? by_parts : by_chunks) - 1, in_parts};
}

} // namespace gpuscan
