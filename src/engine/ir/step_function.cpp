// Steps of one integer; see step_function.hpp.
#include "engine/ir/step_function.hpp"

#include <algorithm>
#include <limits>

namespace gpuscan {

using namespace ir;

namespace {

bool is_number(Type type) { return type == Type::I16 || type == Type::I32 || type == Type::I64; }

bool is_const(const Program &program, Index node) { return program.exprs[node].op == Op::Const; }

// The side of a comparison that is no constant.
Index compared(const Program &program, const Expr &e) { return is_const(program, e.a) ? e.b : e.a; }

bool compares_number(const Program &program, const Expr &e) {
    return is_comparison(e.op) && is_const(program, e.a) != is_const(program, e.b) &&
           is_number(program.exprs[compared(program, e)].type);
}

bool connects(Op op) { return op == Op::And || op == Op::Or || op == Op::Not || op == Op::IsTrue || op == Op::Case; }

// Is a step function where its operands are, of one argument, or constants, or arms that it chooses.
StepNode connected(const Program &program, const Expr &e, const std::vector<StepNode> &nodes) {
    StepNode all;
    all.has_case = e.op == Op::Case;
    uint64_t size = 1;
    bool is_one = true;
    const auto add = [&](Index operand, bool is_arm) {
        if (is_const(program, operand))
            return;
        const StepNode &node = nodes[operand];
        const bool same = node.argument != none && (all.argument == none || all.argument == node.argument);
        if (!same || (node.has_arms && !is_arm)) {
            all.has_arms = true;
            is_one = is_one && is_arm;
            return;
        }
        all.argument = node.argument;
        all.has_case |= node.has_case;
        all.has_arms |= node.has_arms;
        size += node.size;
    };
    for_each_operand(e, [&](Index operand) { add(operand, e.op == Op::Case && operand != e.a); });
    all.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
    return is_one && nodes[e.a].argument != none && all.argument == nodes[e.a].argument ? all : StepNode();
}

int64_t truth(bool value) { return value ? step_is_true : step_is_false; }

} // namespace

std::vector<StepNode> step_nodes(const Program &program, const std::vector<Index> &canonical,
                                 const std::vector<uint8_t> &raises) {
    std::vector<StepNode> nodes(program.exprs.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
        const Expr &e = program.exprs[i];
        if (connects(e.op)) {
            nodes[i] = connected(program, e, nodes);
            continue;
        }
        const bool tests = (e.op == Op::IsNull || e.op == Op::IsNotNull) && is_number(program.exprs[e.a].type);
        if (!tests && !compares_number(program, e))
            continue;
        const Index argument = tests ? e.a : compared(program, e);
        if (!is_const(program, argument) && !raises[argument])
            nodes[i] = {canonical[argument], 1, false, false};
    }
    return nodes;
}

std::vector<int64_t> step_begins(const Program &program, const std::vector<StepNode> &nodes, Index root) {
    std::vector<int64_t> begins;
    std::vector<Index> open{root};
    while (!open.empty()) {
        const Index node = open.back();
        const Expr &e = program.exprs[node];
        open.pop_back();
        if (nodes[node].argument != nodes[root].argument)
            continue;
        if (connects(e.op)) {
            for_each_operand(e, [&](Index operand) { open.push_back(operand); });
        } else if (is_comparison(e.op)) {
            const Constant &bound = program.constants[program.exprs[is_const(program, e.a) ? e.a : e.b].a];
            const int64_t value = static_cast<int64_t>(bound.low);
            if (bound.null)
                continue;
            begins.push_back(value);
            if (value != std::numeric_limits<int64_t>::max())
                begins.push_back(value + 1);
        }
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    return begins;
}

// Chains are long on the side of CASE's ELSE and on the left side of AND and OR.
int64_t step_choice(const Program &program, const std::vector<StepNode> &nodes, Index root, int64_t argument,
                    bool null) {
    const Index of = nodes[root].argument;
    const auto choice = [&](Index operand) { return step_choice(program, nodes, operand, argument, null); };
    for (;;) {
        const Expr &e = program.exprs[root];
        if (e.op == Op::Const && e.type == Type::Bool) {
            const Constant &constant = program.constants[e.a];
            return constant.null ? step_is_null : truth(constant.low != 0);
        }
        if (nodes[root].argument != of || of == none) // a constant or an arm
            return root;
        switch (e.op) {
        case Op::Case:
            root = choice(e.a) == step_is_true ? e.b : e.c;
            continue;
        case Op::And:
        case Op::Or: {
            const int64_t decided = truth(e.op == Op::Or), right = choice(e.b);
            if (right == decided)
                return decided;
            const int64_t left = choice(e.a);
            return left == decided ? decided : left == step_is_null ? step_is_null : right;
        }
        case Op::Not: {
            const int64_t value = choice(e.a);
            return value == step_is_null ? step_is_null : truth(value == step_is_false);
        }
        case Op::IsTrue:
            return truth(choice(e.a) == step_is_true);
        case Op::IsNull:
            return truth(null);
        case Op::IsNotNull:
            return truth(!null);
        default: {
            const bool first = is_const(program, e.a);
            const Constant &bound = program.constants[program.exprs[first ? e.a : e.b].a];
            if (null || bound.null)
                return step_is_null;
            return truth(holds(first ? mirrored(e.op) : e.op, argument, static_cast<int64_t>(bound.low)));
        }
        }
    }
}

} // namespace gpuscan
