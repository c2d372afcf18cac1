// Reading WAL: each block that records name is told, whichever pages and files they cross; what does not go on is seen.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "server/wal_reader.hpp"
#include "wal_files.hpp"

namespace gpuscan {

static bool operator==(const WalReference &a, const WalReference &b) {
    return a.tablespace == b.tablespace && a.database == b.database && a.relation == b.relation && a.fork == b.fork &&
           a.block == b.block && a.end == b.end && a.tidies == b.tidies;
}

namespace {

using namespace wal;

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
        WalReference block = {1663, 5, 0, 0, 0, 0, false};
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
            struct {
                uint8_t manager, info;
                bool tidies;
            } const kinds[] = {{10, 0x10, false}, {9, 0x00, false}, {9, 0x10, true}, {9, 0x30, true},
                               {9, 0xc0, true},   {9, 0x50, false}, {0, 0xa0, true}, {0, 0xb0, false},
                               {1, 0xa0, false},  {13, 0x20, false}};
            const auto &kind = kinds[below(10)];
            begins.push_back(wal.add(body(below(5), named.back()), kind.manager, kind.info));
            ends.push_back(wal.at());
            for (WalReference &block : named.back())
                block.end = (wal.at() + 7) / 8 * 8, block.tidies = kind.tidies;
            if (below(40) == 0) {
                wal.switch_segment();
                begins.push_back(wal.before);
                ends.push_back(wal.before + 24);
                named.emplace_back();
            }
        }
        const size_t from = below(static_cast<uint32_t>(begins.size()));
        const uint64_t start = begins[from] + below(3) * 8;
        WalReader reader(directory, {start, timeline, segment_bytes});
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
        EXPECT_LE(reader.first(), begins[first]);
        EXPECT_GE(reader.first() + 40, begins[first]); // (a page's head lies in between)
    }
}

// However many records the last page has, of which more will come.
TEST_F(WalReaderTest, ReadsEachPageOnce) {
    Wal wal;
    std::vector<WalReference> named;
    const uint64_t begin = wal.add(body(1, named));
    while (wal.at() < begin + 20 * page_bytes + 7000)
        wal.add("");
    wal.write(directory, wal.at());
    WalReader reader(directory, {begin, timeline, segment_bytes});
    ASSERT_TRUE(read(reader, wal.at()));
    EXPECT_GT(reader.records(), 1000u);
    EXPECT_LE(reader.pages_read(), (wal.at() - begin) / page_bytes + 3);
    const uint64_t before = reader.pages_read();
    ASSERT_TRUE(read(reader, wal.at())); // nothing is new
    wal.add("");
    wal.write(directory, wal.at());
    ASSERT_TRUE(read(reader, wal.at()));
    EXPECT_LE(reader.pages_read(), before + 2);
}

// Files that are made or cut off have a name, of others any may be another one. The end of a transaction names none.
TEST_F(WalReaderTest, TellsOfFilesThatAreChanged) {
    Wal wal;
    std::string made("\xff\x10", 2), cut("\xff\x18", 2);
    put<uint32_t>(cut, 77);
    for (std::string *body : {&made, &cut})
        for (uint32_t part : {1663u, 5u, 16384u})
            put<uint32_t>(*body, part);
    put<uint32_t>(made, 2);
    put<uint32_t>(cut, 7);
    cut.append(2, '\0'); // (the data has more than is looked at)
    cut[1] = static_cast<char>(cut.size() - 2);
    const uint64_t begin = wal.add(made, 2, 0x10 | changes_files);
    wal.add(cut, 2, 0x20 | changes_files);
    wal.add("", 4, changes_files);
    wal.add("", 1, changes_files);
    wal.add("", 4);
    wal.write(directory, wal.at());
    WalReader reader(directory, {begin, timeline, segment_bytes});
    ASSERT_TRUE(read(reader, wal.at()));
    ASSERT_EQ(told.size(), 3u);
    for (const WalReference &file : told)
        EXPECT_EQ(file.block, WalReference::whole_file);
    EXPECT_EQ(told[0].relation, 16384u);
    EXPECT_EQ(told[0].fork, 2u);
    EXPECT_EQ(told[1].tablespace, 1663u);
    EXPECT_EQ(told[1].database, 5u);
    EXPECT_EQ(told[1].relation, 16384u);
    EXPECT_EQ(told[1].fork, 0u);
    EXPECT_EQ(told[2].relation, 0u);
    // One that says nothing of which file
    Wal bad;
    const uint64_t at = bad.add("\xff", 2, 0x10 | changes_files);
    bad.write(directory, bad.at());
    WalReader other(directory, {at, timeline, segment_bytes});
    EXPECT_FALSE(read(other, bad.at()));
}

TEST_F(WalReaderTest, SeesThatWalDoesNotGoOn) {
    std::vector<WalReference> named;
    Wal wal;
    const uint64_t begin = wal.add(body(2, named));
    const uint64_t end = wal.at();
    while (wal.at() < Wal::begin + 3 * segment_bytes)
        wal.add(body(2, named));
    const auto fails_later = [&] {
        WalReader reader(directory, {begin, timeline, segment_bytes});
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
    // The file gets another name while it is read: it will be used again.
    {
        WalReader reader(directory, {begin, timeline, segment_bytes});
        EXPECT_TRUE(read(reader, end));
        const std::string first = Wal::file(directory, Wal::begin / segment_bytes);
        std::filesystem::rename(first, first + ".gone");
        EXPECT_FALSE(read(reader, begin + page_bytes));
        std::filesystem::rename(first + ".gone", first);
    }
    // A record that does not follow the one before.
    Wal other = wal;
    other.bytes[begin - Wal::begin + 8 + (end - begin + 7) / 8 * 8] ^= 0x10;
    other.write(directory, other.at());
    EXPECT_TRUE(fails_later());
    // Another timeline has no files.
    WalReader reader(directory, {begin, timeline + 1, segment_bytes});
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
        WalReader reader(directory, {begin, timeline, segment_bytes});
        refused += !read(reader, wal.at());
    }
    EXPECT_GT(refused, 20u);
    EXPECT_LT(told.size(), 200u * 8000);
}

} // namespace
} // namespace gpuscan
