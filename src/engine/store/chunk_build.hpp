// Building or repairing one chunk: window after window of heap pages becomes rows of the next version.
//
// The builder works on a copy of the current version that nobody else sees. Pages are decoded into fresh buffers, whole
// values in the order in which they come ("fresh rows"), and finish() moves what is to stay into the columns, in the
// narrowest frame (frame.hpp):
//
//     a column that had nothing     new buffers in the frame of what was decoded
//     the frame holds the new rows  they are written into the column's own buffers, behind the version's end or where
//                                   the column does not have the page: rows that no reader of that version looks at
//     it does not, or is too short  new buffers in a wider frame: old rows, then the new ones
//
// A page that lacks some of the wanted columns is decoded for exactly those (it may be changing under the decoder, and
// what comes out then must not reach anybody).
//
// A page that changed has lost all columns, not only those that this query wants. Those that the chunk had whole are decoded along
// with it ("companions"), so that queries of other columns find the chunk as complete as this one leaves it; otherwise each set
// of columns would need a version of its own. What cannot be had of them is left to whoever wants it, and so are expressions,
// whose values come with the pages only for the columns that the query wants.
//
// When the memory for a window cannot be had, the builder is `full`: this and every later window are answered as pages
// that the backend must read itself, and what was decoded before can still be published. So is, column by column, what
// finish() finds no memory for. A query never fails for it.
#pragma once

#include <functional>

#include "engine/store/chunk.hpp"

namespace gpuscan {

// What the backend has made of one expression for the tuples of a page.
struct ExpressionPage {
    const uint8_t *data = nullptr; // a page of its values; nullptr: they were not asked for, or ...
    bool failed = false;           // ... cannot be had
};

// One heap page of a decode window.
struct WindowPage {
    uint16_t page = 0; // in the chunk
    uint16_t ntuples = 0;
    bool in_place = false;
    uint64_t lsn = 0;
    const uint8_t *data = nullptr;
    const TupleMask *mask = nullptr; // nullptr: every normal line pointer
    std::vector<ExpressionPage> expressions =
        {}; // by the number in the source; those behind its end were not asked for
};

// What a decoder reads of the page: the heap's tuples, or an expression's values (by its number; -1: the heap's).
PageRef page_ref(const WindowPage &page, int expression, uint32_t row_start);
// Ok: the values are here.
PageStatus expression_status(const WindowPage &page, int expression);

struct BuildColumn {
    uint32_t id = 0; // the column's number in its relation
    const ColumnLayout *layout = nullptr;
    Dictionary *dictionary = nullptr; // text
    int expression = -1;              // its number in the source, -1: an attribute
};

// The reason, before the columns' numbers (server/source_feed.cpp).
constexpr char unfit_numeric[] = "numeric value out of the device's range";

// What decoding met that ends the fragment; the columns are indexes into the builder's.
struct Undecodable : DeviceError {
    Undecodable(const std::string &reason, std::vector<size_t> columns)
        : DeviceError(reason), columns(std::move(columns)) {}
    std::vector<size_t> columns; // those that may be the cause
};

class ChunkBuilder {
  public:
    using Allocate = std::function<BufferRef(size_t bytes)>;

    // `base` may be nullptr; `answer` is check_chunk()'s for it. The first `nwanted` columns are wanted, the others are companions.
    // The file has `npages` of the chunk: what the base knows of others is forgotten, as VACUUM has cut them off.
    ChunkBuilder(Device &device, Allocate allocate, ChunkRef base, const ChunkAnswer &answer, uint32_t npages,
                 std::vector<BuildColumn> columns, size_t nwanted);

    // Decodes a window; one status per page. Every page must be wanted(). Throws Undecodable, Cancelled, DeviceError.
    std::vector<PageStatus> decode(const std::vector<WindowPage> &window, const std::atomic<uint32_t> *cancel);
    bool wanted(uint32_t page) const { return missing_.test(page) && !seen_.test(page); }
    bool was_decoded(uint32_t page) const { return seen_.test(page); }
    const PageBits &decoded() const { return seen_; }
    // The page changed after it was decoded.
    void drop_page(uint32_t page);
    bool full() const { return full_; }

