// Chunks of the column cache: which of their rows are right, versions and what they share, repairs, frames, zones. Pages are real heap pages,
// decoded by the host device.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "cache_fixture.hpp"
#include "chunk_rows.hpp"

namespace gpuscan {
namespace {

class ChunkTest : public CacheTest {};

TEST_F(ChunkTest, BuildsThenServesByMapLsn) {
    Table table(200);
    const ColumnRef a = column(1);
    const ChunkQuestion q = question(table, 77, {a});
    EXPECT_EQ(ask(q).missing.count(), 200u);
    EXPECT_EQ(build(table, q), 200u);
    const ChunkAnswer answer = ask(q);
    EXPECT_FALSE(answer.missing.any());
    EXPECT_EQ(answer.covered.count(), 200u);
    EXPECT_EQ(values(answer.covered, a).size(), 2000u);
    const Cache::Snapshot now = cache.chunk(relation, 0, 0);
    EXPECT_TRUE(covered_rows(*now.version, answer.covered)->mask == nullptr);
    EXPECT_EQ(now.version->columns.data(a->id)->nulls, nullptr);
    EXPECT_EQ(now.version->columns.data(a->id)->stats.max, 19909);
}

TEST_F(ChunkTest, ClearBitMasksPage) {
    Table table(10);
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    ChunkQuestion q = question(table, 77, {a});
    q.visible.reset(3);
    q.wanted = q.visible; // as in recovery
    const ChunkAnswer answer = ask(q);
    EXPECT_FALSE(answer.missing.any());
    EXPECT_EQ(answer.covered.count(), 9u);
    const std::vector<int32_t> v = values(answer.covered, a);
    EXPECT_EQ(v.size(), 90u);
    EXPECT_EQ(std::count_if(v.begin(), v.end(), [](int32_t x) { return x / 100 == 3; }), 0);
}

TEST_F(ChunkTest, MovedMapLsnAsksForPageLsnsAndRepairsOnlyChangedPages) {
    Table table(50);
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    const Cache::Snapshot before = cache.chunk(relation, 0, 0);
    const std::vector<int32_t> old = values(all_pages(50), a);

    table.write(7, 100000, 12, 9000);
    EXPECT_EQ(ask(question(table, 78, {a})).unknown.count(), 50u);
    const ChunkAnswer answer = ask(question(table, 78, {a}, true));
    EXPECT_EQ(answer.missing.count(), 1u);
    EXPECT_TRUE(answer.missing.test(7));
    EXPECT_EQ(build(table, question(table, 78, {a}, true)), 1u);
    const std::vector<int32_t> now = values(all_pages(50), a);
    EXPECT_EQ(now.size(), 502u);
    EXPECT_EQ(now.back(), 100011);
    EXPECT_EQ(ask(question(table, 78, {a})).covered.count(), 50u);

    // A reader of the old version still sees the old rows.
    const ChunkRows rows = *covered_rows(*before.version, all_pages(50));
    int64_t sum = 0;
    for (uint32_t r = 0; r < rows.nrows; ++r)
        sum += value(*before.version->columns.data(a->id), r);
    EXPECT_EQ(sum, std::accumulate(old.begin(), old.end(), int64_t(0)));
}

// A page that changed has lost every column. Who decodes it again does so for all of which the chunk had every page.
TEST_F(ChunkTest, ChangedPagesAreDecodedForAllWholeColumns) {
    Table table(50);
    const ColumnRef a = column(1), b = column(2), text = column(3);
    build(table, question(table, 77, {a, text}));
    ChunkQuestion most = question(table, 77, {b});
    most.wanted.reset(5);
    build(table, most);
    with_companions = true;
    table.write(7, 100000, 12, 9000);
    table.write(49, 200000, 10, 9001);
    EXPECT_EQ(build(table, question(table, 78, {a}, true)), 2u);
    EXPECT_EQ(ask(question(table, 78, {a, text})).covered.count(), 50u);
    EXPECT_EQ(ask(question(table, 78, {b})).covered.count(), 47u);
    const std::vector<int32_t> now = values(all_pages(50), a);
    EXPECT_EQ(now.size(), 502u);
    EXPECT_EQ(now.back(), 200009);
    check_bounds(a);
    check_bounds(text);
}

// They are decoded together with the wanted columns, but what is wrong with them does not touch those.
// They keep no memory, and the wanted columns are decoded.
TEST_F(ChunkTest, CompanionsWithoutMemoryAreLeftOut) {
    Table table(50);
    const ColumnRef a = column(1), b = column(2), text = column(3);
    build(table, question(table, 77, {a, b, text}));
    with_companions = true;
    table.write(7, 100000, 12, 9000);
    allocations = 4; // values and flags of NULLs of two columns
    bool looked = false;
    after_decoding = [&] {
        looked = true;
        allocations = SIZE_MAX;
        ASSERT_EQ(allocated.size(), 4u);
        EXPECT_FALSE(allocated[0].expired() || allocated[1].expired());
        EXPECT_TRUE(allocated[2].expired() && allocated[3].expired());
    };
    EXPECT_EQ(build(table, question(table, 78, {a}, true)), 1u);
    EXPECT_TRUE(looked);
    EXPECT_EQ(values(all_pages(50), a).back(), 100011);
    EXPECT_EQ(ask(question(table, 78, {a})).covered.count(), 50u);
    EXPECT_EQ(ask(question(table, 78, {a, b})).covered.count(), 49u);
}

TEST_F(ChunkTest, ToastedCompanionsAreLeftOut) {
    Table table(50);
    const ColumnRef a = column(1), b = column(2), text = column(3);
    build(table, question(table, 77, {a, b, text}));
    with_companions = true;
    window_pages = 1;
    table.write(7, 100000, 12, 9000);
    table.write(9, 200000, 10, 9001, true);
    table.write(11, 300000, 10, 9002);
    EXPECT_EQ(build(table, question(table, 78, {a}, true)), 3u);
    EXPECT_EQ(ask(question(table, 78, {a, b})).covered.count(), 49u); // the page's other companions have to wait
    EXPECT_EQ(ask(question(table, 78, {a})).covered.count(), 50u);
    EXPECT_EQ(ask(question(table, 78, {text})).covered.count(), 49u);
    EXPECT_EQ(values(all_pages(50), a).back(), 300009);
    check_bounds(a);
    check_bounds(b);
    check_bounds(text);
    table.write(9, 400000, 10, 9003);
    EXPECT_EQ(build(table, question(table, 79, {text}, true)), 1u);
    EXPECT_EQ(ask(question(table, 79, {text})).covered.count(), 50u);
}

TEST_F(ChunkTest, UnmovedPagesConfirmTheMap) {
    Table table(20);
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    const ChunkQuestion asked = question(table, 99, {a}, true);
    const ChunkAnswer answer = ask(asked);
    EXPECT_TRUE(answer.news);
    EXPECT_FALSE(answer.missing.any());
    const ChunkRef version = cache.chunk(relation, 0, 0).version;
    confirm(asked, answer);
    const ChunkAnswer again = ask(question(table, 99, {a}));
    EXPECT_EQ(again.covered.count(), 20u);
    EXPECT_FALSE(again.news);
    EXPECT_EQ(compared, 0u);
    EXPECT_EQ(cache.chunk(relation, 0, 0).version, version);
    // An older look, which ends later, takes nothing away; a version that is no longer current confirms nothing.
    confirm(question(table, 98, {a}, true));
    ChunkFinding other;
    other.proof.map_lsn = 100;
    cache.confirm(relation, 0, std::make_shared<ChunkVersion>(), other);
    EXPECT_EQ(cache.chunk(relation, 0, 0).proof->map_lsn, 99u);
    EXPECT_EQ(cache.chunk(relation, 0, 0).proof->whole_by_map, 20u);
    EXPECT_EQ(cache.chunk(relation, 0, 0).version, version);
}

// Page 4 changes and becomes visible again at map LSN 78. A first query has read the map then. Page 4 is changed once
// more: its bit is cleared, without a new LSN. A second query finds the rest to be right, or builds it. What the first
// one is told at map LSN 78 must not hold the rows that page 4 had at 77.
TEST_F(ChunkTest, MapLsnStandsForPagesThatItsFinderDidNotSee) {
    for (bool build_it : {false, true}) {
        cache.evict(file);
        relation = cache.relation(file, "base/5/16384");
        Table table(10);
        const ColumnRef a = column(1), b = column(2);
        build(table, question(table, 77, {a}));
        table.write(4, 7000, 10, 9000);
        const ChunkQuestion first = question(table, 78, {a});
        ChunkQuestion second = question(table, 78, {build_it ? b : a}, true);
        second.visible.reset(4);
        second.wanted = second.visible;
        if (build_it)
            EXPECT_EQ(build(table, second), 9u);
        else
            confirm(second);
        const ChunkAnswer answer = ask(first);
        EXPECT_FALSE(answer.covered.test(4));
        EXPECT_TRUE(answer.missing.test(4));
        EXPECT_EQ(answer.covered.count(), 9u);
    }
}

// The same by a scan that began when the table was shorter: it sees fewer pages, whatever their bits are.
TEST_F(ChunkTest, MapLsnStandsForPagesBeyondItsFindersEnd) {
    Table table(10);
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    table.write(9, 7000, 10, 9000);
    ChunkQuestion shorter = question(table, 78, {a}, true);
    shorter.visible = shorter.wanted = all_pages(8);
    confirm(shorter);
    const ChunkAnswer answer = ask(question(table, 78, {a}));
    EXPECT_EQ(answer.covered.count(), 8u);
    EXPECT_EQ(answer.missing.count(), 2u);
    EXPECT_EQ(build(table, question(table, 78, {a}, true)), 1u);
    EXPECT_EQ(values(all_pages(10), a).back(), 7009);
}

// Bits that are clear, of pages that have not changed since they were decoded, and no map at all.
TEST_F(ChunkTest, UnmovedPagesAreRightWithoutTheMap) {
    Table table(20);
    const ColumnRef a = column(1);
    ChunkQuestion q = question(table, 0, {a}, true);
    q.visible = PageBits();
    EXPECT_EQ(build(table, q), 20u);
    EXPECT_EQ(ask(q).covered.count(), 20u);
    EXPECT_EQ(compared, 20u);
    table.write(5, 7000, 9, 9000);
    const ChunkAnswer answer = ask(q);
    EXPECT_EQ(answer.covered.count(), 19u);
    EXPECT_EQ(answer.missing.count(), 1u);
    EXPECT_EQ(build(table, q), 1u);
    EXPECT_EQ(values(all_pages(20), a).back(), 7008);
    EXPECT_EQ(ask(q).covered.count(), 20u);
    // The map vouches for what was compared when its bit was set.
    ChunkQuestion some = question(table, 80, {a}, true);
    some.visible.reset(5);
    confirm(some);
    ChunkQuestion later = question(table, 80, {a});
    later.visible.reset(5);
    const ChunkAnswer rest = ask(later);
    EXPECT_EQ(rest.covered.count(), 19u);
    EXPECT_EQ(rest.unknown.count(), 1u);
    EXPECT_TRUE(rest.unknown.test(5));
}

// Of a page some tuples are dead.
TEST_F(ChunkTest, DecodesTheTuplesOfTheMask) {
    Table table(3);
    const ColumnRef a = column(1);
    TupleMask mask;
    mask.bits[0] = 0x3fe; // without the first of ten
    masks[1] = mask;
    EXPECT_EQ(build(table, question(table, 77, {a})), 3u);
    const std::vector<int32_t> v = values(all_pages(3), a);
    EXPECT_EQ(v.size(), 29u);
    EXPECT_EQ(std::count(v.begin(), v.end(), 100), 0);
    EXPECT_EQ(std::count(v.begin(), v.end(), 101), 1);
}

TEST_F(ChunkTest, LsnZeroIsNoIdentity) {
    Table table(5);
    table.write(2, 500, 3, 0); // loaded without WAL
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    EXPECT_EQ(ask(question(table, 77, {a})).covered.count(), 5u);
    const ChunkAnswer moved = ask(question(table, 78, {a}, true));
    EXPECT_EQ(moved.missing.count(), 1u);
    EXPECT_TRUE(moved.missing.test(2));
    EXPECT_EQ(ask(question(table, 0, {a}, true)).covered.count(), 4u);
    EXPECT_TRUE(ask(question(table, 0, {a}, true)).missing.test(2));
}

TEST_F(ChunkTest, PagesWithLsnZeroKeepTheirOtherColumnsAsLongAsTheMapVerifiesThem) {
    Table table(5);
    for (uint32_t page = 0; page < 5; ++page)
        table.write(page, 100 * static_cast<int32_t>(page), 10, 0);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a}));
    EXPECT_EQ(build(table, question(table, 77, {b})), 5u);
    EXPECT_EQ(ask(question(table, 77, {a, b})).covered.count(), 5u);
    EXPECT_EQ(cache.chunk(relation, 0, 0).version->garbage_rows(), 0u);
    // Changed between the look at the map and the decode: a new LSN, so new rows
    const ColumnRef c = column(3);
    table.write(3, 7000, 10, 9000);
    build(table, question(table, 77, {c}));
    EXPECT_EQ(ask(question(table, 77, {a, b})).covered.count(), 4u);
    // Not verified: another file with the same name may look like this
    table.write(1, 8000, 10, 0);
    build(table, question(table, 78, {a}, true));
    EXPECT_EQ(ask(question(table, 78, {a})).covered.count(), 5u);
    EXPECT_EQ(values(all_pages(5), a).back(), 8009);
    EXPECT_FALSE(ask(question(table, 78, {b})).covered.test(1));
}

