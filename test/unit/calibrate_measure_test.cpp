// What a measurement computes: weights from times, count vectors from EXPLAIN, the profile, the report.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../../calibrate/device_counts.hpp"
#include "../../calibrate/device_tasks.hpp"
#include "../../calibrate/least_squares.hpp"
#include "../../calibrate/measure_report.hpp"
#include "../../calibrate/one_plan.hpp"
#include "../../calibrate/step_queries.hpp"

namespace calibrate {
namespace {

constexpr double relative_error = 0.05;

Equation equation(std::vector<double> amounts, const std::vector<double> &truth, double noise = 0) {
    double time = 0;
    for (size_t i = 0; i < truth.size(); ++i)
        time += amounts[i] * truth[i];
    time *= 1 + noise;
    return {std::move(amounts), time, relative_error * time};
}

// Queries with a few kinds of work each, of quite different amounts.
std::vector<Equation> workload(std::mt19937_64 &numbers, size_t queries, const std::vector<double> &truth,
                               double noise) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<Equation> equations;
    for (size_t q = 0; q < queries; ++q) {
        std::vector<double> amounts(truth.size(), 0);
        const double size = std::exp(8 * uniform(numbers));
        for (size_t w = 0; w < truth.size(); ++w)
            if (uniform(numbers) < 0.5 || w == q % truth.size())
                amounts[w] = size * std::exp(normal(numbers)) / truth[w];
        equations.push_back(equation(std::move(amounts), truth, noise * normal(numbers)));
    }
    return equations;
}

TEST(CalibrateLeastSquares, FindsWeightsExactlyWithoutNoise) {
    std::mt19937_64 numbers(1);
    const std::vector<double> truth = {3, 0.02, 700, 15, 1e5}, known = {1, 0.05, 300, 60, 2e5};
    const std::vector<FittedWeight> fitted = fit_weights(workload(numbers, 30, truth, 0), known);
    for (size_t w = 0; w < truth.size(); ++w) {
        EXPECT_EQ(fitted[w].verdict, Verdict::Measured);
        EXPECT_NEAR(fitted[w].value / truth[w], 1, 1e-3);
    }
}

TEST(CalibrateLeastSquares, IntervalsHoldTheTruthAsOftenAsTheySay) {
    std::mt19937_64 numbers(2);
    const std::vector<double> truth = {3, 0.02, 700, 15}, known = {1, 0.05, 300, 60};
    int held = 0, all = 0;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const std::vector<FittedWeight> fitted = fit_weights(workload(numbers, 40, truth, 0.1), known);
        for (size_t w = 0; w < truth.size(); ++w, ++all) {
            held += fitted[w].low <= truth[w] && truth[w] <= fitted[w].high;
            EXPECT_LT(fitted[w].high - fitted[w].low, truth[w]);
        }
    }
    EXPECT_GE(held, 0.90 * all);
    EXPECT_LE(held, 0.99 * all);
}

TEST(CalibrateLeastSquares, IntervalsOfMeansHoldTheTruthAsOftenAsTheySay) {
    std::mt19937_64 numbers(3);
    std::normal_distribution<double> normal(10, 2);
    int held = 0;
    constexpr int repeats = 2000;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        std::vector<double> values(5);
        for (double &v : values)
            v = normal(numbers);
        const Estimate e = mean_of(values);
        held += e.low <= 10 && 10 <= e.high;
    }
    EXPECT_NEAR(held / double(repeats), 0.95, 0.02);
}

