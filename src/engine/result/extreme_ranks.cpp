// See extreme_ranks.hpp.
#include "engine/result/extreme_ranks.hpp"

#include <algorithm>
#include <cstring>

#include "engine/result/first_rows.hpp"
#include "engine/result/unmatched.hpp"

namespace gpuscan {
namespace {

constexpr size_t few_entries = 4096; // are sorted in less time than a second run takes
constexpr uint64_t shown_part = 256; // who wants more than one text in so many needs most ranges

bool is_in(ir::Range range, ir::Index index) { return index - range.first < range.count; }

// The number of the rough range that has this rank; as many as there are: it is a text's own.
size_t range_of(const LookupTable &table, int64_t rank) {
    const auto at = std::lower_bound(table.rough.begin(), table.rough.end(), rank,
                                     [](const RoughRanks &rough, int64_t wanted) { return rough.first < wanted; });
    return at != table.rough.end() && at->first == rank ? static_cast<size_t>(at - table.rough.begin())
                                                        : table.rough.size();
}

std::vector<size_t> numbers(const std::vector<bool> &marked) {
    std::vector<size_t> out;
    for (size_t i = 0; i < marked.size(); ++i)
        if (marked[i])
            out.push_back(i);
    return out;
}

} // namespace

ExtremeRanks::ExtremeRanks(const Program &program) : places_(program.lookups.size()) {
    const ir::Pipeline &main = program.main();
    const bool rows = main.sink == ir::SinkKind::Rows;
    if (has_unmatched(program) || main.having.count > 0 || main.sets.count > 0 || main.distincts.count > 0 ||
        main.ordered_sets.count > 0)
        return;
    const FirstRows first(program);
    if (rows ? first.all() : main.keys.count > 0)
        return;
    if (rows)
        wanted_ = first.top();
    naggregates_ = main.aggregates.count;
    std::vector<bool> refused(program.lookups.size());
    const auto refuse = [&](ir::Index expr) {
        if (expr != ir::none && program.exprs[expr].op == ir::Op::Lookup)
            refused[program.exprs[expr].b] = true;
    };
    const auto take = [&](ir::Index expr, ir::Index place) {
        if (program.exprs[expr].op == ir::Op::Lookup && program.exprs[expr].type == Type::I32)
            places_[program.exprs[expr].b].push_back(place);
        else
            refuse(expr);
    };
    const auto is_order_key = [&](ir::Index expr) {
        const auto first_key = program.orders.begin() + main.order.first;
        return std::any_of(first_key, first_key + main.order.count,
                           [expr](const ir::OrderKey &key) { return key.expr == expr; });
    };
    for (const ir::Expr &expr : program.exprs)
        ir::for_each_operand(expr, refuse);
    for (const ir::Conjunct &conjunct : program.conjuncts)
        refuse(conjunct.expr);
    for (ir::Index i = 0; i < program.lists.size(); ++i) {
        if (rows && is_in(main.payload, i) && is_order_key(program.lists[i]))
            take(program.lists[i], i - main.payload.first);
        else
            refuse(program.lists[i]);
    }
    for (ir::Index i = 0; i < program.aggregates.size(); ++i) {
        const ir::Aggregate &aggregate = program.aggregates[i];
        const bool extremum = aggregate.kind == ir::AggregateKind::Min || aggregate.kind == ir::AggregateKind::Max;
        if (!rows && extremum && is_in(main.aggregates, i))
            take(aggregate.arg, i - main.aggregates.first);
        else
            refuse(aggregate.arg);
    }
    for (ir::Index i = 0; i < program.orders.size(); ++i)
        if (!rows || !is_in(main.order, i))
            refuse(program.orders[i].expr);
    for (size_t lookup = 0; lookup < places_.size(); ++lookup)
        if (refused[lookup])
            places_[lookup].clear();
}

bool ExtremeRanks::may_be_rough(ir::Index lookup, size_t entries) const {
    return lookup < places_.size() && !places_[lookup].empty() && entries >= few_entries &&
           wanted_ <= entries / shown_part;
}

std::vector<size_t> ExtremeRanks::shown(ir::Index lookup, const LookupTable &table, const GroupTable &groups) const {
    std::vector<bool> marked(table.rough.size() + 1);
    for (size_t group = 0; group < groups.ngroups; ++group)
        for (ir::Index place : places_[lookup]) {
            const ir::AggregateState &state = groups.states[group * naggregates_ + place];
            if (state.count > 0)
                marked[range_of(table, static_cast<int64_t>(state.low))] = true;
        }
    marked.pop_back();
    return numbers(marked);
}

std::vector<size_t> ExtremeRanks::shown(ir::Index lookup, const LookupTable &table, const RowTable &rows) const {
    std::vector<bool> marked(table.rough.size() + 1);
    for (const RowBlock &block : rows.blocks)
        for (ir::Index place : places_[lookup]) {
            const RowBlock::Column &column = block.columns[place];
            for (size_t row = 0; row < block.nrows; ++row) {
                int32_t rank;
                memcpy(&rank, column.values + row * sizeof rank, sizeof rank);
                if (column.nulls == nullptr || !column.nulls[row])
                    marked[range_of(table, rank)] = true;
            }
        }
    marked.pop_back();
    return numbers(marked);
}

} // namespace gpuscan
