// The tiers' arithmetic: against the formulas and figures of the papers that it comes from, and for what it says of its own accord.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "engine/cost/tier_cost.hpp"
#include "engine/cost/tier_profile.hpp"
#include "profile_name.hpp"

namespace gpuscan::tier {
namespace {

double &weight(Weights &weights, Count count) { return weights.values[static_cast<int>(count)]; }

// Every access goes to memory.
void no_caches(Weights &weights) { weights.values[near_cache] = weights.values[far_cache] = 0; }

double amount(const Breakdown &breakdown, Stage stage, Count count) {
    return breakdown.amount[static_cast<int>(stage)][static_cast<int>(count)];
}

Machine one_core() {
    Machine machine = {};
    machine.threads = machine.text_threads = machine.cores = 1;
    machine.cache_bytes = machine.work_bytes = 1e9;
    machine.ns_per_unit = 4000;
    machine.page_read = machine.page_write = 1;
    return machine;
}

Machine gpu() {
    Machine machine = one_core();
    machine.gpu = true;
    return machine;
}

// A GPU as Yuan, Lee and Zhang describe it (section 6.2): bandwidths in bytes per ns, segments of so many bytes, no caches.
struct YuanDevice {
    double read_bandwidth, write_bandwidth, read_segment, write_segment;
    double link_in, link_out;
    static constexpr double thread_group = 32;
};

Weights weights_of(const YuanDevice &device) {
    Weights weights = {};
    weight(weights, Count::MemorySeqRead) = 1 / device.read_bandwidth;
    weight(weights, Count::MemorySeqWrite) = 1 / device.write_bandwidth;
    weight(weights, Count::MemoryRandomRead) = device.read_segment / device.read_bandwidth;
    weight(weights, Count::MemoryRandomWrite) = device.write_segment / device.write_bandwidth;
    weight(weights, Count::LinkSeqRead) = 1 / device.link_in;
    weight(weights, Count::LinkSeqWrite) = 1 / device.link_out;
    no_caches(weights);
    return weights;
}

constexpr YuanDevice gtx680 = {150, 140, 128, 128, 11.5, 11.3};
constexpr double everywhere = 1e9; // bytes of a structure beyond all caches

TEST(TierCost, BuildingAHashTableAsYuanAndOthersHaveIt) {
    // T1 = 2 |S|/W ceil(4W/Cr) Cr/Br + |S| ceil(8/Cw) Cw/Bw: keys are read twice in sequence, entries are written at random.
    const double s = 2e6, w = YuanDevice::thread_group;
    const YuanDevice &d = gtx680;
    const double expected = 2 * s / w * std::ceil(4 * w / d.read_segment) * d.read_segment / d.read_bandwidth +
                            s * std::ceil(8 / d.write_segment) * d.write_segment / d.write_bandwidth;
    const Machine machine = gpu();
    const Prices price = prices(weights_of(d), machine);
    Ledger ledger(machine, price);
    ledger.sequential(Stage::Build, false, 2 * s * 4);
    ledger.random(Stage::Build, true, s, everywhere);
    EXPECT_NEAR(ledger.ns() / expected, 1, 1e-9);
}

TEST(TierCost, ProbingAHashTableAsYuanAndOthersHaveIt) {
    // T2 = (|R|/W ceil(4W/Cr) + |R| + 3 |R| r ceil(4/Cr)) Cr/Br + ceil(4W/Cw) |R|/W Cw/Bw.
    const double r = 6e7, selectivity = 0.2, w = YuanDevice::thread_group;
    const YuanDevice &d = gtx680;
    const double expected =
        (r / w * std::ceil(4 * w / d.read_segment) + r + 3 * r * selectivity * std::ceil(4 / d.read_segment)) *
            d.read_segment / d.read_bandwidth +
        std::ceil(4 * w / d.write_segment) * r / w * d.write_segment / d.write_bandwidth;
    const Machine machine = gpu();
    const Prices price = prices(weights_of(d), machine);
    Ledger ledger(machine, price);
    ledger.sequential(Stage::Probe, false, r * 4);
    ledger.random(Stage::Probe, false, r + 3 * r * selectivity, everywhere);
    ledger.sequential(Stage::Probe, true, r * 4);
    EXPECT_NEAR(ledger.ns() / expected, 1, 1e-9);
}

TEST(TierCost, TransferAsYuanAndOthersHaveIt) {
    // Tt = Si/Bi + So/Bo.
    const YuanDevice &d = gtx680;
    const Machine machine = gpu();
    const Prices price = prices(weights_of(d), machine);
    Ledger ledger(machine, price);
    ledger.add(Stage::Feed, Count::LinkSeqRead, 720e6);
    ledger.add(Stage::Fetch, Count::LinkSeqWrite, 12e6);
    EXPECT_NEAR(ledger.ns(), 720e6 / d.link_in + 12e6 / d.link_out, 1e-3);
}

TEST(TierCost, RatesOfKaldeweyAndOthers) {
    // Table 1, GTX 580, 64 bit: coalesced reads 151 GB/s, random ones 7.7, random compare-and-swap 4.6; 8 bytes a tuple.
    Weights weights = {};
    weight(weights, Count::MemorySeqRead) = 1 / 151.0;
    weight(weights, Count::MemoryRandomRead) = 8 / 7.7;
    weight(weights, Count::MemoryRandomWrite) = 8 / 4.6;
    no_caches(weights);
    const Machine machine = gpu();
    const Prices price = prices(weights, machine);
    const double tuples = 16.0 * 1024 * 1024;
    Ledger build(machine, price), probe(machine, price), scan(machine, price);
    build.build(tuples);
    EXPECT_NEAR(tuples * 8 / build.ns(), 4.6, 0.01); // "compare-and-swap operations remain the limiting factor"
    probe.probe(tuples, tuples);
    EXPECT_NEAR(tuples * 8 / probe.ns(), 7.7, 0.01);
    scan.sequential(Stage::Scan, false, tuples * 8);
    EXPECT_NEAR(probe.ns() / scan.ns(), 151 / 7.7, 0.01); // "15 to 25 times"
}

TEST(TierCost, RandomAccessesMeetCaches) {
    const auto adds_up = [](const Levels &level) {
        return std::abs(level.near + level.far + level.memory - 1) < 1e-12;
    };
    const Levels small = levels(1000, 1e6, 32e6), middle = levels(4e6, 1e6, 32e6), large = levels(320e6, 1e6, 32e6);
    EXPECT_EQ(small.near, 1);
    EXPECT_TRUE(adds_up(small) && adds_up(middle) && adds_up(large));
    EXPECT_DOUBLE_EQ(middle.near, 0.25);
    EXPECT_EQ(middle.memory, 0);
    EXPECT_NEAR(large.memory, 0.9, 1e-12);
    EXPECT_NEAR(large.near, 1e6 / 320e6, 1e-12);
    EXPECT_EQ(levels(0, 1e6, 32e6).near, 1);
}

TEST(TierCost, TablesThatDoNotFitNeedSeveralPasses) {
    EXPECT_EQ(passes(100, 100), 1);
    EXPECT_EQ(passes(101, 100), 2);
    EXPECT_EQ(passes(1000, 100), 10);
    EXPECT_EQ(passes(1000, 0), 1); // not known
}

RelationWork million_rows() {
    RelationWork work = {};
    work.pages = 20000;
    work.cacheable_share = 1;
    work.rows = 1e6;
    work.read = work.absent = {3, 0, 0, 0, 0};
    work.conjuncts = 1;
    work.cached_share = -1;
    work.resident_share = 1;
    return work;
}

TEST(TierCost, WhatIsNotCachedIsBrought) {
    RelationWork work = million_rows();
    EXPECT_DOUBLE_EQ(missing_share(work, 1e9), expected_missing);
    EXPECT_DOUBLE_EQ(missing_share(work, 6e6), 1 - 0.5 * (1 - expected_missing)); // half of 12 MB fits
    work.cached_share = 0.25;
    EXPECT_DOUBLE_EQ(missing_share(work, 1e9), 0.75);
    work.cached_share = 1;
    EXPECT_DOUBLE_EQ(missing_share(work, 1e9), 0);
    work.cached_share = -1;
    work.brought_before = true;
    EXPECT_DOUBLE_EQ(missing_share(work, 1e9), 0);
}

TEST(TierCost, WhatDoesNotFitIsNotCached) {
    RelationWork work = million_rows();
    work.cached_share = 0;
    work.chunk_rows = 1e6;
    EXPECT_DOUBLE_EQ(fitting_share(work, 6e6), 0.5);
    EXPECT_DOUBLE_EQ(decoded_share(work, 12e6), 1);
    EXPECT_DOUBLE_EQ(decoded_share(work, 11e6), 0); // the columns of the chunk are 12 MB
    Machine enough = one_core(), little = one_core();
    enough.cache_bytes = 12e6;
    little.cache_bytes = 11e6;
    const Prices price = prices(default_weights(false), enough);
    Breakdown decoded = {}, rowwise = {};
    Ledger(enough, price, &decoded).relation(work);
    Ledger(little, price, &rowwise).relation(work);
    EXPECT_EQ(decoded.amount[static_cast<int>(Stage::Feed)][static_cast<int>(Count::BackendRow)], 0);
    EXPECT_GT(rowwise.amount[static_cast<int>(Stage::Feed)][static_cast<int>(Count::BackendRow)], 0);
    work.cached_share = 1; // what is there does fit
    EXPECT_DOUBLE_EQ(decoded_share(work, 11e6), 1);
}

TEST(TierCost, PagesWithoutLsnsAreHashedForEachQuery) {
    for (const Machine &machine : {one_core(), gpu()}) {
        const Prices price = prices(default_weights(machine.gpu), machine);
        RelationWork work = million_rows();
        work.cached_share = 1;
        Ledger logged(machine, price);
        logged.relation(work);
        work.hashed = 20000;
        Ledger unlogged(machine, price), elsewhere(machine, price);
        unlogged.relation(work);
        const Count bytes = machine.gpu ? Count::LinkSeqRead : Count::MemorySeqRead;
        const double hashing = 20000 * 8192 * price.ns[static_cast<int>(bytes)];
        EXPECT_GT(hashing, 0);
        EXPECT_NEAR(unlogged.ns() - logged.ns(), hashing, 1);
        work.resident_share = 0.5; // the others have to be found
        elsewhere.relation(work);
        EXPECT_NEAR(
            elsewhere.ns() - unlogged.ns(),
            10000 * (price.ns[static_cast<int>(Count::StorageSeqRead)] + price.ns[static_cast<int>(Count::PageFound)]),
            1);
        work.cacheable_share = 0; // read row by row anyway
        Breakdown rowwise = {};
        Ledger(machine, price, &rowwise).relation(work);
        EXPECT_EQ(rowwise.amount[static_cast<int>(Stage::Feed)][static_cast<int>(Count::MemorySeqRead)], 0);
    }
}

TEST(TierCost, RowsOfATableThatIsThereAreBroughtButNotRead) {
    const Machine machine = gpu();
    const Prices price = prices(default_weights(true), machine);
    RelationWork work = million_rows();
    work.cached_share = 0.5;
    Breakdown read = {}, unread = {};
    Ledger(machine, price, &read).relation(work);
    work.unread = true;
    Ledger ledger(machine, price, &unread);
    ledger.relation(work);
    EXPECT_GT(stage_ns(read, price, Stage::Scan), 0);
    EXPECT_EQ(stage_ns(unread, price, Stage::Scan), 0);
    EXPECT_DOUBLE_EQ(stage_ns(unread, price, Stage::Feed), stage_ns(read, price, Stage::Feed));
    EXPECT_NEAR(total_ns(unread, price), ledger.ns(), 1);
}

TEST(TierCost, TheSlowestOfFeedingLinkAndDecodingIsPaid) {
    const Machine machine = gpu();
    const Prices price = prices(default_weights(true), machine);
    RelationWork work = million_rows();
    work.cached_share = 0;
    Breakdown breakdown = {};
    Ledger ledger(machine, price, &breakdown);
    ledger.relation(work);
    const double pins = 20000.0 * (490 + 700), link = 20000 * 8192 * price.ns[static_cast<int>(Count::LinkSeqRead)];
    EXPECT_GT(pins, link);
    EXPECT_NEAR(stage_ns(breakdown, price, Stage::Feed), pins, 1);
    EXPECT_NEAR(total_ns(breakdown, price), ledger.ns(), 1);
    // With seven workers it is the link.
    work.workers = 7;
    Breakdown shared = {};
    Ledger(machine, price, &shared).relation(work);
    EXPECT_NEAR(stage_ns(shared, price, Stage::Feed), link + price.ns[static_cast<int>(Count::TeamStarted)], 1);
    EXPECT_EQ(amount(shared, Stage::Feed, Count::LinkSeqRead), 20000.0 * 8192); // hidden or not
}

// Chunk after chunk: three processes share six chunks of eight evenly, and two of them then find one more each.
TEST(TierCost, TheLastChunksKeepFewerProcessesBusy) {
    const Machine machine = gpu();
    const Prices price = prices(default_weights(true), machine);
    RelationWork work = million_rows();
    work.cached_share = 0;
    work.workers = 2;
    work.chunk_pages = 2500;
    Breakdown breakdown = {};
    Ledger ledger(machine, price, &breakdown);
    ledger.relation(work);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::PageFound), 2 * 2500 + 2500);
    // Two of the three are workers; each page is new to whoever brings it.
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::PageInTeam), 7500 * 2 / 3.0);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::PageTouched), 7500 / 3.0);
    const double link = 8192 * price.ns[static_cast<int>(Count::LinkSeqRead)], find = 490 + 700;
    EXPECT_NEAR(stage_ns(breakdown, price, Stage::Feed),
                15000 * std::max(link, find / 3) + 5000 * std::max(link, find / 2) +
                    price.ns[static_cast<int>(Count::TeamStarted)],
                1);
    EXPECT_NEAR(total_ns(breakdown, price), ledger.ns(), 1);
    // Less than a chunk is one process's work, however many there are.
    work.pages = 2000;
    Breakdown small = {};
    Ledger(machine, price, &small).relation(work);
    EXPECT_DOUBLE_EQ(amount(small, Stage::Feed, Count::PageFound), 2000);
}