TEST(CalibrateLeastSquares, WhatAlwaysComesTogetherSharesAFactor) {
    std::mt19937_64 numbers(4);
    std::vector<Equation> equations;
    // Of the first two there is one and four each time; they take 5 in all, where 10 was known.
    for (int i = 1; i <= 20; ++i)
        equations.push_back(equation({1, 4, double(i)}, {1, 1, 2}));
    const std::vector<FittedWeight> fitted = fit_weights(equations, {6, 1, 1});
    EXPECT_EQ(fitted[0].verdict, Verdict::Together);
    EXPECT_EQ(fitted[1].verdict, Verdict::Together);
    EXPECT_EQ(fitted[2].verdict, Verdict::Measured);
    EXPECT_NEAR(fitted[0].value + 4 * fitted[1].value, 5, 0.05);
    EXPECT_NEAR(fitted[2].value, 2, 0.01);
    EXPECT_LT(fitted[0].value, 6);
    EXPECT_LT(fitted[1].value, 1);
}

TEST(CalibrateLeastSquares, KeepsWhatNoQueryTells) {
    std::mt19937_64 numbers(5);
    std::vector<Equation> equations = workload(numbers, 20, {3, 5}, 0.02);
    for (Equation &e : equations) {
        e.amounts.push_back(0);             // never
        e.amounts.push_back(e.time * 1e-4); // hardly
        e.amounts.push_back(e.time * 0.5);  // not known before: 0
    }
    const std::vector<FittedWeight> fitted = fit_weights(equations, {1, 1, 7, 8, 0});
    for (size_t w : {2, 3, 4}) {
        EXPECT_EQ(fitted[w].verdict, Verdict::Unseen);
        EXPECT_EQ(fitted[w].value, (std::vector<double>{1, 1, 7, 8, 0})[w]);
    }
    EXPECT_NEAR(fitted[0].value, 3, 0.3);
    const std::vector<FittedWeight> nothing = fit_weights({}, {1, 2});
    EXPECT_EQ(nothing[1].value, 2);
    EXPECT_EQ(nothing[1].verdict, Verdict::Unseen);
}

TEST(CalibrateLeastSquares, IsNeverNegative) {
    std::vector<Equation> equations;
    // More of the second takes less time, which cannot be.
    for (int i = 1; i <= 20; ++i)
        equations.push_back({{10, double(i)}, 100 - 2.0 * i, 1});
    const std::vector<FittedWeight> fitted = fit_weights(equations, {1, 1});
    EXPECT_GT(fitted[0].value, 0);
    EXPECT_GT(fitted[1].value, 0);
    EXPECT_LT(fitted[1].value, 0.3);
}

TEST(CalibrateLeastSquares, ASpoiltTimeCountsLess) {
    std::mt19937_64 numbers(6);
    const std::vector<double> truth = {3, 20};
    std::vector<Equation> equations = workload(numbers, 30, truth, 0.02);
    for (size_t e : {3, 17})
        equations[e].time *= 10; // (its error is what it was thought to be)
    const std::vector<FittedWeight> fitted = fit_weights(equations, {1, 10});
    for (size_t w = 0; w < 2; ++w)
        EXPECT_NEAR(fitted[w].value / truth[w], 1, 0.1);
}

TEST(CalibrateLeastSquares, Middles) {
    EXPECT_EQ(undisturbed({}), 0);
    EXPECT_EQ(undisturbed({9, 2, 1, 80, 5}), 2);
    EXPECT_EQ(median_of({1, 2, 30}).value, 2);
    EXPECT_EQ(mean_of({4}).low, 4);
}

// ---- devices ----

Json node() {
    return Json::parse(
        R"([{"Plan": {"Node Type": "Custom Scan", "Custom Plan Provider": "GpuScan", "Plan Rows": 1, "Actual Rows": 1,
        "Device": "host", "Device Compile Time": 0.5,
        "Estimated": {"Pages Brought": 100}, "Actual": {"Start Time": 1, "Feed Time": 2, "Texts Time": 3, "Run Time": 4,
        "Fetch Time": 5, "Emit Time": 6, "Pages Brought": 101},
        "Estimated Work": [{"Stage": "feed", "Work": "page_decoded", "Amount": 100, "Time": 1},
                           {"Stage": "feed", "Work": "side by side", "Time": -1},
                           {"Stage": "scan", "Work": "value_step", "Amount": 7, "Time": 1}]},
        "Execution Time": 21}])");
}

