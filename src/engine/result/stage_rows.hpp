// The groups or rows of one program as the rows that the next program reads: columns instead of keys and states, or of blocks.
//
// A subquery that aggregates, or computes window functions, is a stage of its own. What it makes stays in the device process, where each
// value that the outer query reads is finished here: a key, a count, a sum, an extremum, an average of floats, or what is in a row. What
// cannot be finished exactly as PostgreSQL would do it is a DeviceError, so that the CPU plan answers.
#pragma once

#include <memory>
#include <vector>

#include "engine/device.hpp"
#include "engine/store/dictionary.hpp"

namespace gpuscan {

class StageRows {
  public:
    struct Column {
        Type type = Type::I64;
        WorkArray<uint8_t> values;              // nrows values of type_width(type) bytes; that of a NULL is zero
        WorkArray<uint8_t> nulls;               // nrows bytes, 1 = NULL
        BufferRef device_values, device_nulls;  // instead of both, as in DeviceRows
        ColumnStats stats;                      // of values that are not NULL; of floats only any_value and any_null
        std::shared_ptr<Dictionary> dictionary; // Code: whose entries the values are
    };

    // The groups or rows of `program` become these columns, in their order; `dictionaries` has one for each, nullptr where it is no Code.
    // The rows count in `memory`. Throws DeviceError if a group has no such field.
    StageRows(const Program &program, std::vector<ir::StageColumn> columns,
              std::vector<std::shared_ptr<Dictionary>> dictionaries, const WorkMemoryRef &memory);

    // Adds a row for each group, or each row. Throws DeviceError for a value that the column cannot have, OutOfWorkMemory.
    void add(const GroupTable &groups, const std::atomic<uint32_t> *cancel);
    void add(const RowTable &rows, const std::atomic<uint32_t> *cancel);
    // Instead of any other rows: these, which stay where they are. They have the columns, or a program's own, of which the columns are made;
    // `execution` is the one that has made them.
    void share(DeviceRows &&rows);
    void share_cells(const DeviceRows &rows, Execution &execution);

    bool on_device() const { return on_device_; }
    size_t nrows() const { return nrows_; }
    const std::vector<ir::StageColumn> &fields() const { return fields_; }
    const std::vector<Column> &columns() const { return columns_; }
    size_t row_bytes() const; // with the flags of NULL, of host memory

  private:
    void make_room(Column &column, size_t rows);

    std::vector<ir::StageColumn> fields_;
    std::vector<Type> row_types_; // of a program that delivers rows
    size_t nkeys_ = 0, naggregates_ = 0;
    size_t nrows_ = 0;
    bool on_device_ = false;
    std::vector<Column> columns_;
};

// What integers of the column stay below; 0: anything.
int128 limit_of(const ir::StageColumn &column);

} // namespace gpuscan
