// A place in WAL.
#pragma once

#include <cstdint>

namespace gpuscan {

constexpr uint32_t wal_page_bytes = 8192; // XLOG_BLCKSZ

struct WalPosition {
    uint64_t end = 0; // all that lies before it is in WAL's files; 0: none
    uint32_t timeline = 0;
    uint32_t segment_size = 0; // bytes, whole pages
};

} // namespace gpuscan
