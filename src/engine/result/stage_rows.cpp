// Groups and rows as rows; see stage_rows.hpp.
#include "engine/result/stage_rows.hpp"

#include <cmath>
#include <mutex>
#include <type_traits>

#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

using ir::GroupField;

constexpr const char *no_integer = "a value of a subquery is too large for who reads it";

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

} // namespace

int128 limit_of(const ir::StageColumn &column) { return column.digits != 0 ? power_of_ten(column.digits) : 0; }

namespace {

// What is learnt of an integer that the column has as `stored`; `limit`: 0, or what it must stay below.
template <class Value, class Stored> void check_integer(Value value, Stored stored, int128 limit, ColumnStats &stats) {
    if (static_cast<int128>(stored) != value || (limit != 0 && (value >= limit || value <= -limit)))
        throw DeviceError(no_integer);
    stats.any_value = true;
    const int64_t narrow = static_cast<int64_t>(value);
    if (narrow != value) {
        stats.any_wide = true;
        return;
    }
    stats.min = std::min(stats.min, narrow);
    stats.max = std::max(stats.max, narrow);
}

// use(a value of the C++ type), of all but floats.
template <class Use> void with_integer(Type type, const Use &use) {
    switch (type) {
    case Type::Bool:
        return use(uint8_t());
    case Type::I16:
        return use(int16_t());
    case Type::I32:
        return use(int32_t());
    case Type::I64:
        return use(int64_t());
    case Type::I128:
        return use(int128());
    case Type::Code:
        return use(uint32_t());
    case Type::F32:
    case Type::F64:
        return;
    }
}

// Finishes the field of each group; `to` has room for them. `Stored`: what a value of the column is.
template <class Stored> void put_integers(const Field &field, Stored *to, uint8_t *nulls, ColumnStats &stats) {
    const int128 limit = limit_of(field.column);
    for (size_t g = 0; g < field.groups.ngroups; ++g) {
        const bool null = field.is_null(g);
        nulls[g] = null;
        stats.any_null |= null;
        const int128 value = null ? 0 : wide(field.value(g));
        to[g] = static_cast<Stored>(value);
        if (!null)
            check_integer(value, to[g], limit, stats);
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
    if (field.column.type == Type::F32)
        return put_floats(field, static_cast<float *>(to), nulls, stats);
    if (field.column.type == Type::F64)
        return put_floats(field, static_cast<double *>(to), nulls, stats);
    with_integer(field.column.type,
                 [&](auto stored) { put_integers(field, static_cast<decltype(stored) *>(to), nulls, stats); });
}

// ---- cells of rows ----

// Where the values of a block go, and what is learnt of them.
struct CellTarget {
    const ir::StageColumn &column;
    void *values; // of the block's rows
    uint8_t *nulls;
    ColumnStats *stats;
};

template <class Value, class Stored>
void put_integer_cells(const RowBlock::Column &from, size_t n, const CellTarget &to) {
    const Value *values = reinterpret_cast<const Value *>(from.values);
    Stored *stored = static_cast<Stored *>(to.values);
    const int128 limit = limit_of(to.column);
    ColumnStats stats = *to.stats;
    for (size_t i = 0; i < n; ++i) {
        stored[i] = 0;
        if (to.nulls[i])
            continue;
        const std::conditional_t<std::is_same_v<Value, int128>, int128, int64_t> value = values[i];
        stored[i] = static_cast<Stored>(value);
        check_integer(value, stored[i], limit, stats);
    }
    *to.stats = stats;
}

// As they are: a window's sum may be infinite where PostgreSQL's is.
void put_float_cells(const RowBlock::Column &from, size_t n, const CellTarget &to) {
    const size_t width = type_width(to.column.type);
    memcpy(to.values, from.values, n * width);
    for (size_t i = 0; i < n; ++i)
        if (to.nulls[i])
            memset(static_cast<char *>(to.values) + i * width, 0, width);
        else
            to.stats->any_value = true;
}

void put_cells(Type type, const RowBlock::Column &from, size_t n, const CellTarget &to) {
    if (from.nulls != nullptr)
        memcpy(to.nulls, from.nulls, n);
    else
        memset(to.nulls, 0, n);
    to.stats->any_null |= memchr(to.nulls, 1, n) != nullptr;
    if (is_float(type))
        return put_float_cells(from, n, to);
    with_integer(type, [&](auto value) {
        with_integer(to.column.type,
                     [&](auto stored) { put_integer_cells<decltype(value), decltype(stored)>(from, n, to); });
    });
}

// ---- what fields there are ----

// Of which type are the field's values before they are put into a column? False: there is no such field.
bool find_type(const Program &program, const ir::StageColumn &column, Type *type) {
    const ir::Pipeline &main = program.main();
    if ((column.field == GroupField::Cell) != (main.sink == ir::SinkKind::Rows))
        return false;
    if (column.field == GroupField::Cell) {
        const std::vector<Type> types = program.row_types();
        if (column.index < types.size())
            *type = types[column.index];
        return column.index < types.size();
    }
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
    Type type = Type::I64;
    if (column.field > GroupField::Cell || static_cast<int>(column.type) >= type_count || column.digits > 38 ||
        !find_type(program, column, &type))
        return false;
    if (column.field == GroupField::Average)
        return type == Type::F64 && column.type == Type::F64;
    return type == column.type || (is_integer(type) && is_integer(column.type));
}

} // namespace

StageRows::StageRows(const Program &program, std::vector<ir::StageColumn> columns,
                     std::vector<std::shared_ptr<Dictionary>> dictionaries, const WorkMemoryRef &memory)
    : fields_(std::move(columns)) {
    if (program.main().sink == ir::SinkKind::Rows) {
        row_types_ = program.row_types();
    } else {
        nkeys_ = program.result_keys();
        naggregates_ = program.result_aggregates();
    }
    for (size_t c = 0; c < fields_.size(); ++c) {
        if (!has_field(program, fields_[c]) || (fields_[c].type == Type::Code) != (dictionaries[c] != nullptr))
            throw DeviceError("a column of a stage is no field of what is kept");
        columns_.emplace_back();
        columns_.back().type = fields_[c].type;
        columns_.back().values.charge_to(memory);
        columns_.back().nulls.charge_to(memory);
        columns_.back().dictionary = std::move(dictionaries[c]);
    }
}

void StageRows::make_room(Column &column, size_t rows) {
    column.values.resize((nrows_ + rows) * type_width(column.type));
    column.nulls.resize(nrows_ + rows);
}

void StageRows::add(const GroupTable &groups, const std::atomic<uint32_t> *cancel) {
    for (size_t c = 0; c < columns_.size(); ++c) {
        if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
            throw Cancelled();
        Column &column = columns_[c];
        make_room(column, groups.ngroups);
        put({groups, fields_[c], nkeys_, naggregates_}, column.values.data() + nrows_ * type_width(column.type),
            column.nulls.data() + nrows_, column.stats);
    }
    nrows_ += groups.ngroups;
}

// Threads share the blocks: where each begins is known.
void StageRows::add(const RowTable &rows, const std::atomic<uint32_t> *cancel) {
    std::vector<size_t> first;
    size_t at = nrows_;
    for (const RowBlock &block : rows.blocks) {
        first.push_back(at);
        at += block.nrows;
    }
    for (Column &column : columns_)
        make_room(column, at - nrows_);
    std::mutex mutex;
    in_slices(threads_worth(rows.nrows), rows.blocks.size(), [&](unsigned, uint64_t from, uint64_t to) {
        for (uint64_t b = from; b < to; ++b) {
            if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
                throw Cancelled();
            for (size_t c = 0; c < columns_.size(); ++c) {
                Column &column = columns_[c];
                ColumnStats stats;
                put_cells(row_types_[fields_[c].index], rows.blocks[b].columns[fields_[c].index], rows.blocks[b].nrows,
                          {fields_[c], column.values.data() + first[b] * type_width(column.type),
                           column.nulls.data() + first[b], &stats});
                const std::lock_guard<std::mutex> lock(mutex);
                column.stats.merge(stats);
            }
        }
    });
    nrows_ = at;
}

void StageRows::share(DeviceRows &&rows) {
    for (size_t c = 0; c < columns_.size(); ++c) {
        columns_[c].device_values = std::move(rows.columns[c].values);
        columns_[c].device_nulls = std::move(rows.columns[c].nulls);
        columns_[c].stats = rows.columns[c].stats;
    }
    nrows_ = rows.nrows;
    on_device_ = true;
}

void StageRows::share_cells(const DeviceRows &rows, Execution &execution) {
    DeviceRows own;
    own.nrows = rows.nrows;
    for (const ir::StageColumn &field : fields_) {
        own.columns.push_back(rows.columns[field.index]);
        DeviceRows::Column &column = own.columns.back();
        const int128 limit = limit_of(field);
        if (!is_float(column.type) && (column.type != field.type || limit != 0))
            execution.cast_column(rows, column, field.type, limit);
    }
    share(std::move(own));
}

size_t StageRows::row_bytes() const {
    size_t bytes = 0;
    if (on_device_)
        return bytes;
    for (const Column &column : columns_)
        bytes += type_width(column.type) + 1;
    return bytes;
}

} // namespace gpuscan
