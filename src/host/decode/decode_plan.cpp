// Checking and ordering the columns of a decode job; see decode_plan.hpp.
#include "host/decode/decode_plan.hpp"

#include <algorithm>

#include "device/heap_page.cuh"
#include "engine/device.hpp"
#include "engine/store/dictionary.hpp"

namespace gpuscan {
namespace {

// Neighbours of fixed length are one step while none of them has to be aligned more than the first one; and so are varlenas.
void add_skip(std::vector<Skip> &skips, const AttributeLayout &a) {
    if (a.length == -1 && !skips.empty() && skips.back().length == -1 && skips.back().align == a.align &&
        skips.back().count < max_skipped) {
        ++skips.back().count;
        return;
    }
    if (a.length > 0 && !skips.empty() && skips.back().length > 0 && a.align <= skips.back().align) {
        const uint32_t bytes =
            heap::align_up(static_cast<uint32_t>(skips.back().length), a.align) + static_cast<uint32_t>(a.length);
        if (bytes <= heap::bytes_per_page) {
            skips.back().length = static_cast<int16_t>(bytes);
            return;
        }
    }
    skips.push_back({a.length, a.align, 1});
}

void find_offsets(AttributeWalk &walk) {
    const std::vector<AttributeLayout> &attributes = *walk.attributes;
    uint32_t end = 0;
    for (const AttributeLayout &a : attributes) {
        if (a.length <= 0) // it may stand unaligned (short header): its place is found by looking
            break;
        walk.fixed.push_back(heap::align_up(end, a.align));
        end = walk.fixed.back() + static_cast<uint32_t>(a.length);
    }
    uint32_t next = static_cast<uint32_t>(walk.fixed.size());
    for (DecodeColumn &column : walk.columns) {
        if (column.attribute < next)
            continue;
        column.skipped_from = next;
        for (; next < column.attribute; ++next)
            add_skip(column.skips, attributes[next]);
        ++next;
    }
}

} // namespace

std::vector<AttributeWalk> plan_walks(const DecodeJob &job, bool &dictionary_full) {
    size_t rows = 0;
    for (const PageRef &page : job.pages)
        rows = std::max<size_t>(rows, size_t(page.row_start) + page.ntuples);
    for (const ColumnTarget &target : job.columns)
        check_column(target, rows);

    std::vector<size_t> order(job.columns.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    auto length = [&](size_t i) { return job.columns[i].layout->attributes.size(); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return length(a) > length(b); });
    std::vector<AttributeWalk> walks;
    for (size_t i : order) {
        const ColumnTarget &t = job.columns[i];
        DecodeColumn column{t.layout,
                            static_cast<uint8_t *>(t.values->data),
                            static_cast<uint8_t *>(t.nulls->data),
                            t.dictionary,
                            static_cast<uint32_t>(length(i)) - 1,
                            i,
                            0,
                            UINT32_MAX,
                            {}};
        if (is_coded(t.layout->codec) && !t.layout->missing_null) {
            column.missing_code = t.dictionary->intern(t.layout->missing_text);
            dictionary_full |= column.missing_code == Dictionary::full;
        }
        auto walk = std::find_if(walks.begin(), walks.end(), [&](const AttributeWalk &w) {
            return is_prefix(t.layout->attributes, *w.attributes);
        });
        if (walk == walks.end())
            walk = walks.insert(walks.end(), AttributeWalk{&t.layout->attributes, {}, {}});
        walk->columns.push_back(column);
    }
    for (AttributeWalk &walk : walks) {
        std::reverse(walk.columns.begin(), walk.columns.end());
        find_offsets(walk);
    }
    return walks;
}

} // namespace gpuscan
