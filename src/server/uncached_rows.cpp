// Rows of one pass that are in no cache; see uncached_rows.hpp.
#include "server/uncached_rows.hpp"

#include <algorithm>

#include "engine/store/dictionary.hpp"

namespace gpuscan {
namespace {

constexpr uint32_t first_rows =
    1024; // of a fresh buffer: mostly it is the only one, of a few pages that somebody is changing
constexpr size_t buffer_slack = 64; // bytes behind the last row, for vector loads
constexpr size_t max_rows_of_view = size_t(1) << 31;
constexpr size_t alignment = 64;
// A block of at most so many bytes is copied to the host as it is decoded, which takes 10 us: whoever recognises a build by its rows would
// take ten times as long to fetch them.
constexpr size_t max_copied = size_t(256) << 10;

void note(ColumnStats &stats, int64_t value) {
    stats.any_value = true;
    stats.min = std::min(stats.min, value);
    stats.max = std::max(stats.max, value);
}

template <class T> void note_values(ColumnStats &stats, const uint8_t *values, const uint8_t *nulls, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
        T value;
        memcpy(&value, values + i * sizeof(T), sizeof(T));
        if (!nulls[i])
            note(stats, value);
    }
}

} // namespace

namespace {

// Some bytes of a buffer, which they keep.
struct Part : Buffer {
    BufferRef whole;
};

BufferRef part_of(const BufferRef &whole, size_t at, size_t bytes) {
    auto part = std::make_shared<Part>();
    part->data = static_cast<uint8_t *>(whole->data) + at;
    part->size = bytes + buffer_slack;
    part->whole = whole;
    return part;
}

} // namespace

// To device memory, which the input keeps.
static ColumnView upload_column(Device &device, const ChunkBuilder::Allocate &allocate, const HostColumn &column,
                                size_t nrows, const ColumnStats &stats, PassInput &input) {
    const size_t bytes = nrows * type_width(column.type);
    BufferRef values = allocate(bytes + buffer_slack), nulls;
    device.upload(*values, 0, column.values, bytes);
    device.fill(*values, bytes, 0, values->size - bytes);
    if (stats.any_null) {
        nulls = allocate(nrows + buffer_slack);
        device.upload(*nulls, 0, column.nulls, nrows);
    }
    const ColumnView view = column_view(column.type, Frame(), values.get(), nulls.get(), stats);
    input.buffers.push_back(std::move(values));
    if (nulls)
        input.buffers.push_back(std::move(nulls));
    return view;
}

ColumnView column_view(Type type, Frame frame, const Buffer *values, const Buffer *nulls, const ColumnStats &stats) {
    ColumnView view;
    view.type = type;
    view.frame = frame;
    view.values = values != nullptr ? values->data : nullptr;
    view.nulls = nulls != nullptr ? static_cast<const uint8_t *>(nulls->data) : nullptr;
    const bool ranged = (is_integer(type) && !stats.any_wide) || type == Type::Code;
    if (ranged && stats.any_value && stats.min <= stats.max) {
        view.has_range = true;
        view.min = stats.min;
        view.max = stats.max;
    }
    return view;
}

static void note_values(ColumnStats &stats, Type type, const uint8_t *values, const uint8_t *nulls, uint32_t n) {
    switch (type) {
    case Type::Bool:
        return note_values<uint8_t>(stats, values, nulls, n);
    case Type::I16:
        return note_values<int16_t>(stats, values, nulls, n);
    case Type::I32:
        return note_values<int32_t>(stats, values, nulls, n);
    case Type::I64:
        return note_values<int64_t>(stats, values, nulls, n);
    case Type::Code:
        return note_values<uint32_t>(stats, values, nulls, n);
    default:
        return;
    }
}