    // Ends the build. Returns the version; covered() then says what the query may use, verified() of which pages it is known
    // that they are right (those beyond the device included).
    std::shared_ptr<ChunkVersion> finish();
    PageBits covered() const { return usable_; }
    PageBits verified() const { return verified_ & work_->known_pages; }
    uint32_t decoded_pages() const { return decoded_; }

  private:
    struct Decoded { // fresh rows [first, end), and others
        uint32_t first, end;
        ColumnStats stats;
    };
    struct Fresh { // what was decoded of one column
        BufferRef values, nulls;
        uint32_t capacity = 0;
        PageBits pages;
        ColumnStats stats;
        std::vector<Decoded> windows; // in any order; those of one window of pages may overlap
    };

    std::vector<uint32_t> by_rows(const PageBits &pages) const;
    std::vector<RowRun> runs_to(const ChunkVersion &to, const std::vector<uint32_t> &order, const PageBits &have) const;
    void compact();
    bool place(const WindowPage &page);
    uint32_t wanted_rows() const;
    void reserve(Fresh &fresh, Type type);
    void zero(const BufferRef &buffer, size_t offset);
    void forget_dead_buffers();
    void run_decode(DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel);
    BufferRef zeroed(size_t bytes);
    std::vector<RowRun> fresh_runs(const PageBits &pages) const;
    void finish_column(size_t column, const PageBits &pages);
    void note_zone_map(const Fresh &fresh, const std::vector<RowRun> &runs, ColumnData &data) const;
    bool adopt(Fresh &fresh, const std::vector<RowRun> &runs, ColumnData &data);
    void move_rows(const ColumnData &from, const std::vector<RowRun> &runs, const ColumnData &to);
    void pack();
    void forget_moves();
    void decode_group(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                      const std::vector<size_t> &columns, std::vector<PageStatus> &statuses,
                      const std::atomic<uint32_t> *cancel);
    void decode_columns(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                        const std::vector<size_t> &columns, int expression, std::vector<PageStatus> &statuses,
                        const std::atomic<uint32_t> *cancel);
    DecodeJob decode_job(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                         const std::vector<size_t> &columns, int expression) const;
    void note_decoded(const DecodeJob &job, const DecodeResult &result, const std::vector<size_t> &columns);
    std::vector<size_t> companions();
    void forget_companions();
    bool decode_with_companions(const std::vector<WindowPage> &window, std::vector<PageStatus> &statuses,
                                const std::atomic<uint32_t> *cancel);
    void decode_companions(const std::vector<WindowPage> &window, const std::vector<size_t> &pages,
                           const std::atomic<uint32_t> *cancel);
    void note_cpu_page(uint32_t page);

    Device &device_;
    Allocate allocate_;
    std::shared_ptr<ChunkVersion> work_;
    std::vector<BuildColumn> columns_; // the wanted ones, then companions
    std::vector<uint32_t> ids_;        // of the wanted ones
    std::vector<Fresh> fresh_;         // per column
    PageBlocks<uint32_t> fresh_start_; // its first fresh row
    uint32_t fresh_rows_ = 0;
    uint32_t base_rows_ = 0; // of the version that is repaired
    PageBits missing_, verified_, usable_, seen_;
    uint32_t to_come_;               // pages not decoded yet
    std::vector<BufferEnd> to_zero_; // before anything is written there
    // Rows to be moved, and what holds the buffers.
    std::vector<PackJob> moves_;
    std::vector<BufferRef> moved_;
    uint64_t rows_to_move_ = 0;
    uint32_t decoded_ = 0;
    bool full_ = false;
    bool apart_ = false; // companions are decoded by themselves
};

} // namespace gpuscan
