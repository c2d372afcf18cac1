#include "page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "calibrate/html.hpp"
#include "style.hpp"

namespace explain {
namespace {

using html::escaped;

constexpr double page_bytes = 8192; // of a server as it is usually built

// ---- numbers in words ----

std::string formatted(const char *format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string count_text(double value) {
    std::string digits = formatted(value == std::floor(value) ? "%.0f" : "%.2f", value);
    for (ptrdiff_t at = static_cast<ptrdiff_t>(std::min(digits.find('.'), digits.size())) - 3; at > (value < 0);
         at -= 3)
        digits.insert(static_cast<size_t>(at), "&#8239;"); // a narrow space
    return digits;
}

std::string ms_text(double ms) {
    return ms < 10 ? formatted("%.3f ms", ms) : ms < 1000 ? formatted("%.1f ms", ms) : formatted("%.2f s", ms / 1000);
}

std::string bytes_text(double bytes) {
    const char *const units[] = {"%.0f bytes", "%.1f kB", "%.1f MB", "%.1f GB", "%.2f TB"};
    int unit = 0;
    for (; unit < 4 && bytes >= 1024; ++unit)
        bytes /= 1024;
    return formatted(units[unit], bytes);
}

std::string some(double n, const char *one, const char *many) { return count_text(n) + ' ' + (n == 1 ? one : many); }

// ---- pieces of a page ----

std::string tagged(const std::string &tag, const std::string &inner) {
    return '<' + tag + '>' + inner + "</" + tag.substr(0, tag.find(' ')) + '>';
}

std::string classed(const char *tag, const char *name, const std::string &inner) {
    return tagged(std::string(tag) + " class=\"" + name + '"', inner);
}

std::string width(double share) {
    return "style=\"width:" + formatted("%.2f", 100 * std::clamp(share, 0.0, 1.0)) + "%\"";
}

std::string bar(const std::string &kind, double share) {
    return share > 0 ? "<i class=\"bar " + kind + "\" " + width(share) + "></i>" : "";
}

// A line of a chart: what, its bars, its value. All but the bars' kinds are HTML.
std::string chart_row(const std::string &name, const std::string &bars, const std::string &value,
                      const char *kind = "row") {
    return classed("div", kind,
                   classed("span", "name", name) + classed("span", "track", bars) + classed("span", "value", value));
}

struct Part {
    std::string kind, name;
    double ms;
};

// Parts side by side, with what they are.
std::string stack(const std::vector<Part> &parts) {
    double sum = 0;
    for (const Part &part : parts)
        sum += part.ms;
    if (!(sum > 0))
        return "";
    std::string bars, legend;
    for (const Part &part : parts) {
        if (!(part.ms > 0))
            continue;
        bars += bar(part.kind, part.ms / sum);
        legend += classed("span", "key",
                          "<i class=\"dot " + part.kind + "\"></i>" + part.name + ' ' + tagged("b", ms_text(part.ms)));
    }
    return classed("div", "stack", bars) + classed("p", "legend", legend);
}

std::string scalar(const Json &value) {
    return escaped(value.is_string() ? value.get<std::string>()
                                     : value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string joined(const Json &values) {
    if (!values.is_array())
        return scalar(values);
    std::string text;
    for (const Json &value : values)
        text += (text.empty() ? "" : ", ") + scalar(value);
    return text;
}

// ---- nodes ----

std::string title_of(const Node &node) {
    std::string title = node.text("Node Type"), kind = node.text("Partial Mode"), target;
    if (node.is_gpuscan())
        title = "GpuScan";
    else if (title == "Custom Scan" && !node.text("Custom Plan Provider").empty())
        title += " (" + node.text("Custom Plan Provider") + ')';
    if (!node.text("Join Type").empty() && node.text("Join Type") != "Inner")
        title = node.text("Join Type") + ' ' + title;
    if (!node.text("Strategy").empty() && node.text("Strategy") != "Plain")
        title = node.text("Strategy") + ' ' + title;
    if (!kind.empty() && kind != "Simple")
        title = kind + ' ' + title;
    const auto aware = node.keys.find("Parallel Aware");
    if (aware != node.keys.end() && *aware == true)
        title = "Parallel " + title;
    for (const char *key : {"Index Name", "Relation Name", "CTE Name", "Function Name"})
        if (!node.text(key).empty())
            target += (target.empty() ? "" : " on ") + node.text(key);
    if (!node.text("Alias").empty() && node.text("Alias") != node.text("Relation Name") &&
        node.text("Alias") != node.text("CTE Name") && node.text("Alias") != node.text("Function Name"))
        target += ' ' + node.text("Alias");
    return classed("span", "type", escaped(title)) + (target.empty() ? "" : classed("span", "target", escaped(target)));
}

const Json *group(const Node &node, const char *key) {
    const auto found = node.keys.find(key);
    return found != node.keys.end() && found->is_structured() ? &*found : nullptr;
}

double number(const Json &object, const char *key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json &object, const char *key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

enum class Answer { Device, CpuEngine, Fallback, Never, Planned };

Answer answer_of(const Node &node) {
    return !node.is_analyzed()              ? Answer::Planned
           : !node.is_executed()            ? Answer::Never
           : node.keys.contains("Fallback") ? Answer::Fallback
           : node.text("Device") == "host"  ? Answer::CpuEngine
                                            : Answer::Device;
}

std::string badge(const Node &node) {
    switch (answer_of(node)) {
    case Answer::Device:
        return classed("span", "badge gpu", escaped(node.text("Device")));
    case Answer::CpuEngine:
        return classed("span", "badge host", "CPU engine");
    case Answer::Fallback:
        return classed("span", "badge fell", "fell back");
    case Answer::Never:
        return classed("span", "badge", "never executed");
    default:
        return classed("span", "badge", "not executed");
    }
}

std::string device_in_words(const std::string &device) {
    return device == "host"   ? "the CPU engine (<code>Device: host</code>)"
           : device == "none" ? "none, because no device is ready"
                              : "the GPU " + escaped(device);
}

// What ran where, in a sentence.
std::string verdict(const Node &node) {
    std::string said, kind = "said";
    switch (answer_of(node)) {
    case Answer::Device:
        said = "Ran on the GPU " + tagged("b", escaped(node.text("Device"))) + '.';
        break;
    case Answer::CpuEngine:
        said = "Ran on <b>the CPU engine</b>, gpuscan's own on this machine's cores (<code>Device: host</code>). No "
               "GPU took part.";
        break;
    case Answer::Fallback:
        said = "<b>Fell back</b>: PostgreSQL's plan below answered instead of the device. Reason: " +
               tagged("b", escaped(node.text("Fallback"))) + '.';
        kind = "said fell";
        break;
    case Answer::Never:
        said = "Never executed: no row of the plan above asked for it.";
        break;
    case Answer::Planned:
        said = "Not executed (EXPLAIN without ANALYZE). The device that would be used now: " +
               device_in_words(node.text("Device")) + '.';
        break;
    }
    if (const auto n = node.number("CPU Executions"); n && *n > 0)
        said += " PostgreSQL's plan answered the first " + some(*n, "execution", "executions") +
                ", before the columns were brought.";
    if (const auto n = node.number("Device Executions"); n && *n > 1)
        said += " The fragment ran " + count_text(*n) + " times; the figures are those of the last time.";
    return classed("p", kind.c_str(), said);
}

// ---- time by stage ----

struct Stage {
    const char *key, *kind, *name, *what;
};
constexpr Stage stages[] = {
    {"Start Time", "s0", "Start", "opening the fragment and its tables, and init plans"},
    {"Feed Time", "s1", "Feed", "bringing pages, and rows of PostgreSQL's plans"},
    {"Texts Time", "s2", "Texts", "dictionaries of texts, and tables over them"},
    {"Run Time", "s3", "Run", "scan, build of join tables, probe, group, sort: as the backend waits for it"},
    {"Fetch Time", "s4", "Fetch", "results on their way to the backend"},
    {"Emit Time", "s5", "Emit", "making tuples"},
};

double estimated_stage_ms(const Json &work, const char *stage) {
    double ms = 0;
    for (const Json &part : work)
        if (part.is_object() && text(part, "Stage") == stage)
            ms += number(part, "Time");
    return ms;
}

// What the time of the device's run is made of.
std::string run_rows(const Node &node, double run_ms, double scale) {
    std::string rows;
    const double device = node.number("Device Run Time").value_or(0),
                 compile = node.number("Device Compile Time").value_or(0);
    const auto add = [&](const char *name, const char *kind, double ms) {
        rows += chart_row(name, bar(kind, ms / scale), ms_text(ms), "row inner");
    };
    if (run_ms > 0 && node.number("Device Run Time")) {
        add("Kernels", "s3", device);
        add("Compiling kernels", "s3 soft", compile);
        if (run_ms >= device + compile)
            add("Waiting", "wait", run_ms - device - compile);
    }
    if (const Json *work = group(node, "Estimated Work"))
        for (const auto &[stage, name] : {std::pair("scan", "Scan"),
                                          {"build", "Build of join tables"},
                                          {"probe", "Probe"},
                                          {"group", "Group"},
                                          {"sort", "Sort"}})
            if (const double ms = estimated_stage_ms(*work, stage); ms > 0)
                rows += chart_row(name, bar("estimate", ms / scale), ms_text(ms) + " estimated", "row inner");
    return rows;
}

std::string stage_chart(const Node &node) {
    const Json *actual = group(node, "Actual"), *estimated = group(node, "Estimated");
    if (actual == nullptr && estimated == nullptr)
        return answer_of(node) == Answer::Fallback || answer_of(node) == Answer::Never
                   ? ""
                   : classed("p", "note",
                             "EXPLAIN told no times of stages. They come with the options ANALYZE, COSTS and TIMING; "
                             "where rows are "
                             "hidden from the user, to superusers only.");
    std::vector<Part> parts;
    double scale = 1e-9;
    for (const Stage &stage : stages) {
        if (actual)
            parts.push_back({stage.kind, stage.name, number(*actual, stage.key)});
        for (const Json *times : {actual, estimated})
            if (times)
                scale = std::max(scale, number(*times, stage.key));
    }
    std::string rows;
    for (const Stage &stage : stages) {
        const double took = actual ? number(*actual, stage.key) : 0,
                     wanted = estimated ? number(*estimated, stage.key) : 0;
        const std::string value = (actual ? tagged("b", ms_text(took)) : "") +
                                  (estimated ? classed("small", "", ms_text(wanted) + " estimated") : "");
        rows += chart_row(
            std::string(stage.name) + classed("small", "", stage.what),
            (actual ? bar(stage.kind, took / scale) : "") + (estimated ? bar("estimate", wanted / scale) : ""), value);
        if (std::string(stage.key) == "Run Time")
            rows += run_rows(node, took, scale);
    }
    return tagged("h4", "Time by stage") + stack(parts) + classed("div", "chart", rows);
}

// ---- data by tier ----

struct Amount {
    std::string tier, what;
    double bytes;
};

std::vector<Amount> amounts_of(const Node &node) {
    const bool gpu = answer_of(node) == Answer::Device;
    const std::string device = gpu ? "device memory" : "host memory";
    std::vector<Amount> all;
    const auto add = [&](const std::string &tier, const char *key, const char *what, double unit) {
        if (const auto n = node.number(key); n && *n > 0)
            all.push_back({tier, what, *n * unit});
    };
    add("storage", "Shared Read Blocks", "pages read from storage or the system's cache", page_bytes);
    add("storage", "Temp Read Blocks", "temporary files read", page_bytes);
    add("storage", "Temp Written Blocks", "temporary files written", page_bytes);
    add("storage", "Rows Spilled", "rows in a temporary file", 1024);
    add("storage", "Groups Spilled", "groups in a temporary file", 1024);
    add("host memory", "Shared Hit Blocks", "pages found in shared_buffers", page_bytes);
    add("host memory", "Pages Decoded", "pages decoded for this query", page_bytes);
    add("host memory", "Pages Rowwise", "pages read row by row", page_bytes);
    add("link", "Link Bytes", "over the link to the GPU", 1);
    add(device, "Pages Cached", "pages whose columns were cached", page_bytes);
    if (const Json *steps = group(node, "Steps"))
        for (const Json &step : *steps)
            if (step.is_object() && number(step, "Table Size") > 0)
                all.push_back(
                    {device, "join table of " + escaped(text(step, "Source")), number(step, "Table Size") * 1024});
    return all;
}

std::string kind_of_tier(const std::string &tier) {
    static const std::map<std::string, std::string> kinds = {
        {"storage", "t0"}, {"host memory", "t1"}, {"link", "t2"},   {"device memory", "t3"},
        {"backend", "t4"}, {"processor", "t5"},   {"latency", "t6"}};
    const auto found = kinds.find(tier);
    return found == kinds.end() ? "wait" : found->second;
}

std::string tier_name(const std::string &tier) {
    return "<i class=\"dot " + kind_of_tier(tier) + "\"></i>" + escaped(tier);
}

std::string data_chart(const Node &node) {
    const std::vector<Amount> amounts = amounts_of(node);
    if (amounts.empty())
        return "";
    double most = 0;
    for (const Amount &amount : amounts)
        most = std::max(most, amount.bytes);
    std::string rows;
    for (const Amount &amount : amounts)
        rows += chart_row(tier_name(amount.tier) + classed("small", "", amount.what),
                          bar(kind_of_tier(amount.tier), amount.bytes / most), tagged("b", bytes_text(amount.bytes)));
    return tagged("h4", "Data by tier") + classed("div", "chart", rows);
}

std::string estimated_tiers(const Node &node) {
    const Json *work = group(node, "Estimated Work");
    if (work == nullptr)
        return "";
    struct Sum {
        double ms = 0, bytes = 0;
    };
    std::vector<std::pair<std::string, Sum>> sums; // in the order of the plan
    double most = 1e-9;
    for (const Json &part : *work) {
        const std::string tier = part.is_object() ? text(part, "Tier") : "";
        if (tier.empty())
            continue;
        auto found = std::find_if(sums.begin(), sums.end(), [&](const auto &sum) { return sum.first == tier; });
        if (found == sums.end())
            found = sums.insert(sums.end(), {tier, Sum()});
        found->second.ms += number(part, "Time");
        if (text(part, "Unit") == "byte")
            found->second.bytes += number(part, "Amount");
        most = std::max(most, found->second.ms);
    }
    std::string rows;
    for (const auto &[tier, sum] : sums)
        rows += chart_row(tier_name(tier), bar(kind_of_tier(tier), sum.ms / most),
                          ms_text(sum.ms) + (sum.bytes > 0 ? classed("small", "", bytes_text(sum.bytes)) : ""));
    return tagged("h4", "Estimated work by tier") + classed("div", "chart", rows);
}

// ---- what else EXPLAIN says of a node ----

std::string steps_of(const Node &node) {
    const Json *steps = group(node, "Steps");
    if (steps == nullptr)
        return "";
    std::string items;
    for (const Json &step : *steps) {
        if (!step.is_object())
            continue;
        std::string head = text(step, "Step"), facts;
        if (text(step, "Join Type") != "" && text(step, "Join Type") != "Inner")
            head = text(step, "Join Type") + ' ' + head;
        if (number(step, "For Join") > 0)
            head += " for join " + formatted("%.0f", number(step, "For Join"));
        for (const auto &[key, value] : step.items()) {
            static const std::set<std::string> told = {"Step",     "Source",        "Columns",   "Join Type",
                                                       "For Join", "Table Entries", "Table Size"};
            if (told.count(key) == 0)
                facts += tagged("dt", escaped(key)) + tagged("dd", joined(value));
        }
        items += tagged("li", tagged("b", escaped(head)) + ' ' + escaped(text(step, "Source")) +
                                  (step.contains("Columns") ? classed("small", "", joined(step["Columns"])) : "") +
                                  (facts.empty() ? "" : tagged("dl", facts)));
    }
    return tagged("h4", "Steps of the fragment") + classed("ol", "steps", items);
}

std::string facts_of(const Node &node) {
    static const std::set<std::string> told = {"Node Type",
                                               "Custom Plan Provider",
                                               "Parent Relationship",
                                               "Subplan Name",
                                               "Parallel Aware",
                                               "Async Capable",
                                               "Strategy",
                                               "Partial Mode",
                                               "Join Type",
                                               "Relation Name",
                                               "Schema",
                                               "Alias",
                                               "Index Name",
                                               "CTE Name",
                                               "Function Name",
                                               "Actual Startup Time",
                                               "Actual Total Time",
                                               "Actual Rows",
                                               "Actual Loops",
                                               "Plan Rows",
                                               "Plan Width",
                                               "Startup Cost",
                                               "Total Cost",
                                               "Device",
                                               "Fallback",
                                               "Steps",
                                               "Estimated",
                                               "Actual",
                                               "Estimated Work",
                                               "Device Run Time",
                                               "Device Compile Time",
                                               "Link Bytes",
                                               "Device Executions",
                                               "CPU Executions"};
    std::string facts;
    for (const auto &[key, value] : node.keys.items()) {
        const bool nothing = value == 0 || value == false || (value.is_array() && value.empty());
        if (told.count(key) != 0 || nothing)
            continue;
        const std::string shown = value.is_number() ? count_text(value.get<double>()) : joined(value);
        facts += tagged("dt", escaped(key)) + tagged("dd", shown);
    }
    return facts.empty() ? "" : tagged("dl", facts);
}

std::string figures_of(const Node &node) {
    std::string figures;
    const auto rows = node.number("Actual Rows"), loops = node.number("Actual Loops"),
               wanted = node.number("Plan Rows");
    if (node.is_executed() && rows)
        figures += tagged("span", some(*rows, "row", "rows") +
                                      (*loops > 1 ? " &times; " + count_text(*loops) + " loops" : "") +
                                      (wanted ? classed("small", "", '(' + count_text(*wanted) + " estimated)") : ""));
    else if (wanted)
        figures += tagged("span", some(*wanted, "row", "rows") + classed("small", "", "(estimated)"));
    if (const auto cost = node.number("Total Cost"))
        figures += tagged("span", "cost " + count_text(*cost));
    return classed("span", "figures", figures);
}

std::string tree_of(const Node &node, double whole_ms);

std::string body_of(const Node &node) {
    std::string body;
    if (node.is_gpuscan()) {
        std::string charts;
        for (const std::string &chart : {data_chart(node), estimated_tiers(node)})
            charts += chart.empty() ? "" : tagged("div", chart);
        body += verdict(node) + stage_chart(node) + classed("div", "pair", charts) + steps_of(node);
    }
    body += facts_of(node);
    for (const Node &plan : node.cpu_plan)
        body +=
            classed("details", "cpu",
                    tagged("summary", "PostgreSQL's plan for the same rows, " +
                                          std::string(node.is_analyzed() ? "which was not executed" : "the CPU plan")) +
                        classed("ul", "tree", tree_of(plan, 0)));
    return body;
}

std::string tree_of(const Node &node, double whole_ms) {
    std::string line, role = node.text("Subplan Name");
    if (!role.empty())
        line += classed("span", "role", escaped(role));
    line += title_of(node) + (node.is_gpuscan() ? badge(node) : "");
    if (!node.is_gpuscan() && node.is_analyzed() && !node.is_executed())
        line += classed("span", "badge", "never executed");
    std::string times;
    if (node.is_executed() && whole_ms > 0)
        times = classed("span", "track", bar("whole", node.ms / whole_ms) + bar("own", node.own_ms / whole_ms)) +
                classed("span", "value",
                        tagged("b", ms_text(node.own_ms)) + classed("small", "", "of " + ms_text(node.ms)));
    const std::string body = body_of(node);
    const std::string summary = classed("span", "line", line + figures_of(node)) + classed("span", "times", times);
    std::string item =
        body.empty() ? classed("div", "leaf", summary)
                     : tagged(node.is_gpuscan() ? "details class=\"node gpuscan\" open" : "details class=\"node\"",
                              tagged("summary", summary) + classed("div", "body", body));
    std::string below;
    for (const Node &child : node.below)
        below += tree_of(child, whole_ms);
    return tagged("li", item + (below.empty() ? "" : tagged("ul", below)));
}

// ---- a whole plan ----

void collect_fragments(const Node &node, std::vector<const Node *> &found) {
    if (node.is_gpuscan())
        found.push_back(&node);
    for (const Node &below : node.below)
        collect_fragments(below, found);
}

double own_ms_of(const Node &node, bool fragments) {
    double ms = node.is_gpuscan() == fragments ? node.own_ms : 0;
    for (const Node &below : node.below)
        ms += own_ms_of(below, fragments);
    return ms;
}

std::string card(const char *name, const std::string &value) {
    return classed("div", "card", classed("span", "label", name) + tagged("b", value));
}

// In few words, where the fragments of a plan ran.
std::string places(const std::vector<const Node *> &fragments) {
    std::vector<std::string> all;
    for (const Node *node : fragments) {
        const Answer answer = answer_of(*node);
        const std::string place = answer == Answer::Device      ? escaped(node->text("Device"))
                                  : answer == Answer::CpuEngine ? "CPU engine"
                                  : answer == Answer::Fallback  ? "PostgreSQL (fallback)"
                                  : answer == Answer::Never     ? "never executed"
                                                                : "not executed";
        if (std::find(all.begin(), all.end(), place) == all.end())
            all.push_back(place);
    }
    std::string text;
    for (const std::string &place : all)
        text += (text.empty() ? "" : ", ") + place;
    return text.empty() ? "PostgreSQL alone" : text;
}

std::string section_of(const Plan &plan, const std::string &query) {
    std::vector<const Node *> fragments;
    collect_fragments(plan.root, fragments);
    const double planning = number(plan.about, "Planning Time"), execution = number(plan.about, "Execution Time");
    std::string cards = card("Ran on", places(fragments));
    if (execution > 0)
        cards += card("Execution", ms_text(execution));
    if (planning > 0)
        cards += card("Planning", ms_text(planning));
    cards += card("GpuScan nodes", count_text(static_cast<double>(fragments.size())));
    std::string text = classed("div", "cards", cards);
    if (fragments.empty())
        text += classed("p", "said",
                        "This plan has <b>no GpuScan node</b>: PostgreSQL runs it alone. "
                        "<code>SELECT * FROM gpuscan.advise('SELECT ...')</code> says why, and what would help.");
    for (const Node *node : fragments)
        if (answer_of(*node) == Answer::Fallback)
            text += verdict(*node);
    text += stack({{"s0", "Planning", planning},
                   {"s3", "GpuScan nodes", own_ms_of(plan.root, true)},
                   {"s1", "PostgreSQL's nodes", own_ms_of(plan.root, false)}});
    const std::string statement = !query.empty() ? query : explain::text(plan.about, "Query Text");
    if (!statement.empty())
        text += tagged("details class=\"query\" open", tagged("summary", "Query") + tagged("pre", escaped(statement)));
    const double whole = std::max(plan.root.ms, 1e-9);
    return tagged(
        "section",
        text + tagged("h2", "Plan") +
            classed("p", "note",
                    plan.root.is_analyzed()
                        ? "Bars: a node's own time, and with those below it, of the whole. Click a node for more."
                        : "Without ANALYZE nothing was executed, and there are no times but estimates.") +
            classed("ul", "tree", tree_of(plan.root, whole)));
}

} // namespace

std::string page_of(const std::vector<Plan> &plans, const std::string &query) {
    std::string sections;
    for (const Plan &plan : plans)
        sections += section_of(plan, query);
    // (Should anything get past escaped(), the policy still runs and loads nothing.)
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Query "
           "plan</title>\n<style>\n" +
           std::string(style) + "</style>\n</head>\n<body>\n<h1>Query plan</h1>\n" + sections + "\n</body>\n</html>\n";
}

} // namespace explain
