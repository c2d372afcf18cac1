// The column cache: who builds, what is known of columns, what goes when memory is needed, and what planners are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "cache_fixture.hpp"
#include "engine/store/admission_credits.hpp"

namespace gpuscan {
namespace {

TEST_F(CacheTest, EvictionTellsOfAllThatTheListShows) {
    for (const bool all : {false, true}) {
        Table table(50, 100);
        relation = cache.relation(file, "base/5/16384");
        build(table, question(table, 1, {column(1), column(3)}));
        size_t listed = 0, dictionaries = column(3)->dictionary->bytes();
        for (const Cache::Entry &entry : cache.list())
            listed += entry.bytes;
        EXPECT_GT(listed, dictionaries);
        EXPECT_GT(dictionaries, 0u);
        EXPECT_EQ(all ? cache.evict_all() : cache.evict(file), listed);
        EXPECT_TRUE(cache.list().empty());
    }
}

TEST_F(CacheTest, OneBuilderPerChunk) {
    Cache::Token first = cache.take_token(relation, 0);
    EXPECT_TRUE(first);
    EXPECT_FALSE(cache.take_token(relation, 0));
    EXPECT_TRUE(cache.take_token(relation, 1));
    Cache::Token moved = std::move(first);
    EXPECT_FALSE(cache.take_token(relation, 0));
    moved.release();
    EXPECT_TRUE(cache.take_token(relation, 0));
}

TEST_F(CacheTest, DroppedBuildPublishesNothing) {
    Table table(10);
    const ColumnRef a = column(1);
    build(table, question(table, 77, {a}));
    const Cache::Snapshot before = cache.chunk(relation, 0, 0);
    table.write(1, 4000, 10, 9000);
    {
        const ChunkQuestion q = question(table, 78, {a}, true);
        Cache::Token token = cache.take_token(relation, 0);
        ChunkBuilder builder(
            *device, [&](size_t n) { return cache.allocate(n, 0); }, before.version, ask(q), table.npages(),
            {{a->id, &a->layout, nullptr}}, 1);
        builder.decode({table.window_page(1)}, nullptr);
    }
    EXPECT_EQ(cache.chunk(relation, 0, 0).version, before.version);
    EXPECT_EQ(values(all_pages(10), a)[10], 100);
    EXPECT_EQ(build(table, question(table, 78, {a}, true)), 1u);
}

TEST_F(CacheTest, PlacesGrowWithTheTable) {
    const std::shared_ptr<PagePlaces> small = cache.places(relation, 0, 10);
    small->set(3, 7);
    small->set(10, 8); // behind the end
    EXPECT_EQ(small->get(10), PagePlaces::none);
    const std::shared_ptr<PagePlaces> grown = cache.places(relation, 0, 11);
    EXPECT_EQ(grown->get(3), 7u);
    EXPECT_EQ(grown->get(10), PagePlaces::none);
    grown->set(10, 8);
    EXPECT_EQ(grown->get(10), 8u);
    EXPECT_EQ(cache.places(relation, 0, 0), grown);
}

TEST_F(CacheTest, EvictsLeastRecentlyUsedAndNeverWhatIsHeld) {
    Table table(100, 100); // 10000 rows: 40 kB of a and some headroom
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a}));
    build(table, question(table, 77, {b}));
    const std::vector<ColumnRef> used = {a};
    cache.touch({{{&relation, 0}, &used}});
    const size_t both = cache.bytes();
    const BufferRef held = cache.chunk(relation, 0, 0).version->columns.data(a->id)->values;
    cache.set_budget(both - 1000); // less than both, b was used before a
    EXPECT_EQ(cache.evictions(), 1u);
    EXPECT_EQ(cache.chunk(relation, 0, 0).version->columns.find(b->id), nullptr);
    EXPECT_NE(cache.chunk(relation, 0, 0).version->columns.find(a->id), nullptr);
    cache.set_budget(1000);
    EXPECT_NE(cache.chunk(relation, 0, 0).version->columns.find(a->id), nullptr);
    EXPECT_GE(cache.bytes(), held->size);
}

TEST_F(CacheTest, BuildBeyondTheMemoryLimitEndsFullAndPublishesTheRest) {
    cache.set_budget(100 * 1000);
    Table table(100, 200); // 20000 rows need 80 kB and as much again while they are moved
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a, b}));
    EXPECT_TRUE(full);
    EXPECT_LE(cache.bytes(), 100u * 1000);
    for (PageStatus status : statuses)
        EXPECT_EQ(status, PageStatus::Broken);
    EXPECT_FALSE(covered.any());
    EXPECT_EQ(cache.bytes(), 0u);
}

