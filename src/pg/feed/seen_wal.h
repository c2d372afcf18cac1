// Commits that others see before WAL has been flushed up to them are counted (seen_wal.cpp).
#pragma once

namespace gpuscan {

void seen_wal_init(); // by _PG_init

} // namespace gpuscan