// (Of few rows an upload of each column would take longer than all of them at once.)
void add_values(Device &device, const ChunkBuilder::Allocate &allocate, const std::vector<Type> &types,
                const std::string &rows, PassInput &input) {
    if (rows.empty())
        return;
    const size_t stride = row_bytes(types), nrows = rows.size() / stride;
    std::vector<uint8_t> bytes;
    const auto take = [&bytes](size_t size) {
        const size_t at = bytes.size();
        bytes.resize(at + (size + buffer_slack + alignment - 1) / alignment * alignment);
        return at;
    };
    struct Column {
        size_t values_at, nulls_at;
        ColumnStats stats;
    };
    std::vector<Column> columns;
    size_t offset = 0;
    for (const Type type : types) {
        const size_t width = type_width(type);
        const size_t values_at = take(nrows * width);
        Column column = {values_at, take(nrows), {}};
        for (size_t row = 0; row < nrows; ++row) {
            const char *const from = rows.data() + row * stride + offset;
            bytes[column.nulls_at + row] = *from != 0;
            column.stats.any_null |= *from != 0;
            memcpy(&bytes[column.values_at + row * width], from + 1, width);
        }
        note_values(column.stats, type, &bytes[column.values_at], &bytes[column.nulls_at],
                    static_cast<uint32_t>(nrows));
        columns.push_back(column);
        offset += 1 + width;
    }
    const BufferRef buffer = allocate(bytes.size());
    device.upload(*buffer, 0, bytes.data(), bytes.size());
    const uint8_t *const data = static_cast<const uint8_t *>(buffer->data);
    ChunkView view;
    view.nrows = static_cast<uint32_t>(nrows);
    for (size_t c = 0; c < types.size(); ++c) {
        view.columns.push_back(column_view(types[c], Frame(), buffer.get(), nullptr, columns[c].stats));
        view.columns[c].values = data + columns[c].values_at;
        view.columns[c].nulls = columns[c].stats.any_null ? data + columns[c].nulls_at : nullptr;
    }
    input.buffers.push_back(buffer);
    input.chunks.push_back(std::move(view));
    input.rows += nrows;
}

// ---- rows decoded by the device -----------------------------------------------------------------------------------

// The last block gets room for so many rows more. Where there is no memory for one of twice the length, a short one does.
void DecodedRows::reserve(uint32_t rows) {
    if (!blocks_.empty() && blocks_.back().capacity - blocks_.back().nrows >= rows)
        return;
    const uint32_t least = std::max(rows, first_rows);
    const uint32_t most = blocks_.empty() ? least : std::max(least, blocks_.back().capacity * 2);
    try {
        blocks_.push_back(new_block(most));
    } catch (const OutOfDeviceMemory &) {
        if (most == least)
            throw;
        blocks_.push_back(new_block(least));
    }
}

// One piece of memory for all columns: one call to move it, and one copy.
DecodedRows::Block DecodedRows::new_block(uint32_t capacity) {
    Block block;
    block.capacity = capacity;
    size_t bytes = 0;
    const auto take = [&bytes](size_t size) {
        const size_t at = bytes;
        bytes += (size + buffer_slack + alignment - 1) / alignment * alignment;
        return at;
    };
    for (const TransientColumn &column : columns_) {
        Column of;
        of.values_at = take(capacity * type_width(column.type));
        of.nulls_at = take(capacity);
        block.columns.push_back(of);
    }
    block.memory = allocate_(std::max(bytes, alignment));
    for (size_t c = 0; c < columns_.size(); ++c) {
        Column &column = block.columns[c];
        column.values = part_of(block.memory, column.values_at, capacity * type_width(columns_[c].type));
        column.nulls = part_of(block.memory, column.nulls_at, capacity);
    }
    return block;
}