TEST(CalibrateDevice, ReadsCountsAndTimes) {
    std::string why;
    const std::optional<DeviceRun> run = device_run(node(), &why);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->counts.amount[int(tier::Stage::Feed)][int(tier::Count::PageDecoded)], 100);
    EXPECT_EQ(run->counts.amount[int(tier::Stage::Scan)][int(tier::Count::ValueStep)], 7);
    EXPECT_EQ(run->phase_ms[5], 6);
    EXPECT_EQ(run->compile_ms, 0.5);
    EXPECT_EQ(run->total_ms, 21);
    EXPECT_EQ(unexpected(*run), "");
    Json other = node();
    other[0]["Plan"]["Actual"]["Pages Brought"] = 0;
    EXPECT_NE(unexpected(*device_run(other, &why)), "");
    other = node();
    other[0]["Plan"]["Fallback"] = "out of memory";
    EXPECT_FALSE(device_run(other, &why));
    EXPECT_EQ(why, "the device gave up: out of memory");
    other = Json::parse(R"([{"Plan": {"Node Type": "Aggregate"}}])");
    EXPECT_FALSE(device_run(other, &why));
}

// A plan that is as it was estimated, but for what `change` does to it: why it is left out.
std::string left_out(const std::function<void(Json &plan)> &change) {
    Json explained = node();
    change(explained[0]["Plan"]);
    std::string why;
    return unexpected(device_run(explained, &why).value());
}

TEST(CalibrateDevice, ParallelWorkersAreAsPlanned) {
    const auto with_child = [](double loops, int launched) {
        return left_out([&](Json &plan) {
            plan["Plans"] = Json::parse(R"([{"Node Type": "Subquery Scan", "Actual Rows": 1, "Plans": [
                {"Node Type": "Gather", "Workers Planned": 2}]}])");
            plan["Plans"][0]["Actual Loops"] = plan["Plans"][0]["Plans"][0]["Actual Loops"] = loops;
            plan["Plans"][0]["Plans"][0]["Workers Launched"] = launched;
        });
    };
    EXPECT_EQ(with_child(1, 2), "");
    EXPECT_EQ(with_child(1, 1), "parallel workers are not as many as were planned");
    EXPECT_EQ(with_child(1, 0), "parallel workers are not as many as were planned");
    EXPECT_EQ(with_child(0, 0), ""); // PostgreSQL's plan, which nobody needed
}

// Work of bringing pages, as EXPLAIN shows it.
Json brought_by(double workers, double pages, double cacheable_share) {
    const tier::Prices prices = tier::prices(tier::default_weights(false), {});
    tier::Breakdown account = {};
    tier::RelationWork work = {};
    work.pages = pages;
    work.rows = 50 * pages;
    work.cacheable_share = cacheable_share;
    (cacheable_share > 0 ? work.workers : work.row_workers) = workers;
    work.chunk_pages = 4096;
    tier::Ledger({}, prices, &account).relation(work);
    Json parts = Json::array();
    for (int c = 0; c < tier::counts; ++c)
        if (const double amount = account.amount[int(tier::Stage::Feed)][c]; amount > 0)
            parts.push_back({{"Stage", "feed"},
                             {"Work", tier::info(static_cast<tier::Count>(c)).name},
                             {"Amount", std::round(amount)}});
    return parts;
}

TEST(CalibrateDevice, FeedingWorkersAreAsPlanned) {
    for (const double cacheable_share : {1.0, 0.0})
        for (const double pages : {20000.0, 55123.0, 1e6})
            for (int planned = 0; planned <= 7; ++planned)
                for (int launched = 0; launched <= 7; ++launched)
                    EXPECT_EQ(left_out([&](Json &plan) {
                                  plan["Estimated Work"] = brought_by(planned, pages, cacheable_share);
                                  plan["Feed Workers"] = launched;
                              }),
                              planned == launched ? "" : "feeding workers are not as many as were planned")
                        << pages << " pages, " << planned << " planned, " << launched << " launched";
}