TEST_F(ChunkTest, OtherColumnLaterFillsTheSameRows) {
    Table table(30);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a}));
    const uint32_t rows = cache.chunk(relation, 0, 0).version->nrows;
    EXPECT_EQ(ask(question(table, 77, {a, b})).missing.count(), 30u);
    build(table, question(table, 77, {b}));
    EXPECT_EQ(cache.chunk(relation, 0, 0).version->nrows, rows);
    EXPECT_EQ(ask(question(table, 77, {a, b})).covered.count(), 30u);
}

TEST_F(ChunkTest, PageWithAnotherLsnTakesTheOtherColumnsAway) {
    Table table(30);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a, b}));
    table.write(4, 7000, 10, 9000);
    build(table, question(table, 78, {b}, true));
    const ChunkAnswer answer = ask(question(table, 78, {a}));
    EXPECT_EQ(answer.missing.count(), 1u);
    EXPECT_TRUE(answer.missing.test(4));
    build(table, question(table, 78, {a, b}));
    EXPECT_EQ(ask(question(table, 78, {a, b})).covered.count(), 30u);
    EXPECT_EQ(cache.chunk(relation, 0, 0).version->garbage_rows(), 10u);
    EXPECT_EQ(values(all_pages(30), a).back(), 7009);
}

TEST_F(ChunkTest, BuildAtNewMapLsnForgetsWhatItDidNotVerify) {
    Table table(10);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a}));
    // Column b is built at another map LSN without page LSNs, and one page's second check fails.
    build(table, question(table, 78, {b}), {6});
    EXPECT_EQ(covered.count(), 9u);
    const ChunkAnswer answer = ask(question(table, 78, {a}));
    EXPECT_EQ(answer.covered.count(), 9u);
    EXPECT_TRUE(answer.missing.test(6));
}

