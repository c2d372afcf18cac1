#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "bench/common/configurations.hpp"
#include "bench/common/sample.hpp"
#include "bench/regret/statistics.hpp"
#include "progress.hpp"
#include "weights.hpp"

namespace calibrate {
namespace {

template <typename... A> std::string format(const char *pattern, A... arguments) {
    char text[512];
    std::snprintf(text, sizeof text, pattern, arguments...);
    return text;
}

std::string ms_text(const Json &ms) { return ms.is_number() ? duration_text(ms.get<double>()) : "-"; }

std::string gain_text(const Json &ratio) {
    return format("%+.1f %% (95 %% confidence: %+.1f to %+.1f %%)", 100 * (ratio["estimate"].get<double>() - 1),
                  100 * (ratio["low"].get<double>() - 1), 100 * (ratio["high"].get<double>() - 1));
}

std::string verdict(const Json &result, const Json &plan) {
    if (!result["complete"].get<bool>())
        return "The calibration was stopped before the gain was verified; go on with --resume.\n";
    const Json &ratio = result["ratio"];
    if (ratio.is_null())
        return "The best weights choose the plans of the present settings: there is nothing to gain by these "
               "weights.\n";
    return "Measured in " + std::to_string(plan["rounds"].get<int>()) + " rounds, in turns: total time " +
           gain_text(ratio) + "." + (ratio["high"].get<double>() < 1 ? "\n" : " That is within the noise.\n");
}

Json correlation_of(const Json &queries, const char *cost, const char *ms) {
    constexpr double tie = 0.05; // times that are as near as this have no order
    std::vector<bench::Ranked> plans;
    for (const Json &q : queries)
        if (q.contains(cost) && q[cost].is_number() && q[ms].is_number())
            plans.push_back({q[cost], q[ms], false});
    const std::optional<double> tau = bench::rank_correlation(plans, tie);
    return tau ? Json(*tau) : Json(nullptr);
}

// ": lineitem in sequence instead of by index ..., ..."; '' where nothing was written down.
std::string words_of(const Json &query) {
    std::string text;
    for (const Json &word : query.value("words", Json::array()))
        text += (text.empty() ? ": " : "; ") + word.get<std::string>();
    return text;
}

std::string results_text(const Json &results) {
    std::string text = format("\n%-22s %6s %10s %10s %10s %9s\n", "held-out seeds", "seeds", "median s", "least s",
                              "most s", "timeouts");
    for (const Json &c : results["configurations"]) {
        std::vector<double> totals;
        for (const auto &[seed, total] : c["totals_s"].items())
            totals.push_back(total);
        text += format("%-22s %6zu", c["name"].get<std::string>().c_str(), totals.size());
        if (!totals.empty())
            text += format(" %10.2f %10.2f %10.2f %9zu", bench::median(totals),
                           *std::min_element(totals.begin(), totals.end()),
                           *std::max_element(totals.begin(), totals.end()), c["timeouts"].get<size_t>());
        text += "\n";
    }
    for (const Json &p : results["pairs"]) {
        text += p["name"].get<std::string>() + " / " + p["to"].get<std::string>() + ": ";
        if (p["ratio"].is_null()) {
            text += "no seed is complete in both\n";
            continue;
        }
        text += format("%.3f", p["ratio"].get<double>());
        if (p["low"].is_number())
            text += format(" (95 %%: %.3f to %.3f)", p["low"].get<double>(), p["high"].get<double>());
        text += format(", U-test: p %.4g%s, %zu of %zu plans the same\n", p["p"].get<double>(),
                       p["exact"].get<bool>() ? "" : " (approximate)", p["same_plans"].get<size_t>(),
                       p["plans"].get<size_t>());
    }
    return text;
}

} // namespace

void add_results(Json &summary, const bench::Configurations &all) {
    Json configurations = Json::array(), pairs = Json::array();
    for (const std::string &name : all.names) {
        Json totals = Json::object();
        for (const auto &[seed, total] : all.totals(name))
            totals[seed] = total;
        configurations.push_back({{"name", name}, {"totals_s", totals}, {"timeouts", all.cut_off(name)}});
    }
    for (size_t i = 0; i < all.names.size(); ++i)
        for (size_t j = i + 1; j < all.names.size(); ++j) {
            const bench::ConfigurationPair c = bench::compare(all, all.names[i], all.names[j]);
            Json pair = {{"name", all.names[j]},
                         {"to", all.names[i]},
                         {"ratio", nullptr},
                         {"low", nullptr},
                         {"high", nullptr},
                         {"u", c.test.u},
                         {"of", c.of},
                         {"p", c.test.p},
                         {"exact", c.test.exact},
                         {"same_plans", c.same_plans},
                         {"plans", c.plans}};
            if (c.ratio.pairs > 0)
                pair["ratio"] = c.ratio.value;
            if (c.ratio.factor > 0) {
                pair["low"] = c.ratio.value / c.ratio.factor;
                pair["high"] = c.ratio.value * c.ratio.factor;
            }
            pairs.push_back(pair);
        }
    summary["results"] = {{"configurations", configurations}, {"pairs", pairs}};
}

Json summary_of(const std::vector<Json> &lines) {
    const Json &head = lines.at(0);
    Json s = {{"started", head.at("started")},
              {"plan", head.at("plan")},
              {"server", head.at("server")},
              {"defaults", head.at("defaults")},
              {"present", head.at("present")},
              {"start", head.at("start")},
              {"executions", 0},
              {"cycles", 0},
              {"applied", nullptr},
              {"result", nullptr},
              {"correlation", {{"present", nullptr}, {"best", nullptr}}},
              {"trace", Json::array()}};
    size_t executions = 0, cycles = 0;
    for (const Json &line : lines) {
        const std::string type = line.at("type");
        if (type == "execution") {
            ++executions;
        } else if (type == "cycle") {
            ++cycles;
            s["trace"].push_back(line);
            s["trace"].back().erase("type");
        } else if (type == "result") {
            s["result"] = line;
            s["result"].erase("type");
            s["correlation"] = {{"present", correlation_of(line.at("queries"), "present_cost", "present_ms")},
                                {"best", correlation_of(line.at("queries"), "best_cost", "best_ms")}};
        } else if (type == "apply") {
            s["applied"] = line;
            s["applied"].erase("type");
        } else if (type == "undo") {
            s["applied"] = nullptr;
        }
    }
    s["executions"] = executions;
    s["cycles"] = cycles;
    return s;
}

bool is_complete(const Json &summary) {
    return !summary["result"].is_null() && summary["result"]["complete"].get<bool>();
}

std::string report_text(const Json &summary) {
    const Json &plan = summary["plan"], &result = summary["result"];
    std::string text = "Calibration of the " + plan["model"].get<std::string>() + " model, database \"" +
                       summary["server"]["database"].get<std::string>() + "\", begun " +
                       summary["started"].get<std::string>() + "\n";
    if (result.is_null())
        return text + "Not finished: " + std::to_string(summary["executions"].get<size_t>()) + " executions and " +
               std::to_string(summary["cycles"].get<size_t>()) + " cycles are done. Go on with --resume.\n";
    const size_t pairs = result["pairs"], executions = result["executions"];
    text += format("%zu cycles; %zu executions instead of %zu", result["cycles"].get<size_t>(), executions,
                   std::max(pairs, executions));
    if (pairs > 0)
        text += format(" (%.1f %%)", 100.0 * static_cast<double>(executions) / static_cast<double>(pairs));
    text += "; " + duration_text(1000 * result.value("s", 0.0)) + "\n\n";

    text += format("%-32s %12s %12s %12s %12s\n", "weight", "default", "present", "start", "best");
    for (const auto &[setting, value] : result["weights"].items())
        text +=
            format("%-32s %12s %12s %12s %12s\n", setting.c_str(), number_text(summary["defaults"][setting]).c_str(),
                   number_text(summary["present"][setting]).c_str(), number_text(summary["start"][setting]).c_str(),
                   number_text(value).c_str());

    const bool weighted = std::any_of(result["queries"].begin(), result["queries"].end(),
                                      [](const Json &q) { return q.value("weight", 1.0) != 1; });
    size_t wide = 16;
    for (const Json &q : result["queries"])
        wide = std::max(wide, q["name"].get<std::string>().size());
    const int width = static_cast<int>(wide);
    text += format("\n%-*s %12s %12s %12s %9s %6s%s\n", width, "query", "defaults", "present", "best", "speed-up",
                   "plans", weighted ? "       calls" : "");
    std::string changes;
    for (const Json &q : result["queries"]) {
        const std::string name = q["name"];
        if (q["left_out"].get<bool>()) {
            text += format("%-*s left out: no plan of it ended\n", width, name.c_str());
            continue;
        }
        const bool changed = q["changed"];
        std::string speedup = "same plan";
        if (changed)
            speedup = q["present_ms"].is_number() && q["best_ms"].is_number()
                          ? format("%.2f", q["present_ms"].get<double>() / q["best_ms"].get<double>())
                          : "-";
        text += format("%-*s %12s %12s %12s %9s %6zu", width, name.c_str(), ms_text(q["default_ms"]).c_str(),
                       ms_text(q["present_ms"]).c_str(), ms_text(q["best_ms"]).c_str(), speedup.c_str(),
                       q["plans"].get<size_t>());
        text += weighted ? format(" %11.0f\n", q.value("weight", 1.0)) : "\n";
        if (changed)
            changes += name + words_of(q) + "\n  now:  " + q["present_plan"].get<std::string>() +
                       "\n  then: " + q["best_plan"].get<std::string>() + "\n";
    }
    const Json &total = result["total_ms"];
    text +=
        format("%-*s %12s %12s %12s\n", width, weighted ? "total of calls" : "total",
               ms_text(total["defaults"]).c_str(), ms_text(total["present"]).c_str(), ms_text(total["best"]).c_str());
    if (!changes.empty())
        text += "\nPlans that change:\n" + changes;
    const Json &tau = summary["correlation"];
    if (tau["present"].is_number() && tau["best"].is_number())
        text += format("\nCosts rank the queries' times by %.2f under the present weights, by %.2f under the best ones "
                       "(rank correlation, 1: as they are).\n",
                       tau["present"].get<double>(), tau["best"].get<double>());
    text += "\n" + verdict(result, plan);
    if (summary.contains("results"))
        text += results_text(summary["results"]);
    if (!summary["applied"].is_null())
        text += "Applied (" + summary["applied"]["scope"].get<std::string>() + "); undo takes it back.\n";
    return text;
}

std::string report_settings(const Json &summary) {
    if (summary["result"].is_null())
        throw CheckpointError("there is no result yet; go on with --resume");
    std::string text;
    for (const auto &[setting, value] : summary["result"]["weights"].items())
        text += setting + " = " + number_text(value) + "\n";
    return text;
}

} // namespace calibrate
