// How many parallel workers are worth starting to bring pages to the device, and what each of them brings.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Starting 7 workers and waiting for their end takes the leader 8 ms (PostgreSQL 15, 16 cores, 28 GB of shared_buffers), which is why
// nobody is started for less than a worker brings in that time.
constexpr double pages_per_worker = 16384;
constexpr double chunk_work = 200;  // a chunk's round trips, 0.1 ms: in pages. Many small partitions have little else
constexpr double row_page_work = 4; // a page of which each row's visibility is checked: in pages of which it is not
constexpr double evaluated_page_work =
    40; // one for whose rows PostgreSQL evaluates an expression: 100 rows, 0.2 us each

struct FeedWorkers {
    int count;
    bool in_parts; // all work on one chunk after the other; else each on chunks of its own
};

// `evaluated`: by page and expression.
FeedWorkers feed_workers_worth(double pages, double rowwise, double evaluated, double chunks);

} // namespace gpuscan