TEST(TierCost, TextsAreNumberedWhenTheyAreBrought) {
    const Machine machine = one_core();
    const Prices price = prices(default_weights(false), machine);
    RelationWork work = million_rows();
    work.cacheable_share = 0.75;               // the other pages are read by row, each time, and their texts looked up
    work.read = work.absent = {3, 3, 2, 0, 0}; // a numeric beside them
    work.text_entries = 1000;
    work.cached_share = 0;
    Breakdown cold = {};
    Ledger(machine, price, &cold).relation(work);
    EXPECT_DOUBLE_EQ(amount(cold, Stage::Feed, Count::ValueDecoded), 3e6 * (1 + varlena_values) + 2e6 * text_values);
    EXPECT_DOUBLE_EQ(amount(cold, Stage::Texts, Count::TextNumbered), 750);
    work.cached_share = 1;
    Breakdown cached = {};
    Ledger(machine, price, &cached).relation(work);
    EXPECT_DOUBLE_EQ(amount(cached, Stage::Feed, Count::ValueDecoded),
                     0.75e6 * (1 + varlena_values) + 0.5e6 * text_values);
    EXPECT_EQ(amount(cached, Stage::Texts, Count::TextNumbered), 0);

    // For a GPU each feeding process numbers those of its chunks.
    const Machine other = gpu();
    const Prices gpu_price = prices(default_weights(true), other);
    work.cacheable_share = 1;
    work.cached_share = 0;
    work.workers = 7;
    work.chunk_pages = work.pages / 3;
    Breakdown shared = {};
    Ledger(other, gpu_price, &shared).relation(work);
    EXPECT_DOUBLE_EQ(amount(shared, Stage::Texts, Count::TextNumbered), 1000.0 / 3);
    work.workers = 1;
    Breakdown two = {};
    Ledger(other, gpu_price, &two).relation(work);
    EXPECT_DOUBLE_EQ(amount(two, Stage::Texts, Count::TextNumbered), 1000.0 / 2);
}