TEST(CalibrateDevice, AKeptTableIsNoneThatWasBuilt) {
    const auto with = [](const char *first, const char *second, double built) {
        return left_out([&](Json &plan) {
            plan["Steps"] = {
                {{"Step", "Scan"}}, {{"Step", "Join"}, {"Table", first}}, {{"Step", "Join"}, {"Table", second}}};
            if (built > 0)
                plan["Estimated Work"].push_back({{"Stage", "build"}, {"Work", "row_built"}, {"Amount", built}});
        });
    };
    const char *const made = "dense 10 entries, 1 kB", *const kept = "dense 10 entries, 1 kB, kept";
    EXPECT_EQ(with(made, made, 30), "");
    EXPECT_EQ(with(made, kept, 30), "the table of a join was not built: it was kept");
    EXPECT_EQ(with(kept, kept, 0), ""); // the planner knew
    EXPECT_EQ(with(kept, made, 0), "the table of a join was built: it was not kept any more");
}

// What the device keeps of an execution is of no use to the next one, nor one join's table to another, but where a task is about that.
TEST(CalibrateDevice, TasksBuildTheirTablesAnew) {
    size_t numbers = 0, joins = 0;
    for (const DeviceTask &task : device_tasks(1000)) {
        const std::string text = task.sql;
        size_t builds = 0, changing = 0;
        for (size_t at = text.find(" JOIN "); at != std::string::npos; at = text.find(" JOIN ", at + 1))
            ++builds;
        for (const char c : text)
            changing += c == changing_number;
        if (std::string(task.name).find("that is kept") != std::string::npos)
            EXPECT_EQ(changing, 0U) << task.name;
        else
            EXPECT_GE(changing, builds) << task.name;
        joins += builds;
        const size_t before = numbers;
        const std::string first = sql_of(task, &numbers), second = sql_of(task, &numbers);
        EXPECT_EQ(numbers, before + 2 * changing) << task.name;
        EXPECT_EQ(first.find(changing_number), std::string::npos);
        EXPECT_EQ(first == second, changing == 0) << task.name;
    }
    EXPECT_GE(joins, 5U);
    numbers = 7;
    EXPECT_EQ(sql_of({"", "d.id > -# AND e.id > -#", nullptr}, &numbers), "d.id > -8 AND e.id > -9");
}

// A weight's benchmark is a task, unless a device measures it by itself.
TEST(CalibrateDevice, EveryWeightHasItsTask) {
    const std::vector<DeviceTask> tasks = device_tasks(1000);
    for (int c = 0; c < tier::counts; ++c) {
        const tier::CountInfo &row = tier::weight_table[c];
        const bool measures_itself = row.tier == tier::Tier::Memory || row.tier == tier::Tier::Link;
        if (!tier::in_profile(c, true) || c == int(tier::Count::KernelCompiled) || c == int(tier::Count::PageTouched))
            continue;
        EXPECT_EQ(row.benchmark == std::string("first start"), measures_itself) << row.name;
        const bool is_task = std::any_of(tasks.begin(), tasks.end(), [&](const DeviceTask &task) {
            return std::string(task.name) == row.benchmark;
        });
        EXPECT_NE(is_task, measures_itself) << row.name;
    }
}

// Queries as the cost model makes them, at weights that are not the known ones.
struct Simulated {
    DeviceWeights known;
    std::vector<double> truth;
    std::vector<DeviceQuery> queries;

