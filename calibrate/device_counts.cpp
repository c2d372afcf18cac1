#include "device_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace calibrate {
namespace {

using tier::Count;
using tier::Stage;

constexpr const char *phases[6] = {"Start Time", "Feed Time", "Texts Time", "Run Time", "Fetch Time", "Emit Time"};
constexpr double tolerance = 0.1;        // between what was expected and what happened
constexpr double relative_error = 0.05;  // of a time that was measured
constexpr double least_error_ms = 0.005; // ... which is never better than that
constexpr double measured_spread = 0.2;  // of the logarithm of what was measured by itself
constexpr double least_part = 0.1;       // of a query's time: what takes less is not told from what no count has
constexpr int rounds = 5;                // of asking which side is the slowest

std::optional<Count> count_of(const std::string &name) {
    for (int i = 0; i < tier::counts; ++i)
        if (name == tier::info(static_cast<Count>(i)).name)
            return static_cast<Count>(i);
    return std::nullopt;
}

std::optional<Stage> stage_of(const std::string &name) {
    for (int i = 0; i < tier::stages; ++i)
        if (name == tier::name_of(static_cast<Stage>(i)))
            return static_cast<Stage>(i);
    return std::nullopt;
}

// What is not what happens in one execution: kernels, of which the model charges a part only, as they are mostly there already, and first
// looks at pages, which the session of all executions had at the first one.
bool is_expectation(Count count) { return count == Count::KernelCompiled || count == Count::PageTouched; }

using Amounts = std::vector<double>;

void add(Amounts &to, const tier::Breakdown &counts, Stage stage) {
    for (int c = 0; c < tier::counts; ++c)
        to[static_cast<size_t>(c)] += counts.amount[static_cast<int>(stage)][c];
}

// What is side by side while pages are brought.
enum Side { Feeding, Link, Decoding, Alone };
Side side_of(Count count) {
    switch (count) {
    case Count::LinkSeqRead:
        return Link;
    case Count::PageDecoded:
    case Count::ValueDecoded:
        return Decoding;
    case Count::TeamStarted:
        return Alone;
    default:
        return Feeding;
    }
}

// Of bringing: the counts of the slowest side, and those beside no other.
Amounts bringing(const tier::Breakdown &counts, const std::vector<double> &prices) {
    const double(&feed)[tier::counts] = counts.amount[static_cast<int>(Stage::Feed)];
    std::array<double, 3> ns{};
    for (int c = 0; c < tier::counts; ++c)
        if (const Side side = side_of(static_cast<Count>(c)); side != Alone && !is_expectation(static_cast<Count>(c)))
            ns[side] += feed[c] * prices[static_cast<size_t>(c)];
    const auto slowest = static_cast<Side>(std::max_element(ns.begin(), ns.end()) - ns.begin());
    Amounts amounts(tier::counts, 0);
    for (int c = 0; c < tier::counts; ++c)
        if (const Side side = side_of(static_cast<Count>(c)); side == slowest || side == Alone)
            amounts[static_cast<size_t>(c)] = feed[c];
    add(amounts, counts, Stage::Texts);
    return amounts;
}

class Equations {
  public:
    explicit Equations(const DeviceWeights &known) : known_(known) {}

    void add(Amounts amounts, double ms, double query_ms) {
        bool some = false;
        for (int c = 0; c < tier::counts; ++c) {
            const Count count = static_cast<Count>(c);
            double &amount = amounts[static_cast<size_t>(c)];
            if (amount <= 0)
                continue;
            if (tier::info(count).tier == tier::Tier::Storage || count == Count::PlanCost)
                return; // its price is the planner's
            amount = is_expectation(count) ? 0 : amount / known_.divisor[static_cast<size_t>(c)];
            some = some || amount > 0;
        }
        if (!some || ms <= 0)
            return;
        const double error = std::max(relative_error * std::max(ms, relative_error * query_ms), least_error_ms);
        equations_.push_back({std::move(amounts), ms * 1e6, error * 1e6});
    }
    const std::vector<Equation> &all() const { return equations_; }

