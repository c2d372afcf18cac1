// Which expressions depend on which side of some constants an integer is, and what do they choose by it?
//
// CASE x WHEN 1 THEN 10 WHEN 2 THEN y + 1 ... END, CASE WHEN x < 5 THEN 1 WHEN x < 20 THEN 2 ... END, x = 1 OR x = 7 OR ...: comparisons of
// one integer with constants, connected, choose constants or other expressions. Between two neighbouring constants the choice is the
// same, so a table of the choices answers what a chain works out arm by arm (host/step_table.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ir/program.hpp"

namespace gpuscan {

// What is known of a node.
struct StepNode {
    ir::Index argument = ir::none; // the integer, as its first node that says the same; none: it is no step function
    uint32_t size = 0;             // nodes that compare or connect, as often as they stand in it
    bool has_case = false;
    bool has_arms = false; // it chooses other expressions than constants
};

// Of each node. canonical: of each node, the first that says the same; raises: evaluating it can raise an error. (An argument that
// can is none: the chain's later arms need not be worked out.)
std::vector<StepNode> step_nodes(const Program &program, const std::vector<ir::Index> &canonical,
                                 const std::vector<uint8_t> &raises);

// The numbers at which the choice of `root` may change, ascending, each once.
std::vector<int64_t> step_begins(const Program &program, const std::vector<StepNode> &nodes, ir::Index root);

constexpr int64_t step_is_false = -1, step_is_true = -2, step_is_null = -3; // of type Bool

// What a step function chooses where its argument is this number, or NULL: an expression that it reads, a constant or an arm; or one
// of these. `nodes`: of step_nodes().
int64_t step_choice(const Program &program, const std::vector<StepNode> &nodes, ir::Index root, int64_t argument,
                    bool null);

} // namespace gpuscan
