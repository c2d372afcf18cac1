// Quiet pages: those that WAL has not named since they were known to be as the cache has them. Looks, builds and records come in every order.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include "cache_fixture.hpp"

namespace gpuscan {
namespace {

// Questions that no map answers, of a query whose snapshot sees nothing behind where WAL has been followed to.
class QuietTest : public CacheTest {
  protected:
    ChunkQuestion at(uint64_t followed) {
        ChunkQuestion q = question(table, 0, {a}, true);
        q.visible = PageBits();
        q.followed = followed;
        return q;
    }
    void name(uint32_t page, uint64_t end, bool tidies = false) {
        cache.note_references({{file, page, end, tidies}}, end);
    }
    // How many pages are compared by a query that tells what it finds.
    uint32_t ask_and_tell(uint64_t followed) {
        const ChunkQuestion q = at(followed);
        const ChunkAnswer answer = ask(q);
        if (answer.news)
            confirm(q, answer);
        return compared;
    }
    uint32_t quiet() { return cache.chunk(relation, 0, 1).nquiet; }

    Table table{20}; // decoded at LSNs from 1000 to 1019
    const ColumnRef a = column(1);
};

TEST_F(QuietTest, WalVouchesForWhatItHasNotNamed) {
    cache.begin_following(2000);
    build(table, at(2000));
    EXPECT_EQ(quiet(), 20u);
    EXPECT_EQ(ask(at(2000)).covered.count(), 20u);
    EXPECT_EQ(compared, 0u);
    EXPECT_EQ(ask_and_tell(0), 20u); // somebody who has written compares
    table.write(5, 7000, 9, 9000);
    name(5, 9000);
    name(pages_per_chunk + 6, 9000); // of the next chunk
    cache.note_references({{{1663, 5, 16385}, 7, 9000, false}}, 9000);
    EXPECT_EQ(quiet(), 19u);
    EXPECT_EQ(ask_and_tell(9000), 1u);
    EXPECT_TRUE(ask(at(9000)).missing.test(5));
    EXPECT_EQ(ask(at(9000)).covered.count(), 19u);
    EXPECT_EQ(build(table, at(9000)), 1u);
    EXPECT_EQ(quiet(), 20u);
    EXPECT_EQ(values(ask(at(9000)).covered, a).back(), 7008);
    // Named, but unchanged: VACUUM has set its bit.
    name(8, 9500);
    EXPECT_EQ(quiet(), 19u);
    EXPECT_EQ(ask_and_tell(9500), 1u);
    EXPECT_EQ(ask_and_tell(9500), 0u);
}

// A few pages are made do without until queries have borne what a repair costs; or until nobody changes pages any more: then once.
TEST_F(QuietTest, ARepairIsDueWhenWritersHaveStopped) {
    cache.begin_following(2000);
    build(table, at(2000));
    uint64_t end = 9000;
    const auto look = [&] {
        const bool calm = cache.chunks({{{&relation, 0}, true}}, end).front().calm;
        return cache.is_repair_due(relation, 0, 1, 1000, calm);
    };
    for (int i = 0; i < 20; ++i) { // somebody writes between any two looks
        name(5, ++end);
        EXPECT_FALSE(look()) << i;
    }
    int looks = 0;
    for (; !look() && looks < 50; ++looks)
        name(7, ++end, true); // a query prunes a page: that is no writer
    EXPECT_LT(looks, 10);
    for (int i = 0; i < 30; ++i) // ... which may have failed: an old snapshot, say
        EXPECT_FALSE(look()) << i;
    for (int i = 0; i < 3; ++i) { // somebody who writes now and then has not stopped after as many looks
        name(6, ++end);
        for (looks = 0; !look() && looks < 60; ++looks) {
        }
    }
    EXPECT_GT(looks, 7);
    for (int i = 0; i < 8; ++i) { // a silence is none between two changes of one writer
        name(6, ++end);
        for (looks = 0; !look() && looks < 60; ++looks) {
        }
        for (int silence = 0; silence < 40; ++silence)
            look();
    }
    EXPECT_LT(looks, 15);
    build(table, at(end)); // (counted anew)
    EXPECT_FALSE(cache.chunks({{{&relation, 0}, true}}, end + 1).front().calm) << "WAL has not been followed that far";
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(cache.is_repair_due(relation, 0, 1, 100, false)) << i;
    EXPECT_TRUE(cache.is_repair_due(relation, 0, 1, 100, false));
}

// What a query found of a version is for the next one, as long as it is the version.
TEST_F(QuietTest, LooksAreRememberedWithTheirVersion) {
    cache.begin_following(2000);
    build(table, at(2000));
    name(5, 9000);
    const Cache::Snapshot before = cache.chunk(relation, 0, 9000);
    EXPECT_EQ(before.look, nullptr);
    auto look = std::make_shared<ChunkLook>();
    look->quiet = before.quiet;
    cache.remember_look(relation, 0, before.version, look);
    EXPECT_EQ(cache.chunk(relation, 0, 9000).look, look);
    EXPECT_EQ(cache.chunk(relation, 0, 9000).quiet, look->quiet);
    name(6, 9100);
    EXPECT_NE(cache.chunk(relation, 0, 9100).quiet, look->quiet) << "a set that somebody has is not changed";
    table.write(5, 7000, 9, 9000);
    build(table, at(9100));
    EXPECT_EQ(cache.chunk(relation, 0, 9100).look, nullptr);
    cache.remember_look(relation, 0, before.version, look);
    EXPECT_EQ(cache.chunk(relation, 0, 9100).look, nullptr) << "it was another version's";
}

// Which of the pages that a query lacks have changed lately?
TEST_F(QuietTest, CountsWhatIsNotDecided) {
    cache.begin_following(2000);
    build(table, at(2000));
    name(5, 9000);
    name(7, 9500);
    name(25, 9600); // a page that the version does not know
    EXPECT_EQ(cache.count_undecided(relation, 0, {3, 5, 7, 25}, 8999), 3u);
    EXPECT_EQ(cache.count_undecided(relation, 0, {3, 5, 7, 25}, 9000), 2u);
    EXPECT_EQ(cache.count_undecided(relation, 0, {3, 5, 7, 25}, 9600), 0u);
    EXPECT_EQ(cache.count_undecided(relation, 0, {3, 5, 7, 25}, UINT64_MAX), 0u);
}

// A page that is decoded after WAL has told of its change: the record ends where the page's LSN is.
TEST_F(QuietTest, PagesDecodedBehindTheRecordAreQuiet) {
    cache.begin_following(100);
    before_publishing = [&] { name(5, 1005); };
    build(table, at(0)); // by somebody who does not know how far WAL is followed
    EXPECT_EQ(quiet(), 20u);
    name(6, 1006); // told late
    EXPECT_EQ(quiet(), 20u);
    name(6, 1007);
    EXPECT_EQ(quiet(), 19u);
}

// What is named between the decoding of a page and its publication has changed it.
TEST_F(QuietTest, WhatIsNamedDuringABuildIsNotQuiet) {
    cache.begin_following(500);
    before_publishing = [&] { name(5, 9000); };
    build(table, at(600));
    EXPECT_EQ(quiet(), 19u);
    EXPECT_TRUE(!cache.chunk(relation, 0, 1).quiet->test(5));
    before_publishing = nullptr;
    table.write(5, 7000, 9, 9000);
    table.write(6, 8000, 9, 9001);
    name(6, 9001);
    before_publishing = [&] { name(6, 9002); };
    EXPECT_EQ(build(table, at(9001)), 2u);
    EXPECT_EQ(quiet(), 19u);
    EXPECT_TRUE(!cache.chunk(relation, 0, 1).quiet->test(6));
}

// A look that began before a record was told says nothing of what comes behind it, however late it ends.
TEST_F(QuietTest, AnOldLookDoesNotCoverALaterRecord) {
    cache.begin_following(5000);
    build(table, at(0));
    EXPECT_EQ(quiet(), 0u); // decoded at LSNs before that, and nobody knows what came between
    const ChunkQuestion q = at(5000);
    const ChunkAnswer answer = ask(q);
    name(5, 9000);
    name(6, 5000);
    confirm(q, answer);
    EXPECT_EQ(quiet(), 19u);
    EXPECT_TRUE(!cache.chunk(relation, 0, 1).quiet->test(5));
    // A look from before WAL was followed anew
    cache.begin_following(10000);
    EXPECT_EQ(quiet(), 0u);
    confirm(q, answer);
    EXPECT_EQ(quiet(), 0u);
    EXPECT_EQ(ask_and_tell(10000), 20u);
    EXPECT_EQ(quiet(), 20u);
    cache.begin_following(QuietPages::never);
    EXPECT_EQ(ask_and_tell(10000), 20u);
    EXPECT_EQ(quiet(), 0u);
}

// Who has followed WAL finds that it is followed from elsewhere on, not so far: nothing is quiet for him.
TEST_F(QuietTest, IsToldOnlyToWhomWalWasFollowedFor) {
    cache.begin_following(5000);
    build(table, at(5000));
    EXPECT_EQ(quiet(), 20u);
    EXPECT_TRUE(cache.chunk(relation, 0, 5000).quiet != nullptr);
    EXPECT_TRUE(cache.chunk(relation, 0, 5001).quiet == nullptr);
    EXPECT_EQ(cache.chunk(relation, 0, 5001).nquiet, 0u);
    EXPECT_TRUE(cache.chunk(relation, 0, 0).quiet == nullptr);
    cache.note_references({}, 6000);
    EXPECT_EQ(cache.chunk(relation, 0, 6000).nquiet, 20u);
    cache.note_references({}, 5500); // nothing is taken back
    EXPECT_EQ(cache.chunk(relation, 0, 6000).nquiet, 20u);
}

// A page whose lock somebody holds may have been named already, and get its LSN later: only this query knows that it is right.
TEST_F(QuietTest, PagesInWorkAreForOneQueryOnly) {
    cache.begin_following(5000);
    build(table, at(0));
    in_work.set(3);
    EXPECT_EQ(ask_and_tell(5000), 20u);
    EXPECT_EQ(ask(at(5000)).covered.count(), 20u);
    EXPECT_EQ(quiet(), 19u);
    EXPECT_EQ(ask_and_tell(5000), 1u);
    in_work = PageBits();
    EXPECT_EQ(ask_and_tell(5000), 1u);
    EXPECT_EQ(ask_and_tell(5000), 0u);
}

// A chunk that comes to be known later: what was named before is not known.
TEST_F(QuietTest, NewChunksKnowNothingOfWhatWasNamedBefore) {
    cache.begin_following(500);
    name(5, 9000);
    build(table, at(600));
    EXPECT_EQ(quiet(), 0u);
    EXPECT_EQ(ask_and_tell(9000), 20u);
    EXPECT_EQ(quiet(), 20u);
}

// Files that are made anew or cut off, and databases that are moved.
TEST_F(QuietTest, ChangesOfFilesAreForAllPages) {
    for (const RelationFile &changed : {file, RelationFile()}) {
        cache.begin_following(500);
        build(table, at(600));
        cache.note_references({}, 2000);
        EXPECT_EQ(ask_and_tell(2000), 0u);
        cache.note_references({{{1663, 5, 16385}, Cache::Reference::whole_file, 3000, false}}, 3000);
        EXPECT_EQ(quiet(), 20u);
        cache.note_references({{changed, Cache::Reference::whole_file, 3000, false}}, 3000);
        EXPECT_EQ(quiet(), 0u);
        EXPECT_EQ(ask_and_tell(3000), 20u);
        EXPECT_EQ(quiet(), 20u);
    }
}

// Nobody tells the chunks of a relation that the cache has dropped.
TEST_F(QuietTest, DroppedRelationsAreNotQuiet) {
    cache.begin_following(500);
    build(table, at(600));
    cache.evict(file);
    EXPECT_EQ(quiet(), 0u);
    EXPECT_EQ(ask_and_tell(2000), 20u);
    EXPECT_EQ(ask_and_tell(2000), 20u);
}

// Readers keep what they took.
TEST_F(QuietTest, ReadersKeepTheirPages) {
    cache.begin_following(500);
    build(table, at(600));
    const Cache::Snapshot before = cache.chunk(relation, 0, 1);
    name(5, 9000);
    EXPECT_TRUE(before.quiet->test(5));
    EXPECT_TRUE(!cache.chunk(relation, 0, 1).quiet->test(5));
    EXPECT_EQ(before.nquiet, 20u);
}

// Of too many pages nothing is compared.
TEST_F(QuietTest, ComparesAtMostSoMany) {
    build(table, at(0));
    ChunkQuestion q = at(0);
    q.compare_at_most = 19;
    EXPECT_EQ(ask(q).unknown.count(), 20u);
    EXPECT_EQ(compared, 0u);
    q.compare_at_most = 20;
    EXPECT_EQ(ask(q).covered.count(), 20u);
}

// Random changes, looks, builds and records that are told late, or before the page has its LSN, by a writer who holds its lock: whatever
// is quiet is as the version has it.
TEST_F(QuietTest, NothingThatHasChangedIsQuiet) {
    std::mt19937 random(5);
    const auto below = [&](size_t n) {
        return static_cast<uint32_t>(std::uniform_int_distribution<size_t>(0, n - 1)(random));
    };
    uint64_t end = 5000, told = 5000, quiet_pages = 0, written_late = 0;
    cache.begin_following(told);
    std::vector<Cache::Reference> untold, unwritten; // in WAL: not told yet; told or not, but not on the page
    const auto write = [&](const Cache::Reference &reference) {
        table.write(reference.block, static_cast<int32_t>(below(1000000)), 1 + below(9), reference.end);
    };
    const auto change = [&] {
        const uint32_t page = below(table.npages());
        if (in_work.test(page))
            return;
        end += 1 + below(9);
        untold.push_back({file, page, end, false});
        if (below(3) == 0) {
            unwritten.push_back(untold.back());
            in_work.set(page);
        } else if (below(4) != 0) { // (or the record changes nothing)
            write(untold.back());
        }
    };
    const auto finish = [&] {
        if (unwritten.empty())
            return;
        const uint32_t one = below(unwritten.size());
        write(unwritten[one]);
        in_work.reset(unwritten[one].block);
        unwritten.erase(unwritten.begin() + one);
        ++written_late;
    };
    const auto tell = [&] {
        const std::ptrdiff_t count = below(untold.size() + 1);
        const std::vector<Cache::Reference> some(untold.begin(), untold.begin() + count);
        untold.erase(untold.begin(), untold.begin() + count);
        told = untold.empty() ? end : untold.front().end - 1;
        cache.note_references(some, told);
    };
    const auto meanwhile = [&] {
        for (const auto &step : std::vector<std::function<void()>>{change, tell, finish})
            if (below(2) != 0)
                step();
    };
    for (int step = 0; step < 20000; ++step) {
        meanwhile();
        if (below(16) == 0) {
            while (!unwritten.empty()) // (pages are decoded under their locks)
                finish();
            before_publishing = meanwhile;
            build(table, at(told));
        } else if (below(200) == 0) {
            cache.begin_following(told);
        }
        const ChunkQuestion q = at(told);
        const ChunkAnswer answer = ask(q);
        if (below(2) == 0)
            meanwhile();
        if (answer.news)
            confirm(q, answer);
        const Cache::Snapshot now = cache.chunk(relation, 0, 1);
        if (!now.version || !now.quiet)
            continue;
        ASSERT_EQ(now.quiet->count(), now.nquiet);
        PageBits named; // and not told yet
        for (const Cache::Reference &reference : untold)
            named.set(reference.block);
        (*now.quiet - named).for_each([&](uint32_t page) {
            ASSERT_EQ(now.version->pages[page].lsn, table.lsns()[page]) << "page " << page << ", step " << step;
            ASSERT_FALSE(in_work.test(page)) << "page " << page << ", step " << step;
            ++quiet_pages;
        });
    }
    EXPECT_GT(quiet_pages, 50000u);
    EXPECT_GT(written_late, 1000u);
}

} // namespace
} // namespace gpuscan
