// See spare_memory.hpp. Blocks are let go outside the lock.
#include "engine/util/spare_memory.hpp"

#include <new>

namespace gpuscan {

namespace {

constexpr size_t roomy_part = 8; // a block may be so much larger than what is wanted

} // namespace

SpareMemory &SpareMemory::shared() {
    static SpareMemory *const memory = new SpareMemory; // (arrays of other static objects may outlive it otherwise)
    return *memory;
}

SpareMemory::Block SpareMemory::take(size_t bytes) {
    Block block;
    {
        std::lock_guard<std::mutex> guard(lock_);
        auto best = kept_.end();
        for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
            const size_t size = kept->memory.bytes();
            if (size >= bytes && size - bytes <= bytes / roomy_part &&
                (best == kept_.end() || size <= best->memory.bytes()))
                best = kept;
        }
        if (best != kept_.end()) {
            block.memory = std::move(best->memory);
            block.zeros = false;
            bytes_ -= block.memory.bytes();
            kept_.erase(best);
            return block;
        }
    }
    block.memory = HugeMemory(bytes);
    return block;
}

void SpareMemory::put(HugeMemory memory) noexcept {
    std::list<Kept> dropped;
    try {
        const size_t bytes = memory.bytes();
        std::lock_guard<std::mutex> guard(lock_);
        if (bytes == 0 || bytes > limit_)
            return;
        kept_.push_back({std::move(memory), 0});
        bytes_ += bytes;
        drop_beyond(limit_, dropped);
    } catch (const std::bad_alloc &) { // then it goes back to the system
    }
}

void SpareMemory::give_back() {
    std::list<Kept> dropped;
    std::lock_guard<std::mutex> guard(lock_);
    size_t old = 0;
    for (Kept &kept : kept_)
        old += ++kept.calls > 1 ? kept.memory.bytes() : 0;
    drop_beyond(bytes_ - old, dropped);
}

void SpareMemory::drop_beyond(size_t bytes, std::list<Kept> &dropped) {
    while (bytes_ > bytes) {
        bytes_ -= kept_.front().memory.bytes();
        dropped.splice(dropped.end(), kept_, kept_.begin());
    }
}

void SpareMemory::set_limit(size_t bytes) {
    std::list<Kept> dropped;
    std::lock_guard<std::mutex> guard(lock_);
    limit_ = bytes;
    drop_beyond(limit_, dropped);
}

size_t SpareMemory::bytes() const {
    std::lock_guard<std::mutex> guard(lock_);
    return bytes_;
}

} // namespace gpuscan