// Those columns that are in the heap's tuples, or one expression, of the pages that are Ok so far.
void DecodedRows::decode_columns(const std::vector<WindowPage> &window, const std::vector<uint32_t> &starts,
                                 int expression, bool is_last, std::vector<PageStatus> &statuses,
                                 const std::atomic<uint32_t> *cancel) {
    std::vector<size_t> pages, columns;
    DecodeJob job;
    for (size_t i = 0; i < window.size(); ++i) {
        if (statuses[i] == PageStatus::Ok && expression >= 0)
            statuses[i] = expression_status(window[i], expression);
        if (statuses[i] != PageStatus::Ok)
            continue;
        pages.push_back(i);
        job.pages.push_back(page_ref(window[i], expression, starts[i]));
    }
    for (size_t c = 0; c < columns_.size(); ++c)
        if (columns_[c].expression == expression) {
            columns.push_back(c);
            const Column &to = blocks_.back().columns[c];
            job.columns.push_back({columns_[c].layout, to.values.get(), to.nulls.get(), columns_[c].dictionary});
        }
    if (pages.empty())
        return;
    Block &block = blocks_.back();
    if (!block.zeroed)
        job.zeros.push_back({block.memory, 0});
    if (is_last && block.memory->size <= max_copied && !device_.reads_host_memory())
        job.wanted_on_host = block.memory.get();
    DecodeResult result;
    device_.decode(job, result, cancel);
    block.zeroed = true;
    block.copy = std::move(result.on_host);
    if (result.pages.size() != pages.size() || result.columns.size() != columns.size())
        throw DeviceError("the device answered for other pages than it was asked for");
    if (result.dictionary_full) {
        std::vector<size_t> texts;
        for (size_t c : columns)
            if (columns_[c].dictionary != nullptr)
                texts.push_back(c);
        throw Undecodable("too many distinct values", texts);
    }
    for (size_t k = 0; k < columns.size(); ++k)
        block.columns[columns[k]].stats.merge(result.columns[k]);
    for (size_t k = 0; k < pages.size(); ++k)
        statuses[pages[k]] = result.pages[k];
}

std::vector<PageStatus> DecodedRows::decode(const std::vector<WindowPage> &window,
                                            const std::atomic<uint32_t> *cancel) {
    uint32_t rows = 0;
    for (const WindowPage &page : window)
        rows += page.ntuples;
    reserve(rows);
    Block &block = blocks_.back();
    std::vector<uint32_t> starts;
    for (const WindowPage &page : window) {
        starts.push_back(block.nrows);
        block.nrows += page.ntuples;
    }
    block.copy.clear();
    int last_expression = -1;
    for (const TransientColumn &column : columns_)
        last_expression = std::max(last_expression, column.expression);
    std::vector<PageStatus> statuses(window.size(), PageStatus::Ok);
    for (int expression = -1; expression <= last_expression; ++expression)
        decode_columns(window, starts, expression, expression == last_expression, statuses, cancel);
    for (size_t i = 0; i < window.size(); ++i) {
        if (statuses[i] == PageStatus::Unrepresentable)
            throw Undecodable(unfit_numeric, {});
        if (statuses[i] != PageStatus::Ok)
            continue;
        uint32_t first = starts[i], end = first + window[i].ntuples;
        block.valid += end - first;
        if (!block.valid_rows.empty() && block.valid_rows.back().second == first)
            block.valid_rows.back().second = end;
        else
            block.valid_rows.emplace_back(first, end);
    }
    return statuses;
}

size_t DecodedRows::bytes() const {
    size_t rows = 0, width = 0;
    for (const Block &block : blocks_)
        rows += block.nrows;
    for (const TransientColumn &column : columns_)
        width += type_width(column.type) + 1;
    return rows * width;
}

size_t DecodedRows::count() const {
    size_t rows = 0;
    for (const Block &block : blocks_)
        rows += block.valid;
    return rows;
}

int64_t DecodedRows::max_code(size_t column) const {
    int64_t max = ColumnStats().max;
    for (const Block &block : blocks_)
        max = std::max(max, block.columns[column].stats.max);
    return max;
}