TEST_F(ChunkTest, ToastedPagesAreRememberedUntilTheyChange) {
    Table table(10);
    table.write(5, 500, 10, 2000, true);
    const ColumnRef a = column(1), t = column(3);
    EXPECT_EQ(build(table, question(table, 77, {a, t})), 9u);
    EXPECT_EQ(statuses[5], PageStatus::NeedsCpu);
    ChunkAnswer answer = ask(question(table, 77, {a, t}));
    EXPECT_FALSE(answer.missing.any());
    EXPECT_EQ(answer.covered.count(), 9u);
    EXPECT_TRUE(ask(question(table, 77, {a})).missing.test(5)); // the other column alone can be decoded
    EXPECT_FALSE(ask(question(table, 78, {a, t}, true)).missing.any());
    table.write(5, 500, 10, 3000);
    EXPECT_TRUE(ask(question(table, 79, {a, t}, true)).missing.test(5));
}

TEST_F(ChunkTest, GarbageIsCompacted) {
    Table table(100, 100);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 1, {a, b}));
    uint64_t lsn = 5000, map = 2;
    for (int round = 0; round < 8; ++round, ++map) {
        for (uint32_t page = static_cast<uint32_t>(round); page < 100; page += 10)
            table.write(page, static_cast<int32_t>(page) * 1000, 100, ++lsn);
        EXPECT_EQ(build(table, question(table, map, {a}, true)), 10u);
    }
    const Cache::Snapshot now = cache.chunk(relation, 0, 0);
    EXPECT_LE(now.version->nrows, 10000u * 4 / 3 + 1000);
    std::vector<int32_t> expected;
    for (uint32_t page = 0; page < 100; ++page)
        for (int i = 0; i < 100; ++i)
            expected.push_back(static_cast<int32_t>(page) * (page % 10 < 8 ? 1000 : 100) + i);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(values(all_pages(100), a), expected);
    const ChunkAnswer other = ask(question(table, map - 1, {a, b}));
    EXPECT_EQ(other.covered.count(), 20u); // b has lost the pages that changed
    const ColumnData &bs = *now.version->columns.data(b->id);
    other.covered.for_each(
        [&](uint32_t page) { EXPECT_EQ(value(bs, now.version->pages[page].row_start), int64_t(page) * 200) << page; });
}

