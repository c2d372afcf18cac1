// Which conditions over groups can be tested where the groups stand?
//
// Of millions of groups HAVING often leaves a few. What they cost is not the GPU's work, but their way: through the link, into
// memory that nobody has touched before, and through the own group filter of the host (host/group_filter.hpp), some 14 ns a group.
// So the kernel that gathers the groups of a table drops, before it copies them, those that the plainest conditions keep
// out: a count, an integer sum, minimum or maximum, compared with a constant. It needs no compilation, since such a condition
// is data. The host's filter still tests all conditions on whatever is left, so a group may always pass here:
//
//   * Only the first conditions are looked at, up to one that is not plain: it might raise an error for a group that a later
//     one drops.
//   * No group is dropped where the result's values can be errors by themselves: sums of floats, sums of more than 128 bits, or
//     sums that must fit a bigint and are not known to, or an integer.
#include "cuda/execution_state.hpp"

namespace gpuscan::cuda {

using codegen::SumKind;
using tables::GroupCondition;

namespace {

// The outcomes of a comparison of value and bound with which it is true; 0: this is no comparison.
uint32_t outcomes_of(Op op) {
    switch (op) {
    case Op::Lt:
        return GroupCondition::Less;
    case Op::Le:
        return GroupCondition::Less | GroupCondition::Equal;
    case Op::Eq:
        return GroupCondition::Equal;
    case Op::Ge:
        return GroupCondition::Greater | GroupCondition::Equal;
    case Op::Gt:
        return GroupCondition::Greater;
    case Op::Ne:
        return GroupCondition::Less | GroupCondition::Greater;
    default:
        return 0;
    }
}

bool may_be_an_error(const Aggregate &aggregate, SumKind kind) {
    if (aggregate.kind == AggregateKind::LongSum || aggregate.narrow == sizeof(int32_t))
        return true;
    if (aggregate.kind != AggregateKind::Sum || kind == SumKind::Narrow)
        return false;
    return kind != SumKind::Halves || aggregate.narrow;
}

// Where the value of a column over groups stands in an entry; false: the kernel does not know such values.
bool place(const Program &program, const Expr &column, const Kernel &kernel, const codegen::GroupShape &group,
           GroupCondition &condition) {
    if (column.op != Op::Column || (column.a != group_counts && column.a != group_values))
        return false;
    const Aggregate &aggregate = program.aggregates[program.main().aggregates.first + column.b];
    const codegen::Components &parts = kernel.components[column.b];
    condition.count = parts.count;
    condition.value = parts.value;
    if (column.a == group_counts) {
        condition.value = parts.count;
        condition.count = 0; // all rows, of which there are some: a count is never NULL
        condition.kind = GroupCondition::Word;
        return true;
    }
    if (aggregate.kind == AggregateKind::Sum) {
        condition.kind = group.sums[column.b] == SumKind::Halves ? GroupCondition::Halves : GroupCondition::Word;
        return group.sums[column.b] == SumKind::Halves || group.sums[column.b] == SumKind::Narrow;
    }
    if (aggregate.kind != AggregateKind::Min && aggregate.kind != AggregateKind::Max)
        return false;
    condition.kind = aggregate.kind == AggregateKind::Min ? GroupCondition::Smallest : GroupCondition::Largest;
    const Type type = program.exprs[aggregate.arg].type;
    return type == Type::I16 || type == Type::I32 || type == Type::I64;
}

bool plain_condition(const Program &program, const Expr &e, const Kernel &kernel, const codegen::GroupShape &group,
                     GroupCondition &condition) {
    if (outcomes_of(e.op) == 0)
        return false;
    auto operand = [&](Index i) { // behind casts to a wider integer
        const Expr *o = &program.exprs[i];
        while (o->op == Op::Cast && is_integer(o->type) && is_integer(program.exprs[o->a].type) &&
               type_width(o->type) >= type_width(program.exprs[o->a].type))
            o = &program.exprs[o->a];
        return o;
    };
    const Expr *value = operand(e.a), *bound = operand(e.b);
    const bool bound_first = value->op == Op::Const;
    if (bound_first)
        std::swap(value, bound);
    condition.outcomes = outcomes_of(bound_first ? mirrored(e.op) : e.op);
    if (bound->op != Op::Const || !is_integer(bound->type) || program.constants[bound->a].null)
        return false;
    condition.low = program.constants[bound->a].low;
    condition.high = program.constants[bound->a].high;
    return place(program, *value, kernel, group, condition);
}

} // namespace

void CudaExecution::put_conditions(const Kernel &kernel, const codegen::GroupShape &group,
                                   tables::GatherArgument &argument) const {
    const Pipeline &main = program_.main();
    if (main.sets.count > 0) // the groups are not the result's yet
        return;
    for (Index i = 0; i < main.aggregates.count; ++i)
        if (may_be_an_error(program_.aggregates[main.aggregates.first + i], group.sums[i]))
            return;
    for (Index h = 0; h < main.having.count && argument.nconditions < tables::max_group_conditions; ++h) {
        GroupCondition condition{};
        const Expr &e = program_.exprs[program_.lists[main.having.first + h]];
        if (!plain_condition(program_, e, kernel, group, condition))
            return;
        argument.conditions[argument.nconditions++] = condition;
    }
}

} // namespace gpuscan::cuda