  private:
    const DeviceWeights &known_;
    std::vector<Equation> equations_;
};

std::vector<Equation> equations_of(const std::vector<DeviceQuery> &queries, const DeviceWeights &known,
                                   const std::vector<double> &prices) {
    Equations equations(known);
    for (const DeviceQuery &q : queries) {
        if (q.cold) {
            equations.add(bringing(q.counts, prices), q.bring_ms, q.bring_ms + q.run_ms);
            continue;
        }
        Amounts fetch(tier::counts, 0), rest(tier::counts, 0);
        add(fetch, q.counts, Stage::Fetch);
        for (const Stage s :
             {Stage::Start, Stage::Scan, Stage::Build, Stage::Probe, Stage::Group, Stage::Sort, Stage::Emit})
            add(rest, q.counts, s);
        equations.add(std::move(fetch), q.fetch_ms, q.total_ms);
        equations.add(std::move(rest), q.total_ms - q.fetch_ms, q.total_ms);
    }
    return equations.all();
}

double number(const Json &json, const char *name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

bool near(double a, double b) { return std::fabs(a - b) <= tolerance * std::max({a, b, 10.0}); }

// Of the pages that the process with most of them finds, workers (w beside the backend) find a share of w / (1 + w) (Ledger::bring).
double expected_feed_workers(const tier::Breakdown &counts) {
    const auto amount = [&](Count c) { return counts.amount[static_cast<int>(Stage::Feed)][static_cast<int>(c)]; };
    const double pages = amount(Count::PageFound), in_team = amount(Count::PageInTeam);
    return in_team > 0 && pages > in_team ? std::round(in_team / (pages - in_team)) : 0;
}

// The plan that answers when a device cannot is below it, too, and is not executed.
void add_workers(const Json &plan, DeviceRun *run) {
    const auto below = plan.find("Plans");
    if (below == plan.end())
        return;
    for (const Json &child : *below)
        if (number(child, "Actual Loops") > 0) {
            run->workers += number(child, "Workers Launched");
            run->expected_workers += number(child, "Workers Planned");
            add_workers(child, run);
        }
}

bool has_table(const Json &step) { return step.contains("Table"); }

// EXPLAIN ends a table's description with this word.
bool is_kept(const Json &step) {
    const std::string table = step.value("Table", ""), word = ", kept";
    return table.size() >= word.size() && table.compare(table.size() - word.size(), word.size(), word) == 0;
}

} // namespace

std::optional<DeviceRun> device_run(const Json &explained, std::string *why) {
    const Json &plan = explained.at(0).at("Plan");
    if (plan.value("Custom Plan Provider", "") != "GpuScan") {
        *why = "the device does not run all of it";
        return std::nullopt;
    }
    if (plan.contains("Fallback") || !plan.contains("Actual") || !plan.contains("Estimated Work")) {
        *why = "the device gave up: " + plan.value("Fallback", "no reason told");
        return std::nullopt;
    }
    DeviceRun run{};
    for (const Json &part : plan.at("Estimated Work")) {
        const std::optional<Stage> stage = stage_of(part.at("Stage"));
        const std::optional<Count> count = count_of(part.at("Work"));
        if (stage && count)
            run.counts.amount[static_cast<int>(*stage)][static_cast<int>(*count)] += number(part, "Amount");
    }
    const Json &actual = plan.at("Actual"), &estimated = plan.at("Estimated");
    for (int i = 0; i < 6; ++i)
        run.phase_ms[i] = number(actual, phases[i]);
    run.pages = number(actual, "Pages Brought");
    run.expected_pages = number(estimated, "Pages Brought");
    run.rows = number(plan, "Actual Rows");
    run.expected_rows = number(plan, "Plan Rows");
    run.feed_workers = number(plan, "Feed Workers");
    run.expected_feed_workers = expected_feed_workers(run.counts);
    add_workers(plan, &run);
    const Json steps = plan.value("Steps", Json::array());
    run.tables = static_cast<int>(std::count_if(steps.begin(), steps.end(), has_table));
    run.tables_kept = static_cast<int>(std::count_if(steps.begin(), steps.end(), is_kept));
    run.compile_ms = number(plan, "Device Compile Time");
    run.total_ms = number(explained.at(0), "Execution Time");
    run.device = plan.value("Device", "");
    return run;
}

std::string unexpected(const DeviceRun &run) {
    if (!near(run.pages, run.expected_pages) || !near(run.rows, run.expected_rows))
        return "pages or rows are not what was estimated";
    if (run.feed_workers != run.expected_feed_workers)
        return "feeding workers are not as many as were planned";
    if (run.workers != run.expected_workers)
        return "parallel workers are not as many as were planned";
    if (run.tables_kept > 0 && rows_built(run.counts) > 0)
        return "the table of a join was not built: it was kept";
    if (run.tables_kept < run.tables && rows_built(run.counts) == 0)
        return "the table of a join was built: it was not kept any more";
    return "";
}

double rows_built(const tier::Breakdown &counts) {
    return counts.amount[static_cast<int>(Stage::Build)][static_cast<int>(Count::RowBuilt)];
}

FittedDevice fit_device(const std::vector<DeviceQuery> &queries, const DeviceWeights &known) {
    std::vector<double> weights = known.ns, prior = known.ns;
    for (int c = 0; c < tier::counts; ++c)
        if (!tier::in_profile(c, known.gpu) || is_expectation(static_cast<Count>(c)))
            prior[static_cast<size_t>(c)] = 0;
    // The device process has measured memory and links by themselves (engine/cost/tier_measure.hpp), better than queries can.
    std::vector<double> spreads(tier::counts, open_spread);
    for (int c = 0; c < tier::counts; ++c) {
        const tier::Tier tier = tier::info(static_cast<Count>(c)).tier;
        if (tier == tier::Tier::Memory || tier == tier::Tier::Link)
            spreads[static_cast<size_t>(c)] = measured_spread;
    }
    FittedDevice fitted;
    for (int round = 0; round < rounds; ++round) {
        std::vector<double> prices(weights.size());
        for (size_t c = 0; c < weights.size(); ++c)
            prices[c] = weights[c] / known.divisor[c];
        fitted.weights = fit_weights(equations_of(queries, known, prices), prior, spreads, least_part);
        const std::vector<double> before = weights;
        for (size_t c = 0; c < weights.size(); ++c)
            if (fitted.weights[c].verdict != Verdict::Unseen)
                weights[c] = fitted.weights[c].value;
        if (weights == before)
            break;
    }
    for (size_t c = 0; c < weights.size(); ++c)
        if (fitted.weights[c].verdict == Verdict::Unseen)
            fitted.weights[c].value = fitted.weights[c].low = fitted.weights[c].high = known.ns[c];
    return fitted;
}

} // namespace calibrate