// Some pages lack one column and others two: they are decoded one set after the other, not in the order of their rows.
// A page that changes costs no mask: versions share one, and have ranges of rows without which they are read.
TEST_F(ChunkTest, VersionsShareTheirMask) {
    constexpr uint32_t npages = 6000;
    Table table(npages, 2);
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    uint64_t lsn = 9000;
    std::set<const void *> masks_seen;
    std::vector<int32_t> expected;
    for (uint32_t page = 0; page < npages; ++page)
        for (int32_t row : {0, 1})
            expected.push_back(static_cast<int32_t>(page) * 100 + row);
    for (uint32_t version = 0; version < 5; ++version) {
        const ChunkRef old = cache.chunk(relation, 0, 0).version;
        for (uint32_t page = 2 * version; page < npages; page += 20)
            table.write(page, static_cast<int32_t>(page) * 100, 2, ++lsn);
        EXPECT_EQ(build(table, question(table, 77 + lsn, {a}, true)), 300u);
        const ChunkVersion &now = *cache.chunk(relation, 0, 0).version;
        EXPECT_EQ(values(all_pages(npages), a), expected);
        EXPECT_EQ(all_words(*now.known_rows), all_words(*covered_rows_of_pages(now, all_pages(npages))));
        EXPECT_EQ(all_words(*old->known_rows), all_words(*covered_rows_of_pages(*old, all_pages(npages))));
        masks_seen.insert(now.known_rows->mask.get());
    }
    EXPECT_EQ(masks_seen.size(), 2u); // none, and one when there were too many ranges
}

