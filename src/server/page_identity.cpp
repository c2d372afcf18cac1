// Has a page in shared_buffers changed? See page_identity.hpp.
#include "server/page_identity.hpp"

#include <atomic>
#include <cstring>

#include "engine/store/decode.hpp"
#include "engine/util/page_hash.hpp"

namespace gpuscan {
namespace {

bool is_there(const BufferPool &pool, uint32_t buffer) {
    return pool.descriptors != nullptr && buffer < pool.size / page_size;
}

const uint8_t *descriptor(const BufferPool &pool, uint32_t buffer) {
    return pool.descriptors + buffer * pool.descriptor_size;
}

bool holds(const BufferPool &pool, const PageTag &tag, uint32_t buffer) {
    const uint8_t *const at = descriptor(pool, buffer);
    const uint32_t state = *reinterpret_cast<const volatile uint32_t *>(at + pool.state_offset);
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool same = memcmp(at + pool.tag_offset, &tag, sizeof tag) == 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    return same && (state & (pool.valid | pool.locked)) == pool.valid;
}

const uint8_t *page(const BufferPool &pool, uint32_t buffer) { return pool.pages + size_t(buffer) * page_size; }

// pd_lsn: the high half stands first.
uint64_t lsn_of(const BufferPool &pool, uint32_t buffer) {
    const auto *const halves = reinterpret_cast<const volatile uint32_t *>(page(pool, buffer));
    const uint64_t high = halves[0], low = halves[1];
    std::atomic_thread_fence(std::memory_order_acquire);
    return high << 32 | low;
}

} // namespace

// Whoever holds the page's lock otherwise than to read may have told WAL of a change, and not yet the page.
static bool is_unlocked(const BufferPool &pool, uint32_t buffer) {
    if (pool.lock_offset == BufferPool::no_lock)
        return false;
    const uint32_t lock = *reinterpret_cast<const volatile uint32_t *>(descriptor(pool, buffer) + pool.lock_offset);
    std::atomic_thread_fence(std::memory_order_acquire);
    return (lock & pool.lock_held) == 0;
}

bool read_page_lsn(const BufferPool &pool, const PageTag &tag, uint32_t buffer, uint64_t *lsn, bool *unlocked) {
    if (!is_there(pool, buffer) || !holds(pool, tag, buffer))
        return false;
    *unlocked = is_unlocked(pool, buffer); // (before the LSN)
    *lsn = lsn_of(pool, buffer);
    return holds(pool, tag, buffer) && lsn_of(pool, buffer) == *lsn && holds(pool, tag, buffer);
}

void prefetch_page_lsn(const BufferPool &pool, uint32_t buffer) {
    if (!is_there(pool, buffer))
        return;
    __builtin_prefetch(descriptor(pool, buffer));
    __builtin_prefetch(page(pool, buffer));
}

bool read_page_hash(const BufferPool &pool, const PageTag &tag, uint32_t buffer, uint32_t next, uint64_t *hash) {
    if (!is_there(pool, buffer) || !holds(pool, tag, buffer))
        return false;
    *hash = page_hash(page(pool, buffer), is_there(pool, next) ? page(pool, next) : nullptr);
    std::atomic_thread_fence(std::memory_order_acquire);
    return holds(pool, tag, buffer);
}

} // namespace gpuscan