TEST(TierCost, WhoFeedsEvaluatesExpressions) {
    const Machine machine = gpu();
    const Prices price = prices(default_weights(true), machine);
    RelationWork work = million_rows();
    work.cached_share = 0;
    work.workers = 3; // they share each chunk
    work.expressions = 2;
    work.evaluated = 0.5;
    Breakdown breakdown = {};
    Ledger(machine, price, &breakdown).relation(work);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::PlanCost), work.pages / 4 * 0.5);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::BackendRow), work.rows / 4 * 2 * 4);
    work.cached_share = 1;
    Breakdown cached = {};
    Ledger(machine, price, &cached).relation(work);
    EXPECT_EQ(amount(cached, Stage::Feed, Count::PlanCost), 0);
}

TEST(TierCost, AttributesThatArePassedAndTextsThatNobodyRemembersTakeTime) {
    const Machine machine = one_core();
    const Prices price = prices(default_weights(false), machine);
    RelationWork work = million_rows();
    work.cached_share = 0;
    work.read = work.absent = {2, 1, 1, 0.75, 8};
    work.text_entries = 4096;
    Breakdown breakdown = {};
    Ledger(machine, price, &breakdown).relation(work);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::ValueDecoded),
                     1e6 * (2 + varlena_values + text_values + 8 * passed_values));
    // The dictionary is in the near cache.
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::MemoryRandomReadCached), 0.75e6 * text_reads * near_reads);
}