TEST_F(CacheTest, ScanLargerThanTheCacheKeepsItsFirstPart) {
    cache.set_budget(1000 * 1000);
    Table table(100, 100);
    const ColumnRef a = column(1);
    const uint64_t began = cache.tick();
    for (uint32_t chunk = 0; chunk < 40; ++chunk)
        build(table, question(table, 77, {a}), {}, began, chunk);
    EXPECT_LE(cache.bytes(), 1000u * 1000);
    EXPECT_NE(cache.chunk(relation, 0, 0).version, nullptr);
    uint32_t kept = 0;
    for (uint32_t chunk = 0; chunk < 40; ++chunk)
        kept += cache.chunk(relation, chunk, 0).version != nullptr;
    EXPECT_GT(kept, 10u);
    EXPECT_LT(kept, 40u);
}

TEST_F(CacheTest, FilesThatAreGoneGiveMemoryBack) {
    Table table(10);
    build(table, question(table, 77, {column(1), column(3)}));
    EXPECT_GT(cache.bytes(), 0u);
    EXPECT_EQ(cache.list().size(), 2u);
    EXPECT_EQ(cache.evict_gone([](const std::string &) { return 8192; }), 0u);
    EXPECT_GT(cache.evict_gone([](const std::string &path) { return path != "base/5/16384" ? 8192 : -1; }), 0u);
    EXPECT_EQ(cache.list().size(), 0u);
    relation.reset(); // a session that still uses it
    EXPECT_EQ(cache.bytes(), 0u);
}

TEST_F(CacheTest, EmptyFilesGoWhereSomethingIsCached) {
    Table table(10);
    build(table, question(table, 77, {column(1)}));
    EXPECT_GT(cache.evict_gone([](const std::string &) { return 0; }), 0u);
    const RelationRef empty = cache.relation(file, "base/5/16384");
    EXPECT_EQ(cache.evict_gone([](const std::string &) { return 0; }), 0u);
    EXPECT_EQ(cache.relation(file, "base/5/16384"), empty);
    cache.evict_gone([](const std::string &) { return -1; });
    EXPECT_NE(cache.relation(file, "base/5/16384"), empty);
}

TEST_F(CacheTest, PlannersKnowWhichPagesAreCached) {
    auto cache_statistics = std::make_unique<CacheStatistics>();
    auto pages = [&](uint32_t attnum) { return cache_statistics->pages({1663, 5, 16384, attnum}); };
    cache.count_in(cache_statistics.get());
    Table table(100, 100);
    const ColumnRef a = column(1), b = column(2);
    build(table, question(table, 77, {a}));
    EXPECT_EQ(pages(0), 100u);
    EXPECT_EQ(pages(1), 100u);
    EXPECT_EQ(pages(2), 0u);
    EXPECT_EQ(cache_statistics->pages({1663, 5, 16385, 1}), 0u);
    EXPECT_EQ(cache_statistics->pages({1663, 6, 16384, 1}), 0u);

    build(table, question(table, 77, {a, b}));
    build(table, question(table, 77, {b}), {}, UINT64_MAX, 1);
    EXPECT_EQ(pages(0), 200u);
    EXPECT_EQ(pages(1), 100u);
    EXPECT_EQ(pages(2), 200u);

    // A page changes: the others are confirmed, then it is decoded again.
    table.write(10, 1000, 100, 5000);
    confirm(question(table, 78, {a, b}, true));
    EXPECT_EQ(pages(0), 200u);
    EXPECT_EQ(pages(1), 100u);
    build(table, question(table, 78, {a}, true));
    EXPECT_EQ(pages(0), 200u);
    EXPECT_EQ(pages(1), 100u);
    EXPECT_EQ(pages(2), 199u);

    const std::vector<ColumnRef> used = {a};
    cache.touch({{{&relation, 0}, &used}});
    const size_t bytes = cache.bytes();
    cache.set_budget(bytes - 1); // evicts b, of one chunk at least
    EXPECT_LT(pages(2), 199u);
    EXPECT_EQ(pages(1), 100u);
    cache.set_budget(64 * megabyte);

    // Dropped: whoever still uses the relation publishes what nobody else finds.
    cache.evict(file);
    for (uint32_t attnum : {0, 1, 2})
        EXPECT_EQ(pages(attnum), 0u);
    build(table, question(table, 78, {a}, true));
    EXPECT_EQ(pages(1), 0u);

    relation = cache.relation(file, "base/5/16384");
    build(table, question(table, 79, {column(1)}, true));
    EXPECT_EQ(pages(1), 100u);
    cache.count_in(nullptr); // another device's cache takes its place
    cache.evict_all();
    EXPECT_EQ(pages(1), 100u);
    cache_statistics->clear();
    EXPECT_EQ(pages(1), 0u);
}

