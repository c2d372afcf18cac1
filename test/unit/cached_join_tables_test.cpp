// Join tables that outlive their execution: found again by equal bytes over living columns only, the oldest leave first.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "chunk_rows.hpp"
#include "engine/ir/build_fingerprint.hpp"
#include "engine/ir/build_identity.hpp"
#include "engine/store/cached_join_tables.hpp"
#include "program_builder.hpp"

namespace gpuscan {
namespace {

using namespace test;

struct Table : BuiltTable {
    ColumnStats key_bounds(ir::Index) const override { return {}; }
    explicit Table(size_t size) : size(size) {}
    size_t bytes() const override { return size; }
    size_t size;
};

BuildIdentity identity(const std::string &bytes, const std::vector<BufferRef> &read) {
    BuildIdentity identity;
    identity.bytes = bytes;
    identity.computed = bytes.size();
    identity.read.assign(read.begin(), read.end());
    return identity;
}

TEST(CachedJoinTablesTest, FoundByEqualBytes) {
    CachedJoinTables tables;
    const BufferRef column = std::make_shared<Buffer>();
    const BuiltTableRef table = std::make_shared<Table>(10);
    const uint64_t id = tables.keep(identity("a", {column}), table, 0);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(tables.find(identity("a", {column}), 0).table, table);
    EXPECT_EQ(tables.find(identity("a", {column}), 0).id, id);
    EXPECT_EQ(tables.find(identity("ab", {column}), 0).table, nullptr);
    EXPECT_EQ(tables.keep(identity("a", {column}), std::make_shared<Table>(20), 0), id) << "the first one stays";
    EXPECT_EQ(tables.bytes(), 10u);
}

// Two of one description have other rows, so what is made of the first is not made of the second.
TEST(CachedJoinTablesTest, AnIdOfItsOwnWhereRowsAreNotKnown) {
    CachedJoinTables tables;
    BuildIdentity described = identity("a", {});
    described.described = described.bytes.size();
    const BuiltTableRef first = std::make_shared<Table>(10), second = std::make_shared<Table>(20);
    const uint64_t id = tables.keep_described(described, first);
    EXPECT_EQ(tables.find_described(described).other, first);
    EXPECT_NE(tables.keep_described(described, second), id);
    EXPECT_EQ(tables.find_described(described).other, second);
    EXPECT_NE(tables.find_described(described).id, id);
    EXPECT_EQ(tables.bytes(), 20u);
}

TEST(CachedJoinTablesTest, DeadWithAnyOfItsColumns) {
    CachedJoinTables tables;
    BufferRef first = std::make_shared<Buffer>(), second = std::make_shared<Buffer>();
    tables.keep(identity("a", {first, second}), std::make_shared<Table>(10), 0);
    const uint64_t other = tables.keep(identity("b", {first}), std::make_shared<Table>(10), 0);
    second.reset();
    EXPECT_EQ(tables.find(identity("a", {first}), 0).table, nullptr);
    EXPECT_EQ(tables.bytes(), 10u);
    EXPECT_EQ(tables.find(identity("b", {first}), 0).id, other);
    first.reset();
    tables.drop_dead();
    EXPECT_EQ(tables.bytes(), 0u);
    first = std::make_shared<Buffer>();
    EXPECT_NE(tables.keep(identity("b", {first}), std::make_shared<Table>(10), 0), other) << "ids are not given twice";
}

TEST(CachedJoinTablesTest, TheLeastRecentlyUsedGoFirst) {
    CachedJoinTables tables;
    tables.set_limit(30);
    for (const char *name : {"a", "b", "c"})
        tables.keep(identity(name, {}), std::make_shared<Table>(10), 0);
    EXPECT_NE(tables.find(identity("a", {}), 0).table, nullptr);
    tables.keep(identity("d", {}), std::make_shared<Table>(10), 0);
    EXPECT_EQ(tables.find(identity("b", {}), 0).table, nullptr);
    EXPECT_EQ(tables.keep(identity("e", {}), std::make_shared<Table>(31), 0), 0u) << "larger than all that is kept";
    EXPECT_EQ(tables.bytes(), 30u);
    tables.set_limit(10);
    EXPECT_NE(tables.find(identity("d", {}), 0).table, nullptr);
    EXPECT_TRUE(tables.drop_one());
    EXPECT_FALSE(tables.drop_one());
    EXPECT_EQ(tables.bytes(), 0u);
}

TEST(CachedJoinTablesTest, TablesInUseStay) {
    CachedJoinTables tables;
    const BuiltTableRef used = std::make_shared<Table>(10);
    tables.keep(identity("used", {}), used, 0);
    tables.keep(identity("idle", {}), std::make_shared<Table>(10), 0);
    EXPECT_TRUE(tables.drop_one());
    EXPECT_FALSE(tables.drop_one()) << "letting it go would give no memory back";
    EXPECT_EQ(tables.find(identity("used", {}), 0).table, used);
}

// Of one chunk; `mask` empty: it has none.
BuildIdentity masked(uint32_t nrows, const std::vector<uint64_t> &mask, const std::string &uncached = "") {
    BuildIdentity identity;
    ChunkRows rows;
    rows.nrows = nrows;
    if (!mask.empty())
        rows.mask = std::make_shared<const std::vector<uint64_t>>(mask);
    identity.put_chunk(std::make_shared<ChunkRows>(rows));
    identity.put_uncached(uncached);
    return identity;
}

// Chunks that share a mask or not, with ranges that lie in one word or many, across one's end or behind it, and masks that end early.
TEST(CompareRowsTest, FindsUnlikeWordsWhateverIsShared) {
    constexpr uint32_t words = 20;
    std::mt19937 random(7);
    const auto below = [&random](uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random); };
    const auto some_mask = [&] {
        std::vector<uint64_t> mask(words - below(4));
        for (uint64_t &word : mask)
            word = below(3) == 0 ? uint64_t(random()) << 32 | random() : ~uint64_t(0);
        return std::make_shared<const std::vector<uint64_t>>(mask);
    };
    size_t alike = 0;
    for (int round = 0; round < 2000; ++round) {
        const RowMask shared = below(2) ? some_mask() : nullptr;
        const auto some_rows = [&] {
            ChunkRows rows;
            rows.mask = below(4) != 0 ? shared : some_mask();
            for (uint32_t at = below(200); at < words * 64; at += 1 + below(300)) {
                const uint32_t first = at;
                at = std::min(at + 1 + below(below(2) ? 5 : 200), words * 64);
                rows.without.push_back({first, at});
            }
            rows.nrows = 1 + below(words * 64);
            return rows;
        };
        ChunkRows a = some_rows(), b = below(2) ? a : some_rows();
        if (below(2))
            b.nrows = 1 + below(words * 64);
        if (!b.without.empty() && below(2))
            b.without.erase(b.without.begin() + below(static_cast<uint32_t>(b.without.size())));
        std::vector<size_t> want, found;
        for (uint32_t word = 0; word < words; ++word)
            for (uint32_t row = word * 64; row < word * 64 + 64; ++row)
                if (has_row(a, row) != has_row(b, row) && (want.empty() || want.back() != word))
                    want.push_back(word);
        EXPECT_TRUE(each_unlike_word(a, b, [&](size_t word, uint64_t in_a, uint64_t in_b) {
            for (uint32_t bit = 0; bit < 64; ++bit) {
                const uint32_t row = static_cast<uint32_t>(word) * 64 + bit;
                EXPECT_EQ(in_a >> bit & 1, has_row(a, row));
                EXPECT_EQ(in_b >> bit & 1, has_row(b, row));
            }
            found.push_back(word);
            return true;
        }));
        ASSERT_EQ(found, want) << "round " << round;
        alike += want.empty();
        EXPECT_EQ(each_unlike_word(a, b, [](size_t, uint64_t, uint64_t) { return false; }), want.empty());
    }
    EXPECT_GT(alike, 50u);
    EXPECT_LT(alike, 1500u);
}

// A mask is known by its address: as long as somebody may find it, no other one has it.
TEST(CompareRowsTest, MasksLiveAsLongAsTheyAreKnown) {
    auto mask = std::make_shared<const std::vector<uint64_t>>(2, 0x5u);
    const std::weak_ptr<const std::vector<uint64_t>> watched = mask;
    const auto of = [&mask](uint32_t nrows, const std::vector<RowRange> &without) {
        BuildIdentity identity;
        identity.put_chunk(std::make_shared<const ChunkRows>(ChunkRows{nrows, nrows, mask, without}));
        return identity;
    };
    BuildIdentity first = of(100, {});
    EXPECT_EQ(first.bytes, of(100, {}).bytes);
    EXPECT_NE(first.bytes, of(101, {}).bytes);
    EXPECT_NE(first.bytes, of(100, {{3, 4}}).bytes);
    mask = std::make_shared<const std::vector<uint64_t>>(2, 0x5u);
    EXPECT_NE(first.bytes, of(100, {}).bytes);
    mask = nullptr;
    CachedJoinTables tables;
    tables.keep(std::move(first), std::make_shared<Table>(10), 0);
    EXPECT_FALSE(watched.expired());
    tables.drop_all();
    EXPECT_TRUE(watched.expired());
    mask = std::make_shared<const std::vector<uint64_t>>(2, 0x5u);
    BuildIdentity second = of(100, {});
    const std::weak_ptr<const std::vector<uint64_t>> also = std::exchange(mask, nullptr);
    EXPECT_FALSE(also.expired());
    second.forget_rows();
    EXPECT_TRUE(also.expired());
}

// Of two chunks one has changed.
TEST(CompareRowsTest, LooksOnlyAtChunksThatHaveChanged) {
    const auto mask = std::make_shared<const std::vector<uint64_t>>(1, ~uint64_t(0));
    const auto of = [&mask](const std::vector<RowRange> &without) {
        BuildIdentity identity;
        identity.put_chunk(std::make_shared<const ChunkRows>(ChunkRows{64, 64, mask, {}}));
        identity.put_chunk(std::make_shared<const ChunkRows>(ChunkRows{64, 64, mask, without}));
        identity.put_uncached("");
        return identity;
    };
    std::vector<size_t> read;
    const ReadRuns value_of = [&read](const std::vector<RunsOfChunk> &chunks, std::string &rows) {
        for (const RunsOfChunk &of : chunks)
            for (const RowRun &run : of.runs) {
                read.insert(read.end(), run.count, of.chunk);
                rows.append(run.count, 'x');
            }
    };
    EXPECT_EQ(compare_rows(of({{3, 5}}), of({{7, 9}}), 1, 100, value_of), 4);
    EXPECT_EQ(read, std::vector<size_t>(4, 1));
    EXPECT_EQ(compare_rows(of({{3, 5}}), of({{7, 8}}), 1, 100, value_of), -1);
    EXPECT_EQ(compare_rows(of({{3, 5}}), of({{3, 5}}), 1, 100, value_of), 0);
}

// A chunk whose row r has the value values[r]: of those that the identities do not share only these are compared, in any order.
TEST(CompareRowsTest, SeesWhichRowsAreOthers) {
    const std::string values = "abcdefghijabXd";
    size_t looked_at = 0;
    auto compare = [&](const BuildIdentity &a, const BuildIdentity &b, size_t most = 100) {
        looked_at = 0;
        return compare_rows(a, b, 1, most, [&](const std::vector<RunsOfChunk> &chunks, std::string &rows) {
            for (const RunsOfChunk &of : chunks)
                for (const RowRun &run : of.runs)
                    rows += values.substr(run.from, run.count), looked_at += run.count;
        });
    };
    const BuildIdentity all = masked(10, {}); // a to j
    EXPECT_EQ(compare(all, masked(10, {~uint64_t(0)})), 0) << "bits behind the last row mean nothing";
    EXPECT_EQ(compare(all, masked(12, {0xffc})), 4) << "a and b have moved";
    EXPECT_EQ(looked_at, 4u);
    EXPECT_EQ(compare(masked(12, {0xffc}), all), 4);
    EXPECT_EQ(compare(all, masked(12, {0xffc}), 3), -1) << "too many";
    EXPECT_EQ(compare(all, masked(14, {0x3ff0})), -1) << "X has come for c";
    EXPECT_EQ(compare(all, masked(12, {0xffe})), -1) << "more rows";
    EXPECT_EQ(looked_at, 0u);
    EXPECT_EQ(compare(all, masked(10, {0x3fc}, "ba")), 4);
    EXPECT_EQ(compare(all, masked(10, {0x3fc}, "aa")), -1) << "as many rows, and the same set of values";
    EXPECT_EQ(compare(masked(10, {0x3fc}, "ba"), masked(12, {0xffc})), 4);
}

// Rows that only one of both has are told if somebody asks, equal ones as often as one has more of them.
TEST(CompareRowsTest, TellsWhichRowsAreOthers) {
    const std::string values = "abcdefghijabXdaa";
    OtherRows others;
    auto compare = [&](const BuildIdentity &a, const BuildIdentity &b, size_t most = 100) {
        others = OtherRows();
        return compare_rows(
            a, b, 1, most,
            [&](const std::vector<RunsOfChunk> &chunks, std::string &rows) {
                for (const RunsOfChunk &of : chunks)
                    for (const RowRun &run : of.runs)
                        rows += values.substr(run.from, run.count);
            },
            &others);
    };
    const auto told = [&others] { // (in no order)
        std::sort(others.only_a.begin(), others.only_a.end());
        std::sort(others.only_b.begin(), others.only_b.end());
        return others.only_a + "/" + others.only_b;
    };
    const BuildIdentity all = masked(10, {}); // a to j
    EXPECT_EQ(compare(all, masked(12, {0xffc})), 4);
    EXPECT_EQ(told(), "/");
    EXPECT_EQ(compare(all, masked(14, {0x3ff0})), 8) << "X has come for c";
    EXPECT_EQ(told(), "c/X");
    EXPECT_EQ(compare(all, masked(16, {0xc3fc}, "Xa")), 6);
    EXPECT_EQ(told(), "b/Xaa");
    EXPECT_EQ(compare(masked(16, {0xc3fc}, "Xa"), all), 6);
    EXPECT_EQ(told(), "Xaa/b");
    EXPECT_EQ(compare(all, masked(14, {0x3ff0}), 7), -1) << "too many";
}

// What planners are told: a fingerprint has a table as long as one can be found under it.
struct ToldTest : ::testing::Test {
    ToldTest() {
        builds.clear();
        tables.tell(&builds);
    }
    std::string told() const { // of fingerprints 1 to 9
        std::string result;
        for (uint64_t fingerprint = 1; fingerprint < 10; ++fingerprint)
            if (builds.has(fingerprint))
                result += std::to_string(fingerprint);
        EXPECT_EQ(builds.any(), !result.empty());
        return result;
    }
    void keep(const char *name, uint64_t fingerprint, const std::vector<BufferRef> &read = {}) {
        tables.keep(identity(name, read), std::make_shared<Table>(10), fingerprint);
    }
    bool find(const char *name, uint64_t fingerprint, const std::vector<BufferRef> &read = {}) {
        return tables.find(identity(name, read), fingerprint).table != nullptr;
    }
    CachedBuilds builds;
    CachedJoinTables tables;
};

TEST_F(ToldTest, OfTablesThatAreKeptOrFound) {
    EXPECT_EQ(told(), "");
    keep("a", 1);
    keep("b", 0); // nobody knows what it computes
    EXPECT_EQ(told(), "1");
    EXPECT_TRUE(find("b", 2)); // somebody does
    EXPECT_TRUE(find("a", 3));
    EXPECT_EQ(told(), "123");
    EXPECT_FALSE(find("c", 4));
    tables.forget(5);
    tables.forget(0);
    EXPECT_EQ(told(), "123");
}

TEST_F(ToldTest, NotOfTablesThatCannotBeFound) {
    keep("old rows", 1);
    keep("others", 2);
    EXPECT_FALSE(find("new rows", 1));
    EXPECT_EQ(told(), "2");
    keep("new rows", 1);
    EXPECT_EQ(told(), "12");
    tables.forget(1); // its rows cannot be identified now
    EXPECT_EQ(told(), "2");
    EXPECT_TRUE(find("old rows", 1));
    keep("new rows", 1);
    tables.set_limit(20); // the others go, which were used least recently
    EXPECT_EQ(told(), "1");
    EXPECT_TRUE(tables.drop_one()); // the old rows' table, which is nobody's any more
    EXPECT_EQ(told(), "1");
    EXPECT_TRUE(tables.drop_one());
    EXPECT_EQ(told(), "");
}

TEST_F(ToldTest, OfTablesThatHadToBeBuiltAnewOnlyWhenFound) {
    keep("a", 1);
    const CachedJoinTables::Found found = tables.find(identity("b", {}), 1);
    EXPECT_TRUE(found.had_other_rows);
    tables.keep(identity("b", {}), std::make_shared<Table>(10), 1, false);
    EXPECT_EQ(told(), "");
    EXPECT_FALSE(tables.find(identity("c", {}), 1).table);
    tables.keep(identity("c", {}), std::make_shared<Table>(10), 1, false);
    EXPECT_EQ(told(), "");
    EXPECT_TRUE(find("c", 1));
    EXPECT_EQ(told(), "1");
}

// A table whose rows have moved changes its identity, and nothing else of it.
TEST_F(ToldTest, OfTablesWithANewIdentity) {
    auto of_rows = [](const std::string &rows) {
        BuildIdentity id = identity("computed", {});
        id.bytes += rows;
        return id;
    };
    const uint64_t id = tables.keep(of_rows("1"), std::make_shared<Table>(10), 1);
    const CachedJoinTables::Found found = tables.find(of_rows("2"), 1);
    EXPECT_EQ(found.table, nullptr);
    ASSERT_NE(found.former, nullptr);
    EXPECT_EQ(found.former->bytes, "computed1");
    EXPECT_EQ(told(), "");
    EXPECT_EQ(tables.keep_as(of_rows("2"), found, 1), id);
    EXPECT_EQ(told(), "1");
    EXPECT_EQ(tables.find(of_rows("2"), 1).id, id);
    EXPECT_EQ(tables.bytes(), 10u) << "it is counted once";
    EXPECT_EQ(tables.find(of_rows("1"), 1).table, nullptr);
    EXPECT_EQ(tables.find(identity("other", {}), 2).former, nullptr);
}

TEST_F(ToldTest, NotOfDeadTables) {
    BufferRef column = std::make_shared<Buffer>();
    keep("a", 1, {column});
    keep("b", 2, {column});
    keep("c", 3);
    column.reset();
    EXPECT_EQ(told(), "123") << "nobody has looked";
    EXPECT_FALSE(find("a", 4, {column}));
    EXPECT_EQ(told(), "23");
    tables.drop_dead();
    EXPECT_EQ(told(), "3");
}

// An execution that is about to end still has the columns, or the rows were in no cache at all.
TEST_F(ToldTest, NotOfRelationsThatAreEvicted) {
    const BufferRef column = std::make_shared<Buffer>();
    const RelationFile one = {1, 2, 3}, two = {1, 2, 4};
    auto keep_of = [&](const std::string &bytes, std::vector<RelationFile> relations) {
        BuildIdentity made = identity(bytes, {column});
        made.relations = std::move(relations);
        tables.keep(std::move(made), std::make_shared<Table>(10), bytes[0] - '0');
    };
    keep_of("1", {one});
    keep_of("2", {two});
    keep_of("3", {two, one});
    tables.drop_of(one);
    EXPECT_EQ(told(), "2");
    EXPECT_EQ(tables.bytes(), 10u);
    tables.drop_all();
    EXPECT_EQ(told(), "");
    EXPECT_EQ(tables.bytes(), 0u);
}

TEST_F(ToldTest, FewFingerprintsOfOneTable) {
    for (uint64_t fingerprint = 1; fingerprint < 7; ++fingerprint)
        keep("a", fingerprint);
    EXPECT_EQ(told(), "3456");
    tables.set_limit(5);
    EXPECT_EQ(told(), "");
}

TEST_F(ToldTest, OfOneDeviceOfAKind) {
    keep("a", 1);
    tables.tell(nullptr);
    builds.clear();
    keep("b", 2);
    EXPECT_EQ(told(), "");
    tables.tell(&builds);
    EXPECT_EQ(told(), "12");
}

// The last ones are there: who has just built a table asks for it sooner than others for old ones.
TEST(CachedBuildsTest, ManyDisplaceTheFirst) {
    auto builds = std::make_unique<CachedBuilds>();
    builds->clear();
    constexpr uint64_t all = 5000;
    for (uint64_t i = 1; i <= all; ++i)
        builds->add(i << 8); // of one bucket
    uint64_t there = 0;
    for (uint64_t i = 1; i <= all; ++i)
        there += builds->has(i << 8);
    EXPECT_GT(there, 0u);
    EXPECT_LT(there, all);
    for (uint64_t i = all - there + 1; i <= all; ++i)
        EXPECT_TRUE(builds->has(i << 8)) << i;
    EXPECT_FALSE(builds->has(0));
    for (uint64_t i = 1; i <= all; ++i) {
        builds->remove(i << 8);
        builds->remove(i << 8);
    }
    EXPECT_FALSE(builds->any());
    builds->add(7);
    EXPECT_TRUE(builds->has(7));
}

// One build beside different others is described alike; whatever it computes otherwise shows.
TEST(BuildIdentityTest, TellsBuildsApart) {
    const std::vector<uint8_t> values = {1, 0}, other_values = {0, 1}, nulls = {0, 0};
    auto describe = [&](int64_t constant, ir::Index key, bool second_source, const std::vector<uint8_t> &lookup,
                        uint64_t id, ir::Function part = ir::Function::Month) {
        ProgramBuilder b;
        if (second_source)
            b.column(Type::I64, 0, 0);
        const ir::Index s = b.source({{Type::I32, 1, {}}, {Type::Code, 1, {}}, {Type::I32, 1, {}}});
        const ir::Index inner = b.build(s, {}, {}, {b.column(Type::I32, 0, 0)}, {});
        const ir::Index filter = b.compare(ir::Op::Lt, b.column(Type::I32, 0, 0), b.constant(Type::I32, constant));
        const ir::Index text = b.lookup(Type::Bool, s, 1, b.column(Type::Code, 0, 1));
        const ir::Index call =
            b.expr(ir::Op::Call, Type::I64, b.column(Type::I32, 0, 0), ir::none, static_cast<ir::Index>(part));
        const ir::Index day = b.compare(ir::Op::Eq, call, b.constant(Type::I64, 3));
        const ir::Index build = b.build(s, {{filter, 0}, {text, 0}, {day, 0}}, {{inner, {b.column(Type::I32, 0, 2)}}},
                                        {b.column(Type::I32, 0, key)}, {b.column(Type::Code, 0, 1)});
        BuildParts parts;
        parts.lookup = [&](ir::Index) { return LookupContents{&lookup, &nulls}; };
        parts.table_id = [&](ir::Index) { return id; };
        return describe_build(b.program, build, parts);
    };
    const std::string one = describe(5, 0, false, values, 1);
    EXPECT_EQ(one, describe(5, 0, true, values, 1));
    EXPECT_NE(one, describe(6, 0, false, values, 1));
    EXPECT_NE(one, describe(5, 2, false, values, 1));
    EXPECT_NE(one, describe(5, 0, false, other_values, 1));
    EXPECT_NE(one, describe(5, 0, false, values, 2));
    EXPECT_NE(one, describe(5, 0, false, values, 1, ir::Function::Day));
}

// Fingerprints differ in what the program says and in what stands for the rest, whatever else the program does.
TEST(BuildFingerprintTest, TellsBuildsApart) {
    struct Parts {
        uint64_t source = 10, outer_source = 11, lookup = 20, constant = value_of_program;
        int64_t value = 5;
        ir::Index payload = 0;
        bool other_exprs = false;
    };
    // Of the table that the main pipeline probes, and of the one that is probed when it is built.
    auto fingerprints = [](const Parts &parts) {
        ProgramBuilder b;
        const ir::Index s = b.source({{Type::I32, 1, {}}, {Type::Code, 1, {}}, {Type::I32, 1, {}}});
        const ir::Index outer = b.source({{Type::I32, 1, {}}, {Type::I32, 1, {}}});
        const ir::Index fact = b.source({{Type::I32, 1, {}}});
        if (parts.other_exprs)
            b.compare(ir::Op::Lt, b.column(Type::I32, 0, 0), b.constant(Type::I32, 77));
        const ir::Index filter = b.compare(ir::Op::Lt, b.column(Type::I32, 0, 0), b.constant(Type::I32, parts.value));
        const ir::Index constant = static_cast<ir::Index>(b.program.constants.size() - 1);
        const ir::Index text = b.lookup(Type::Bool, s, 1, b.column(Type::Code, 0, 1));
        const ir::Index inner = b.build(s, {{filter, 0}, {text, 0}}, {}, {b.column(Type::I32, 0, 0)},
                                        {b.column(Type::I32, 0, parts.payload)});
        const ir::Index build = b.build(outer, {}, {{inner, {b.column(Type::I32, 0, 0)}}}, {b.column(Type::I32, 0, 1)},
                                        {b.column(Type::I32, 1, 0)});
        b.aggregate(fact, {}, {{build, {b.column(Type::I32, 0, 0)}}}, {}, {{ir::AggregateKind::CountRows}});
        const std::string bytes = serialize_program(b.program);
        std::vector<uint64_t> constants(b.program.constants.size(), value_of_program);
        constants[constant] = parts.constant;
        const uint64_t sources[] = {parts.source, parts.outer_source, unknown_part}, lookups[] = {parts.lookup};
        uint64_t found[2] = {};
        EXPECT_TRUE(fingerprint_builds(bytes.data(), bytes.size(), {sources, lookups, constants.data()}, found));
        return std::make_pair(found[1], found[0]);
    };
    const auto one = fingerprints({});
    EXPECT_NE(one.first, 0u);
    EXPECT_NE(one.second, 0u);
    EXPECT_NE(one.first, one.second);
    EXPECT_EQ(one, fingerprints({10, 11, 20, 0, 5, 0, true}));
    auto is_different = [&](const Parts &parts) {
        const auto other = fingerprints(parts);
        EXPECT_NE(other.second, one.second);
        return other.first != 0 && other.first != one.first; // what is probed is a part of it
    };
    EXPECT_TRUE(is_different({12}));
    EXPECT_TRUE(is_different({10, 11, 21}));
    EXPECT_TRUE(is_different({10, 11, 20, 30}));
    EXPECT_TRUE(is_different({10, 11, 20, 0, 6}));
    EXPECT_TRUE(is_different({10, 11, 20, 0, 5, 2}));
    const auto other_outer = fingerprints({10, 12});
    EXPECT_EQ(other_outer.second, one.second);
    EXPECT_NE(other_outer.first, one.first);
    const std::pair<uint64_t, uint64_t> none = {0, 0};
    for (const Parts &unknown : {Parts{unknown_part}, Parts{10, 11, unknown_part}, Parts{10, 11, 20, unknown_part}})
        EXPECT_EQ(fingerprints(unknown), none);
    EXPECT_EQ(fingerprints({10, unknown_part}), std::make_pair(uint64_t(0), one.second));
    EXPECT_FALSE(fingerprint_builds("", 0, {}, nullptr));
}

} // namespace
} // namespace gpuscan