TEST(TierCost, TheHostDeviceDecodesByTheCoresThatFeedIt) {
    Machine machine = one_core();
    machine.threads = machine.cores = 2;
    Weights weights = default_weights(false);
    weight(weights, Count::PageFound) = weight(weights, Count::PageDecoded) = 1000;
    weight(weights, Count::ValueDecoded) = weight(weights, Count::PageTouched) = 0;
    const auto feed = [&] {
        const Prices price = prices(weights, machine);
        RelationWork work = million_rows();
        work.cached_share = 0;
        Breakdown breakdown = {};
        Ledger(machine, price, &breakdown).relation(work);
        return stage_ns(breakdown, price, Stage::Feed) / (work.pages * 1000);
    };
    EXPECT_DOUBLE_EQ(feed(), 1); // one core finds, the other one decodes
    weight(weights, Count::PageDecoded) = 3000;
    EXPECT_DOUBLE_EQ(feed(), 2); // 1 and 3 by two cores; decoding alone would take 1.5
    machine.cores = 8;
    EXPECT_DOUBLE_EQ(feed(), 1.5);
}

TEST(TierCost, OnlyAbsentColumnsAreDecodedButOfPagesReadByRow) {
    const Machine machine = one_core();
    const Prices price = prices(default_weights(false), machine);
    RelationWork work = million_rows();
    work.cacheable_share = 0.75;
    work.cached_share = 0;
    work.read = {4, 3, 2, 0, 0};
    work.absent = {1, 1, 0, 0, 0};
    Breakdown breakdown = {};
    Ledger(machine, price, &breakdown).relation(work);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::ValueDecoded),
                     (0.75e6 * 1 + 0.25e6 * 4) + varlena_values * (0.75e6 * 1 + 0.25e6 * 3) + text_values * 0.25e6 * 2);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Scan, Count::ValueStep), value_read_steps * 4e6 + 1e6);
}

