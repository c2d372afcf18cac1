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

void add_values(Device &device, const ChunkBuilder::Allocate &allocate, const std::vector<Type> &types,
                const std::string &rows, PassInput &input) {
    if (rows.empty())
        return;
    const size_t stride = row_bytes(types), nrows = rows.size() / stride;
    ChunkView view;
    view.nrows = static_cast<uint32_t>(nrows);
    size_t offset = 0;
    for (const Type type : types) {
        const size_t width = type_width(type);
        std::vector<uint8_t> values(nrows * width), nulls(nrows);
        ColumnStats stats;
        for (size_t row = 0; row < nrows; ++row) {
            const char *const from = rows.data() + row * stride + offset;
            nulls[row] = *from != 0;
            stats.any_null |= *from != 0;
            memcpy(&values[row * width], from + 1, width);
        }
        note_values(stats, type, values.data(), nulls.data(), view.nrows);
        view.columns.push_back(
            upload_column(device, allocate, {type, values.data(), nulls.data()}, nrows, stats, input));
        offset += 1 + width;
    }
    input.chunks.push_back(std::move(view));
    input.rows += nrows;
}

// ---- rows decoded by the device -----------------------------------------------------------------------------------

void DecodedRows::reserve(uint32_t rows) {
    if (rows <= capacity_)
        return;
    uint32_t capacity = std::max({rows, first_rows, capacity_ * 2});
    std::vector<Column> grown = data_;
    std::vector<BufferEnd> fresh;
    for (size_t c = 0; c < columns_.size(); ++c) {
        size_t width = type_width(columns_[c].type), old = nrows_ * width;
        grown[c].values = allocate_(capacity * width + buffer_slack);
        grown[c].nulls = allocate_(capacity + buffer_slack);
        if (nrows_ != 0) {
            device_.copy(*grown[c].values, 0, *data_[c].values, 0, old);
            device_.copy(*grown[c].nulls, 0, *data_[c].nulls, 0, nrows_);
        }
        fresh.push_back({grown[c].values, old});
        fresh.push_back({grown[c].nulls, nrows_});
    }
    device_.zero(fresh);
    data_ = std::move(grown);
    capacity_ = capacity;
}

// Those columns that are in the heap's tuples, or one expression, of the pages that are Ok so far.
void DecodedRows::decode_columns(const std::vector<WindowPage> &window, const std::vector<uint32_t> &starts,
                                 int expression, std::vector<PageStatus> &statuses,
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
            job.columns.push_back(
                {columns_[c].layout, data_[c].values.get(), data_[c].nulls.get(), columns_[c].dictionary});
        }
    if (pages.empty())
        return;
    DecodeResult result;
    device_.decode(job, result, cancel);
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
        data_[columns[k]].stats.merge(result.columns[k]);
    for (size_t k = 0; k < pages.size(); ++k)
        statuses[pages[k]] = result.pages[k];
}

std::vector<PageStatus> DecodedRows::decode(const std::vector<WindowPage> &window,
                                            const std::atomic<uint32_t> *cancel) {
    std::vector<uint32_t> starts;
    uint32_t rows = nrows_;
    for (const WindowPage &page : window) {
        starts.push_back(rows);
        rows += page.ntuples;
    }
    reserve(rows);
    nrows_ = rows;
    int last_expression = -1;
    for (const TransientColumn &column : columns_)
        last_expression = std::max(last_expression, column.expression);
    std::vector<PageStatus> statuses(window.size(), PageStatus::Ok);
    for (int expression = -1; expression <= last_expression; ++expression)
        decode_columns(window, starts, expression, statuses, cancel);
    for (size_t i = 0; i < window.size(); ++i) {
        if (statuses[i] == PageStatus::Unrepresentable)
            throw Undecodable(unfit_numeric, {});
        if (statuses[i] != PageStatus::Ok)
            continue;
        uint32_t first = starts[i], end = first + window[i].ntuples;
        valid_ += end - first;
        if (!valid_rows_.empty() && valid_rows_.back().second == first)
            valid_rows_.back().second = end;
        else
            valid_rows_.emplace_back(first, end);
    }
    return statuses;
}

size_t DecodedRows::bytes() const {
    size_t bytes = 0;
    for (const TransientColumn &column : columns_)
        bytes += nrows_ * (type_width(column.type) + 1);
    return bytes;
}

void DecodedRows::add_to(PassInput &input) {
    if (valid_ == 0)
        return;
    ChunkView view;
    view.nrows = nrows_;
    if (valid_ != nrows_) {
        input.masks.push_back(rows().mask);
        view.row_mask = input.masks.back()->data();
    }
    for (size_t c = 0; c < columns_.size(); ++c)
        view.columns.push_back(column_view(columns_[c].type, Frame(), data_[c].values.get(),
                                           data_[c].stats.any_null ? data_[c].nulls.get() : nullptr, data_[c].stats));
    input.chunks.push_back(std::move(view));
    input.rows += valid_;
}

ChunkRows DecodedRows::rows() const {
    ChunkRows rows;
    rows.nrows = nrows_;
    rows.participating = valid_;
    if (valid_ == nrows_)
        return rows;
    std::vector<uint64_t> mask((size_t(nrows_) + 63) / 64);
    for (const auto &range : valid_rows_)
        for (uint32_t row = range.first; row < range.second; ++row)
            mask[row / 64] |= uint64_t(1) << (row % 64);
    rows.mask = std::make_shared<const std::vector<uint64_t>>(std::move(mask));
    return rows;
}

ColumnValues DecodedRows::column(size_t column) const {
    const Column &data = data_[column];
    ColumnValues values;
    values.type = columns_[column].type;
    values.values = data.values;
    values.nulls = data.stats.any_null ? data.nulls : BufferRef();
    values.capacity = capacity_;
    values.stats = data.stats;
    return values;
}

void DecodedRows::read(std::string &to) const {
    std::vector<ColumnValues> columns;
    for (size_t c = 0; c < columns_.size(); ++c)
        columns.push_back(column(c));
    std::vector<RowRun> runs;
    uint32_t count = 0;
    for (const auto &range : valid_rows_) {
        runs.push_back({range.first, count, range.second - range.first});
        count += range.second - range.first;
    }
    read_rows(device_, columns, runs, to);
}

void DecodedRows::clear() {
    data_.assign(columns_.size(), Column());
    valid_rows_.clear();
    nrows_ = capacity_ = valid_ = 0;
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
