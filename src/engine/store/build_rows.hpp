// What identifies a build: what it computes, and of which rows. And are the rows of two builds the same?
//
// Rows of cached chunks are told by their places: which buffers, and which rows of them. Rows of a published chunk are never
// written again (chunk.hpp), a buffer is known by its owner, not by its address alone, and a mask, which lives as long as the
// identity, by its address; so equal places are equal rows. (Equal masks may be two: those rows are compared, and found to be the same.)
// The few rows that are in no cache (of a page that somebody is changing) are told by their values.
//
// Where a page has changed, its rows are at other places, but seldom other ones: most updates are of columns that the build
// does not read, and an open transaction's are not seen. So two identities that compute the same of the same buffers are
// compared by what they do not share: the values of those rows, in whatever order. What then only one of them has is what has been
// inserted, deleted or updated between their snapshots: a device can change the one table into the other by that
// (Execution::change_build).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/chunk.hpp"
#include "engine/store/relation_file.hpp"

namespace gpuscan {

struct BuildIdentity {
    struct Part { // of `bytes`
        size_t at, size;
    };
    std::string bytes;                       // compared in full
    size_t described = 0;                    // of them: what is computed of which relations; 0: it is not known
    size_t computed = 0;                     // of them: the same, and of which buffers; behind it which rows
    std::vector<RowsRef> chunks;             // the rows of each, of all of the source's relations
    std::vector<Part> uncached;              // values of rows in no cache, as read_rows() writes them
    std::vector<std::weak_ptr<Buffer>> read; // by address
    std::vector<RelationFile> relations;     // whose rows it reads itself, not the tables that it probes

    template <class T> void put(T value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); }
    // What is left if the rows cannot be told: a table of this identity is never found by its rows.
    void forget_rows() {
        bytes.resize(described);
        computed = described;
        chunks.clear();
        uncached.clear();
        read.clear();
    }
    // Of the next chunk. Its mask, which versions and queries share (chunk.hpp), is known by its address: it lives as long as the identity.
    void put_chunk(const RowsRef &rows);
    void put_uncached(const std::string &rows);
};

// Bytes of a row as read_rows() writes it: for each column whether it is NULL, and its value (then 0).
size_t row_bytes(const std::vector<Type> &types);

// Rows of a chunk; `to` of a run means nothing.
struct RowsOfChunk {
    const std::vector<ColumnValues> *columns;
    const std::vector<RowRun> *runs;
};
// Adds these rows to `rows`, one behind the other. All chunks have columns of the same types. Throws OutOfDeviceMemory.
void read_rows(Device &device, const std::vector<RowsOfChunk> &chunks, std::string &rows);
// Adds `count` rows whose columns lie in host memory; flags of NULLs may be nullptr.
struct HostColumn {
    Type type;
    const uint8_t *values, *nulls;
};
void put_rows(const std::vector<HostColumn> &columns, size_t count, std::string &rows);

// As read_rows(), of chunks of both identities, by number.
struct RunsOfChunk {
    size_t chunk;
    std::vector<RowRun> runs;
};
using ReadRuns = std::function<void(const std::vector<RunsOfChunk> &chunks, std::string &rows)>;

// Rows that only one of two builds reads, as read_rows() writes them.
struct OtherRows {
    std::string only_a, only_b;
};

// Do both read the same rows? They compute the same (their `computed` bytes are equal). At most `most` rows are looked at: how many
// were is the answer (0: the sets of places are equal); -1: they are other rows, or too many. With `others` other rows are no
// such answer, but told there.
int64_t compare_rows(const BuildIdentity &a, const BuildIdentity &b, size_t row_bytes, size_t most,
                     const ReadRuns &read, OtherRows *others = nullptr);

} // namespace gpuscan
