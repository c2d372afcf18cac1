// Which groups does somebody want, as far as that can be seen where they stand? (pg/fragment/wanted_groups.h says which are asked for.)
//
// Of millions of groups HAVING often leaves a few, and ORDER BY ... LIMIT shows a few. What the others cost is not the GPU's work, but their
// way: through the link, into memory that nobody has touched before, and through the host's own group filter
// (host/group_filter.hpp), some 14 ns a group. So the kernel that gathers the groups of a table passes over those that the plainest
// conditions keep out, and those behind so many others by a plain first sort key (device/gather_groups.cuh): a count, an integer sum,
// minimum or maximum; the condition compares it with a constant, and the sort key may be an integer key of the groups, too. It needs no
// compilation, since all that is data. The host's filter still looks at all that is left, so a group may always pass here:
//
//   * Only the first conditions are looked at, up to one that is not plain: it might raise an error for a group that a later
//     one drops. Groups come first or not only among those that pass all conditions, so all must be plain then, and no sort key may
//     be an expression, which might raise an error.
//   * No group is dropped where the result's values can be errors by themselves: sums of floats, sums of more than 128 bits, or
//     sums that must fit a bigint and are not known to, or an integer.
//   * Where there are grouping sets the groups are not the result's yet; nor, for their order, where aggregates ask for different or
//     ordered values.
#include "cuda/execution_state.hpp"

