// Walks over expressions, each node visited once.
//
// An expression is a graph: GREATEST of n arguments reads each partial result twice, so a walk that follows every operand takes
// 2^n steps. Operands stand before the nodes that read them. So what holds of an expression because of some node in it is one
// sweep upward, and the nodes that roots need are one sweep downward; neither recurses, and neither depends on who shares what.
#pragma once

#include <iterator>
#include <set>
#include <vector>

#include "engine/ir/ir.hpp"

namespace gpuscan {

// Of each expression: does own(node) hold of it or of some node that it reads?
template <class Own> std::vector<uint8_t> somewhere(const std::vector<ir::Expr> &exprs, Own own) {
    std::vector<uint8_t> holds(exprs.size());
    for (size_t i = 0; i < exprs.size(); ++i) {
        bool found = own(exprs[i]);
        ir::for_each_operand(exprs[i], [&](ir::Index operand) { found = found || holds[operand] != 0; });
        holds[i] = found ? 1 : 0;
    }
    return holds;
}

// Calls visit(index) for each node that the roots need, the roots among them, users before operands; ends when visit returns
// false. Its steps are as many as these nodes.
template <class Visit>
void for_each_needed(const std::vector<ir::Expr> &exprs, const std::vector<ir::Index> &roots, Visit visit) {
    std::set<ir::Index> open(roots.begin(), roots.end());
    while (!open.empty()) {
        const auto last = std::prev(open.end());
        const ir::Index index = *last;
        open.erase(last);
        if (!visit(index))
            return;
        ir::for_each_operand(exprs[index], [&](ir::Index operand) { open.insert(operand); });
    }
}

} // namespace gpuscan
