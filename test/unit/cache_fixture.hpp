// A table in memory, and a query's way through the column cache: what tests of the cache and of its chunks begin with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/cache.hpp"
#include "engine/store/chunk_build.hpp"
#include "host/host_device.hpp"
#include "page_builder.hpp"

namespace gpuscan {

constexpr size_t megabyte = size_t(1) << 20;

// A table (int4 a, int8 b, text t) in memory, and a query's way through the cache, as a session goes it.
class Table {
  public:
    explicit Table(uint32_t npages, uint32_t rows_per_page = 10) : npages_(npages), lsn_(npages) {
        for (uint32_t p = 0; p < npages; ++p)
            write(p, static_cast<int32_t>(p) * 100, rows_per_page, 1000 + p);
    }

    void write(uint32_t page, int32_t first, uint32_t rows, uint64_t lsn, bool toast = false) {
        const std::vector<AttributeLayout> layout = Table::layout(3).attributes;
        pages::Page builder;
        for (uint32_t i = 0; i < rows; ++i)
            builder.add(layout, {pages::fixed(first + static_cast<int32_t>(i)), pages::fixed(int64_t(first) * 2),
                                 toast ? pages::toast_pointer() : pages::short_text("x")});
        if (images_.size() < npages_)
            images_.resize(npages_);
        images_[page].assign(builder.bytes, builder.bytes + page_size);
        rows_.resize(npages_);
        rows_[page] = builder.tuples;
        lsn_[page] = lsn;
    }

    // Column a is NULL.
    void write_nulls(uint32_t page, uint32_t rows, uint64_t lsn) {
        pages::Page builder;
        for (uint32_t i = 0; i < rows; ++i)
            builder.add(Table::layout(3).attributes,
                        {pages::null_value(), pages::fixed(int64_t(0)), pages::short_text("x")});
        images_[page].assign(builder.bytes, builder.bytes + page_size);
        rows_[page] = builder.tuples;
        lsn_[page] = lsn;
    }

    WindowPage window_page(uint32_t page) const {
        WindowPage w;
        w.page = static_cast<uint16_t>(page);
        w.ntuples = static_cast<uint16_t>(rows_[page]);
        w.lsn = lsn_[page];
        w.data = images_[page].data();
        return w;
    }
    const uint64_t *lsns() const { return lsn_.data(); }
    uint32_t npages() const { return npages_; }

    static ColumnLayout layout(int attnum) {
        const AttributeLayout all[] = {{4, 4, 0}, {8, 8, 0}, {-1, 4, 0}};
        ColumnLayout layout;
        layout.attributes.assign(all, all + attnum);
        layout.codec = attnum == 1 ? Codec::Int32 : attnum == 2 ? Codec::Int64 : Codec::Text;
        layout.type = attnum == 1 ? Type::I32 : attnum == 2 ? Type::I64 : Type::Code;
        return layout;
    }

  private:
    uint32_t npages_;
    std::vector<std::vector<uint8_t>> images_;
    std::vector<uint32_t> rows_;
    std::vector<uint64_t> lsn_;
};

inline std::vector<uint64_t> all_words(const ChunkRows &rows) {
    return row_words(rows, 0, (size_t(rows.nrows) + 63) / 64);
}

inline PageBits all_pages(uint32_t n) {
    PageBits bits;
    for (uint32_t p = 0; p < n; ++p)
        bits.set(p);
    return bits;
}

class CacheTest : public ::testing::Test {
  protected:
    std::unique_ptr<Device> device = make_host_device(1);
    Cache cache{*device, 64 * megabyte};
    const RelationFile file{1663, 5, 16384};
    RelationRef relation = cache.relation(file, "base/5/16384");

    CacheTest() { device->set_memory_limit(256 * megabyte); }

    ColumnRef column(int attnum) {
        return cache.column(relation, "key" + std::to_string(attnum), Table::layout(attnum));
    }

    // `lsns`: the LSNs of the table's pages are known.
    ChunkQuestion question(const Table &table, uint64_t map_lsn, const std::vector<ColumnRef> &columns,
                           bool lsns = false) {
        ChunkQuestion q;
        q.visible = q.wanted = all_pages(table.npages());
        q.map_lsn = map_lsn;
        q.compare = [this, &table, lsns](const ChunkVersion &version, const PageBits &pages, ChunkAnswer &answer) {
            compared = pages.count();
            pages.for_each([&](uint32_t page) {
                if (!lsns) {
                    answer.unknown.set(page);
                } else if (table.lsns()[page] != 0 && table.lsns()[page] == version.pages[page].lsn) {
                    answer.verified.set(page);
                    if (in_work.test(page))
                        answer.in_work.push_back(page);
                }
            });
        };
        for (const ColumnRef &c : columns)
            q.columns.push_back(c->id);
        return q;
    }

    ChunkAnswer ask(const ChunkQuestion &q) {
        const Cache::Snapshot now = cache.chunk(relation, 0, q.followed);
        compared = 0;
        return check_chunk(now.version.get(), now.proof.get(), now.quiet.get(), q);
    }
    void confirm(const ChunkQuestion &q, const ChunkAnswer &answer) {
        cache.confirm(relation, 0, cache.chunk(relation, 0, 0).version, finding_of(answer.verified, answer.in_work, q));
    }
    void confirm(const ChunkQuestion &q) { confirm(q, ask(q)); }