TEST(PageBitsTest, TakesTheFirstBitOfEachPair) {
    std::mt19937 random(3);
    for (const uint32_t npages : {0u, 1u, 7u, 8u, 9u, 33u, 4000u, pages_per_chunk}) {
        PageBits::Pairs pairs;
        for (uint16_t &pair : pairs)
            pair = static_cast<uint16_t>(random());
        PageBits bits = PageBits::first(pages_per_chunk);
        bits.read_first_bits(pairs, npages);
        uint32_t count = 0;
        for (uint32_t page = 0; page < pages_per_chunk; ++page) {
            const bool want = page < npages && (pairs[page / 8] >> 2 * (page % 8) & 1) != 0;
            ASSERT_EQ(bits.test(page), want) << page << " of " << npages;
            count += want;
        }
        EXPECT_EQ(bits.count(), count);
    }
}

// A device's mask is made of the one before and a few words, or anew; bits of later rows are set.
TEST_F(ChunkTest, DeviceMasksFollowTheRows) {
    const Allocate allocate = [this](size_t bytes) { return device->allocate(bytes); };
    const auto expect_mask = [&](const BufferRef &mask, const ChunkRows &rows) {
        std::vector<uint64_t> words(mask->size / sizeof(uint64_t));
        ASSERT_GE(words.size() * 64, rows.nrows);
        device->download(words.data(), *mask, 0, words.size() * sizeof(uint64_t));
        for (uint64_t row = 0; row < words.size() * 64; ++row)
            ASSERT_EQ((words[row / 64] >> (row % 64) & 1) != 0, row >= rows.nrows || has_row(rows, row)) << row;
    };
    ChunkRows rows;
    rows.nrows = 10000;
    for (const bool has_mask : {false, true}) {
        rows.without = {{3, 5}, {700, 900}};
        if (has_mask) { // (bits behind its rows are set)
            std::vector<uint64_t> words(160, 0x5555555555555555u);
            words[10000 / 64] |= ~uint64_t(0) << (10000 % 64);
            std::fill(words.begin() + 10000 / 64 + 1, words.end(), ~uint64_t(0));
            rows.mask = std::make_shared<const std::vector<uint64_t>>(std::move(words));
        }
        BufferRef mask = make_device_mask(*device, allocate, rows, nullptr, {});
        expect_mask(mask, rows);
        const std::vector<std::vector<RowRange>> changes = {
            {{64, 128}}, {{130, 131}, {5000, 5300}}, {}, {{9990, 10000}, {10, 11}}};
        for (const std::vector<RowRange> &lost : changes) {
            rows.nrows += 20; // later ones
            rows.without.insert(rows.without.end(), lost.begin(), lost.end());
            std::sort(rows.without.begin(), rows.without.end(),
                      [](const RowRange &a, const RowRange &b) { return a.first < b.first; });
            const BufferRef before = mask;
            mask = make_device_mask(*device, allocate, rows, before, lost);
            expect_mask(mask, rows);
        }
        rows.nrows = 100000; // beyond the one before
        if (!has_mask)
            expect_mask(make_device_mask(*device, allocate, rows, mask, {}), rows);
        rows.nrows = 10080;
        std::vector<RowRange> many;
        for (uint32_t row = 6000; row < 8000; row += 20)
            many.push_back({row, row + 7});
        rows.without.insert(rows.without.end() - 1, many.begin(), many.end());
        std::sort(rows.without.begin(), rows.without.end(),
                  [](const RowRange &a, const RowRange &b) { return a.first < b.first; });
        expect_mask(make_device_mask(*device, allocate, rows, mask, many), rows);
        rows = ChunkRows();
        rows.nrows = 10000;
    }
}