TEST(TierCost, PagesThatAreNotInBuffersComeFromStorage) {
    const Machine machine = gpu();
    const Prices price = prices(default_weights(true), machine);
    RelationWork work = million_rows();
    work.cached_share = 0;
    work.resident_share = 0.5;
    Breakdown breakdown = {};
    Ledger(machine, price, &breakdown).relation(work);
    EXPECT_DOUBLE_EQ(amount(breakdown, Stage::Feed, Count::StorageSeqRead), 10000);
    EXPECT_NEAR(stage_ns(breakdown, price, Stage::Feed), 10000 * 4000.0 + 20000 * (490.0 + 700.0), 1);
}

// An account holds all that the ledger has added up.
TEST(TierCost, AccountsAddUp) {
    for (const bool is_gpu : {false, true}) {
        Machine machine = is_gpu ? gpu() : one_core();
        machine.threads = is_gpu ? 1 : 4;
        machine.busy = 0.5;
        const Prices price = prices(default_weights(is_gpu), machine);
        Breakdown breakdown = {};
        Ledger ledger(machine, price, &breakdown);
        ledger.start(3, 2);
        ledger.relation(million_rows());
        ledger.plan_rows(1000, 5000, 2);
        ledger.build(1e5);
        ledger.probe(1e6, 1e5);
        ledger.pairs(100, 1e4);
        ledger.unmatched(1e5);
        ledger.aggregate(1e6, 1e5, 1e4, 2, 3);
        ledger.aggregate_again(10);
        ledger.distinct_values(1e3, 2, 1e4);
        ledger.fetch_rows(1e5, 3, 20, 100, 1e6);
        ledger.emit_rows(1e5, 3);
        ledger.sort(1e5, 3);
        ledger.texts({1e4, 1e3, 100, 1});
        ledger.plan_cost(Stage::Emit, 10);
        EXPECT_NEAR(total_ns(breakdown, price) / ledger.ns(), 1, 1e-9);
        // All groups are made, those that are left are shown.
        EXPECT_NEAR(amount(breakdown, Stage::Group, Count::RowStep),
                    1e6 * (group_steps + 3) + 1e5 * merge_steps * machine.threads + 2e3 * bit_steps, 1e-3);
        EXPECT_NEAR(amount(breakdown, Stage::Emit, Count::BackendRow), 1e5 + group_rows * 1e4, 1e-3);
        // What does not fit into what is kept goes through a file: a million bytes of two.
        EXPECT_NEAR(amount(breakdown, Stage::Fetch, Count::StorageSeqWrite), 1e6 / 8192, 1e-6);
        EXPECT_NEAR(amount(breakdown, Stage::Emit, Count::StorageSeqRead), 1e6 / 8192, 1e-6);
    }
}