    // Decodes what is missing and publishes it. Returns the number of pages decoded.
    uint32_t build(const Table &table, const ChunkQuestion &q, const std::vector<uint32_t> &bad = {},
                   uint64_t began = UINT64_MAX, uint32_t number = 0) {
        const Cache::Snapshot now = cache.chunk(relation, number, q.followed);
        const ChunkAnswer answer = check_chunk(now.version.get(), now.proof.get(), now.quiet.get(), q);
        Cache::Token token = cache.take_token(relation, number);
        EXPECT_TRUE(token);
        bool squeezed = false;
        std::vector<BuildColumn> columns;
        for (int attnum = 1; attnum <= 3; ++attnum)
            for (uint32_t id : q.columns)
                if (column(attnum)->id == id)
                    columns.push_back({id, &column(attnum)->layout, column(attnum)->dictionary.get()});
        const size_t nwanted = columns.size();
        if (with_companions)
            for (const ColumnRef &c : cache.whole_columns(relation, *now.version, q.columns))
                columns.push_back({c->id, &c->layout, c->dictionary.get()});
        allocated.clear();
        const auto allocate = [&](size_t n) {
            if (allocated.size() == allocations)
                throw OutOfDeviceMemory("no more, says the test");
            BufferRef buffer = cache.allocate(n, began, &squeezed);
            buffer->comes_zeroed = false; // as a GPU's
            allocated.push_back(buffer);
            return buffer;
        };
        ChunkBuilder builder(*device, allocate, now.version, answer, table.npages(), columns, nwanted);
        statuses.clear();
        std::vector<WindowPage> window;
        auto decode = [&] {
            const std::vector<PageStatus> some = builder.decode(window, nullptr);
            statuses.insert(statuses.end(), some.begin(), some.end());
            window.clear();
        };
        answer.missing.for_each([&](uint32_t page) {
            window.push_back(table.window_page(page));
            if (masks.count(page) != 0) {
                window.back().mask = &masks[page];
                window.back().ntuples = static_cast<uint16_t>(__builtin_popcountll(masks[page].bits[0]));
            }
            if (window.size() == window_pages)
                decode();
        });
        decode();
        full = builder.full();
        if (after_decoding)
            after_decoding();
        for (uint32_t page : bad)
            builder.drop_page(page);
        std::shared_ptr<ChunkVersion> version = builder.finish();
        covered = builder.covered();
        if (before_publishing)
            before_publishing();
        cache.publish(token, version, builder.decoded(), finding_of(builder.verified(), answer.in_work, q), squeezed);
        return builder.decoded_pages();
    }

    // The value of a row (of the host device's memory), by way of its frame.
    static int64_t value(const ColumnData &column, uint32_t row) {
        const size_t width = column.frame.bytes(column.type);
        uint64_t stored = 0;
        if (width > 0)
            memcpy(&stored, static_cast<const uint8_t *>(column.values->data) + row * width,
                   std::min<size_t>(width, 8));
        if (!column.frame.is_whole())
            return static_cast<int64_t>(static_cast<uint64_t>(column.frame.base) + stored);
        return width == 4 ? static_cast<int32_t>(stored) : static_cast<int64_t>(stored);
    }

    // Column a of every row of the covered pages.
    std::vector<int32_t> values(const PageBits &pages, const ColumnRef &a) {
        const Cache::Snapshot now = cache.chunk(relation, 0, 0);
        const ChunkRows rows = *covered_rows(*now.version, pages);
        std::vector<int32_t> out;
        for (uint32_t r = 0; r < rows.nrows; ++r)
            if ((!rows.mask || ((*rows.mask)[r / 64] >> (r % 64) & 1)) &&
                std::none_of(rows.without.begin(), rows.without.end(),
                             [r](const RowRange &range) { return range.first <= r && r < range.end; }))
                out.push_back(static_cast<int32_t>(value(*now.version->columns.data(a->id), r)));
        EXPECT_EQ(out.size(), rows.participating);
        std::sort(out.begin(), out.end());
        return out;
    }

    // The rows of the pages, by a look at each of them.
    static RowsRef covered_rows_of_pages(ChunkVersion version, const PageBits &pages) {
        version.known_rows = nullptr;
        auto rows = std::make_shared<ChunkRows>(*covered_rows(version, pages));
        if (!rows->mask && rows->nrows < version.nrows)
            rows->mask = std::make_shared<const std::vector<uint64_t>>((rows->nrows + 63) / 64, ~uint64_t(0));
        return rows;
    }

    // Whatever is decoded of the column lies within its bounds and those of its zones.
    void check_bounds(const ColumnRef &column) {
        const Cache::Snapshot now = cache.chunk(relation, 0, 0);
        if (now.version->columns.find(column->id) == nullptr)
            return;
        const ColumnData &data = *now.version->columns.data(column->id);
        data.have.for_each([&](uint32_t page) {
            const PageRows &rows = now.version->pages[page];
            for (uint32_t r = rows.row_start; r < rows.row_start + rows.nrows; ++r) {
                const int64_t v = value(data, r);
                ASSERT_LT(r / zone_rows, data.zones->size());
                const ColumnStats &zone = (*data.zones)[r / zone_rows];
                ASSERT_TRUE(v >= zone.min && v <= zone.max) << "row " << r << " of page " << page;
                ASSERT_TRUE(v >= data.stats.min && v <= data.stats.max) << "row " << r << " of page " << page;
            }
        });
    }

    size_t window_pages = SIZE_MAX;      // of build()
    std::map<uint32_t, TupleMask> masks; // of pages of which not all tuples count
    uint32_t compared = 0;               // pages whose LSNs the last question asked for
    PageBits in_work;                    // somebody holds the locks of these pages
    std::function<void()> before_publishing;
    std::vector<PageStatus> statuses;
    PageBits covered;
    bool full = false;
    bool with_companions = false;
    size_t allocations = SIZE_MAX;                // that a build() may make, ...
    std::vector<std::weak_ptr<Buffer>> allocated; // ... and those that it made
    std::function<void()> after_decoding;
};

} // namespace gpuscan
