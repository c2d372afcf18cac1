// The columns of one version of a chunk. Versions share what they have in common: the next one is made by a copy of a pointer for each
// column, and only what it changes is its own. So a query that brings one column pays for that one, however many others are there.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/device.hpp"
#include "engine/store/page_bits.hpp"

namespace gpuscan {

// One column's values for the rows of a chunk: what a reader holds.
struct ColumnValues {
    Type type = Type::I32;
    Frame frame;           // how a value is stored
    BufferRef values;      // empty: the frame stores nothing
    BufferRef nulls;       // empty: no row is NULL
    uint32_t capacity = 0; // rows that the buffers hold
    ColumnStats stats;     // bounds of every value ever decoded into the buffers
    ZoneMapRef zones;      // the same by zone
    bool zone_map_narrows = false;

    size_t bytes() const { return (values ? values->size : 0) + (nulls ? nulls->size : 0); }
};

// Rows that no page in `have` stands for hold zeros or garbage.
struct ColumnData : ColumnValues {
    PageBits have; // pages whose rows are decoded
};

class ChunkColumns {
  public:
    struct Column {
        uint32_t id = 0;    // its number in the relation
        bool whole = false; // it has all pages that the version knows; by note_whole()
        bool own = false;   // no other version has it, and the builder may change it
        std::shared_ptr<ColumnData> data;
    };

    const Column *find(uint32_t id) const {
        const auto column = place(id);
        return column != columns_.end() && column->id == id ? &*column : nullptr;
    }
    // nullptr: there is none.
    const ColumnData *data(uint32_t id) const {
        const Column *column = find(id);
        return column != nullptr ? column->data.get() : nullptr;
    }
    size_t size() const { return columns_.size(); }
    std::vector<Column>::const_iterator begin() const { return columns_.begin(); } // by number
    std::vector<Column>::const_iterator end() const { return columns_.end(); }

    void put(uint32_t id, ColumnData data) {
        auto column = columns_.begin() + (place(id) - columns_.begin());
        if (column == columns_.end() || column->id != id)
            column = columns_.insert(column, Column());
        *column = {id, false, true, std::make_shared<ColumnData>(std::move(data))};
    }
    void erase(uint32_t id) {
        const auto column = place(id);
        if (column != columns_.end() && column->id == id)
            columns_.erase(column);
    }
    // The page's rows are no longer there.
    void forget_page(uint32_t page) {
        for (Column &column : columns_)
            if (column.data->have.test(page)) {
                if (!column.own)
                    column.data = std::make_shared<ColumnData>(*column.data);
                column.own = true;
                column.whole = false; // until note_whole()
                column.data->have.reset(page);
            }
    }
    // Those that have lost all of their pages.
    void erase_empty() {
        columns_.erase(std::remove_if(columns_.begin(), columns_.end(),
                                      [](const Column &column) { return column.own && !column.data->have.any(); }),
                       columns_.end());
    }
    // Ends the work on them. `other_pages`: the version knows other pages than the one that it is made of.
    void note_whole(const PageBits &known, bool other_pages) {
        for (Column &column : columns_) {
            if (other_pages || column.own)
                column.whole = column.data->have.contains(known);
            column.own = false;
        }
    }
    // Calls f(column) for those that the others do not have, or have otherwise.
    template <class F> void each_unlike(const ChunkColumns &others, F f) const {
        auto other = others.begin();
        for (const Column &column : columns_) {
            while (other != others.end() && other->id < column.id)
                ++other;
            if (other == others.end() || other->id != column.id || other->data != column.data)
                f(column);
        }
    }

  private:
    std::vector<Column>::const_iterator place(uint32_t id) const {
        return std::lower_bound(columns_.begin(), columns_.end(), id,
                                [](const Column &column, uint32_t wanted) { return column.id < wanted; });
    }

    std::vector<Column> columns_; // by number
};

} // namespace gpuscan
