#include "plan.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace explain {
namespace {

constexpr int deepest = 1000; // levels of JSON, two for each of a plan: what walks them is recursive

[[noreturn]] void refuse(const std::string &reason) { throw std::runtime_error(reason); }

// psql's aligned output has a title before it, a "+" at the end of each line and the number of rows behind.
std::string without_frame(const std::string &text) {
    std::istringstream lines(text);
    std::string json, line;
    while (std::getline(lines, line)) {
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (!line.empty() && line.back() == '+')
            line.pop_back();
        const size_t begin = line.find_first_not_of(" \t");
        if (begin == std::string::npos || (json.empty() && line[begin] != '[' && line[begin] != '{'))
            continue;
        if (std::regex_match(line, std::regex("\\([0-9]+ rows?\\)")))
            break;
        json += line + '\n';
    }
    return json;
}

Json parse(const std::string &text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        refuse("the input is empty");
    const std::string json = without_frame(text);
    if (json.empty())
        refuse(std::regex_search(text, std::regex("\\((cost=|actual |never executed)"))
                   ? "this is EXPLAIN's text format: EXPLAIN (ANALYZE, FORMAT JSON) is wanted"
                   : "the input is not JSON");
    try {
        return Json::parse(json, [](int depth, Json::parse_event_t, Json &) {
            return depth <= deepest || (refuse("the input is nested too deeply"), false);
        });
    } catch (const Json::parse_error &e) {
        refuse(e.byte > json.size() || std::string(e.what()).find("unexpected end of input") != std::string::npos
                   ? "the input ends too early: the output of EXPLAIN has been cut off"
                   : "the input is not JSON near byte " + std::to_string(e.byte));
    }
}

bool is_init_plan(const Node &node) { return node.text("Parent Relationship") == "InitPlan"; }

// EXPLAIN names the value of "InitPlan 1 (returns $0)" $0, and from PostgreSQL 17 on that of "InitPlan 1" (InitPlan 1).col1.
std::string value_of(const std::string &init_plan) {
    std::smatch found;
    if (std::regex_search(init_plan, found, std::regex("\\$[0-9]+")))
        return found.str();
    return init_plan;
}

bool names(const Node &node, const std::string &init_plan) {
    if (init_plan == "CTE " + node.text("CTE Name"))
        return true;
    const std::string value = value_of(init_plan);
    for (const auto &[key, text] : node.keys.items()) {
        if (!text.is_string() || key == "Subplan Name")
            continue;
        const std::string &s = text.get_ref<const std::string &>();
        for (size_t at = s.find(value); at != std::string::npos; at = s.find(value, at + 1))
            if (at + value.size() == s.size() || !isdigit(static_cast<unsigned char>(s[at + value.size()])))
                return true;
    }
    return false;
}

// The node in which an init plan or a CTE was executed: the first one that names its value.
Node *user_of(Node &node, const std::string &init_plan) {
    if (names(node, init_plan))
        return &node;
    for (Node &below : node.below)
        if (!is_init_plan(below))
            if (Node *user = user_of(below, init_plan))
                return user;
    return nullptr;
}

void take_init_plans(Node &node) {
    for (Node &below : node.below) {
        take_init_plans(below);
        if (Node *user = is_init_plan(below) ? user_of(node, below.text("Subplan Name")) : nullptr)
            user->own_ms = std::max(0.0, user->own_ms - below.ms);
    }
}

Node read_node(const Json &json, double workers) {
    if (!json.is_object() || !json.contains("Node Type") || !json["Node Type"].is_string())
        refuse("this is JSON, but no plan of EXPLAIN: a node has no \"Node Type\"");
    Node node;
    for (const auto &[key, value] : json.items())
        if (key != "Plans" && key != "CPU Plan")
            node.keys[key] = value;
    node.ms = node.number("Actual Total Time").value_or(0) * node.number("Actual Loops").value_or(0) / (workers + 1);
    node.own_ms = node.ms;
    const double beside = node.number("Workers Launched").value_or(workers);
    if (json.contains("Plans")) {
        if (!json["Plans"].is_array())
            refuse("this is JSON, but no plan of EXPLAIN: \"Plans\" is no array");
        for (const Json &plan : json["Plans"]) {
            const std::string role =
                plan.is_object() && plan.contains("Parent Relationship") ? plan["Parent Relationship"].dump() : "";
            const bool apart = role == "\"InitPlan\"" || role == "\"SubPlan\"";
            node.below.push_back(read_node(plan, apart ? 0 : beside));
            if (!is_init_plan(node.below.back()))
                node.own_ms -= node.below.back().ms;
        }
    }
    node.own_ms = std::max(0.0, node.own_ms);
    if (json.contains("CPU Plan") && json["CPU Plan"].is_object() && json["CPU Plan"].contains("Plan"))
        node.cpu_plan.push_back(read_node(json["CPU Plan"]["Plan"], 0));
    return node;
}

} // namespace

std::string Node::text(const char *key) const {
    const auto found = keys.find(key);
    return found != keys.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> Node::number(const char *key) const {
    const auto found = keys.find(key);
    return found != keys.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::vector<Plan> read_plans(const std::string &text) {
    Json json = parse(text);
    if (!json.is_array())
        json = Json::array({std::move(json)});
    std::vector<Plan> plans;
    for (const Json &one : json) {
        if (!one.is_object() || !one.contains("Plan"))
            refuse("this is JSON, but no plan of EXPLAIN: it has no \"Plan\"");
        Plan plan;
        plan.root = read_node(one["Plan"], 0);
        take_init_plans(plan.root);
        for (const auto &[key, value] : one.items())
            if (key != "Plan")
                plan.about[key] = value;
        plans.push_back(std::move(plan));
    }
    if (plans.empty())
        refuse("this is JSON, but no plan of EXPLAIN: the array is empty");
    return plans;
}

} // namespace explain
