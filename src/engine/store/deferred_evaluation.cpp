// Writing the programs that collect codes; see deferred_evaluation.hpp.
#include "engine/store/deferred_evaluation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

namespace gpuscan {

using namespace ir;

namespace {

constexpr Index always = none - 1; // a condition that is true

struct TooLong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Walks through an expression in the order in which PostgreSQL evaluates it, and notes the deferred lookups that it meets, each
// with the condition under which it does. What a condition reads has been met before. Conditions are nodes that are added to
// the program. A part that stands in several places is walked through again only under a condition that does not imply an
// earlier one.
class Walk {
  public:
    struct Met {
        Index node, condition; // `always`, or a node
    };

    Walk(Program &program, Index root) : p_(program), leads_(root + 1, 0) {
        for (Index i = 0; i <= root; ++i) {
            leads_[i] = is_deferred(i);
            for_each_operand(p_.exprs[i], [&](Index operand) { leads_[i] |= leads_[operand]; });
        }
        visit(root, always);
    }

    const std::vector<Met> &met() const { return met_; }

  private:
    bool is_deferred(Index i) const { return p_.exprs[i].op == Op::Lookup && p_.lookups[p_.exprs[i].b].deferred != 0; }

    Index add(Op op, Index a, Index b = none) {
        Expr e{};
        e.op = op;
        e.type = Type::Bool;
        e.a = a;
        e.b = b;
        p_.exprs.push_back(e);
        return static_cast<Index>(p_.exprs.size()) - 1;
    }

    Index both(Index when, Index condition) {
        const Index result = when == always ? condition : add(Op::And, when, condition);
        implied_[result] = when;
        return result;
    }

    bool implies(Index condition, Index other) const {
        while (condition != other && condition != always)
            condition = implied_.at(condition);
        return condition == other;
    }

    void visit(Index i, Index when) {
        if (leads_[i] == 0)
            return;
        std::vector<Index> &before = walked_[i];
        if (std::any_of(before.begin(), before.end(), [&](Index other) { return implies(when, other); }))
            return;
        before.push_back(when);
        if (++steps_ > max_deferral_steps)
            throw TooLong("an expression with functions of texts is too long");
        const Expr e = p_.exprs[i];
        const auto leads = [&](Index operand) { return leads_[operand] != 0; };
        switch (e.op) {
        case Op::Case:
            visit(e.a, when);
            if (leads(e.b))
                visit(e.b, both(when, add(Op::IsTrue, e.a)));
            if (leads(e.c))
                visit(e.c, both(when, add(Op::Not, add(Op::IsTrue, e.a))));
            break;
        case Op::And: // not where the left side is false
            visit(e.a, when);
            if (leads(e.b))
                visit(e.b, both(when, add(Op::Not, add(Op::IsTrue, add(Op::Not, e.a)))));
            break;
        case Op::Or:
            visit(e.a, when);
            if (leads(e.b))
                visit(e.b, both(when, add(Op::Not, add(Op::IsTrue, e.a))));
            break;
        case Op::Coalesce:
            visit(e.a, when);
            if (leads(e.b))
                visit(e.b, both(when, add(Op::IsNull, e.a)));
            break;
        default:
            for_each_operand(e, [&](Index operand) { visit(operand, when); });
        }
        if (is_deferred(i))
            met_.push_back({i, when});
    }

    Program &p_;
    std::vector<uint8_t> leads_;                 // per node of the expression: a deferred lookup is in it
    std::map<Index, std::vector<Index>> walked_; // per node: under which conditions
    std::map<Index, Index> implied_;             // per condition: the one that it was made of
    std::vector<Met> met_;
    size_t steps_ = 0;
};

bool fits_walk(Program &program, Index root) {
    try {
        Walk(program, root);
        return true;
    } catch (const TooLong &) {
        return false;
    }
}

class Finder {
  public:
    Finder(const Program &program, Index pipeline) : p_(program), pipeline_(program.pipelines[pipeline]) {}

    std::vector<DeferredLookup> find() {
        if (std::none_of(p_.lookups.begin(), p_.lookups.end(), [](const Lookup &l) { return l.deferred != 0; }))
            return {};
        for (Index step = 0; step <= pipeline_.joins.count; ++step) {
            Index conjuncts = 0;
            for (Index i = 0; i < pipeline_.conjuncts.count; ++i) {
                const Conjunct &conjunct = p_.conjuncts[pipeline_.conjuncts.first + i];
                if (conjunct.after == step)
                    add(conjunct.expr, step, conjuncts++);
            }
            if (step < pipeline_.joins.count)
                add_join(p_.joins[pipeline_.joins.first + step], step, conjuncts);
            else
                add_sink(step, conjuncts);
        }
        return std::move(found_);
    }