    explicit Simulated(bool gpu) {
        const tier::Weights &weights = tier::default_weights(gpu);
        known.gpu = gpu;
        for (int c = 0; c < tier::counts; ++c) {
            known.ns.push_back(weights.values[c]);
            truth.push_back(weights.values[c]);
            const tier::Sharing sharing = tier::info(static_cast<tier::Count>(c)).sharing;
            known.divisor.push_back(
                !gpu && (sharing == tier::Sharing::Threads || sharing == tier::Sharing::Feeders) ? 2 : 1);
        }
        weight(tier::Count::PageTouched) = 0; // (the session has looked at all pages before)
    }
    double &weight(tier::Count count) { return truth[static_cast<size_t>(count)]; }
    void add(bool cold, const tier::RelationWork &work, int keys, double groups) {
        tier::Weights weights = tier::default_weights(known.gpu);
        for (int c = 0; c < tier::counts; ++c)
            weights.values[c] = truth[static_cast<size_t>(c)];
        tier::Machine machine = {};
        machine.gpu = known.gpu;
        machine.threads = known.gpu ? 1 : 2;
        machine.text_threads = machine.cores = 1;
        machine.cache_bytes = machine.work_bytes = 1e12;
        machine.ns_per_unit = 4000;
        const tier::Prices prices = tier::prices(weights, machine);
        tier::Breakdown account = {};
        tier::Ledger ledger(machine, prices, &account);
        ledger.start(1, 0);
        ledger.relation(work);
        ledger.aggregate(work.rows, groups, groups, keys, 1);
        const auto ms = [&](tier::Stage first, tier::Stage last) {
            double ns = 0;
            for (int s = int(first); s <= int(last); ++s)
                ns += stage_ns(account, prices, static_cast<tier::Stage>(s));
            return ns / 1e6;
        };
        queries.push_back({"q", cold, account, ms(tier::Stage::Feed, tier::Stage::Texts),
                           ms(tier::Stage::Scan, tier::Stage::Sort), ms(tier::Stage::Fetch, tier::Stage::Fetch),
                           cold ? 0 : total_ns(account, prices) / 1e6});
    }
};

tier::RelationWork relation(double rows, double columns, double texts, double cached) {
    tier::RelationWork work = {};
    work.pages = rows / 50;
    work.cacheable_share = work.resident_share = 1;
    work.rows = rows;
    work.read = work.absent = {columns, texts, texts, 0, 0};
    work.conjuncts = 1;
    work.text_entries = texts * 100;
    work.cached_share = cached;
    return work;
}

void add_queries(Simulated &s) {
    for (double rows : {20.0, 5e4, 1e6})
        for (double columns : {1.0, 3.0, 6.0})
            for (double texts : {0.0, 1.0})
                s.add(rows > 100, relation(rows, columns, texts, rows > 100 ? 0 : 1), 0, 1);
    for (double rows : {20.0, 1e5, 1e6})
        for (double columns : {1.0, 4.0})
            for (double groups : {1.0, 1000.0, 2e5})
                s.add(false, relation(rows, columns, 0, 1), groups > 1, std::min(groups, rows));
}

TEST(CalibrateDevice, FindsTheHostsWeights) {
    Simulated s(false);
    s.weight(tier::Count::ValueDecoded) *= 2;
    s.weight(tier::Count::FragmentStarted) *= 0.3;
    s.weight(tier::Count::ValueStep) *= 1.5;
    add_queries(s);
    const std::vector<FittedWeight> fitted = fit_device(s.queries, s.known).weights;
    const auto value = [&](tier::Count c) { return fitted[static_cast<size_t>(c)].value; };
    EXPECT_NEAR(value(tier::Count::ValueDecoded) / s.weight(tier::Count::ValueDecoded), 1, 0.05);
    EXPECT_EQ(fitted[static_cast<size_t>(tier::Count::PageFound)].verdict,
              Verdict::Unseen); // beside what takes longer
    EXPECT_EQ(value(tier::Count::PageFound), s.known.ns[static_cast<size_t>(tier::Count::PageFound)]);
    double start = 0, truth = 0;
    for (const auto &[count, amount] :
         {std::pair{tier::Count::FragmentStarted, 1.0}, {tier::Count::SourceOpened, 1.0}}) {
        start += value(count) * amount;
        truth += s.weight(count) * amount;
    }
    EXPECT_NEAR(start / truth, 1, 0.1);
}

