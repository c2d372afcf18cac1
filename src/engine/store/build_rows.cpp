// Which rows does a build read, and are those of two builds the same? See build_rows.hpp.
#include "engine/store/build_rows.hpp"

#include <algorithm>
#include <cstring>

namespace gpuscan {

void BuildIdentity::put_chunk(const RowsRef &rows) {
    put(rows->nrows);
    put(rows->mask.get());
    put(rows->without.size());
    static_assert(sizeof(RowRange) == 2 * sizeof(uint32_t), "no gaps");
    bytes.append(reinterpret_cast<const char *>(rows->without.data()), rows->without.size() * sizeof(RowRange));
    chunks.push_back(rows);
}

void BuildIdentity::put_uncached(const std::string &rows) {
    put(rows.size());
    uncached.push_back({bytes.size(), rows.size()});
    bytes += rows;
}

// ---- values -------------------------------------------------------------------------------------------------------

size_t row_bytes(const std::vector<Type> &types) {
    size_t bytes = 0;
    for (Type type : types)
        bytes += 1 + type_width(type);
    return bytes;
}

void put_rows(const std::vector<HostColumn> &columns, size_t count, std::string &rows) {
    std::vector<Type> types;
    for (const HostColumn &column : columns)
        types.push_back(column.type);
    const size_t stride = row_bytes(types), before = rows.size();
    rows.resize(before + count * stride);
    size_t offset = before;
    for (const HostColumn &column : columns) {
        const size_t width = type_width(column.type);
        for (size_t row = 0; row < count; ++row) {
            char *to = &rows[offset + row * stride];
            *to = static_cast<char>(column.nulls != nullptr && column.nulls[row] != 0);
            if (*to == 0)
                memcpy(to + 1, column.values + row * width, width);
        }
        offset += 1 + width;
    }
}

void read_rows(Device &device, const std::vector<ColumnValues> &columns, const std::vector<RowRun> &runs,
               std::string &rows) {
    size_t count = 0;
    for (const RowRun &run : runs)
        count += run.count;
    if (count == 0)
        return;
    // One piece of the device's memory for all of them: one call to move the rows, and one copy.
    struct Place {
        Buffer values, nulls;
    };
    constexpr size_t alignment = 16; // of the widest values
    size_t bytes = 0;
    const auto take = [&bytes](size_t size) {
        const size_t at = bytes;
        bytes += (size + alignment - 1) / alignment * alignment;
        return at;
    };
    std::vector<std::pair<size_t, size_t>> places; // of values and of flags
    for (const ColumnValues &column : columns) {
        const size_t at = take(count * type_width(column.type));
        places.emplace_back(at, take(count));
    }
    const BufferRef whole = device.allocate(bytes);
    uint8_t *const data = static_cast<uint8_t *>(whole->data);
    std::vector<Place> parts(columns.size());
    std::vector<PackJob> jobs;
    for (size_t c = 0; c < columns.size(); ++c) {
        const ColumnValues &column = columns[c];
        parts[c].values.data = data + places[c].first;
        parts[c].values.size = count * type_width(column.type);
        parts[c].nulls.data = data + places[c].second;
        parts[c].nulls.size = count;
        PackJob job;
        job.type = column.type;
        job.from_frame = column.frame;
        job.from = column.values.get();
        job.to = &parts[c].values;
        job.from_nulls = column.nulls.get();
        job.to_nulls = &parts[c].nulls;
        job.runs = runs;
        jobs.push_back(std::move(job));
    }
    device.pack(jobs);
    std::vector<uint8_t> copy(bytes);
    device.download(copy.data(), *whole, 0, bytes);
    std::vector<HostColumn> read;
    for (size_t c = 0; c < columns.size(); ++c)
        read.push_back({columns[c].type, copy.data() + places[c].first, copy.data() + places[c].second});
    put_rows(read, count, rows);
}

// ---- comparison ---------------------------------------------------------------------------------------------------

namespace {

struct Rows {
    std::vector<RowRun> runs;
    uint32_t count = 0;

    void add(size_t row) {
        if (!runs.empty() && runs.back().from + runs.back().count == row)
            ++runs.back().count;
        else
            runs.push_back({static_cast<uint32_t>(row), count, 1});
        ++count;
    }
    void add_word(size_t first, uint64_t bits) {
        for (; bits != 0; bits &= bits - 1)
            add(first + static_cast<size_t>(__builtin_ctzll(bits)));
    }
};

std::string uncached_rows(const BuildIdentity &identity) {
    std::string rows;
    for (const BuildIdentity::Part &part : identity.uncached)
        rows.append(identity.bytes, part.at, part.size);
    return rows;
}

std::vector<const char *> sorted(const std::string &rows, size_t row_bytes) {
    std::vector<const char *> order;
    for (size_t at = 0; at < rows.size(); at += row_bytes)
        order.push_back(rows.data() + at);
    std::sort(order.begin(), order.end(),
              [row_bytes](const char *a, const char *b) { return memcmp(a, b, row_bytes) < 0; });
    return order;
}

// Of sorted rows; a row that stands in both more than once is as many rows.
void tell_others(const std::vector<const char *> &a, const std::vector<const char *> &b, size_t row_bytes,
                 OtherRows &others) {
    size_t i = 0, k = 0;
    while (i < a.size() || k < b.size()) {
        const int order = i == a.size() ? 1 : k == b.size() ? -1 : memcmp(a[i], b[k], row_bytes);
        if (order < 0)
            others.only_a.append(a[i], row_bytes);
        if (order > 0)
            others.only_b.append(b[k], row_bytes);
        i += order <= 0;
        k += order >= 0;
    }
}

} // namespace

int64_t compare_rows(const BuildIdentity &a, const BuildIdentity &b, size_t row_bytes, size_t most,
                     const ReadChunk &read, OtherRows *others) {
    if (a.chunks.size() != b.chunks.size())
        return -1;
    std::vector<Rows> only_a(a.chunks.size()), only_b(a.chunks.size());
    std::string values_a = uncached_rows(a), values_b = uncached_rows(b);
    size_t count_a = row_bytes == 0 ? 0 : values_a.size() / row_bytes,
           count_b = row_bytes == 0 ? 0 : values_b.size() / row_bytes;
    for (size_t chunk = 0; chunk < a.chunks.size(); ++chunk) {
        const auto note = [&](size_t word, uint64_t in_a, uint64_t in_b) {
            only_a[chunk].add_word(64 * word, in_a & ~in_b);
            only_b[chunk].add_word(64 * word, in_b & ~in_a);
            return only_a[chunk].count + only_b[chunk].count <= most;
        };
        if (!each_unlike_word(*a.chunks[chunk], *b.chunks[chunk], note))
            return -1;
        count_a += only_a[chunk].count;
        count_b += only_b[chunk].count;
    }
    if (count_a + count_b > most || (count_a != count_b && (others == nullptr || row_bytes == 0)))
        return -1;
    for (size_t chunk = 0; chunk < a.chunks.size(); ++chunk) {
        read(chunk, only_a[chunk].runs, values_a);
        read(chunk, only_b[chunk].runs, values_b);
    }
    const std::vector<const char *> rows_a = sorted(values_a, row_bytes), rows_b = sorted(values_b, row_bytes);
    OtherRows found;
    tell_others(rows_a, rows_b, row_bytes, found);
    if (others == nullptr && !(found.only_a.empty() && found.only_b.empty()))
        return -1;
    if (others != nullptr)
        *others = std::move(found);
    return static_cast<int64_t>(count_a + count_b);
}

} // namespace gpuscan
