#include "report.hpp"

#include <algorithm>
#include <cstdio>

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

} // namespace

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
            changes += name + "\n  now:  " + q["present_plan"].get<std::string>() +
                       "\n  then: " + q["best_plan"].get<std::string>() + "\n";
    }
    const Json &total = result["total_ms"];
    text +=
        format("%-*s %12s %12s %12s\n", width, weighted ? "total of calls" : "total",
               ms_text(total["defaults"]).c_str(), ms_text(total["present"]).c_str(), ms_text(total["best"]).c_str());
    if (!changes.empty())
        text += "\nPlans that change:\n" + changes;
    text += "\n" + verdict(result, plan);
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
