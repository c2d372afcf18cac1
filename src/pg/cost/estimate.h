// What a node's cost was made of when it was planned: stored in the plan, read by whoever explains it.
#pragma once

#include "pg/pg.h"

#include "engine/cost/tier_cost.hpp"

namespace gpuscan {

struct EstimatePart {
    uint8 stage, count; // tier::Stage, tier::Count; count_hidden: what was side by side with something longer, negative
    double amount, ns;
};
constexpr uint8 count_hidden = 255;

struct Estimate {
    double ns_per_unit;  // of the node's costs
    double cpu_plan_ns;  // what the CPU plan takes
    double cpu_first_ns; // that the CPU plan may take before the device brings columns; 0: none
    bool gpu;
    int nparts;
    EstimatePart parts[FLEXIBLE_ARRAY_MEMBER]; // by stage; amounts that are not 0
};

// A Const that holds an Estimate, at today's prices; in the current context.
Node *estimate_to_node(const tier::Breakdown *breakdown, double ns_per_unit, double cpu_plan_ns, double cpu_first_ns);
// A copy in the current context; NULL: none was stored.
const Estimate *estimate_of_node(const Node *node);
// ... in a planned GpuScan node.
const Estimate *estimate_of_scan(const CustomScan *scan);

double estimated_ns(const Estimate *estimate, tier::Stage stage);
double estimated_ns(const Estimate *estimate);
double estimated_amount(const Estimate *estimate, tier::Count count); // in all stages

} // namespace gpuscan
