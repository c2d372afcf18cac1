// WAL as PostgreSQL writes it, in files of a directory: what tests of its reader and of its follower begin with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace gpuscan::wal {

constexpr uint64_t page_bytes = 8192, segment_bytes = 4 * page_bytes;
constexpr uint32_t timeline = 3;
constexpr uint8_t changes_files = 0x01; // XLR_SPECIAL_REL_UPDATE

inline void put(std::string &to, const void *from, size_t bytes) { to.append(static_cast<const char *>(from), bytes); }
template <class T> void put(std::string &to, T value) { put(to, &value, sizeof value); }

// Records as PostgreSQL writes them, from the third segment on.
struct Wal {
    static constexpr uint64_t begin = 2 * segment_bytes;
    std::string bytes;
    uint64_t before = 0;

    uint64_t at() const { return begin + bytes.size(); }

    void page_head(uint64_t rest) {
        const bool first = at() % segment_bytes == 0;
        const uint64_t address = at();
        put<uint16_t>(bytes, 0xd110);
        put<uint16_t>(bytes, static_cast<uint16_t>((rest > 0 ? 1 : 0) | (first ? 2 : 0)));
        put<uint32_t>(bytes, timeline);
        put<uint64_t>(bytes, address);
        put<uint32_t>(bytes, static_cast<uint32_t>(rest));
        put<uint32_t>(bytes, 0);
        if (first)
            put(bytes, "sixteen bytes 16", 16);
    }

    // Answers where it begins.
    uint64_t add(const std::string &body, uint8_t manager = 10, uint8_t info = 0) {
        bytes.resize((bytes.size() + 7) / 8 * 8);
        if (at() % page_bytes == 0)
            page_head(0);
        const uint64_t start = at();
        std::string record;
        put<uint32_t>(record, static_cast<uint32_t>(24 + body.size()));
        put<uint32_t>(record, 7);
        put<uint64_t>(record, before);
        put<uint8_t>(record, info);
        put<uint8_t>(record, manager);
        put<uint16_t>(record, 0);
        put<uint32_t>(record, 0xc0ffee);
        record += body;
        for (size_t i = 0; i < record.size(); ++i) {
            if (at() % page_bytes == 0)
                page_head(record.size() - i);
            bytes += record[i];
        }
        before = start;
        return start;
    }

    void switch_segment() {
        add("", 0, 0x40);
        bytes.resize((bytes.size() + segment_bytes - 1) / segment_bytes * segment_bytes);
    }

    static std::string file(const std::string &directory, uint64_t segment) {
        char name[32];
        snprintf(name, sizeof name, "/%08X%08X%08X", timeline,
                 static_cast<uint32_t>(segment / ((uint64_t(1) << 32) / segment_bytes)),
                 static_cast<uint32_t>(segment % ((uint64_t(1) << 32) / segment_bytes)));
        return directory + name;
    }

    // As much of it as ends at `to`; behind it other bytes.
    void write(const std::string &directory, uint64_t to) const {
        for (uint64_t segment = begin / segment_bytes; segment * segment_bytes < to; ++segment) {
            const size_t from = segment * segment_bytes - begin;
            std::string part = bytes.substr(from, std::min<uint64_t>(segment_bytes, to - begin - from));
            part.resize(segment_bytes, '\xee');
            std::ofstream(file(directory, segment), std::ios::binary) << part;
        }
    }
};

} // namespace gpuscan::wal
