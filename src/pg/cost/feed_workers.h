// How many parallel workers are worth starting to bring pages to the device.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Starting workers and waiting for their end, as the leader sees it: 8 ms for 7 of them (PostgreSQL 15, 16 cores, 28 GB of
// shared_buffers), which is why nobody is started for less than a worker brings in that time.
constexpr double team_start_ns = 8e6;
constexpr double pages_per_worker = 16384;
constexpr double row_page_work = 4; // a page of which each row's visibility is checked: in pages of which it is not

int feed_workers_worth(double pages, double by_row, double chunks);

} // namespace gpuscan