TEST(CacheStatistics, CountsWhatItHasRoomFor) {
    auto cache_statistics = std::make_unique<CacheStatistics>();
    constexpr uint32_t relations = 700, attributes = 10; // of 8192 slots
    uint64_t there = 0;
    for (uint32_t r = 0; r < relations; ++r)
        for (uint32_t a = 0; a < attributes; ++a)
            cache_statistics->add({1663, 5, 16384 + r, a}, 1 + r);
    for (uint32_t r = 0; r < relations; ++r)
        for (uint32_t a = 0; a < attributes; ++a) {
            const uint64_t pages = cache_statistics->pages({1663, 5, 16384 + r, a});
            EXPECT_TRUE(pages == 1 + r || pages == 0);
            there += pages != 0;
        }
    EXPECT_GT(there, uint64_t(relations) * attributes * 9 / 10);
    // What goes makes room, also where it never had any.
    for (uint32_t r = 0; r < relations; ++r)
        for (uint32_t a = 0; a < attributes; ++a)
            cache_statistics->add({1663, 5, 16384 + r, a}, -int64_t(1 + r));
    for (uint32_t a = 0; a < attributes; ++a) {
        EXPECT_EQ(cache_statistics->pages({1663, 5, 16384, a}), 0u);
        cache_statistics->add({1663, 5, 20000, a}, 3);
        EXPECT_EQ(cache_statistics->pages({1663, 5, 20000, a}), 3u);
    }
}

TEST(AdmissionCredits, AddUpAndAreSpent) {
    auto admission_credits = std::make_unique<AdmissionCredits>();
    EXPECT_EQ(admission_credits->of(5, 16384), 0u);
    admission_credits->add(5, 16384, 100);
    admission_credits->add(5, 16384, 50);
    admission_credits->add(6, 16384, 7);
    EXPECT_EQ(admission_credits->of(5, 16384), 150u);
    EXPECT_EQ(admission_credits->of(6, 16384), 7u);
    EXPECT_EQ(admission_credits->of(5, 16385), 0u);
    admission_credits->spend(5, 16384, 120);
    EXPECT_EQ(admission_credits->of(5, 16384), 30u);
    admission_credits->spend(5, 16384, 120); // another one was quicker
    EXPECT_EQ(admission_credits->of(5, 16384), 0u);
    admission_credits->spend(5, 20000, 1);
    EXPECT_EQ(admission_credits->of(5, 20000), 0u);
    // A full table forgets small savings for new ones.
    for (uint32_t relation = 20000; relation < 30000; ++relation)
        admission_credits->add(5, relation, 1000);
    EXPECT_EQ(admission_credits->of(5, 29999), 1000u);
    admission_credits->add(6, 1, 3);
    EXPECT_EQ(admission_credits->of(6, 1), 3u);
}

TEST_F(CacheTest, ColumnsAreComparedInFullAndRefusalsEndWithThem) {
    EXPECT_EQ(column(1), column(1));
    EXPECT_NE(column(1), cache.column(relation, "other", Table::layout(1)));
    const ColumnRef t = column(3);
    cache.refuse(relation, *t, "too many distinct values in column 3", true);
    EXPECT_EQ(cache.refusal(relation, *column(3)), "too many distinct values in column 3");
    cache.evict(file);
    relation = cache.relation(file, "base/5/16384");
    EXPECT_EQ(cache.refusal(relation, *column(3)), "");
}

TEST_F(CacheTest, ColumnsThatDidNotFitAreTriedAgainUnderAHigherLimit) {
    const ColumnRef t = column(3);
    cache.set_dictionaries(3 + Dictionary::entry_bytes, true);
    EXPECT_EQ(t->dictionary->intern("abc"), 0u);
    EXPECT_EQ(t->dictionary->intern("def"), Dictionary::full);
    cache.refuse(relation, *t, "too many distinct values in column 3", true);
    cache.set_dictionaries(3 + Dictionary::entry_bytes, true); // any other setting has changed
    EXPECT_NE(cache.refusal(relation, *t), "");
    cache.set_dictionaries(1000, true);
    EXPECT_EQ(cache.refusal(relation, *t), "");
    EXPECT_EQ(t->dictionary->intern("def"), 1u);
}