TEST(CalibrateDevice, AGpuWaitsForItsPages) {
    Simulated s(true);
    s.weight(tier::Count::PageFound) *= 1.6;
    add_queries(s);
    const std::vector<FittedWeight> fitted = fit_device(s.queries, s.known).weights;
    EXPECT_NEAR(fitted[static_cast<size_t>(tier::Count::PageFound)].value / s.weight(tier::Count::PageFound), 1, 0.05);
    EXPECT_EQ(fitted[static_cast<size_t>(tier::Count::MemorySeqRead)].verdict, Verdict::Unseen);
    EXPECT_EQ(fitted[static_cast<size_t>(tier::Count::LinkSeqRead)].verdict, Verdict::Unseen);
}

// The same tables, brought by the session alone and with workers.
TEST(CalibrateDevice, ATeamsPagesAreToldFromThoseBroughtAlone) {
    Simulated s(true);
    s.weight(tier::Count::PageFound) *= 1.3;
    s.weight(tier::Count::PageInTeam) *= 1.7;
    add_queries(s);
    for (const double rows : {1e6, 2e6, 3e6})
        for (const double workers : {0.0, 1.0, 3.0}) {
            tier::RelationWork work = relation(rows, 1, 0, 0);
            work.workers = workers;
            work.chunk_pages = 4096;
            s.add(true, work, 0, 1);
        }
    const std::vector<FittedWeight> fitted = fit_device(s.queries, s.known).weights;
    for (const tier::Count c : {tier::Count::PageFound, tier::Count::PageInTeam})
        EXPECT_NEAR(fitted[static_cast<size_t>(c)].value / s.weight(c), 1, 0.05) << tier::info(c).name;
}

// ---- steps of PostgreSQL's executor ----

Json executed(const char *text) { return Json::parse(text); }

TEST(CalibrateSteps, APlanHasOneShape) {
    const Json plan = executed(R"({"Node Type": "Hash Join", "Plans": [{"Node Type": "Seq Scan", "Alias": "f"},
        {"Node Type": "Hash", "Plans": [{"Node Type": "Index Scan", "Alias": "d", "Index Name": "i"}]}]})");
    EXPECT_EQ(shape_of(plan), "Hash Join  (Seq Scan f )(Hash  (Index Scan d i))");
    Json other = plan;
    other["Plans"][1]["Plans"][0]["Index Name"] = "j";
    EXPECT_NE(shape_of(plan), shape_of(other));
}

TEST(CalibrateSteps, RowsAreAsEstimatedInAllLoopsTogether) {
    EXPECT_TRUE(is_as_estimated(
        executed(R"({"Node Type": "Seq Scan", "Plan Rows": 1000, "Actual Rows": 1200, "Actual Loops": 1})")));
    EXPECT_FALSE(is_as_estimated(
        executed(R"({"Node Type": "Seq Scan", "Plan Rows": 1000, "Actual Rows": 1500, "Actual Loops": 1})")));
    // One row more, once and often.
    EXPECT_TRUE(is_as_estimated(
        executed(R"({"Node Type": "Index Scan", "Plan Rows": 1, "Actual Rows": 2, "Actual Loops": 1})")));
    EXPECT_FALSE(is_as_estimated(
        executed(R"({"Node Type": "Index Scan", "Plan Rows": 1, "Actual Rows": 2, "Actual Loops": 500})")));
    // Below, but for what a LIMIT has stopped.
    const char *below = R"({"Node Type": "%s", "Plan Rows": 10, "Actual Rows": 10, "Actual Loops": 1,
        "Plans": [{"Node Type": "Sort", "Plan Rows": 9000, "Actual Rows": 10, "Actual Loops": 1}]})";
    for (const char *node : {"Limit", "Aggregate"}) {
        std::string text = below;
        text.replace(text.find("%s"), 2, node);
        EXPECT_EQ(is_as_estimated(executed(text.c_str())), std::string(node) == "Limit");
    }
    EXPECT_FALSE(is_as_estimated(executed(
        R"({"Node Type": "Gather", "Plan Rows": 1, "Actual Rows": 1, "Workers Planned": 2, "Workers Launched": 1})")));
}