namespace gpuscan::cuda {

using codegen::GroupingKind;
using codegen::SumKind;
using tables::GroupCondition;
using tables::GroupValue;

namespace {

constexpr uint64_t worth_choosing = 4; // of fewer times as many groups as are wanted too few would stay where they are

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

// Is a value one word?
bool is_narrow_integer(Type type) { return type == Type::I16 || type == Type::I32 || type == Type::I64; }

// Where what an aggregate is, or its count, stands in a slot; false: the kernel does not know such values.
bool place_aggregate(const Program &program, const Expr &column, const Kernel &kernel, const codegen::GroupShape &group,
                     GroupValue &value) {
    if (column.b >= program.main().aggregates.count)
        return false;
    const Aggregate &aggregate = program.aggregates[program.main().aggregates.first + column.b];
    const codegen::Components &parts = kernel.components[column.b];
    value.counted = kernel.key_words + parts.count;
    value.word = kernel.key_words + parts.value;
    if (column.a == group_counts) {
        value.word = value.counted;
        value.counted = 0; // a count is never NULL
        value.kind = GroupValue::Word;
        return true;
    }
    if (aggregate.kind == AggregateKind::Sum) {
        value.kind = group.sums[column.b] == SumKind::Halves ? GroupValue::Halves : GroupValue::Word;
        return group.sums[column.b] == SumKind::Halves || group.sums[column.b] == SumKind::Narrow;
    }
    if (aggregate.kind != AggregateKind::Min && aggregate.kind != AggregateKind::Max)
        return false;
    value.kind = aggregate.kind == AggregateKind::Min ? GroupValue::Smallest : GroupValue::Largest;
    return is_narrow_integer(program.exprs[aggregate.arg].type);
}

// Where a key stands.
bool place_key(const std::vector<KeyPlan> &plan, Index index, GroupingKind grouping, GroupValue &value) {
    if (index >= plan.size() || !is_narrow_integer(plan[index].type))
        return false;
    if (grouping != GroupingKind::Wide) {
        value.kind = GroupValue::Part;
        value.factor = plan[index].factor;
        value.modulus = plan[index].modulus;
        value.nullable = plan[index].nullable;
        return true;
    }
    const WideKey key = wide_key(plan, index);
    value.kind = GroupValue::Word;
    value.word = key.word;
    value.null_word = key.any_null ? key.null_word : 0;
    value.null_bit = index;
    return true;
}

// A column over groups, perhaps as a wider integer.
const Expr &behind_casts(const Program &program, Index expr) {
    const Expr *e = &program.exprs[expr];
    while (e->op == Op::Cast && is_integer(e->type) && is_integer(program.exprs[e->a].type) &&
           type_width(e->type) >= type_width(program.exprs[e->a].type))
        e = &program.exprs[e->a];
    return *e;
}

bool over_aggregates(const Expr &e) { return e.op == Op::Column && (e.a == group_counts || e.a == group_values); }

bool plain_condition(const Program &program, const Expr &e, const Kernel &kernel, const codegen::GroupShape &group,
                     GroupCondition &condition) {
    if (outcomes_of(e.op) == 0)
        return false;
    const Expr *value = &behind_casts(program, e.a), *bound = &behind_casts(program, e.b);
    const bool bound_first = value->op == Op::Const;
    if (bound_first)
        std::swap(value, bound);
    condition.outcomes = outcomes_of(bound_first ? mirrored(e.op) : e.op);
    if (bound->op != Op::Const || !is_integer(bound->type) || program.constants[bound->a].null)
        return false;
    condition.low = program.constants[bound->a].low;
    condition.high = program.constants[bound->a].high;
    return over_aggregates(*value) && place_aggregate(program, *value, kernel, group, condition.value);
}

} // namespace

bool CudaExecution::may_drop_groups(const codegen::GroupShape &group) const {
    const Pipeline &main = program_.main();
    if (!complete_ || main.sets.count > 0)
        return false;
    for (Index i = 0; i < main.aggregates.count; ++i)
        if (may_be_an_error(program_.aggregates[main.aggregates.first + i], group.sums[i]))
            return false;
    return true;
}

void CudaExecution::put_conditions(const Kernel &kernel, const codegen::GroupShape &group,
                                   tables::GatherArgument &argument) const {
    const Pipeline &main = program_.main();
    for (Index h = 0; h < main.having.count && argument.nconditions < tables::max_group_conditions; ++h) {
        GroupCondition condition{};
        const Expr &e = program_.exprs[program_.lists[main.having.first + h]];
        if (!plain_condition(program_, e, kernel, group, condition))
            return;
        argument.conditions[argument.nconditions++] = condition;
    }
}

// False: all groups are wanted, or nearly, or the kernel does not know their order.
bool CudaExecution::put_order(const Kernel &kernel, const codegen::GroupShape &group, const std::vector<KeyPlan> &plan,
                              uint64_t groups, tables::GatherArgument &argument) const {
    const Pipeline &main = program_.main();
    const uint64_t wanted = program_.wanted();
    if (main.order.count == 0 || wanted == 0 || groups <= state_->groups.chosen_groups ||
        wanted > groups / worth_choosing || argument.nconditions != main.having.count || main.distincts.count > 0 ||
        main.ordered_sets.count > 0 || !may_drop_groups(group))
        return false;
    for (Index o = 0; o < main.order.count; ++o)
        if (behind_casts(program_, program_.orders[main.order.first + o].expr).op != Op::Column)
            return false;
    const OrderKey &first = program_.orders[main.order.first];
    const Expr &column = behind_casts(program_, first.expr);
    GroupValue value{};
    if (column.a == ir::group_keys ? !place_key(plan, column.b, group.grouping, value)
                                   : !place_aggregate(program_, column, kernel, group, value))
        return false;
    argument.order.value = value;
    argument.order.descending = first.descending;
    argument.order.nulls_first = first.nulls_first;
    argument.order.wanted = wanted;
    return true;
}

// Queues the search for the last of the groups that are wanted. What it finds is in the memory that is returned, which the argument
// points to.
BufferRef CudaExecution::find_last_group(tables::GatherArgument &argument) {
    BufferRef memory = zeroed(sizeof(tables::LastRank));
    argument.order.last = static_cast<tables::LastRank *>(memory->data);
    for (argument.turn = 0; argument.turn < tables::rank_turns; ++argument.turn) {
        launch_over_entries("count_ranks", argument);
        streams_->launch(tables_function("choose_rank"), 1, tables::choosing_threads, 0, &argument);
    }
    return memory;
}

} // namespace gpuscan::cuda
