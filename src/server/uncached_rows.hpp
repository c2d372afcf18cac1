// Rows of one pass that are in no cache: pages decoded under tuple masks, rows that the backend decoded itself, and those of an earlier
// stage of the query.
#pragma once

#include <memory>
#include <vector>

#include "engine/result/stage_rows.hpp"
#include "engine/store/build_rows.hpp"
#include "engine/store/chunk_build.hpp"
#include "server/message.hpp"

namespace gpuscan {

// The rows of one pass take at most about so much; then the pipeline runs and more can come.
constexpr size_t transient_limit = size_t(64) << 20;

// A column as transient rows see it.
struct TransientColumn {
    Type type = Type::I32;
    const ColumnLayout *layout = nullptr; // nullptr: rows of a CPU plan
    Dictionary *dictionary = nullptr;     // Code
    int expression = -1;                  // its number in the source, -1: an attribute
};

// What one pipeline reads, with everything that must live as long as the views.
struct PassInput {
    std::vector<ChunkView> chunks;
    std::vector<RowMask> masks;
    std::vector<BufferRef> buffers;
    uint64_t rows = 0;
};

// `values` may be nullptr where the frame stores nothing.
ColumnView column_view(Type type, Frame frame, const Buffer *values, const Buffer *nulls, const ColumnStats &stats);

// Adds rows as read_rows() writes them (engine/store/build_rows.hpp), uploaded.
void add_values(Device &device, const ChunkBuilder::Allocate &allocate, const std::vector<Type> &types,
                const std::string &rows, PassInput &input);

// Rows that the device decoded from pages that the cache does not take, or of which only some tuples are visible. They lie in
// blocks, each twice as long as the one before, so that no row is copied.
class DecodedRows {
  public:
    DecodedRows(Device &device, ChunkBuilder::Allocate allocate, const std::vector<TransientColumn> &columns)
        : device_(device), allocate_(std::move(allocate)), columns_(columns) {}

    // Each page has a mask. Throws OutOfDeviceMemory, Undecodable, Cancelled, DeviceError.
    std::vector<PageStatus> decode(const std::vector<WindowPage> &window, const std::atomic<uint32_t> *cancel);
    size_t bytes() const;
    bool empty() const { return count() == 0; }
    int64_t max_code(size_t column) const;
    void add_to(PassInput &input);
    // A block as a chunk of its own.
    size_t nblocks() const { return blocks_.size(); }
    ChunkRows rows(size_t block) const;
    ColumnValues column(size_t block, size_t column) const;
    size_t count() const;
    // Adds their values, as read_rows() writes them.
    void read(std::string &to) const;
    void clear() { blocks_.clear(); }

  private:
    struct Column {
        BufferRef values, nulls; // of the block's memory, ...
        size_t values_at = 0, nulls_at = 0;
        ColumnStats stats;
    };
    struct Block {
        BufferRef memory;
        bool zeroed = false;
        std::vector<uint8_t> copy; // of the memory, on the host; empty: there is none
        std::vector<Column> columns;
        uint32_t nrows = 0, capacity = 0, valid = 0;
        std::vector<std::pair<uint32_t, uint32_t>> valid_rows; // [first, end), in order
    };
    void reserve(uint32_t rows);
    Block new_block(uint32_t capacity);
    void read_from_device(size_t block, std::string &to) const;
    void decode_columns(const std::vector<WindowPage> &window, const std::vector<uint32_t> &starts, int expression,
                        bool is_last, std::vector<PageStatus> &statuses, const std::atomic<uint32_t> *cancel);

    Device &device_;
    ChunkBuilder::Allocate allocate_;
    std::vector<TransientColumn> columns_;
    std::vector<Block> blocks_;
};

// Rows that came as values; collected in host memory, uploaded once per pass.
class BatchRows {
  public:
    BatchRows(Device &device, ChunkBuilder::Allocate allocate, const std::vector<TransientColumn> &columns)
        : device_(device), allocate_(std::move(allocate)), columns_(columns), data_(columns.size()) {}

    // Reads the columns of a Batch message. False: a dictionary is full (of column *full).
    bool add(MessageReader &message, uint32_t nrows, size_t *full);
    size_t bytes() const;
    bool empty() const { return nrows_ == 0; }
    uint32_t count() const { return nrows_; }
    int64_t max_code(size_t column) const { return data_[column].stats.max; }
    void add_to(PassInput &input);
    void read(std::string &to) const;
    void clear();

  private:
    struct Column {
        std::vector<uint8_t> values, nulls;
        ColumnStats stats;
    };
    bool add_texts(MessageReader &message, uint32_t nrows, const uint8_t *nulls, size_t column);

    Device &device_;
    ChunkBuilder::Allocate allocate_;
    std::vector<TransientColumn> columns_;
    std::vector<Column> data_;
    uint32_t nrows_ = 0;
};

// Rows of an earlier stage, some of them in each pass; they are uploaded once.
class StagedRows {
  public:
    StagedRows(Device &device, ChunkBuilder::Allocate allocate, std::shared_ptr<const StageRows> rows)
        : device_(device), allocate_(std::move(allocate)), rows_(std::move(rows)) {}

    // Takes as many as a pass may have; returns how many are left for the passes behind it.
    size_t next();
    size_t bytes() const { return count_ * rows_->row_bytes(); }
    bool empty() const { return count_ == 0; }
    const StageRows &all() const { return *rows_; }
    void add_to(PassInput &input);
    // When the pass has run.
    void clear();

  private:
    Device &device_;
    ChunkBuilder::Allocate allocate_;
    std::shared_ptr<const StageRows> rows_;
    size_t first_ = 0, count_ = 0;
};

} // namespace gpuscan