TEST(CalibrateSteps, AllowsAndForbids) {
    const std::string settings = only({"seqscan", "sort"});
    EXPECT_NE(settings.find("enable_seqscan = on"), std::string::npos);
    EXPECT_NE(settings.find("enable_sort = on"), std::string::npos);
    EXPECT_NE(settings.find("enable_incremental_sort = off"), std::string::npos);
    EXPECT_NE(settings.find("enable_hashjoin = off"), std::string::npos);
}

// Plans as the server counts them, on a machine whose steps are not as they were known.
TEST(CalibrateSteps, FindsRates) {
    namespace executor = gpuscan::executor;
    using executor::Step;
    const executor::Rates known = executor::default_rates();
    std::vector<double> rates(known.ns, known.ns + executor::steps), truth = rates;
    const auto at = [](Step step) { return static_cast<size_t>(step); };
    truth[at(Step::Numeric)] *= 1.5;
    truth[at(Step::Operation)] *= 0.6;
    truth[at(Step::RowHashed)] *= 1.7;
    std::mt19937_64 numbers(7);
    std::normal_distribution<double> noise(1, 0.03);
    std::vector<Equation> equations;
    const auto plan = [&](const std::function<void(executor::Work *)> &count, double rows, double scans) {
        executor::Work work{};
        add(&work, Step::PageInOrder, scans * rows / 60);
        add(&work, Step::Tuple, scans * rows);
        count(&work);
        std::vector<double> amounts(work.amount, work.amount + executor::steps);
        equations.push_back(equation(amounts, truth, noise(numbers) - 1));
    };
    for (double rows : {1e5, 5e5, 1e6}) {
        plan([](executor::Work *) {}, rows, 1);
        for (double times : {1.0, 4.0}) {
            plan([&](executor::Work *w) { add(w, Step::Numeric, times * rows); }, rows, 1);
            plan([&](executor::Work *w) { add(w, Step::Attribute, 5 * times * rows); }, rows, 1);
            plan([&](executor::Work *w) { add(w, Step::Operation, times * rows); }, rows, 1);
            plan([&](executor::Work *w) { executor::probe(w, times * rows, 1000); }, rows, 1);
        }
        plan([&](executor::Work *w) { executor::sort(w, rows, 0, false); }, rows, 1);
        plan([&](executor::Work *w) { executor::sort(w, rows / 100, 0, false); }, rows, 1);
    }
    const std::vector<FittedWeight> fitted = fit_weights(equations, rates, std::vector<double>(rates.size(), 0.7));
    for (const Step step : {Step::Numeric, Step::RowHashed, Step::Tuple, Step::Operation})
        EXPECT_NEAR(fitted[at(step)].value / truth[at(step)], 1, 0.15) << executor::info(step).name;
    EXPECT_EQ(fitted[at(Step::TeamStarted)].verdict, Verdict::Unseen);
    EXPECT_EQ(fitted[at(Step::TeamStarted)].value, rates[at(Step::TeamStarted)]);
}

TEST(CalibrateSteps, EachStepHasItsBenchmark) {
    namespace executor = gpuscan::executor;
    std::set<std::string> names;
    for (const auto &queries : {step_queries(100000), parallel_step_queries()})
        for (const StepQuery &query : queries)
            EXPECT_TRUE(names.insert(query.name).second) << query.name;
    for (const executor::StepInfo &step : executor::step_table)
        EXPECT_EQ(names.count(step.benchmark), 1u) << step.name;
    EXPECT_EQ(names.count(first_parallel), 1u);
}

// ---- profile and report ----

