// The reply to Fetch of a program with groups: column by column, each in as few bytes as its values need.
//
// A hundred million groups are usual, and they are kept by the backend until the first is shown: 16 bytes for a key that has
// 4, and 24 for a count, would be paid in memory and temporary files. So a column of a reply is a frame of reference, as a
// cached column is (frame.hpp): a base, and what is to be added to it in 0, 1, 2, 4 or 8 bytes.
//
//     FetchReply; GroupColumn[nkeys + 2 * naggregates]: the keys, then of each aggregate its count and its value
//     per column: ngroups * width bytes; ngroups * 8 bytes if its upper halves need them; ngroups NULL flags if there is one
//
// Every part begins at a multiple of 8 bytes. Both sides are plain functions over plain data.
#pragma once

#include <cstring>

#include "server/protocol.hpp"

namespace gpuscan::protocol {

// A column as it lies in a reply.
struct GroupPart {
    GroupColumn column;
    const uint8_t *low, *high, *nulls; // nullptr: not there
};

// Finds the parts of a reply; `parts` has room for nkeys + 2 * naggregates. False: it is not what it should be.
inline bool open_group_page(const void *reply, size_t size, uint32_t nkeys, uint32_t naggregates, GroupPart *parts) {
    const uint8_t *bytes = static_cast<const uint8_t *>(reply);
    FetchReply head;
    if (size < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (head.nkeys != nkeys || head.naggregates != naggregates || head.ngroups > slot_buffer_size)
        return false;
    const size_t ncolumns = nkeys + 2 * size_t(naggregates);
    if ((size - sizeof head) / sizeof(GroupColumn) < ncolumns)
        return false;
    size_t at = sizeof head + ncolumns * sizeof(GroupColumn), end = at;
    auto part = [&](size_t width) {
        const uint8_t *start = bytes + at;
        end = at + head.ngroups * width;
        at += (head.ngroups * width + 7) & ~size_t(7);
        return start;
    };
    for (size_t c = 0; c < ncolumns; ++c) {
        GroupPart &p = parts[c];
        memcpy(&p.column, bytes + sizeof head + c * sizeof(GroupColumn), sizeof(GroupColumn));
        if (p.column.width > 8 || (p.column.width & (p.column.width - 1)) != 0)
            return false;
        p.low = p.column.width != 0 ? part(p.column.width) : nullptr;
        p.high = p.column.high == GroupColumn::stored ? part(8) : nullptr;
        p.nulls = p.column.nulls != 0 ? part(1) : nullptr;
    }
    return end <= size;
}

// Values [first, first + n) of a part: to low and, where it is wanted, high, `stride` bytes from one to the next.
inline void unpack_group_part(const GroupPart &part, size_t first, size_t n, void *low, void *high, size_t stride) {
    char *to = static_cast<char *>(low), *to_high = static_cast<char *>(high);
    const uint64_t base = static_cast<uint64_t>(part.column.base);
    auto each = [&](auto stored) {
        for (size_t i = 0; i < n; ++i) {
            uint64_t v = base;
            if (sizeof(stored) <= part.column.width) {
                memcpy(&stored, part.low + (first + i) * sizeof stored, sizeof stored);
                v += stored;
            }
            memcpy(to + i * stride, &v, sizeof v);
            if (to_high == nullptr)
                continue;
            uint64_t h = part.column.high == GroupColumn::sign && static_cast<int64_t>(v) < 0 ? ~uint64_t(0) : 0;
            if (part.high != nullptr)
                memcpy(&h, part.high + (first + i) * 8, sizeof h);
            memcpy(to_high + i * stride, &h, sizeof h);
        }
    };
    switch (part.column.width) {
    case 4:
        return each(uint32_t());
    case 8:
        return each(uint64_t());
    case 2:
        return each(uint16_t());
    default:
        return each(uint8_t());
    }
}

} // namespace gpuscan::protocol

namespace gpuscan {

struct GroupTable;
class MessageWriter;

// Writes the reply for some of the groups from `first` on; answers how many. At least one, if there is one.
size_t write_group_page(const GroupTable &groups, size_t first, size_t nkeys, size_t naggregates, MessageWriter &out);

} // namespace gpuscan
