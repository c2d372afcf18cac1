// What every thread of an execution knows of its program.
#include "engine/host/evaluator.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

// For each node the first node that says the same, operands being the same too.
std::vector<Index> canonical_nodes(const Program &p) {
    std::vector<Index> canonical(p.exprs.size());
    for (Index i = 0; i < p.exprs.size(); ++i) {
        canonical[i] = i;
        Expr e = p.exprs[i];
        for (Index j = 0; j < i && canonical[i] == i; ++j) {
            const Expr &f = p.exprs[j];
            if (canonical[j] != j || e.op != f.op || e.type != f.type)
                continue;
            auto same = [&](Index x, Index y) {
                return x == y || (e.op != Op::Column && e.op != Op::Const && x != none && y != none && x < i && y < j &&
                                  canonical[x] == canonical[y]);
            };
            if (e.op == Op::Lookup || e.op == Op::Search  ? same(e.a, f.a) && e.b == f.b
                : e.op == Op::Call || e.op == Op::CallTwo ? same(e.a, f.a) && same(e.b, f.b) && e.c == f.c
                                                          : same(e.a, f.a) && same(e.b, f.b) && same(e.c, f.c))
                canonical[i] = j;
        }
    }
    return canonical;
}

// Which nodes can raise no error, whatever rows they are evaluated for.
std::vector<uint8_t> safe_nodes(const Program &p) {
    std::vector<uint8_t> safe(p.exprs.size());
    for (Index i = 0; i < p.exprs.size(); ++i) {
        safe[i] = !raises_itself(p.exprs.data(), p.exprs[i]);
        for_each_operand(p.exprs[i], [&](Index operand) { safe[i] &= safe[operand]; });
    }
    return safe;
}

} // namespace

Context::Context(const Program &of)
    : program(of), canonical(canonical_nodes(of)), safe(safe_nodes(of)), lookups(of.lookups.size()),
      tables(of.pipelines.size()), met(of.joins.size()) {
    for (const Constant &c : of.constants)
        constants.push_back(static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(c.high)) << 64 | c.low));
}

} // namespace gpuscan::host
