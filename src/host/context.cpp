// What every thread of an execution knows of its program.
#include <map>
#include <tuple>

#include "engine/ir/expr_walk.hpp"
#include "host/evaluator.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

// For each node the first node that says the same, operands being the same too.
std::vector<Index> canonical_nodes(const Program &p) {
    std::vector<Index> canonical(p.exprs.size());
    std::map<std::tuple<Op, Type, Index, Index, Index>, Index> first;
    for (Index i = 0; i < p.exprs.size(); ++i) {
        Expr e = p.exprs[i];
        const int operands = operand_count(e);
        e.a = operands >= 1 ? canonical[e.a] : e.a;
        e.b = operands >= 2 ? canonical[e.b] : e.b;
        e.c = operands >= 3 ? canonical[e.c] : e.c;
        canonical[i] = first.emplace(std::make_tuple(e.op, e.type, e.a, e.b, e.c), i).first->second;
    }
    return canonical;
}

std::unique_ptr<Membership> membership(const Program &p, const std::vector<Index> &canonical, const Expr &e) {
    if (e.op != Op::Eq || p.exprs[e.a].type != Type::I64 || p.exprs[e.b].op != Op::Lookup)
        return nullptr;
    const Expr &found = p.exprs[e.b], &search = p.exprs[found.a];
    if (search.op != Op::Search || search.b != found.b || canonical[search.a] != canonical[e.a])
        return nullptr;
    return std::make_unique<Membership>(e.a, found.b);
}

} // namespace

Context::Context(const Program &of)
    : program(of), canonical(canonical_nodes(of)),
      raises(somewhere(of.exprs, [&of](const Expr &e) { return raises_itself(of.exprs.data(), e); })),
      lookups(of.lookups.size()), tables(of.pipelines.size()), matched_rows(of.joins.size()) {
    for (const Constant &c : of.constants)
        constants.push_back(static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(c.high)) << 64 | c.low));
    chains = step_nodes(program, canonical, raises);
    steps.resize(chains.size());
    searches.resize(chains.size());
    memberships.resize(chains.size());
    for (Index i = 0; i < chains.size(); ++i) {
        if (StepTable::is_worth(chains[i]))
            steps[i] = std::make_unique<StepTable>(i);
        if (of.exprs[i].op == Op::Search)
            searches[i] = std::make_unique<MadeWhenWorth<StepNumbers>>();
        memberships[i] = membership(program, canonical, of.exprs[i]);
    }
}

} // namespace gpuscan::host