void DecodedRows::add_to(PassInput &input) {
    for (size_t i = 0; i < blocks_.size(); ++i) {
        const Block &block = blocks_[i];
        if (block.valid == 0)
            continue;
        ChunkView view;
        view.nrows = block.nrows;
        if (block.valid != block.nrows) {
            input.masks.push_back(rows(i).mask);
            view.row_mask = input.masks.back()->data();
        }
        for (size_t c = 0; c < columns_.size(); ++c) {
            const ColumnValues values = column(i, c);
            view.columns.push_back(
                column_view(values.type, Frame(), values.values.get(), values.nulls.get(), values.stats));
        }
        input.chunks.push_back(std::move(view));
        input.rows += block.valid;
    }
}

ChunkRows DecodedRows::rows(size_t block) const {
    const Block &of = blocks_[block];
    ChunkRows rows;
    rows.nrows = of.nrows;
    rows.participating = of.valid;
    if (of.valid == of.nrows)
        return rows;
    std::vector<uint64_t> mask((size_t(of.nrows) + 63) / 64);
    for (const auto &range : of.valid_rows)
        for (uint32_t row = range.first; row < range.second; ++row)
            mask[row / 64] |= uint64_t(1) << (row % 64);
    rows.mask = std::make_shared<const std::vector<uint64_t>>(std::move(mask));
    return rows;
}

ColumnValues DecodedRows::column(size_t block, size_t column) const {
    const Column &data = blocks_[block].columns[column];
    ColumnValues values;
    values.type = columns_[column].type;
    values.values = data.values;
    values.nulls = data.stats.any_null ? data.nulls : BufferRef();
    values.capacity = blocks_[block].capacity;
    values.stats = data.stats;
    return values;
}

void DecodedRows::read(std::string &to) const {
    for (size_t i = 0; i < blocks_.size(); ++i) {
        const Block &block = blocks_[i];
        const uint8_t *const bytes = device_.reads_host_memory() ? static_cast<const uint8_t *>(block.memory->data)
                                     : block.copy.empty()        ? nullptr
                                                                 : block.copy.data();
        if (bytes == nullptr) {
            read_from_device(i, to);
            continue;
        }
        for (const auto &range : block.valid_rows) {
            std::vector<HostColumn> columns;
            for (size_t c = 0; c < columns_.size(); ++c) {
                const Type type = columns_[c].type;
                columns.push_back({type, bytes + block.columns[c].values_at + range.first * type_width(type),
                                   bytes + block.columns[c].nulls_at + range.first});
            }
            put_rows(columns, range.second - range.first, to);
        }
    }
}

void DecodedRows::read_from_device(size_t block, std::string &to) const {
    std::vector<ColumnValues> columns;
    for (size_t c = 0; c < columns_.size(); ++c)
        columns.push_back(column(block, c));
    std::vector<RowRun> runs;
    for (const auto &range : blocks_[block].valid_rows)
        runs.push_back({range.first, 0, range.second - range.first});
    read_rows(device_, {{&columns, &runs}}, to);
}

// ---- rows decoded by the backend ----------------------------------------------------------------------------------

bool BatchRows::add(MessageReader &message, uint32_t nrows, size_t *full) {
    for (size_t c = 0; c < columns_.size(); ++c) {
        Column &data = data_[c];
        std::vector<uint8_t> nulls = message.array<uint8_t>(nrows);
        for (uint8_t &null : nulls) {
            null = null != 0;
            data.stats.any_null |= null != 0;
        }
        data.nulls.insert(data.nulls.end(), nulls.begin(), nulls.end());
        if (columns_[c].type == Type::Code) {
            if (!add_texts(message, nrows, nulls.data(), c)) {
                *full = c;
                return false;
            }
            continue;
        }
        size_t width = type_width(columns_[c].type), old = data.values.size();
        const uint8_t *from = message.part(nrows, width);
        data.values.insert(data.values.end(), from, from + nrows * width);
        uint8_t *values = data.values.data() + old;
        if (columns_[c].type == Type::Bool)
            std::transform(values, values + nrows, values, [](uint8_t v) { return uint8_t(v != 0); });
        note_values(data.stats, columns_[c].type, values, nulls.data(), nrows);
    }
    nrows_ += nrows;
    return true;
}