// Rows at the end that nobody has, and then others behind them in the same word of a mask.
TEST_F(ChunkTest, RowsOfDroppedPagesStayOut) {
    for (const uint32_t changed : {0u, 5u}) { // the version before has no mask, or has one
        Table table(20, 3);
        const ColumnRef a = column(1);
        const RelationRef before = std::exchange(relation, cache.relation({1663, 5, 20000 + changed}, "base/5/2"));
        const ColumnRef own = column(1);
        ChunkQuestion q = question(table, 77, {own});
        build(table, q, changed != 0 ? std::vector<uint32_t>{changed, 18, 19} : std::vector<uint32_t>{18, 19});
        EXPECT_EQ(values(covered, own).size(), changed != 0 ? 51u : 54u);
        for (uint64_t lsn = 9000; lsn < 9004; ++lsn) {
            table.write(7, 7000, 2, lsn);
            build(table, question(table, lsn, {own}, true), {static_cast<uint32_t>(lsn % 2 == 0 ? 19 : 18)});
            std::vector<int32_t> expected;
            covered.for_each([&](uint32_t page) {
                for (int32_t row = 0; row < (page == 7 ? 2 : 3); ++row)
                    expected.push_back((page == 7 ? 7000 : static_cast<int32_t>(page) * 100) + row);
            });
            std::sort(expected.begin(), expected.end());
            EXPECT_EQ(values(covered, own), expected);
            const ChunkVersion &now = *cache.chunk(relation, 0, 0).version;
            EXPECT_EQ(all_words(*now.known_rows), all_words(*covered_rows_of_pages(now, now.known_pages)));
        }
        relation = before;
    }
}

TEST_F(ChunkTest, ZonesBoundTheRowsOfEveryPage) {
    Table table(20);
    for (const bool first : {true, false}) {
        cache.evict(file);
        relation = cache.relation(file, "base/5/16384");
        const ColumnRef before = column(2), later = column(1);
        build(table, question(table, 77, {before}));
        for (uint32_t page = 0; page < 20; ++page)
            if ((page < 5) == first)
                table.write(page, 100000 + static_cast<int32_t>(page), 10, 5000 + page);
        build(table, question(table, 78, {later, before}, true));
        const Cache::Snapshot now = cache.chunk(relation, 0, 0);
        const ColumnData &data = *now.version->columns.data(later->id);
        ASSERT_EQ(data.zones->size(), 1u);
        EXPECT_EQ(values(all_pages(20), later).front(), (*data.zones)[0].min);
        EXPECT_EQ(values(all_pages(20), later).back(), (*data.zones)[0].max);
        table = Table(20);
    }
}

