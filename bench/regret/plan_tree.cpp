// Properties that are estimates (costs, rows, widths, and whatever gpuscan estimates of its own) are numbers or lie below keys that
// say so; all others belong to the plan. Workers Planned, a number, does, too: another number of workers is another plan.
#include "plan_tree.hpp"

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double disabled_cost = 1e9; // PostgreSQL 17 and older add 1e10 where something is disabled

bool is_estimate(const std::string &key, const Json &value) {
    if (key.find("Cost") != std::string::npos || key.find("Estimate") != std::string::npos)
        return true;
    return value.is_number() && key != "Workers Planned" && key != "For Join";
}

Json without_estimates(const Json &v) {
    Json kept = v.is_structured() ? Json(v.type()) : v;
    if (v.is_array())
        for (const Json &item : v)
            kept.push_back(without_estimates(item));
    else if (v.is_object())
        for (const auto &[key, value] : v.items())
            if (!is_estimate(key, value))
                kept[key] = without_estimates(value);
    return kept;
}

std::string text_of(const Json &node, const char *key) { return node.value(key, ""); }

bool is_device_node(const Json &node) { return text_of(node, "Custom Plan Provider").rfind("Gpu", 0) == 0; }

std::string outline_of(const Json &node) {
    std::string text = text_of(node, is_device_node(node) ? "Custom Plan Provider" : "Node Type");
    if (text_of(node, "Partial Mode") == "Partial")
        text = "Partial " + text;
    for (const char *key : {"Index Name", "Relation Name", "CTE Name"})
        if (const std::string name = text_of(node, key); !name.empty()) {
            text += ' ' + name;
            break;
        }
    std::vector<std::string> below;
    if (is_device_node(node)) // its sources
        for (const Json &step : node.value("Steps", Json::array()))
            below.push_back(text_of(step, "Source"));
    for (const Json &plan : node.value("Plans", Json::array()))
        below.push_back(outline_of(plan));
    if (below.empty())
        return text;
    text += '(';
    for (size_t i = 0; i < below.size(); ++i)
        text += (i > 0 ? ", " : "") + below[i];
    return text + ')';
}

int device_nodes(const Json &node) {
    int n = is_device_node(node);
    for (const Json &plan : node.value("Plans", Json::array()))
        n += device_nodes(plan);
    return n;
}

} // namespace

PlanTree read_plan(const std::string &json) {
    const Json all = Json::parse(json, nullptr, false);
    if (!all.is_array() || all.empty() || !all[0].contains("Plan") || !all[0]["Plan"].is_object())
        throw std::runtime_error("no plan in JSON");
    const Json &root = all[0]["Plan"];
    PlanTree tree;
    tree.text = without_estimates(root).dump();
    tree.outline = outline_of(root);
    tree.cost = root.value("Total Cost", 0.0);
    tree.device_nodes = device_nodes(root);
    tree.honest = tree.cost < disabled_cost;
    return tree;
}

// FNV-1a.
std::string hash_of(const std::string &text) {
    uint64_t hash = 14695981039346656037u;
    for (unsigned char c : text)
        hash = (hash ^ c) * 1099511628211u;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    return digits;
}

} // namespace bench
