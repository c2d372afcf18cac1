// Decoding heap pages to columns on the CPU: a DecodeJob split over the threads of a pool.
#pragma once

#include <atomic>

#include "engine/store/decode.hpp"
#include "host/thread_pool.hpp"

namespace gpuscan {

void decode_pages(ThreadPool &pool, const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel);

} // namespace gpuscan
