#include "page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "html.hpp"
#include "report.hpp"
#include "weights.hpp"

namespace calibrate {
namespace {

using html::escaped;

constexpr double width = 760, height = 240, left = 70, right = 10, top = 10, bottom = 30;
const char *const colors[] = {"#1b6ca8", "#c0392b", "#27824a", "#8e44ad", "#b9770e", "#117a8b", "#7f5539", "#555555"};

std::string fixed(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

struct Series {
    std::string name;
    std::vector<std::optional<double>> values; // positive; nothing: no point there
    bool dots = false;                         // points instead of a line
};

std::string text_at(double x, double y, const char *anchor, const std::string &text) {
    return "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" text-anchor=\"" + anchor + "\">" + escaped(text) +
           "</text>";
}

std::string legend(const std::vector<Series> &all) {
    std::string text = "<p class=\"legend\">";
    for (size_t s = 0; s < all.size(); ++s)
        text += std::string("<span style=\"color:") + colors[s % (sizeof colors / sizeof *colors)] + "\">&#9632; " +
                escaped(all[s].name) + "</span> ";
    return text + "</p>\n";
}

// From the first to the last of what the labels say; values on a logarithmic axis, since they differ by magnitudes.
std::string chart(const std::vector<Series> &all, const std::string &first, const std::string &last) {
    double low = INFINITY, high = 0;
    size_t n = 0;
    for (const Series &s : all) {
        n = std::max(n, s.values.size());
        for (const auto &v : s.values)
            if (v && *v > 0) {
                low = std::min(low, *v);
                high = std::max(high, *v);
            }
    }
    if (!(low <= high))
        return "<p>(no values)</p>\n";
    const double from = std::log10(low) - 0.02, to = std::log10(high) + 0.02;
    const auto x_of = [&](size_t i) {
        return left + (width - left - right) * static_cast<double>(i) / static_cast<double>(std::max<size_t>(n - 1, 1));
    };
    const auto y_of = [&](double v) { return top + (height - top - bottom) * (to - std::log10(v)) / (to - from); };
    std::string svg = "<svg viewBox=\"0 0 " + fixed(width) + " " + fixed(height) + "\" role=\"img\">";
    for (int i = 0; i <= 4; ++i) {
        const double v = std::pow(10, from + (to - from) * i / 4);
        svg += "<line class=\"grid\" x1=\"" + fixed(left) + "\" x2=\"" + fixed(width - right) + "\" y1=\"" +
               fixed(y_of(v)) + "\" y2=\"" + fixed(y_of(v)) + "\"/>";
        char label[32];
        std::snprintf(label, sizeof label, "%.3g", v);
        svg += text_at(left - 6, y_of(v) + 4, "end", label);
    }
    svg += text_at(left, height - 8, "start", first) + text_at(width - right, height - 8, "end", last);
    for (size_t s = 0; s < all.size(); ++s) {
        const std::string color = colors[s % (sizeof colors / sizeof *colors)];
        std::string line;
        for (size_t i = 0; i < all[s].values.size(); ++i) {
            const auto &v = all[s].values[i];
            if (!v || !(*v > 0))
                continue;
            if (all[s].dots)
                svg += "<circle cx=\"" + fixed(x_of(i)) + "\" cy=\"" + fixed(y_of(*v)) + "\" r=\"1.5\" fill=\"" +
                       color + "\"/>";
            else
                line += (line.empty() ? "" : " ") + fixed(x_of(i)) + "," + fixed(y_of(*v));
        }
        if (!line.empty())
            svg += "<polyline fill=\"none\" stroke=\"" + color + "\" points=\"" + line + "\"/>";
    }
    return svg + "</svg>\n" + legend(all);
}

std::optional<double> number(const Json &value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// The walk: what was tried, the best so far, and the weights of what was accepted.
std::string search(const Json &summary) {
    Series tried{"tried", {}, true}, best{"best", {}, false};
    std::vector<Series> weights;
    for (const auto &[setting, value] : summary["start"].items())
        weights.push_back({setting, {}, false});
    const Json &trace = summary["trace"];
    const size_t step = trace.size() / 2000 + 1; // a page for eyes
    for (size_t i = 0; i < trace.size(); i += step) {
        tried.values.push_back(number(trace[i]["value"]));
        best.values.push_back(number(trace[i]["best"]));
        for (size_t w = 0; w < weights.size(); ++w)
            weights[w].values.push_back(trace[i]["accepted"].get<bool>() ? number(trace[i]["weights"][w])
                                                                         : std::nullopt);
    }
    return "<h2>Search</h2>\n<p>Objective, ms: total time of the workload, and the penalty for queries that are slower "
           "than under "
           "PostgreSQL's defaults. Only configurations whose plans all were measured have a value.</p>\n" +
           chart({tried, best}, "cycle 1", std::to_string(trace.size())) +
           "<p>Weights of the configurations that were accepted.</p>\n" +
           chart(weights, "cycle 1", std::to_string(trace.size()));
}

// The paper's figure 1: total times of the configurations, for each seed.
std::string held_out(const Json &results) {
    std::vector<Series> all;
    std::vector<std::string> seeds;
    for (const Json &c : results["configurations"])
        for (const auto &[seed, total] : c["totals_s"].items())
            if (std::find(seeds.begin(), seeds.end(), seed) == seeds.end())
                seeds.push_back(seed);
    for (const Json &c : results["configurations"]) {
        Series s{c["name"], {}, false};
        for (const std::string &seed : seeds)
            s.values.push_back(c["totals_s"].contains(seed) ? number(c["totals_s"][seed]) : std::nullopt);
        all.push_back(std::move(s));
    }
    if (seeds.empty())
        return "";
    return "<h2>Seeds that were not calibrated with</h2>\n<p>Total time of all queries, s; the comparison is in the "
           "report "
           "below.</p>\n" +
           chart(all, "seed " + seeds.front(), "seed " + seeds.back());
}

// Costs to the right, times upwards, both in magnitudes: a point for each query.
std::string predictions(const Json &summary) {
    struct Point {
        double cost, ms;
    };
    std::vector<Point> points[2];
    double low_x = INFINITY, high_x = 0, low_y = INFINITY, high_y = 0;
    const char *const names[][2] = {{"present_cost", "present_ms"}, {"best_cost", "best_ms"}};
    for (const Json &q : summary["result"]["queries"])
        for (int i = 0; i < 2; ++i) {
            const auto cost = number(q.value(names[i][0], Json())), ms = number(q.value(names[i][1], Json()));
            if (!cost || !ms || !(*cost > 0) || !(*ms > 0))
                continue;
            points[i].push_back({*cost, *ms});
            low_x = std::min(low_x, *cost), high_x = std::max(high_x, *cost);
            low_y = std::min(low_y, *ms), high_y = std::max(high_y, *ms);
        }
    if (!(low_x < high_x) || !(low_y < high_y))
        return "";
    const auto share = [](double v, double low, double high) { return std::log(v / low) / std::log(high / low); };
    std::string svg =
        "<h2>Costs and times</h2>\n<p>A point for each query: the cost of its plan, and the time that it took; both "
        "axes by magnitudes.</p>\n<svg viewBox=\"0 0 " +
        fixed(width) + " " + fixed(height) + "\" role=\"img\">";
    for (int i = 0; i < 2; ++i)
        for (const Point &p : points[i])
            svg += "<circle cx=\"" + fixed(left + (width - left - right) * share(p.cost, low_x, high_x)) + "\" cy=\"" +
                   fixed(top + (height - top - bottom) * (1 - share(p.ms, low_y, high_y))) + "\" r=\"3\" fill=\"" +
                   colors[i] + "\"/>";
    char label[4][32];
    const double limits[] = {low_x, high_x, low_y, high_y};
    for (int i = 0; i < 4; ++i)
        std::snprintf(label[i], sizeof label[i], i < 2 ? "cost %.3g" : "%.3g ms", limits[i]);
    svg += text_at(left, height - 8, "start", label[0]) + text_at(width - right, height - 8, "end", label[1]) +
           text_at(left - 6, height - bottom, "end", label[2]) + text_at(left - 6, top + 8, "end", label[3]) +
           "</svg>\n";
    return svg + legend({{"present weights", {}, true}, {"best weights", {}, true}});
}

// A bar for each query whose plan changes, to the right where it is faster.
std::string speedups(const Json &result) {
    struct Bar {
        std::string name;
        double ratio;
    };
    std::vector<Bar> bars;
    double most = 0.1;
    for (const Json &q : result["queries"]) {
        if (q["left_out"].get<bool>() || !q["changed"].get<bool>() || !q["present_ms"].is_number() ||
            !q["best_ms"].is_number())
            continue;
        bars.push_back({q["name"], q["present_ms"].get<double>() / q["best_ms"].get<double>()});
        most = std::max(most, std::abs(std::log2(bars.back().ratio)));
    }
    if (bars.empty())
        return "";
    const double middle = width / 2, row = 20;
    std::string svg = "<h2>Speed-up by query</h2>\n<svg viewBox=\"0 0 " + fixed(width) + " " +
                      fixed(row * static_cast<double>(bars.size())) + "\" role=\"img\">";
    for (size_t i = 0; i < bars.size(); ++i) {
        const double y = row * static_cast<double>(i), length = std::log2(bars[i].ratio) / most * (middle - 130);
        char label[32];
        std::snprintf(label, sizeof label, "%.2f", bars[i].ratio);
        svg += "<rect x=\"" + fixed(std::min(middle, middle + length)) + "\" y=\"" + fixed(y + 3) + "\" width=\"" +
               fixed(std::abs(length)) + "\" height=\"" + fixed(row - 6) + "\" fill=\"" +
               (length >= 0 ? colors[2] : colors[1]) + "\"/>" + text_at(4, y + 14, "start", bars[i].name) +
               text_at(width - 4, y + 14, "end", label);
    }
    return svg + "</svg>\n";
}

} // namespace

std::string report_page(const Json &summary) {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
           "charset=\"utf-8\">\n<title>gpuscan-calibrate</title>\n<style>\n"
           "body { font: 15px/1.4 sans-serif; max-width: 820px; margin: 2em auto; padding: 0 1em; color: #222; "
           "background: #fff; }\n"
           "svg { width: 100%; font-size: 11px; } svg .grid { stroke: #ddd; } pre { overflow-x: auto; font-size: 12px; "
           "}\n"
           ".legend span { margin-right: 1em; white-space: nowrap; font-size: 13px; }\n"
           "</style>\n</head>\n<body>\n<h1>Calibration</h1>\n" +
           (summary.contains("results") ? held_out(summary["results"]) : "") +
           (summary["result"].is_null() ? "" : speedups(summary["result"]) + predictions(summary)) + search(summary) +
           "<h2>Report</h2>\n<pre>" + escaped(report_text(summary)) + "</pre>\n</body>\n</html>\n";
}

} // namespace calibrate
