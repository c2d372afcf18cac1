// Which rows does a build read, and are those of two builds the same? See build_rows.hpp.
#include "engine/store/build_rows.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "engine/util/text_hash.hpp"

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

// One piece of the device's memory for all rows: one call to move them, and one copy.
void read_rows(Device &device, const std::vector<RowsOfChunk> &chunks, std::string &rows) {
    size_t count = 0;
    for (const RowsOfChunk &chunk : chunks)
        for (const RowRun &run : *chunk.runs)
            count += run.count;
    if (count == 0)
        return;
    constexpr size_t alignment = 16; // of the widest values
    size_t bytes = 0;
    const auto take = [&bytes](size_t size) {
        const size_t at = bytes;
        bytes += (size + alignment - 1) / alignment * alignment;
        return at;
    };
    struct Place { // where a column's values and flags of NULLs go
        size_t values_at, nulls_at;
        Buffer values, nulls;
    };
    std::vector<Place> places;
    for (const ColumnValues &column : *chunks[0].columns) {
        const size_t at = take(count * type_width(column.type));
        places.push_back({at, take(count), {}, {}});
    }
    const BufferRef whole = device.allocate(bytes);
    for (size_t c = 0; c < places.size(); ++c) {
        uint8_t *const data = static_cast<uint8_t *>(whole->data);
        places[c].values.data = data + places[c].values_at;
        places[c].values.size = count * type_width((*chunks[0].columns)[c].type);
        places[c].nulls.data = data + places[c].nulls_at;
        places[c].nulls.size = count;
    }
    std::vector<PackJob> jobs;
    uint32_t to = 0;
    for (const RowsOfChunk &chunk : chunks) {
        std::vector<RowRun> runs = *chunk.runs;
        for (RowRun &run : runs) {
            run.to = to;
            to += run.count;
        }
        for (size_t c = 0; c < places.size() && !runs.empty(); ++c) {
            const ColumnValues &column = (*chunk.columns)[c];
            PackJob job;
            job.type = column.type;
            job.from_frame = column.frame;
            job.from = column.values.get();
            job.to = &places[c].values;
            job.from_nulls = column.nulls.get();
            job.to_nulls = &places[c].nulls;
            job.runs = runs;
            jobs.push_back(std::move(job));
        }
    }
    device.pack(jobs);
    std::vector<uint8_t> copy(bytes);
    device.download(copy.data(), *whole, 0, bytes);
    std::vector<HostColumn> read;
    for (size_t c = 0; c < places.size(); ++c)
        read.push_back(
            {(*chunks[0].columns)[c].type, copy.data() + places[c].values_at, copy.data() + places[c].nulls_at});
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

// Rows by their values, in a hash table without an order: 10 ns each, where sorting takes ten times as long.
class RowSet {
  public:
    RowSet(std::string_view rows, size_t row_bytes) : row_bytes_(row_bytes) {
        size_t slots = 16;
        while (slots < 2 * (rows.size() / row_bytes))
            slots *= 2;
        slots_.resize(slots);
        for (size_t at = 0; at < rows.size(); at += row_bytes) {
            Slot &slot = find(rows.data() + at);
            slot.row = rows.data() + at;
            ++slot.count;
        }
    }
    // Takes a row that equals this one; false: there is none left.
    bool take(const char *row) {
        Slot &slot = find(row);
        if (slot.count == 0)
            return false;
        --slot.count;
        return true;
    }
    // Adds those that are left.
    void put_rest(std::string &rows) const {
        for (const Slot &slot : slots_)
            for (size_t i = 0; i < slot.count; ++i)
                rows.append(slot.row, row_bytes_);
    }

  private:
    struct Slot {
        const char *row = nullptr; // nullptr: the slot is free
        size_t count = 0;          // of equal rows that are left
    };
    // The slot of the rows that equal this one, or a free one.
    Slot &find(const char *row) {
        size_t at = text_hash(row, row_bytes_) & (slots_.size() - 1);
        while (slots_[at].row != nullptr && memcmp(slots_[at].row, row, row_bytes_) != 0)
            at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }

    size_t row_bytes_;
    std::vector<Slot> slots_;
};

// A row that stands in both more than once is as many rows. (Of a page that is read row by row by one query after the other both have the
// rows, mostly at the same place: what they begin and end with alike needs no hash table.)
OtherRows other_rows(std::string_view a, std::string_view b, size_t row_bytes) {
    OtherRows others;
    if (row_bytes == 0)
        return others;
    while (!a.empty() && !b.empty() && a.compare(0, row_bytes, b, 0, row_bytes) == 0) {
        a.remove_prefix(row_bytes);
        b.remove_prefix(row_bytes);
    }
    while (!a.empty() && !b.empty() && a.substr(a.size() - row_bytes) == b.substr(b.size() - row_bytes)) {
        a.remove_suffix(row_bytes);
        b.remove_suffix(row_bytes);
    }
    RowSet left(a, row_bytes);
    for (size_t at = 0; at < b.size(); at += row_bytes)
        if (!left.take(b.data() + at))
            others.only_b.append(b, at, row_bytes);
    left.put_rest(others.only_a);
    return others;
}

} // namespace

int64_t compare_rows(const BuildIdentity &a, const BuildIdentity &b, size_t row_bytes, size_t most,
                     const ReadRuns &read, OtherRows *others) {
    if (a.chunks.size() != b.chunks.size())
        return -1;
    std::vector<RunsOfChunk> unlike; // of a, then of b
    std::string values = uncached_rows(a), values_b = uncached_rows(b);
    size_t count_a = row_bytes == 0 ? 0 : values.size() / row_bytes,
           count_b = row_bytes == 0 ? 0 : values_b.size() / row_bytes;
    std::vector<RunsOfChunk> unlike_b;
    for (size_t chunk = 0; chunk < a.chunks.size(); ++chunk) {
        Rows only_a, only_b;
        const auto note = [&](size_t word, uint64_t in_a, uint64_t in_b) {
            only_a.add_word(64 * word, in_a & ~in_b);
            only_b.add_word(64 * word, in_b & ~in_a);
            return only_a.count + only_b.count <= most;
        };
        if (!each_unlike_word(*a.chunks[chunk], *b.chunks[chunk], note))
            return -1;
        count_a += only_a.count;
        count_b += only_b.count;
        if (only_a.count > 0)
            unlike.push_back({chunk, std::move(only_a.runs)});
        if (only_b.count > 0)
            unlike_b.push_back({chunk, std::move(only_b.runs)});
    }
    if (count_a + count_b > most || (count_a != count_b && (others == nullptr || row_bytes == 0)))
        return -1;
    std::move(unlike_b.begin(), unlike_b.end(), std::back_inserter(unlike));
    if (!unlike.empty())
        read(unlike, values);
    values_b.append(values, count_a * row_bytes, std::string::npos);
    values.resize(count_a * row_bytes);
    OtherRows found = other_rows(values, values_b, row_bytes);
    if (others == nullptr && !(found.only_a.empty() && found.only_b.empty()))
        return -1;
    if (others != nullptr)
        *others = std::move(found);
    return static_cast<int64_t>(count_a + count_b);
}

} // namespace gpuscan
