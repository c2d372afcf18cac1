// What EXPLAIN (FORMAT json) says of a plan: its tree, without what depends on estimates.
#pragma once

#include <string>

namespace bench {

struct PlanTree {
    std::string text;    // the tree: equal for equal plans
    std::string outline; // for people, in a line: "Sort(Hash Join(Seq Scan orders, Index Scan customer))"
    double cost = 0;     // total
    int device_nodes = 0;
    bool honest = true; // the cost has no surcharge for something that is disabled
};

// Throws std::runtime_error if the text is no plan in JSON.
PlanTree read_plan(const std::string &json);

// 16 hexadecimal digits.
std::string hash_of(const std::string &text);

} // namespace bench
