// A plan as EXPLAIN (FORMAT JSON) tells it: a tree of nodes, with the time that each took for itself.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace explain {

using Json = nlohmann::ordered_json;

struct Node {
    Json keys;                  // all but the nodes below
    std::vector<Node> below;    // "Plans"
    std::vector<Node> cpu_plan; // of a GpuScan node, if it was not executed: one, or none
    double ms = 0;              // of all executions; what processes do side by side counts once; 0 without ANALYZE
    double own_ms = 0;          // ... without those below

    std::string text(const char *key) const; // "" if there is none
    std::optional<double> number(const char *key) const;
    bool is_gpuscan() const { return text("Custom Plan Provider") == "GpuScan"; }
    bool is_analyzed() const { return number("Actual Loops").has_value(); }
    bool is_executed() const { return number("Actual Loops").value_or(0) > 0; }
};

struct Plan {
    Node root;
    Json about; // what EXPLAIN says of the whole statement: Planning Time, Execution Time, ...
};

// What EXPLAIN or auto_explain wrote, also as psql aligns it: one plan or several. Throws std::runtime_error with one line.
std::vector<Plan> read_plans(const std::string &text);

} // namespace explain
