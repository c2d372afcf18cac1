// Reading WAL: each block that records name is told, whichever pages and files they cross; what does not go on is seen.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "server/wal_reader.hpp"

namespace gpuscan {

static bool operator==(const WalReference &a, const WalReference &b) { return memcmp(&a, &b, sizeof a) == 0; }

namespace {

constexpr uint64_t page_bytes = 8192, segment_bytes = 4 * page_bytes;
constexpr uint32_t timeline = 3;

void put(std::string &to, const void *from, size_t bytes) { to.append(static_cast<const char *>(from), bytes); }
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

class WalReaderTest : public ::testing::Test {
  protected:
    WalReaderTest() {
        char name[] = "/tmp/gpuscan_wal_XXXXXX";
        directory = mkdtemp(name);
    }
    ~WalReaderTest() override { std::filesystem::remove_all(directory); }

    // A record's body that names some blocks, which `named` gets.
    std::string body(size_t blocks, std::vector<WalReference> &named) {
        std::string heads, data;
        WalReference block = {1663, 5, 0, 0, 0};
        for (size_t i = 0; i < blocks; ++i) {
            const bool same = i > 0 && below(2) != 0;
            const bool image = below(4) == 0, hole = below(2) != 0, compressed = below(2) != 0;
            if (!same) {
                block.tablespace = 1663 + below(2);
                block.relation = 16384 + below(9);
            }
            block.fork = below(4);
            block.block = below(1000000);
            const size_t length = below(60), image_length = image ? below(9000) : 0;
            put<uint8_t>(heads, static_cast<uint8_t>(i));
            put<uint8_t>(heads, static_cast<uint8_t>(block.fork | (image ? 0x10 : 0) | (length > 0 ? 0x20 : 0) |
                                                     (same ? 0x80 : 0)));
            put<uint16_t>(heads, static_cast<uint16_t>(length));
            if (image) {
                put<uint16_t>(heads, static_cast<uint16_t>(image_length));
                put<uint16_t>(heads, 100);
                put<uint8_t>(heads, static_cast<uint8_t>((hole ? 1 : 0) | 2 | (compressed ? 4 << below(3) : 0)));
                if (hole && compressed)
                    put<uint16_t>(heads, 50);
            }
            if (!same) {
                put<uint32_t>(heads, block.tablespace);
                put<uint32_t>(heads, block.database);
                put<uint32_t>(heads, block.relation);
            }
            put<uint32_t>(heads, block.block);
            data.append(image_length + length, '\x01');
            named.push_back(block);
        }
        if (below(3) == 0) {
            put<uint8_t>(heads, 253);
            put<uint16_t>(heads, 9);
        }
        if (below(3) == 0) {
            put<uint8_t>(heads, 252);
            put<uint32_t>(heads, 12345);
        }
        if (const uint32_t kind = below(3)) {
            const size_t length = kind == 1 ? below(256) : below(30000);
            put<uint8_t>(heads, kind == 1 ? 255 : 254);
            if (kind == 1)
                put<uint8_t>(heads, static_cast<uint8_t>(length));
            else
                put<uint32_t>(heads, static_cast<uint32_t>(length));
            data.append(length, '\x02');
        }
        return heads + data;
    }

    uint32_t below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random); }

    bool read(WalReader &reader, uint64_t to) {
        return reader.read(to, [this](const WalReference &block) { told.push_back(block); });
    }

    std::string directory;
    std::mt19937 random{11};
    std::vector<WalReference> told;
};