class ExpressionsTest : public CacheTest {
  protected:
    ColumnRef expression(uint32_t number, size_t key_size = 10) {
        ColumnLayout layout = Table::layout(1);
        layout.expression = 0x80000000u + number;
        return cache.column(relation, std::to_string(number) + "=" + std::string(key_size, 'x'), layout);
    }
    // As a query does that nobody has asked before.
    void bring(const Table &table, const ColumnRef &column, uint32_t chunk) {
        Cache::Token token = cache.take_token(relation, chunk);
        const ChunkQuestion q = question(table, 77, {column}, true);
        const Cache::Snapshot now = cache.chunk(relation, chunk, 0);
        ChunkBuilder builder(
            *device, [&](size_t n) { return cache.allocate(n, UINT64_MAX); }, now.version,
            check_chunk(now.version.get(), now.proof.get(), now.quiet.get(), q), table.npages(),
            {{column->id, &column->layout, nullptr}}, 1);
        std::vector<WindowPage> window;
        for (uint32_t page = 0; page < table.npages(); ++page)
            window.push_back(table.window_page(page));
        builder.decode(window, nullptr);
        std::shared_ptr<ChunkVersion> version = builder.finish();
        cache.publish(token, version, builder.decoded(), finding_of(builder.verified(), {}, q), false);
    }
    bool is_cached(const ColumnRef &column, uint32_t chunk) {
        return cache.chunk(relation, chunk, 0).version->columns.find(column->id) != nullptr;
    }
};

TEST_F(ExpressionsTest, ThoseAskedForLeastRecentlyGo) {
    auto cache_statistics = std::make_unique<CacheStatistics>();
    auto pages = [&](uint32_t number) { return cache_statistics->pages({1663, 5, 16384, 0x80000000u + number}); };
    cache.count_in(cache_statistics.get());
    Table table(3);
    constexpr uint32_t most = Cache::max_expressions_known;
    const ColumnRef attribute = column(2);
    for (uint32_t chunk : {0, 1})
        build(table, question(table, 77, {attribute}), {}, UINT64_MAX, chunk);
    const ColumnRef held = expression(0);
    bring(table, held, 0);
    for (uint32_t number = 1; number < most; ++number)
        for (uint32_t chunk : {0, 1})
            bring(table, expression(number), chunk);
    EXPECT_EQ(cache.list().size(), most + 1);
    EXPECT_EQ(cache.evictions(), 0u);
    const size_t bytes = cache.bytes();

    const uint32_t first = expression(1)->id, third = expression(3)->id; // so the oldest that nobody holds are 2 and 4
    for (uint32_t number : {most, most + 1})
        for (uint32_t chunk : {0, 1})
            bring(table, expression(number), chunk);
    EXPECT_EQ(cache.evictions(), 4u);
    EXPECT_EQ(cache.list().size(), most + 1);
    EXPECT_EQ(cache.bytes(), bytes);
    EXPECT_EQ(expression(1)->id, first);
    EXPECT_EQ(expression(3)->id, third);
    EXPECT_TRUE(is_cached(held, 0) && is_cached(attribute, 0) && is_cached(attribute, 1));
    EXPECT_EQ(pages(0), 3u);
    EXPECT_EQ(pages(1), 6u);
    EXPECT_EQ(pages(2), 0u);
    EXPECT_EQ(pages(4), 0u);
    EXPECT_EQ(pages(most), 6u);
}

TEST_F(ExpressionsTest, LongOnesAreFewer) {
    constexpr size_t long_key = Cache::max_key_bytes / 4;
    const ColumnRef held = expression(0, long_key);
    const uint32_t first = expression(1, long_key)->id;
    EXPECT_EQ(expression(2, long_key)->id, first + 1);
    EXPECT_EQ(expression(1, long_key)->id, first);
    EXPECT_EQ(expression(3, long_key)->id, first + 2); // the fourth, which is too long: the second one goes
    EXPECT_EQ(expression(1, long_key)->id, first);
    EXPECT_EQ(expression(2, long_key)->id, first + 3);
    EXPECT_EQ(expression(0, long_key), held);
}

TEST_F(ExpressionsTest, RefusalsGoWithThem) {
    cache.refuse(relation, *expression(0), "too many distinct values", true);
    EXPECT_EQ(cache.refusal(relation, *expression(0)), "too many distinct values");
    for (uint32_t number = 1; number < Cache::max_expressions_known; ++number)
        expression(number);
    EXPECT_EQ(cache.refusal(relation, *expression(0)), "too many distinct values");
    for (uint32_t number = 1; number <= Cache::max_expressions_known; ++number)
        expression(number);
    EXPECT_EQ(cache.refusal(relation, *expression(0)), "");
}

TEST_F(ExpressionsTest, NoneGoesThatABuilderHas) {
    Table table(3);
    bring(table, expression(0), 0);
    const uint32_t id = expression(0)->id;
    {
        Cache::Token token = cache.take_token(relation, 0);
        for (uint32_t number = 1; number < 2 * Cache::max_expressions_known; ++number)
            expression(number);
        EXPECT_EQ(expression(0)->id, id);
    }
    for (uint32_t number = 0; number < Cache::max_expressions_known; ++number)
        expression(2 * Cache::max_expressions_known + number);
    EXPECT_NE(expression(0)->id, id);
    EXPECT_EQ(cache.chunk(relation, 0, 0).version, nullptr);
}

} // namespace
} // namespace gpuscan
