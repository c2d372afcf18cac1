// Moving rows of a column into another frame on the CPU.
#pragma once

#include "engine/store/frame.hpp"
#include "host/thread_pool.hpp"

namespace gpuscan {

void pack_rows(ThreadPool &pool, const PackJob &job);

} // namespace gpuscan
