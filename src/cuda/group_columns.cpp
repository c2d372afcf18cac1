// How do groups that stay in device memory become columns that the next program reads? What group_values.cpp does for those that leave
// it, one kernel for each field (device/group_columns.cuh).
#include "device/group_columns.cuh"

#include "cuda/execution_state.hpp"
#include "device/status.cuh"
#include "engine/result/stage_rows.hpp"

namespace gpuscan::cuda {

using codegen::GroupingKind;
using codegen::SumKind;
using group_columns::Field;

// Where a key stands in a record.
void CudaExecution::plan_key(const Gathered &gathered, Index index, group_columns::Argument &a) const {
    const KeyPlan &key = gathered.plan[index];
    a.from_type = static_cast<uint32_t>(key.type);
    if (gathered.group.grouping != GroupingKind::Wide) {
        a.field = Field::Part;
        a.word = gathered.hashed ? 0 : static_cast<uint32_t>(gathered.words);
        a.factor = key.factor;
        a.modulus = key.modulus;
        a.least = key.min;
        a.nullable = key.nullable;
        return;
    }
    const WideKey place = wide_key(gathered.plan, index);
    a.word = place.word;
    a.field = key.type == Type::I128 ? Field::WideKey : Field::Key;
    if (place.any_null) {
        a.null_word = place.null_word;
        a.null_bit = index;
    }
    a.nullable = place.any_null;
}

// False: no kernel finishes it.
bool CudaExecution::plan_aggregate(const Gathered &gathered, const StageColumn &column,
                                   group_columns::Argument &a) const {
    const Aggregate &aggregate = program_.aggregates[program_.main().aggregates.first + column.index];
    const codegen::Components &parts = gathered.kernel.components[column.index];
    const uint32_t entry = gathered.kernel.key_words;
    a.counted = entry + parts.count;
    a.word = entry + parts.value;
    a.nullable = parts.count != 0;
    if (column.field == GroupField::Count) {
        a.field = Field::Count;
        a.word = a.counted;
        a.nullable = 0;
        return true;
    }
    if (aggregate.arg == none || parts.value == 0)
        return false;
    a.from_type = static_cast<uint32_t>(program_.exprs[aggregate.arg].type);
    const SumKind sum = gathered.group.sums[column.index];
    switch (aggregate.kind) {
    case AggregateKind::Sum:
        a.averages = column.field == GroupField::Average;
        a.field = sum == SumKind::Narrow   ? Field::Narrow
                  : sum == SumKind::Halves ? Field::Halves
                  : sum == SumKind::Digits ? Field::Digits
                                           : Field::Double;
        return !a.averages || sum == SumKind::Double;
    case AggregateKind::Min:
        a.field = Field::Smallest;
        return true;
    case AggregateKind::Max:
        a.field = Field::Largest;
        return true;
    case AggregateKind::BitAnd:
        a.field = Field::Unset;
        return true;
    case AggregateKind::BitOr:
    case AggregateKind::BitXor:
        a.field = Field::Bits;
        return true;
    default:
        return false;
    }
}

bool CudaExecution::group_columns(const std::vector<StageColumn> &fields, DeviceRows &result) {
    if (!gathered_ || gathered_->next != 0 || program_.main().sets.count > 0)
        return false;
    const Gathered &gathered = *gathered_;
    std::vector<group_columns::Argument> arguments;
    for (const StageColumn &column : fields) {
        group_columns::Argument a{};
        a.records = static_cast<const uint64_t *>(gathered.records->data);
        a.groups = gathered.count;
        a.record_words = static_cast<uint32_t>(gathered.record() / sizeof(uint64_t));
        a.rows = gathered.kernel.key_words;
        a.null_word = group_columns::no_word;
        a.type = static_cast<uint32_t>(column.type);
        a.refused = column.refused;
        a.limit = limit_of(column);
        if (column.field == GroupField::Key)
            plan_key(gathered, column.index, a);
        else if (column.index >= gathered.kernel.components.size() || !plan_aggregate(gathered, column, a))
            return false;
        arguments.push_back(a);
    }
    quietly([&] {
        RowKernels kernels = row_kernels(group_columns_source), ranges = row_kernels(windows_source);
        streams_->reset_control();
        const Drain drain(*streams_);
        for (size_t c = 0; c < fields.size(); ++c) {
            group_columns::Argument &a = arguments[c];
            DeviceRows::Column column;
            column.type = fields[c].type;
            column.values = kernels.column(gathered.count, type_width(column.type));
            a.values = column.values->data;
            if (a.nullable) {
                column.nulls = kernels.column(gathered.count, 1);
                a.nulls = static_cast<uint8_t *>(column.nulls->data);
            }
            a.status = kernels.status();
            column.stats.any_null = a.nullable != 0;
            column.stats.any_value = true;
            kernels.launch("group_column", gathered.count, &a);
            result.columns.push_back(std::move(column));
        }
        result.nrows = gathered.count;
        if (kernels.wait() & status_row_error)
            throw DeviceError("a value of a subquery is too large for who reads it, or a sum overflows");
        find_ranges(ranges, result);
    });
    gathered_.reset();
    return true;
}

} // namespace gpuscan::cuda
