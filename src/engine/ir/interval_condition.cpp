// See interval_condition.hpp.
#include "engine/ir/interval_condition.hpp"

#include "engine/ir/expr_walk.hpp"

namespace gpuscan {

using namespace ir;

namespace {

enum : unsigned { of_row = 1, of_partner = 2, of_codes = 4, of_numbers = 8 };

class Finder {
  public:
    Finder(const Program &program, Index step) : p_(program), step_(step) {}

    // False: nothing behind this condition may be asked before it.
    bool take(Index root) {
        const Expr &e = p_.exprs[root];
        const bool orders = e.op == Op::Lt || e.op == Op::Le || e.op == Op::Gt || e.op == Op::Ge;
        const Type type = orders ? p_.exprs[e.a].type : Type::Bool;
        if (orders && (type == Type::I16 || type == Type::I32 || type == Type::I64)) {
            const bool less = e.op == Op::Lt || e.op == Op::Le, strict = e.op == Op::Lt || e.op == Op::Gt;
            if (take(e.a, e.b, strict, less ? found_.low : found_.high) ||
                take(e.b, e.a, strict, less ? found_.high : found_.low))
                return true;
        }
        return !may_raise(root);
    }

    IntervalCondition found() const { return found_; }

  private:
    bool take(Index bound, Index value, bool strict, IntervalBound &to) const {
        const unsigned by_bound = reads(bound), by_value = reads(value);
        if (to.bound != none || (by_bound & (of_row | of_partner | of_codes)) != of_partner ||
            (by_value & (of_partner | of_codes)) != 0)
            return false;
        to = {bound, value, strict, may_raise(value), ((by_bound | by_value) & of_numbers) != 0};
        return true;
    }

    unsigned reads(Index root) const {
        unsigned what = 0;
        for_each_needed(p_.exprs, {root}, [&](Index index) {
            const Expr &e = p_.exprs[index];
            if (e.op == Op::Column)
                what |= e.a == step_ ? of_partner : of_row;
            else if (e.op == Op::Search)
                what |= of_numbers;
            else if (e.op == Op::Lookup)
                what |= p_.exprs[e.a].op == Op::Search ? of_numbers : of_codes;
            return true;
        });
        return what;
    }

    bool may_raise(Index root) const {
        bool raises = false;
        for_each_needed(p_.exprs, {root}, [&](Index index) {
            raises = raises || raises_itself(p_.exprs.data(), p_.exprs[index]);
            return !raises;
        });
        return raises;
    }

    const Program &p_;
    const Index step_;
    IntervalCondition found_;
};

} // namespace

IntervalCondition interval_condition(const Program &program, const Pipeline &pipeline, Index join) {
    Finder finder(program, join + 1);
    const Join &of = program.joins[pipeline.joins.first + join];
    if (of.kind != JoinKind::Inner) {
        for (Index i = 0; i < of.filters.count; ++i)
            if (!finder.take(program.lists[of.filters.first + i]))
                break;
        return finder.found();
    }
    for (Index c = 0; c < pipeline.conjuncts.count; ++c) {
        const Conjunct &conjunct = program.conjuncts[pipeline.conjuncts.first + c];
        if (conjunct.after == join + 1 && !finder.take(conjunct.expr))
            break;
    }
    return finder.found();
}

IntervalCondition interval_condition_of_build(const Program &program, Index build, Index *by, Index *at) {
    IntervalCondition found;
    int asking = 0;
    for (Index i = 0; i < program.pipelines.size(); ++i) {
        const Pipeline &pipeline = program.pipelines[i];
        for (Index k = 0; k < pipeline.joins.count; ++k) {
            if (program.joins[pipeline.joins.first + k].build != build)
                continue;
            found = interval_condition(program, pipeline, k);
            *by = i;
            *at = k;
            ++asking;
        }
    }
    return asking == 1 ? found : IntervalCondition();
}

} // namespace gpuscan