TEST(TierCost, WorkIsSharedAndOthersAreInTheWay) {
    Machine machine = one_core();
    machine.threads = 8;
    const Prices alone = prices(default_weights(false), machine);
    const auto ns = [](const Prices &price, Count count) { return price.ns[static_cast<int>(count)]; };
    EXPECT_DOUBLE_EQ(ns(alone, Count::ValueStep), 1.0 / 8);
    EXPECT_DOUBLE_EQ(ns(alone, Count::PageFound), 450);
    machine.busy = 1; // half of the cores
    EXPECT_DOUBLE_EQ(ns(prices(default_weights(false), machine), Count::ValueStep), 1.0 / 4);
    machine.busy = 100; // one core is left
    EXPECT_DOUBLE_EQ(ns(prices(default_weights(false), machine), Count::ValueStep), 1.0);
    // An H200 does 5.2 sessions' work in the time of one when 8 want it.
    Machine h200 = gpu();
    const Prices quiet = prices(default_weights(true), h200);
    h200.busy = 7;
    const Prices crowded = prices(default_weights(true), h200);
    EXPECT_NEAR(ns(crowded, Count::MemoryRandomRead) / ns(quiet, Count::MemoryRandomRead), 8 / 5.2, 0.05);
    EXPECT_EQ(ns(crowded, Count::FragmentStarted), ns(quiet, Count::FragmentStarted));
}

