// See fallback_history.h. A count has the fallbacks in a row in its upper half, so that who needs a slot displaces the form with the
// fewest, and in the lower one how many executions will rest.
#include "pg/exec/fallback_history.h"

#include <algorithm>

#include "pg/guc.h"
#include "pg/service/area.h"

namespace gpuscan {

static constexpr uint64 longest_rest = 1024; // executions

// What does not fit under these settings may do so under others.
static uint64 under_settings(const protocol::Area *area, uint64 form) {
    form = hash_combine64(form, area->cache_size.load(std::memory_order_relaxed));
    return hash_combine64(form, area->device_share.load(std::memory_order_relaxed));
}

bool is_resting(uint64 form) {
    protocol::Area *area = service_area();
    auto *slot =
        area != nullptr && guc_offload != OFFLOAD_FORCE ? area->fallen_back.find(under_settings(area, form)) : nullptr;
    if (slot == nullptr)
        return false;
    uint64 count = slot->count.load(std::memory_order_relaxed);
    while ((count & PG_UINT32_MAX) > 0)
        if (slot->count.compare_exchange_weak(count, count - 1, std::memory_order_relaxed))
            return true;
    return false;
}

void note_outcome(uint64 form, bool answered) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    form = under_settings(area, form);
    auto *slot = area->fallen_back.find(form);
    if (answered) {
        if (slot != nullptr)
            area->fallen_back.take(slot, 0, 0);
        return;
    }
    const uint64 in_a_row = slot != nullptr ? (slot->count.load(std::memory_order_relaxed) >> 32) + 1 : 1;
    const uint64 rest = in_a_row < 2 ? 0 : std::min(uint64(1) << std::min<uint64>(in_a_row - 1, 32), longest_rest);
    area->fallen_back.take(slot != nullptr ? slot : area->fallen_back.least(form), form,
                           std::min<uint64>(in_a_row, PG_UINT32_MAX) << 32 | rest);
}

} // namespace gpuscan