TEST_F(ChunkTest, ZonesBoundTheRowsThroughRepairs) {
    std::mt19937 random(7);
    Table table(450, 160); // 72,000 rows
    uint64_t lsn = 5000;
    for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
        for (uint32_t n = random() % 3 == 0 ? random() % 150 : random() % 5; n > 0; --n)
            table.write(random() % 450, static_cast<int32_t>(random() % 2000000000), random() % 161, ++lsn);
        const uint32_t which = 1 + random() % 3;
        std::vector<ColumnRef> columns;
        for (int attnum : {1, 2})
            if (which & static_cast<uint32_t>(attnum))
                columns.push_back(column(attnum));
        window_pages = random() % 2 == 0 ? SIZE_MAX : 1 + random() % 100;
        build(table, question(table, 100 + static_cast<uint64_t>(round), columns, true));
        check_bounds(column(1));
        check_bounds(column(2));
        if (random() % 20 == 0) {
            cache.evict(file);
            relation = cache.relation(file, "base/5/16384");
        }
    }
}

TEST_F(ChunkTest, ValuesAreStoredInFrames) {
    Table table(50, 100); // a: 0 to 4999, b: 100 rows of each of 0, 200, ... 9800, t: one code
    const ColumnRef a = column(1), b = column(2), t = column(3);
    build(table, question(table, 1, {a, b, t}));
    const Cache::Snapshot now = cache.chunk(relation, 0, 0);
    EXPECT_EQ(now.version->columns.data(a->id)->frame.width, 2);
    EXPECT_EQ(now.version->columns.data(b->id)->frame.width, 2);
    EXPECT_EQ(now.version->columns.data(t->id)->frame.width, 0);
    EXPECT_EQ(now.version->columns.data(t->id)->bytes(), 0u);
    EXPECT_LT(cache.bytes(), 5000u * 2 * 2 + 10000);
    int64_t sum = 0;
    for (uint32_t r = 0; r < 5000; ++r) {
        EXPECT_EQ(value(*now.version->columns.data(a->id), r) / 100 * 200, value(*now.version->columns.data(b->id), r));
        sum += value(*now.version->columns.data(t->id), r);
    }
    EXPECT_EQ(sum, 0);
}

TEST_F(ChunkTest, RepairKeepsTheFrameOrWidensIt) {
    Table table(50, 100);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 1, {a, b}));
    const ChunkRef first = cache.chunk(relation, 0, 0).version;
    std::vector<int32_t> expected = values(all_pages(50), a);
    auto replace = [&](uint32_t page, int32_t start, uint32_t rows) {
        const int32_t low = static_cast<int32_t>(page) * 100;
        expected.erase(
            std::remove_if(expected.begin(), expected.end(), [&](int32_t v) { return v / 100 == low / 100; }),
            expected.end());
        for (uint32_t i = 0; i < rows; ++i)
            expected.push_back(start + static_cast<int32_t>(i));
        std::sort(expected.begin(), expected.end());
        table.write(page, start, rows, 5000 + page);
    };
    replace(3, 60000, 20); // within 2 bytes, and within the room behind the rows
    EXPECT_EQ(build(table, question(table, 2, {a, b}, true)), 1u);
    const ChunkRef same = cache.chunk(relation, 0, 0).version;
    EXPECT_EQ(same->columns.data(a->id)->values, first->columns.data(a->id)->values);
    EXPECT_NE(same->columns.data(b->id)->values, first->columns.data(b->id)->values); // 120000 is beyond 2 bytes
    EXPECT_EQ(same->columns.data(b->id)->frame.width, 4);
    EXPECT_EQ(values(all_pages(50), a), expected);

    replace(4, -100000, 20);
    EXPECT_EQ(build(table, question(table, 3, {a, b}, true)), 1u);
    const ChunkRef wider = cache.chunk(relation, 0, 0).version;
    EXPECT_TRUE(wider->columns.data(a->id)->frame.is_whole());
    EXPECT_EQ(wider->columns.data(b->id)->frame.width, 4);
    EXPECT_EQ(wider->columns.data(b->id)->frame.base, -200000);
    EXPECT_EQ(values(all_pages(50), a), expected);
    for (uint32_t page = 0; page < 50; ++page)
        for (uint32_t r = 0; r < wider->pages[page].nrows; ++r) {
            const uint32_t row = wider->pages[page].row_start + r;
            EXPECT_EQ((value(*wider->columns.data(a->id), row) - r) * 2, value(*wider->columns.data(b->id), row));
        }
    // Readers of the first version still see what they saw.
    for (uint32_t r = 0; r < 5000; ++r)
        EXPECT_EQ(value(*first->columns.data(a->id), r), r);
}

