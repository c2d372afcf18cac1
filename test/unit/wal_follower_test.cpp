// Following WAL for a cache: what it has named is told once, and what cannot be followed is forgotten.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cache_fixture.hpp"
#include "server/wal_follower.hpp"
#include "wal_files.hpp"

namespace gpuscan {
namespace {

using namespace wal;

class WalFollowerTest : public CacheTest {
  protected:
    WalFollowerTest() {
        char name[] = "/tmp/gpuscan_follow_XXXXXX";
        directory = mkdtemp(name);
        follower = std::make_unique<WalFollower>(cache, directory);
        for (int i = 0; i < 5; ++i)
            change(1000 + i, 0);
    }
    ~WalFollowerTest() override { std::filesystem::remove_all(directory); }

    // A record that names a block; answers where it ends.
    uint64_t change(uint32_t page, uint32_t fork, uint32_t of = 16384, size_t data = 0) {
        std::string body;
        put<uint8_t>(body, 0);
        put<uint8_t>(body, static_cast<uint8_t>(fork));
        put<uint16_t>(body, 0);
        for (uint32_t part : {1663u, 5u, of, page})
            put<uint32_t>(body, part);
        put<uint8_t>(body, 254);
        put<uint32_t>(body, static_cast<uint32_t>(data));
        wal.add(body + std::string(data, 'x'));
        wal.write(directory, wal.at());
        return end();
    }
    uint64_t end() const { return (wal.at() + 7) / 8 * 8; }
    bool follow(uint64_t to) { return follower->follow({to, timeline, segment_bytes}); }
    void build_all() {
        ChunkQuestion q = question(table, 0, {a}, true);
        q.followed = end();
        build(table, q);
    }
    std::vector<uint32_t> not_quiet() {
        std::vector<uint32_t> pages;
        const Cache::Snapshot now = cache.chunk(relation, 0, 1);
        (PageBits::first(table.npages()) - (now.quiet ? *now.quiet : PageBits())).for_each([&](uint32_t page) {
            pages.push_back(page);
        });
        return pages;
    }
    using Pages = std::vector<uint32_t>;

    Wal wal;
    std::string directory;
    std::unique_ptr<WalFollower> follower;
    Table table{20};
    const ColumnRef a = column(1);
};

TEST_F(WalFollowerTest, TellsWhatIsNamed) {
    EXPECT_FALSE(follower->follow({}));
    EXPECT_FALSE(follower->follow({end(), timeline, 0}));
    EXPECT_FALSE(follower->follow({end(), timeline, page_bytes + 1}));
    EXPECT_FALSE(follower->is_wanted());
    ASSERT_TRUE(follow(end()));
    EXPECT_TRUE(follower->is_wanted());
    build_all();
    EXPECT_EQ(not_quiet(), Pages());
    const uint64_t before = end();
    change(3, 0);
    change(4, 2); // of the map
    change(5, 0, 16385);
    ASSERT_TRUE(follow(before)); // which knows nothing of that
    EXPECT_EQ(not_quiet(), Pages());
    ASSERT_TRUE(follow(end()));
    EXPECT_EQ(not_quiet(), Pages({3}));
    change(7, 0);
    const uint64_t mid = end() - 8;
    ASSERT_TRUE(follow(mid)); // the record has not ended there
    EXPECT_EQ(not_quiet(), Pages({3}));
    follower->keep_up(end());
    EXPECT_EQ(not_quiet(), Pages({3, 7}));
    EXPECT_TRUE(follow(mid));
}

// The record at the end begins on a page before it, and ends behind it: what it has named is not known.
TEST_F(WalFollowerTest, BeginsBehindARecordThatIsBeingWritten) {
    const uint64_t start = end();
    change(2, 0, 16384, 3 * page_bytes);
    for (uint64_t within :
         {start - start % page_bytes + 2 * page_bytes, start - start % page_bytes + page_bytes + 88}) {
        cache.evict(file);
        relation = cache.relation(file, "base/5/16384");
        const ColumnRef b = column(1);
        follower = std::make_unique<WalFollower>(cache, directory);
        ASSERT_LT(within, end());
        ASSERT_TRUE(follow(within));
        ChunkQuestion q = question(table, 0, {b}, true);
        q.followed = within;
        build(table, q); // at LSNs before that
        EXPECT_EQ(not_quiet().size(), 20u);
        change(9, 0);
        ASSERT_TRUE(follow(end()));
        q.followed = end();
        confirm(q);
        EXPECT_EQ(not_quiet(), Pages());
        change(9, 0);
        ASSERT_TRUE(follow(end()));
        EXPECT_EQ(not_quiet(), Pages({9}));
    }
}

// Queries that want to know about different places, beside the thread that looks after things: each finds named what was named up to its
// own place.
TEST_F(WalFollowerTest, ManyThreadsFollow) {
    std::vector<uint64_t> ends = {end()};
    ASSERT_TRUE(follow(ends[0]));
    build_all();
    ASSERT_EQ(not_quiet(), Pages());
    for (uint32_t page = 0; page < table.npages(); ++page) {
        for (int other = 0; other < 50; ++other)
            change(1000, 0, 16385);
        ends.push_back(change(page, 0));
    }
    std::vector<std::thread> threads;
    std::atomic<uint32_t> wrong{0}, seen{0};
    for (uint32_t thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (uint32_t i = thread % 2; i < ends.size(); i += 2) {
                if (!follow(ends[i]))
                    ++wrong;
                const Cache::Snapshot now = cache.chunk(relation, 0, ends[i]);
                for (uint32_t page = 0; page < i; ++page)
                    wrong += now.quiet && now.quiet->test(page) ? 1 : 0;
                seen += now.nquiet;
                ChunkFinding finding; // of a look from before all that
                finding.right = all_pages(table.npages());
                finding.followed = ends[0];
                cache.confirm(relation, 0, now.version, finding);
            }
        });
    threads.emplace_back([&] {
        for (const uint64_t to : ends)
            follower->keep_up(to);
    });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(seen, 0u);
    EXPECT_EQ(not_quiet().size(), table.npages());
}

TEST_F(WalFollowerTest, ForgetsWhatItCannotFollow) {
    ASSERT_TRUE(follow(end()));
    build_all();
    EXPECT_EQ(not_quiet(), Pages());
    const uint64_t before = end();
    while (wal.at() < Wal::begin + 3 * segment_bytes)
        change(1000, 0, 16384, 3000);
    const std::string second = Wal::file(directory, Wal::begin / segment_bytes + 1);
    std::filesystem::rename(second, second + ".gone");
    EXPECT_FALSE(follow(end()));
    EXPECT_EQ(not_quiet().size(), 20u);
    // From where it ends now, though files before are gone; what is known begins anew.
    ASSERT_TRUE(follow(end()));
    EXPECT_EQ(not_quiet().size(), 20u);
    EXPECT_TRUE(follow(before));
    const ChunkQuestion q = question(table, 0, {a}, true);
    confirm(q);
    EXPECT_EQ(not_quiet().size(), 20u); // nobody knows when that was
    ChunkQuestion now = q;
    now.followed = end();
    confirm(now);
    EXPECT_EQ(not_quiet(), Pages());
    // Another timeline has no files here.
    change(1, 0);
    EXPECT_FALSE(follower->follow({end(), timeline + 1, segment_bytes}));
    EXPECT_EQ(not_quiet().size(), 20u);
}

} // namespace
} // namespace gpuscan