// Some at a time, where WAL ends within records, heads and pages; every reader begins somewhere.
TEST_F(WalReaderTest, TellsEachBlockOnce) {
    for (int round = 0; round < 12; ++round) {
        Wal wal;
        std::vector<uint64_t> begins, ends;
        std::vector<std::vector<WalReference>> named;
        for (int record = 0; record < 120; ++record) {
            named.emplace_back();
            begins.push_back(wal.add(body(below(5), named.back())));
            ends.push_back(wal.at());
            if (below(40) == 0) {
                wal.switch_segment();
                begins.push_back(wal.before);
                ends.push_back(wal.before + 24);
                named.emplace_back();
            }
        }
        const size_t from = below(static_cast<uint32_t>(begins.size()));
        const uint64_t start = begins[from] + below(3) * 8;
        WalReader reader(directory, timeline, segment_bytes, start);
        told.clear();
        size_t first = 0; // of those that begin on that page
        while (begins[first] < start - start % page_bytes)
            ++first;
        for (uint64_t to = start; to < wal.at(); to += below(3) == 0 ? 8 : below(30000)) {
            wal.write(directory, std::max(to, Wal::begin + 1));
            ASSERT_TRUE(read(reader, to)) << round;
            std::vector<WalReference> want;
            for (size_t i = first; i < begins.size() && ends[i] <= to; ++i)
                want.insert(want.end(), named[i].begin(), named[i].end());
            ASSERT_EQ(told.size(), want.size()) << round;
        }
        wal.write(directory, wal.at());
        ASSERT_TRUE(read(reader, wal.at()));
        std::vector<WalReference> want;
        for (size_t i = first; i < begins.size(); ++i)
            want.insert(want.end(), named[i].begin(), named[i].end());
        ASSERT_TRUE(told == want) << round;
        EXPECT_EQ(reader.records(), begins.size() - first);
    }
}

TEST_F(WalReaderTest, SeesThatWalDoesNotGoOn) {
    std::vector<WalReference> named;
    Wal wal;
    const uint64_t begin = wal.add(body(2, named));
    const uint64_t end = wal.at();
    while (wal.at() < Wal::begin + 3 * segment_bytes)
        wal.add(body(2, named));
    const auto fails_later = [&] {
        WalReader reader(directory, timeline, segment_bytes, begin);
        EXPECT_TRUE(read(reader, end));
        EXPECT_EQ(reader.records(), 1u);
        return !read(reader, wal.at());
    };
    wal.write(directory, wal.at());
    EXPECT_FALSE(fails_later());
    // A file has been removed.
    const std::string second = Wal::file(directory, Wal::begin / segment_bytes + 1);
    std::filesystem::rename(second, second + ".gone");
    EXPECT_TRUE(fails_later());
    // It was used before, and nobody has written it since.
    std::filesystem::copy_file(Wal::file(directory, Wal::begin / segment_bytes + 2), second);
    EXPECT_TRUE(fails_later());
    std::filesystem::remove(second);
    // It is too short.
    std::ofstream(second, std::ios::binary) << wal.bytes.substr(segment_bytes, 5000);
    EXPECT_TRUE(fails_later());
    std::filesystem::remove(second);
    std::filesystem::rename(second + ".gone", second);
    EXPECT_FALSE(fails_later());
    // A record that does not follow the one before.
    Wal other = wal;
    other.bytes[begin - Wal::begin + 8 + (end - begin + 7) / 8 * 8] ^= 0x10;
    other.write(directory, other.at());
    EXPECT_TRUE(fails_later());
    // Another timeline has no files.
    WalReader reader(directory, timeline + 1, segment_bytes, begin);
    EXPECT_FALSE(read(reader, end));
}

// Whatever the bytes are, the reader comes to an end within them.
TEST_F(WalReaderTest, EndsWhateverTheBytesAre) {
    size_t refused = 0;
    for (int round = 0; round < 200; ++round) {
        std::vector<WalReference> named;
        Wal wal;
        const uint64_t begin = wal.add(body(3, named));
        while (wal.at() < Wal::begin + segment_bytes)
            wal.add(body(3, named));
        for (uint32_t flips = 1 + below(300); flips > 0; --flips)
            wal.bytes[below(static_cast<uint32_t>(wal.bytes.size()))] = static_cast<char>(random());
        wal.write(directory, wal.at());
        WalReader reader(directory, timeline, segment_bytes, begin);
        refused += !read(reader, wal.at());
    }
    EXPECT_GT(refused, 20u);
    EXPECT_LT(told.size(), 200u * 8000);
}

} // namespace
} // namespace gpuscan