bool BatchRows::add_texts(MessageReader &message, uint32_t nrows, const uint8_t *nulls, size_t column) {
    std::vector<uint32_t> offsets = message.array<uint32_t>(size_t(nrows) + 1);
    const char *texts = reinterpret_cast<const char *>(message.part(offsets[nrows]));
    Column &data = data_[column];
    for (uint32_t row = 0; row < nrows; ++row) {
        if (offsets[row] > offsets[row + 1] || offsets[row + 1] > offsets[nrows])
            throw InvalidMessage("text offsets are out of order");
        uint32_t code = 0;
        if (!nulls[row]) {
            // (copied: the bytes could change between the dictionary's look and its copy)
            std::string text(texts + offsets[row], offsets[row + 1] - offsets[row]);
            code = columns_[column].dictionary->intern(text);
            if (code == Dictionary::full)
                return false;
            note(data.stats, code);
        }
        const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&code);
        data.values.insert(data.values.end(), bytes, bytes + sizeof code);
    }
    return true;
}

size_t BatchRows::bytes() const {
    size_t bytes = 0;
    for (const Column &column : data_)
        bytes += column.values.size() + column.nulls.size();
    return bytes;
}

void BatchRows::add_to(PassInput &input) {
    if (nrows_ == 0)
        return;
    ChunkView view;
    view.nrows = nrows_;
    for (size_t c = 0; c < columns_.size(); ++c)
        view.columns.push_back(upload_column(device_, allocate_,
                                             {columns_[c].type, data_[c].values.data(), data_[c].nulls.data()}, nrows_,
                                             data_[c].stats, input));
    input.chunks.push_back(std::move(view));
    input.rows += nrows_;
}

void BatchRows::read(std::string &to) const {
    std::vector<HostColumn> columns;
    for (size_t c = 0; c < columns_.size(); ++c)
        columns.push_back({columns_[c].type, data_[c].values.data(), data_[c].nulls.data()});
    put_rows(columns, nrows_, to);
}

void BatchRows::clear() {
    data_.assign(columns_.size(), Column());
    nrows_ = 0;
}

// ---- rows of an earlier stage -------------------------------------------------------------------------------------

size_t StagedRows::next() {
    first_ += count_;
    const size_t left = rows_->nrows() - first_;
    const size_t fit =
        rows_->on_device() ? max_rows_of_view : transient_limit / std::max<size_t>(rows_->row_bytes(), 1);
    count_ = std::min(left, std::max<size_t>(fit, 1));
    return left - count_;
}

void StagedRows::add_to(PassInput &input) {
    if (count_ == 0)
        return;
    ChunkView view;
    view.nrows = static_cast<uint32_t>(count_);
    if (rows_->on_device()) {
        for (const StageRows::Column &column : rows_->columns()) {
            ColumnView of =
                column_view(column.type, Frame(), column.device_values.get(), column.device_nulls.get(), column.stats);
            of.values = static_cast<const uint8_t *>(of.values) + first_ * type_width(column.type);
            of.nulls += of.nulls != nullptr ? first_ : 0;
            view.columns.push_back(of);
        }
        input.chunks.push_back(std::move(view));
        input.rows += count_;
        return;
    }
    for (const StageRows::Column &column : rows_->columns())
        view.columns.push_back(upload_column(
            device_, allocate_,
            {column.type, column.values.data() + first_ * type_width(column.type), column.nulls.data() + first_},
            count_, column.stats, input));
    input.chunks.push_back(std::move(view));
    input.rows += count_;
}

void StagedRows::clear() {
    first_ += count_;
    count_ = 0;
}

} // namespace gpuscan