// Fresh rows of pages that the column lacked lie among its old rows, which move into a wider frame at the same time.
TEST_F(ChunkTest, WidensAColumnThatLacksPages) {
    Table table(50, 100);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 1, {a, b}));
    for (uint32_t page = 10; page < 30; page += 2)
        table.write(page, 60000 + static_cast<int32_t>(page) * 100, 100, 5000 + page); // b: beyond 2 bytes
    EXPECT_EQ(build(table, question(table, 2, {a}, true)), 10u);
    EXPECT_FALSE(cache.chunk(relation, 0, 0).version->columns.data(b->id)->have.test(10));
    EXPECT_EQ(build(table, question(table, 3, {b}, true)), 10u);
    const ChunkRef now = cache.chunk(relation, 0, 0).version;
    EXPECT_EQ(now->columns.data(b->id)->frame.width, 4);
    for (uint32_t page = 0; page < 50; ++page) {
        EXPECT_EQ(now->pages[page].nrows, 100u);
        for (uint32_t r = 0; r < now->pages[page].nrows; ++r) {
            const uint32_t row = now->pages[page].row_start + r;
            EXPECT_EQ((value(*now->columns.data(a->id), row) - r) * 2, value(*now->columns.data(b->id), row)) << page;
        }
    }
}

TEST_F(ChunkTest, NullsCanComeWithARepair) {
    Table table(10);
    const ColumnRef a = column(1);
    build(table, question(table, 1, {a}));
    EXPECT_EQ(cache.chunk(relation, 0, 0).version->columns.data(a->id)->nulls, nullptr);
    table.write_nulls(4, 10, 9000);
    build(table, question(table, 2, {a}, true));
    const ChunkRef version = cache.chunk(relation, 0, 0).version;
    const ColumnData &data = *version->columns.data(a->id);
    ASSERT_NE(data.nulls, nullptr);
    for (uint32_t page = 0; page < 10; ++page)
        for (uint32_t r = 0; r < 10; ++r) {
            const uint32_t row = version->pages[page].row_start + r;
            EXPECT_EQ(static_cast<const uint8_t *>(data.nulls->data)[row], page == 4);
            EXPECT_EQ(value(data, row), page == 4 ? 0 : page * 100 + r);
        }
}

TEST_F(ChunkTest, VersionsShareTheColumnsThatDidNotChange) {
    Table table(10);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a}));
    const ChunkRef first = cache.chunk(relation, 0, 0).version;
    EXPECT_TRUE(first->columns.find(a->id)->whole);
    build(table, question(table, 77, {b}));
    const ChunkRef second = cache.chunk(relation, 0, 0).version;
    EXPECT_EQ(second->columns.data(a->id), first->columns.data(a->id));
    EXPECT_EQ(first->columns.find(b->id), nullptr);
    EXPECT_TRUE(second->columns.find(a->id)->whole && second->columns.find(b->id)->whole);

    // A page changes and is decoded for one column: the other one lacks it, but only from then on.
    table.write(4, 1000, 10, 5000);
    build(table, question(table, 78, {b}, true));
    const ChunkRef third = cache.chunk(relation, 0, 0).version;
    EXPECT_EQ(third->columns.data(a->id)->have.count(), 9u);
    EXPECT_FALSE(third->columns.find(a->id)->whole);
    EXPECT_TRUE(third->columns.find(b->id)->whole);
    EXPECT_TRUE(second->columns.find(a->id)->whole);
    EXPECT_EQ(second->columns.data(a->id)->have.count(), 10u);

    // All of them change: nothing is left of the other.
    for (uint32_t page = 0; page < 10; ++page)
        table.write(page, 1000, 10, 6000);
    build(table, question(table, 79, {b}, true));
    EXPECT_EQ(cache.chunk(relation, 0, 0).version->columns.find(a->id), nullptr);
    EXPECT_NE(third->columns.find(a->id), nullptr);
}

TEST_F(ChunkTest, BitmapsDropPagesBeyondTheEnd) {
    uint8_t wire[PageBits::bytes + 8];
    memset(wire, 0xff, sizeof wire);
    for (uint32_t n : {0u, 1u, 63u, 64u, 65u, 1000u, pages_per_chunk}) {
        PageBits bits;
        bits.read(wire, n);
        EXPECT_EQ(bits.count(), n);
        EXPECT_TRUE(bits == all_pages(n));
    }
}

} // namespace
} // namespace gpuscan
