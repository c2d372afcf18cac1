// What a calibration writes down in the end. Part of calibration.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/regret/plan_tree.hpp"
#include "calibration.hpp"
#include "plan_words.hpp"
#include "significance.hpp"

namespace calibrate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

} // namespace

// Costs and plans under these weights. Nothing where the planner chooses another plan by now, or the server cannot be asked: a report
// can do without.
std::vector<Calibration::Predicted> Calibration::predict(const Weights &weights, const Plans &plans) {
    std::vector<Predicted> all(plans.size());
    try {
        session_.set_weights(model_, weights);
        for (size_t q = 0; q < plans.size(); ++q) {
            if (left_out_[q])
                continue;
            std::string json = session_.explain(queries_[q].statement.text, "COSTS ON");
            const bench::PlanTree tree = bench::read_plan(json);
            if (bench::hash_of(tree.text) == plans[q])
                all[q] = {tree.cost, std::move(json)};
        }
    } catch (const std::runtime_error &) {
    }
    return all;
}

void Calibration::write_result(bool complete, const Candidate &best, const Plans &plans,
                               const std::vector<Totals> &rounds) {
    const auto number = [](std::optional<double> ms) { return ms && std::isfinite(*ms) ? Json(*ms) : Json(nullptr); };
    const std::vector<Predicted> now = predict(present_, present_plans_), then = predict(best.weights, plans);
    struct Sum {
        double ms = 0;
        void add(std::optional<double> t, double weight) { ms += weight * t.value_or(infinite); }
    } by_default, by_present, by_best;
    Json queries = Json::array();
    for (size_t q = 0; q < queries_.size(); ++q) {
        Json line = {{"name", queries_[q].name}, {"weight", queries_[q].weight}, {"left_out", bool(left_out_[q])}};
        if (!left_out_[q]) {
            const auto present_ms = cache_.time(q, present_plans_[q]), best_ms = cache_.time(q, plans[q]);
            by_default.add(default_ms_[q], queries_[q].weight);
            by_present.add(present_ms, queries_[q].weight);
            by_best.add(best_ms, queries_[q].weight);
            line.update({{"default_ms", number(default_ms_[q])},
                         {"present_ms", number(present_ms)},
                         {"best_ms", number(best_ms)},
                         {"samples", cache_.samples(q, plans[q])},
                         {"plans", cache_.plans(q)},
                         {"changed", plans[q] != present_plans_[q]},
                         {"present_plan", cache_.outline(q, present_plans_[q])},
                         {"best_plan", cache_.outline(q, plans[q])},
                         {"present_cost", number(now[q].cost)},
                         {"best_cost", number(then[q].cost)},
                         {"words", Json::array()}});
            if (plans[q] != present_plans_[q] && !now[q].json.empty() && !then[q].json.empty())
                line["words"] = differences(now[q].json, then[q].json);
        }
        queries.push_back(std::move(line));
    }
    Json pairs = Json::array();
    std::vector<Pair> ratios;
    for (const Totals &t : rounds) {
        pairs.push_back({t.present, t.best});
        ratios.push_back({t.present, t.best});
    }
    Json walks = Json::array();
    for (size_t walk = 1; walk <= plan_.seeds; ++walk)
        if (const auto found = this->best(walk))
            walks.push_back({{"walk", walk},
                             {"objective_ms", (*found)->second.value},
                             {"weights", named((*found)->second.weights)}});
    Json line = {
        {"type", "result"},
        {"ended", utc_now()},
        {"s", elapsed_s()},
        {"complete", complete},
        {"weights", named(best.weights)},
        {"objective_ms", best.value},
        {"total_ms",
         {{"defaults", number(by_default.ms)}, {"present", number(by_present.ms)}, {"best", number(by_best.ms)}}},
        {"rounds_ms", pairs},
        {"ratio", nullptr},
        {"executions", executions_},
        {"cycles", cycles_},
        {"pairs", cycles_ * static_cast<size_t>(std::count(left_out_.begin(), left_out_.end(), false))},
        {"walks", walks},
        {"queries", queries}};
    if (const auto interval = ratio_interval(ratios))
        line["ratio"] = {{"estimate", interval->ratio}, {"low", interval->low}, {"high", interval->high}};
    checkpoint_.append(line);
}

} // namespace calibrate
