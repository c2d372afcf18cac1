// Groups as rows; see stage_rows.hpp.
#include "engine/result/stage_rows.hpp"

#include <cmath>

namespace gpuscan {
namespace {

using ir::GroupField;

constexpr const char *no_integer = "a value of a subquery's groups is too large";

int128 power_of_ten(int digits) {
    int128 power = 1;
    for (int i = 0; i < digits; ++i)
        power *= 10;
    return power;
}

int128 wide(const ir::Value &value) { return int128(value.high) * (int128(1) << 64) + int128(value.low); }

double float_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// One field of the groups of a table, one after the other.
struct Field {
    const GroupTable &groups;
    const ir::StageColumn &column;
    size_t nkeys, naggregates;

    const ir::AggregateState &state(size_t group) const { return groups.states[group * naggregates + column.index]; }
    bool is_null(size_t group) const {
        return column.field == GroupField::Key ? groups.key_nulls[group * nkeys + column.index] != 0
                                               : column.field != GroupField::Count && state(group).count == 0;
    }
    ir::Value value(size_t group) const {
        if (column.field == GroupField::Key)
            return groups.keys[group * nkeys + column.index];
        const ir::AggregateState &of = state(group);
        if (column.field == GroupField::Count)
            return {static_cast<uint64_t>(of.count), of.count < 0 ? -1 : 0};
        return {of.low, of.high};
    }
};

// Finishes the field of each group; `to` has room for them. `Stored`: what a value of the column is.
template <class Stored> void put_integers(const Field &field, Stored *to, uint8_t *nulls, ColumnStats &stats) {
    const int128 limit = field.column.digits != 0 ? power_of_ten(field.column.digits) : 0;
    for (size_t g = 0; g < field.groups.ngroups; ++g) {
        const bool null = field.is_null(g);
        nulls[g] = null;
        stats.any_null |= null;
        const int128 value = null ? 0 : wide(field.value(g));
        to[g] = static_cast<Stored>(value);
        if (null)
            continue;
        if (to[g] != value || (limit != 0 && (value >= limit || value <= -limit)))
            throw DeviceError(no_integer);
        stats.any_value = true;
        if (value != static_cast<int64_t>(value)) {
            stats.any_wide = true;
            continue;
        }
        stats.min = std::min(stats.min, static_cast<int64_t>(value));
        stats.max = std::max(stats.max, static_cast<int64_t>(value));
    }
}

void check_float(const ir::StageColumn &column, double value) {
    if ((column.refused & ir::refuse_infinite) != 0 && std::isinf(value))
        throw DeviceError("a sum of floats is infinite");
    if ((column.refused & ir::refuse_zero) != 0 && value == 0)
        throw DeviceError("a minimum or maximum of floats is zero");
}

// Floats, and codes, which need no bounds but their own.
template <class Stored> void put_floats(const Field &field, Stored *to, uint8_t *nulls, ColumnStats &stats) {
    for (size_t g = 0; g < field.groups.ngroups; ++g) {
        const bool null = field.is_null(g);
        nulls[g] = null;
        stats.any_null |= null;
        to[g] = 0;
        if (null)
            continue;
        stats.any_value = true;
        const ir::Value value = field.value(g);
        if (field.column.field == GroupField::Average) {
            // (PostgreSQL's avg, unlike its sum, begins with 0.0.)
            check_float(field.column, float_of(value.low));
            to[g] = static_cast<Stored>((float_of(value.low) + 0.0) / static_cast<double>(field.state(g).count));
            continue;
        }
        memcpy(&to[g], &value.low, sizeof to[g]); // little-endian
        check_float(field.column, static_cast<double>(to[g]));
    }
}

void put(const Field &field, void *to, uint8_t *nulls, ColumnStats &stats) {
    switch (field.column.type) {
    case Type::Bool:
        return put_integers(field, static_cast<uint8_t *>(to), nulls, stats);
    case Type::I16:
        return put_integers(field, static_cast<int16_t *>(to), nulls, stats);
    case Type::I32:
        return put_integers(field, static_cast<int32_t *>(to), nulls, stats);
    case Type::I64:
        return put_integers(field, static_cast<int64_t *>(to), nulls, stats);
    case Type::I128:
        return put_integers(field, static_cast<int128 *>(to), nulls, stats);
    case Type::Code:
        return put_integers(field, static_cast<uint32_t *>(to), nulls, stats);
    case Type::F32:
        return put_floats(field, static_cast<float *>(to), nulls, stats);
    case Type::F64:
        return put_floats(field, static_cast<double *>(to), nulls, stats);
    }
}

// Of which type are the field's values before they are put into a column? False: there is no such field.
bool find_type(const Program &program, const ir::StageColumn &column, Type *type) {
    const ir::Pipeline &main = program.main();
    if (column.field == GroupField::Key) {
        if (column.index >= program.result_keys() || column.index >= main.keys.count)
            return false;
        *type = program.exprs[program.lists[main.keys.first + column.index]].type;
        return true;
    }
    if (column.index >= program.result_aggregates())
        return false;
    *type = Type::I64;
    if (column.field == GroupField::Count)
        return true;
    if (column.index >= program.grouped_aggregates()) {
        *type = program.group_column_type(ir::group_values, column.index);
        return column.field == GroupField::Value;
    }
    // (Behind the aggregates of the first grouping stand those of DISTINCT, which are integers.)
    if (column.index >= main.aggregates.count)
        return true;
    const ir::Aggregate &aggregate = program.aggregates[main.aggregates.first + column.index];
    if (aggregate.arg != ir::none && aggregate.kind != ir::AggregateKind::Count)
        *type = program.exprs[aggregate.arg].type;
    return aggregate.kind != ir::AggregateKind::LongSum;
}

bool has_field(const Program &program, const ir::StageColumn &column) {
    Type type;
    if (column.field > GroupField::Average || static_cast<int>(column.type) >= type_count || column.digits > 38 ||
        !find_type(program, column, &type))
        return false;
    if (column.field == GroupField::Average)
        return type == Type::F64 && column.type == Type::F64;
    return type == column.type || (is_integer(type) && is_integer(column.type));
}

} // namespace

StageRows::StageRows(const Program &program, std::vector<ir::StageColumn> columns,
                     std::vector<std::shared_ptr<Dictionary>> dictionaries, const WorkMemoryRef &memory)
    : fields_(std::move(columns)), nkeys_(program.result_keys()), naggregates_(program.result_aggregates()) {
    for (size_t c = 0; c < fields_.size(); ++c) {
        if (!has_field(program, fields_[c]) || (fields_[c].type == Type::Code) != (dictionaries[c] != nullptr))
            throw DeviceError("a column of a subquery's groups is none of their fields");
        columns_.emplace_back();
        columns_.back().type = fields_[c].type;
        columns_.back().values.charge_to(memory);
        columns_.back().nulls.charge_to(memory);
        columns_.back().dictionary = std::move(dictionaries[c]);
    }
}

void StageRows::add(const GroupTable &groups, const std::atomic<uint32_t> *cancel) {
    for (size_t c = 0; c < columns_.size(); ++c) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
            throw Cancelled();
        Column &column = columns_[c];
        const size_t width = type_width(column.type);
        column.values.resize((nrows_ + groups.ngroups) * width);
        column.nulls.resize(nrows_ + groups.ngroups);
        put({groups, fields_[c], nkeys_, naggregates_}, column.values.data() + nrows_ * width,
            column.nulls.data() + nrows_, column.stats);
    }
    nrows_ += groups.ngroups;
}

size_t StageRows::row_bytes() const {
    size_t bytes = 0;
    for (const Column &column : columns_)
        bytes += type_width(column.type) + 1;
    return bytes;
}

} // namespace gpuscan
