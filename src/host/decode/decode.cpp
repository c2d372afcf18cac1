// A decode job, split over the threads of a pool: each takes some dozens of pages at a time (page_decoder.hpp).
//
// A page that fails leaves NULL in all its rows, so that nobody ever meets a code or a value that is not there.
#include "host/decode/decode.hpp"

#include <algorithm>

#include "engine/device.hpp"
#include "host/decode/page_decoder.hpp"

namespace gpuscan {
namespace {

constexpr size_t max_pages_per_task = 64, min_pages_per_task = 8;

// Where a backend may pin but few pages, a job has no more than some dozens; every thread shall have two tasks even then.
size_t pages_per_task(size_t pages, size_t threads) {
    return std::clamp((pages + 2 * threads - 1) / (2 * threads), min_pages_per_task, max_pages_per_task);
}

} // namespace

void decode_pages(ThreadPool &pool, const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) {
    result.pages.assign(job.pages.size(), PageStatus::Broken);
    result.columns.assign(job.columns.size(), ColumnStats());
    result.dictionary_full = false;
    std::vector<AttributeWalk> walks = plan_walks(job, result.dictionary_full);
    std::vector<std::unique_ptr<PageDecoder>> decoders(pool.workers());
    const size_t of_task = pages_per_task(job.pages.size(), pool.workers());
    const size_t tasks = (job.pages.size() + of_task - 1) / of_task;
    pool.run(tasks, [&](size_t task, unsigned worker) {
        auto &decoder = decoders[worker];
        if (!decoder)
            decoder = std::make_unique<PageDecoder>(walks, job.columns.size());
        size_t end = std::min(job.pages.size(), (task + 1) * of_task);
        for (size_t i = task * of_task; i < end;) {
            if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
                throw Cancelled();
            const size_t count = std::min(decoder->max_pages(), end - i);
            decoder->decode(&job.pages[i], count, &result.pages[i]);
            i += count;
        }
    });
    for (auto &decoder : decoders) {
        if (!decoder)
            continue;
        result.dictionary_full |= decoder->dictionary_full;
        for (size_t c = 0; c < job.columns.size(); ++c)
            result.columns[c].merge(decoder->stats[c]);
    }
}

} // namespace gpuscan
