// The number of feed workers; see feed_workers.h and feed/parallel_feed.cpp.
//
// A feeding process keeps one core busy and its thread in the device process half of another one. Measured on an H200 with 16
// cores, SSB SF 20 (1.57 M pages) cold: no worker 720 ms, 3 workers 380, 5 workers 323, 7 workers 300, 9 to 15 workers 295
// to 300. So more than 7 are not started unless somebody says so. Where expressions are evaluated the threads of the device process
// have next to nothing to do.
#include "pg/cost/feed_workers.h"

#include <algorithm>

#include "engine/util/machine.hpp"
#include "pg/guc.h"

namespace gpuscan {

constexpr int max_auto_workers = 7;

static int auto_workers(bool evaluate) {
    return std::min((evaluate ? machine_cores() : machine_cores() / 2) - 1, max_auto_workers);
}

int feed_workers_worth(double pages, double rowwise, double evaluated, double chunks) {
    const int most =
        std::min(guc_max_feed_workers < 0 ? auto_workers(evaluated > 0) : guc_max_feed_workers, max_parallel_workers);
    const double work = pages + rowwise * row_page_work + evaluated * evaluated_page_work;
    const double useful = std::min(work / pages_per_worker, chunks - 1);
    return useful < 1 || most <= 0 ? 0 : static_cast<int>(std::min<double>(useful, most));
}

} // namespace gpuscan