// What an H200 was seen to do, in G rows/s (the tables of doc/performance.md), within a factor of two.
TEST(TierCost, DefaultsGiveWhatAnH200WasSeenToDo) {
    const Machine machine = gpu();
    const Prices price = prices(default_weights(true), machine);
    const auto rate = [&](auto &&work) {
        Ledger ledger(machine, price);
        work(ledger);
        return 1e9 / ledger.ns();
    };
    const auto probed = [&](double entries) {
        return rate([&](Ledger &ledger) {
            ledger.probe(1e9, entries);
            ledger.sequential(Stage::Scan, false, 8e9);
        });
    };
    const auto grouped = [&](double groups) {
        return rate([&](Ledger &ledger) {
            ledger.sequential(Stage::Scan, false, 8e9);
            ledger.add(Stage::Group, Count::RowStep, 1e9 * group_steps);
            ledger.random(Stage::Group, true, 1e9, groups * 12);
        });
    };
    const auto within = [](double value, double measured, double factor) {
        EXPECT_GT(value, measured / factor) << measured;
        EXPECT_LT(value, measured * factor) << measured;
    };
    within(probed(1 << 10), 169, 2);
    within(probed(1 << 20), 92, 2);
    within(probed(1 << 24), 36, 2);
    within(probed(1 << 28), 32, 2);
    within(grouped(1000), 432, 3);
    within(grouped(1 << 20), 49, 2);
    within(grouped(1 << 24), 14, 2);
}

TEST(TierCost, ADeviceHasFewWeightsAndAllAreMeasured) {
    std::set<std::string> names;
    int weights[2] = {};
    for (int i = 0; i < device_values; ++i) {
        const CountInfo &row = weight_table[i];
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_TRUE(row.benchmark[0] != '\0' && row.meaning[0] != '\0') << row.name;
        for (const bool gpu : {false, true})
            if (in_profile(i, gpu)) {
                EXPECT_GT(gpu ? row.gpu : row.host, 0) << row.name;
                weights[gpu] += i < counts;
            }
    }
    EXPECT_LE(weights[true], 24);
    EXPECT_EQ(weights[false], weights[true] - 3); // no link, no compiler
}

#define GPUSCAN_NAME(name, ...) #name,
TEST(TierCost, EveryCountHasItsName) {
    const char *const enumerators[] = {GPUSCAN_DEVICE_COUNTS(GPUSCAN_NAME)};
    for (int i = 0; i < counts; ++i)
        EXPECT_EQ(profile_name(enumerators[i]), weight_table[i].name);
    for (int i = 0; i < counts; ++i)
        EXPECT_EQ(info(static_cast<Count>(i)).pattern == Pattern::None,
                  info(static_cast<Count>(i)).tier != Tier::Memory && info(static_cast<Count>(i)).tier != Tier::Link &&
                      info(static_cast<Count>(i)).tier != Tier::Storage)
            << i;
    EXPECT_STREQ(name_of(Tier::Memory, false), "host memory");
    EXPECT_STREQ(name_of(Tier::Memory, true), "device memory");
    EXPECT_STREQ(name_of(Tier::Storage, true), "storage");
    EXPECT_STREQ(name_of(Stage::Emit), "emit");
}

} // namespace
} // namespace gpuscan::tier
