// Three things can be forced: whether and where a device takes part, how PostgreSQL plans what it plans, and, by scaling
// PostgreSQL's costs against the device's, how much of a query a device gets.
#include "alternatives.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {

const std::vector<std::string> cost_settings = {
    "seq_page_cost",       "random_page_cost",    "cpu_tuple_cost", "cpu_index_tuple_cost",  "cpu_operator_cost",
    "parallel_setup_cost", "parallel_tuple_cost", "jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost"};

namespace {

struct Way {
    const char *name;
    Settings settings;
};

// PostgreSQL's own ways, with and without a device.
const std::vector<Way> &ways() {
    static const std::vector<Way> list = {
        {"", {}},
        {"no parallel workers", {{"max_parallel_workers_per_gather", "0"}}},
        {"parallel workers for nothing", {{"parallel_setup_cost", "0"}, {"min_parallel_table_scan_size", "0"}}},
        {"no hash join", {{"enable_hashjoin", "off"}}},
        {"no nested loop", {{"enable_nestloop", "off"}}},
        {"no merge join", {{"enable_mergejoin", "off"}}},
        {"nested loops only", {{"enable_hashjoin", "off"}, {"enable_mergejoin", "off"}}},
        {"no index", {{"enable_indexscan", "off"}, {"enable_indexonlyscan", "off"}, {"enable_bitmapscan", "off"}}},
        {"no sequential scan", {{"enable_seqscan", "off"}}},
        {"no hash aggregation", {{"enable_hashagg", "off"}}},
        {"no memoize", {{"enable_memoize", "off"}}},
    };
    return list;
}

std::string number(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", v);
    return text;
}

Settings scaled(const Settings &costs, double scale) {
    Settings list;
    for (const auto &[name, value] : costs) {
        const double v = std::strtod(value.c_str(), nullptr);
        if (v > 0) // -1: never
            list.emplace_back(name, number(v * scale));
    }
    return list;
}

// `where`: the settings that every variant of this device has.
void add_variants(const std::string &name, const Settings &where, bool forced, const Settings &costs,
                  std::vector<Variant> &list) {
    const auto add = [&](const std::string &how, const Settings &settings, double scale = 1, bool tampered = false) {
        Settings all = where;
        all.insert(all.end(), settings.begin(), settings.end());
        list.push_back({how.empty() ? name : name + ", " + how, std::move(all), scale, tampered});
    };
    for (const Way &way : ways())
        add(way.name, way.settings, 1, !way.settings.empty());
    if (name == "off")
        return;
    add("subqueries by row", {{"gpuscan.enable_decorrelation", "off"}});
    if (!forced)
        for (double scale : {0.01, 0.05, 0.2, 0.5, 2.0, 5.0, 20.0, 100.0})
            add("PostgreSQL's costs x " + number(scale), scaled(costs, scale), scale);
}

} // namespace

std::vector<Variant> variants(const std::string &device, const std::vector<std::string> &others,
                              const Settings &costs) {
    std::vector<Variant> list;
    const auto on = [](const char *mode, const std::string &on_device) {
        Settings settings = {{"gpuscan.offload", mode}};
        if (!on_device.empty())
            settings.emplace_back("gpuscan.device", on_device);
        return settings;
    };
    add_variants("auto", on("auto", device), false, costs, list);
    add_variants("off", on("off", ""), true, costs, list);
    add_variants("force", on("force", device), true, costs, list);
    for (const std::string &other : others)
        list.push_back({"force " + other, on("force", other), 1, false});
    return list;
}

} // namespace bench