TEST(CalibrateMeasurement, TheProfileHasWhatWasMeasuredInItsPlace) {
    const std::string text = profile_text(
        {{"server", "ns_per_unit", 3000},
         {"server", "tuple", 27},
         {"server", "group_made", 99},
         {"server", "row_kept", 190},
         {"host", "value_step", 2},
         {"host", "row_step", 9},
         {"cuda", "link_seq_read", 5}},
        {{"server", {{"ns_per_unit", 3500}, {"tuple", 31}}}, {"host", {{"value_step", 2.5}}}}, "two cores", "");
    tier::Profile profile;
    tier::ProfileNote notes[4];
    int count = 0;
    ASSERT_TRUE(tier::parse_profile(text.data(), text.size(), &profile, notes, 4, &count));
    EXPECT_EQ(count, 0);
    EXPECT_EQ(profile.ns_per_unit, 3500);
    EXPECT_EQ(profile.executor.ns[int(gpuscan::executor::Step::Tuple)], 31);
    EXPECT_EQ(profile.executor.ns[int(gpuscan::executor::Step::GroupMade)], 99); // was there before
    EXPECT_NE(text.find("tuple = 31 "), std::string::npos);
    const auto line_of = [&](const char *name) {
        return text.substr(text.find(name), text.find('\n', text.find(name)) - text.find(name));
    };
    for (const auto &[name, origin] :
         {std::pair{"tuple = 31", "measured"}, {"group_made = 99", "measured"}, {"row_kept = 190", "default"}})
        EXPECT_NE(line_of(name).find(origin), std::string::npos) << name;
    EXPECT_EQ(profile.devices[0].values[int(tier::Count::ValueStep)], 2.5);
    EXPECT_EQ(profile.devices[0].values[int(tier::Count::RowStep)], 9);
    EXPECT_EQ(profile.devices[1].values[int(tier::Count::LinkSeqRead)], 5);
    EXPECT_NE(text.find("two cores"), std::string::npos);
    EXPECT_EQ(profile_difference(text, text), "");
    EXPECT_EQ(profile_difference(text, profile_text({{"server", "ns_per_unit", 3500},
                                                     {"server", "tuple", 40},
                                                     {"server", "group_made", 99},
                                                     {"host", "value_step", 3},
                                                     {"host", "row_step", 9},
                                                     {"cuda", "link_seq_read", 5}},
                                                    {}, "", "")),
              "  server.tuple                               31 -> 40\n"
              "  host.value_step                           2.5 -> 3\n");
}

TEST(CalibrateMeasurement, Reports) {
    const std::vector<Json> lines = {
        Json::parse(R"({"type":"calibration","kind":"measure","started":"now","server":{"database":"d"},"plan":{}})"),
        Json::parse(R"({"type":"sample","part":"processor","query":"q","ms":[1]})"),
        Json::parse(R"({"type":"note","text":"no device"})"),
        Json::parse(
            R"({"type":"result","complete":true,"values":[{"tier":"storage","name":"seq_page_cost","unit":"","value":0.5,"low":0.4,"high":0.6,
            "before":1.0,"default":1.0,"source":"measured","note":"cached"}],"settings":{"asymmetric":{},"original":{"seq_page_cost":0.5}},
            "profile":null,"notes":["no device"]})"),
        Json::parse(R"({"type":"apply","scope":"system","before":{},"after":{}})")};
    EXPECT_TRUE(is_measurement(lines));
    const std::string text = measurement_text(measurement_of(lines));
    EXPECT_NE(text.find("0.4 .. 0.6"), std::string::npos);
    EXPECT_NE(text.find("no device"), std::string::npos);
    EXPECT_NE(text.find("Applied (system)"), std::string::npos);
    EXPECT_EQ(measurement_settings(measurement_of(lines), "original"), "seq_page_cost = 0.5\n");
    const Json stopped = measurement_of({lines.begin(), lines.begin() + 2});
    EXPECT_NE(measurement_text(stopped).find("stopped before its end"), std::string::npos);
    EXPECT_THROW(measurement_settings(stopped, "original"), CheckpointError);
}

} // namespace
} // namespace calibrate