  private:
    void add_list(Range list, Index step, Index conjuncts) {
        for (Index i = 0; i < list.count; ++i)
            add(p_.lists[list.first + i], step, conjuncts);
    }

    void add_join(const Join &join, Index step, Index conjuncts) {
        add_list(join.keys, step, conjuncts);
        const size_t before = found_.size();
        add_list(join.filters, step, conjuncts);
        if (found_.size() > before)
            throw std::runtime_error("a function of a text stands where the device cannot tell whose values it needs");
        if (keeps_table(join.kind))
            after_table_ = true;
    }

    void add_sink(Index step, Index conjuncts) {
        add_list(pipeline_.keys, step, conjuncts);
        add_list(pipeline_.payload, step, conjuncts);
        add_list(pipeline_.arguments, step, conjuncts);
        for (Index i = 0; i < pipeline_.aggregates.count; ++i)
            if (p_.aggregates[pipeline_.aggregates.first + i].arg != none)
                add(p_.aggregates[pipeline_.aggregates.first + i].arg, step, conjuncts);
    }

    // A lookup that every row up to here has met is not asked for again.
    void add(Index root, Index step, Index conjuncts) {
        Program scratch = p_;
        const Walk walk(scratch, root);
        for (size_t i = 0; i < walk.met().size(); ++i) {
            const Walk::Met &met = walk.met()[i];
            if (everywhere_.count(met.node) != 0)
                continue;
            if (after_table_)
                throw std::runtime_error("a function of a text behind a right or full join");
            DeferredLookup deferred;
            deferred.node = met.node;
            deferred.root = root;
            deferred.place = i;
            deferred.step = step;
            deferred.conjuncts = conjuncts;
            found_.push_back(deferred);
            if (met.condition == always)
                everywhere_.insert(met.node);
        }
    }

    const Program &p_;
    const Pipeline &pipeline_;
    std::vector<DeferredLookup> found_;
    std::set<Index> everywhere_; // nodes whose codes are all known
    bool after_table_ = false;
};

} // namespace

bool deferrals_fit(const Expr *exprs, size_t count, const std::vector<bool> &deferred) {
    Program program;
    program.exprs.assign(exprs, exprs + count);
    for (const bool one : deferred) {
        Lookup lookup{};
        lookup.deferred = one ? 1 : 0;
        program.lookups.push_back(lookup);
    }
    // Whole expressions: the nodes that are no operands.
    std::vector<bool> is_operand(count, false);
    for (const Expr &e : program.exprs)
        for_each_operand(e, [&](Index operand) { is_operand[operand] = true; });
    for (size_t i = 0; i < count; ++i) {
        if (!is_operand[i] && !fits_walk(program, static_cast<Index>(i)))
            return false;
        program.exprs.resize(count);
    }
    return true;
}

std::vector<DeferredLookup> deferred_lookups_of(const Program &program, Index pipeline) {
    return Finder(program, pipeline).find();
}

Program program_of_deferred(const Program &program, Index pipeline, const DeferredLookup &deferred) {
    Program p = program;
    const Walk walk(p, deferred.root);
    const Index condition = walk.met().at(deferred.place).condition;
    const Pipeline from = program.pipelines[pipeline];
    Pipeline to;
    to.source = from.source;
    to.sink = SinkKind::Aggregate;
    to.joins = {from.joins.first, deferred.step};
    to.conjuncts.first = static_cast<Index>(p.conjuncts.size());
    Index at_step = 0;
    for (Index i = 0; i < from.conjuncts.count; ++i) {
        const Conjunct conjunct = program.conjuncts[from.conjuncts.first + i];
        if (conjunct.after < deferred.step || (conjunct.after == deferred.step && at_step++ < deferred.conjuncts))
            p.conjuncts.push_back(conjunct);
    }
    if (condition != always)
        p.conjuncts.push_back({condition, deferred.step});
    to.conjuncts.count = static_cast<Index>(p.conjuncts.size()) - to.conjuncts.first;
    to.keys = {static_cast<Index>(p.lists.size()), 1};
    p.lists.push_back(program.exprs[deferred.node].a);
    to.aggregates = {static_cast<Index>(p.aggregates.size()), 1};
    Aggregate rows{};
    rows.kind = AggregateKind::CountRows;
    p.aggregates.push_back(rows);
    p.pipelines.resize(pipeline);
    p.pipelines.push_back(to);
    return p;
}

} // namespace gpuscan
