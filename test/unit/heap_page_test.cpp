// Heap pages to columns: every codec, NULLs, short varlenas, numerics, missing and dropped columns, and broken pages.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "device/heap_page.cuh"
#include "engine/device.hpp"
#include "engine/store/dictionary.hpp"
#include "host/host_device.hpp"
#include "host/kernels/small_numeric.hpp"
#include "page_builder.hpp"

namespace gpuscan {
namespace {

using namespace pages;

const AttributeLayout bool_layout{1, 1}, int2_layout{2, 2}, int4_layout{4, 4}, int8_layout{8, 8}, text_layout{-1, 4},
    cstring_layout{-2, 1};

ColumnLayout column(const std::vector<AttributeLayout> &all, size_t attnum, Codec codec, Type type, int scale = 0) {
    ColumnLayout c;
    c.attributes.assign(all.begin(), all.begin() + static_cast<long>(attnum));
    c.codec = codec;
    c.type = type;
    c.scale = scale;
    return c;
}

// A decode of some pages with its buffers.
struct Decoded {
    std::unique_ptr<Device> device = make_host_device(2);
    std::vector<ColumnLayout> layouts;
    std::vector<std::unique_ptr<Dictionary>> dictionaries;
    std::vector<BufferRef> values, nulls;
    DecodeResult result;

    void run(const std::vector<const Page *> &pages, const std::vector<const TupleMask *> &masks = {}) {
        DecodeJob job;
        uint32_t row = 0;
        for (size_t i = 0; i < pages.size(); ++i) {
            const TupleMask *mask = masks.empty() ? nullptr : masks[i];
            uint16_t n = pages[i]->tuples;
            if (mask != nullptr) {
                n = 0;
                for (uint64_t bits : mask->bits)
                    n = static_cast<uint16_t>(n + __builtin_popcountll(bits));
            }
            job.pages.push_back({pages[i]->bytes, row, n, 0, mask});
            row += n;
        }
        for (const ColumnLayout &layout : layouts) {
            values.push_back(device->allocate(row * type_width(layout.type)));
            nulls.push_back(device->allocate(row));
            dictionaries.push_back(std::make_unique<Dictionary>(100000, 1 << 20));
            job.columns.push_back({&layout, values.back().get(), nulls.back().get(),
                                   layout.codec == Codec::Text ? dictionaries.back().get() : nullptr});
        }
        device->decode(job, result, nullptr);
    }
    template <class T> T value(size_t c, size_t row) const { return static_cast<const T *>(values[c]->data)[row]; }
    bool null(size_t c, size_t row) const { return static_cast<const uint8_t *>(nulls[c]->data)[row]; }
    std::string_view text(size_t c, size_t row) const { return dictionaries[c]->entry(value<uint32_t>(c, row)); }
};

TEST(HeapPage, EveryCodec) {
    std::vector<AttributeLayout> layout{bool_layout, int2_layout, int4_layout, int8_layout, int4_layout,
                                        int8_layout, text_layout, text_layout, int4_layout};
    Page page;
    ASSERT_TRUE(
        page.add(layout, {fixed<uint8_t>(1), fixed<int16_t>(-2), fixed<int32_t>(3), fixed<int64_t>(-4), fixed(1.5f),
                          fixed(2.5), short_text("hello"), short_text(numeric_body(-12345, 2)), fixed<int32_t>(77)}));
    ASSERT_TRUE(page.add(layout, {fixed<uint8_t>(0), null_value(), fixed<int32_t>(30), null_value(), null_value(),
                                  null_value(), long_text("hello"), null_value(), fixed<int32_t>(78)}));
    Decoded d;
    d.layouts = {column(layout, 1, Codec::Bool, Type::Bool),       column(layout, 2, Codec::Int16, Type::I16),
                 column(layout, 3, Codec::Int32, Type::I32),       column(layout, 4, Codec::Int64, Type::I64),
                 column(layout, 5, Codec::Float4, Type::F32),      column(layout, 6, Codec::Float8, Type::F64),
                 column(layout, 7, Codec::Text, Type::Code),       column(layout, 8, Codec::Numeric, Type::I64, 2),
                 column(layout, 8, Codec::Numeric, Type::I128, 2), column(layout, 9, Codec::Int32, Type::I32)};
    d.run({&page});
    ASSERT_EQ(PageStatus::Ok, d.result.pages[0]);
    EXPECT_EQ(1, d.value<uint8_t>(0, 0));
    EXPECT_EQ(-2, d.value<int16_t>(1, 0));
    EXPECT_EQ(3, d.value<int32_t>(2, 0));
    EXPECT_EQ(-4, d.value<int64_t>(3, 0));
    EXPECT_EQ(1.5f, d.value<float>(4, 0));
    EXPECT_EQ(2.5, d.value<double>(5, 0));
    EXPECT_EQ("hello", d.text(6, 0));
    EXPECT_EQ(-12345, d.value<int64_t>(7, 0));
    EXPECT_TRUE(d.value<int128>(8, 0) == -12345);
    EXPECT_EQ(77, d.value<int32_t>(9, 0));
    EXPECT_EQ(30, d.value<int32_t>(2, 1));
    EXPECT_EQ(78, d.value<int32_t>(9, 1));
    EXPECT_EQ(0u, d.value<uint32_t>(6, 1));
    for (size_t c : {1, 3, 4, 5, 7, 8})
        EXPECT_TRUE(d.null(c, 1) && !d.null(c, 0)) << c;
    EXPECT_EQ(3, d.result.columns[2].min);
    EXPECT_EQ(30, d.result.columns[2].max);
    EXPECT_TRUE(d.result.columns[1].any_null);
    EXPECT_FALSE(d.result.columns[2].any_null);
}

TEST(HeapPage, MissingAndDroppedColumns) {
    // column 2 was dropped (its values stay, or NULL), columns 4 and 5 came later
    std::vector<AttributeLayout> layout{int4_layout, text_layout, int8_layout, int4_layout, text_layout};
    Page page;
    ASSERT_TRUE(page.add(layout, {fixed<int32_t>(1), short_text("gone"), fixed<int64_t>(10)}));
    ASSERT_TRUE(page.add(layout, {fixed<int32_t>(2), null_value(), fixed<int64_t>(20), fixed<int32_t>(5)}));
    ASSERT_TRUE(page.add(layout, {fixed<int32_t>(3), null_value(), fixed<int64_t>(30), null_value(), short_text("e")}));
    Decoded d;
    d.layouts = {column(layout, 3, Codec::Int64, Type::I64), column(layout, 4, Codec::Int32, Type::I32),
                 column(layout, 5, Codec::Text, Type::Code)};
    d.layouts[1].missing_null = false;
    d.layouts[1].missing_low = static_cast<uint64_t>(-9);
    d.layouts[1].missing_high = -1;
    d.layouts[2].missing_null = false;
    d.layouts[2].missing_text = "later";
    d.run({&page});
    ASSERT_EQ(PageStatus::Ok, d.result.pages[0]);
    for (size_t r = 0; r < 3; ++r)
        EXPECT_EQ(10 * static_cast<int64_t>(r + 1), d.value<int64_t>(0, r));
    EXPECT_EQ(-9, d.value<int32_t>(1, 0));
    EXPECT_EQ(5, d.value<int32_t>(1, 1));
    EXPECT_TRUE(d.null(1, 2));
    EXPECT_EQ("later", d.text(2, 0));
    EXPECT_EQ("later", d.text(2, 1));
    EXPECT_EQ("e", d.text(2, 2));
    EXPECT_EQ(-9, d.result.columns[1].min);
}

TEST(HeapPage, CstringsAndAlignment) {
    std::vector<AttributeLayout> layout{bool_layout, text_layout, cstring_layout,
                                        int8_layout, bool_layout, int2_layout};
    Page page;
    for (size_t n = 0; n < 9; ++n)
        ASSERT_TRUE(page.add(layout, {fixed<uint8_t>(1),
                                      n % 2 ? short_text(std::string(n, 'x')) : long_text(std::string(n, 'y')),
                                      {false, std::string(n, 'c') + '\0'},
                                      fixed<int64_t>(static_cast<int64_t>(n)),
                                      fixed<uint8_t>(0),
                                      fixed<int16_t>(static_cast<int16_t>(n * 3))}));
    Decoded d;
    d.layouts = {column(layout, 2, Codec::Text, Type::Code), column(layout, 4, Codec::Int64, Type::I64),
                 column(layout, 6, Codec::Int16, Type::I16)};
    d.run({&page});
    ASSERT_EQ(PageStatus::Ok, d.result.pages[0]);
    for (size_t n = 0; n < 9; ++n) {
        EXPECT_EQ(std::string(n, n % 2 ? 'x' : 'y'), d.text(0, n));
        EXPECT_EQ(static_cast<int64_t>(n), d.value<int64_t>(1, n));
        EXPECT_EQ(static_cast<int16_t>(n * 3), d.value<int16_t>(2, n));
    }
}

TEST(HeapPage, Statuses) {
    std::vector<AttributeLayout> layout{int4_layout, text_layout};
    auto status = [&](const Value &v, Codec codec, int scale = 0, uint8_t digits = 0) {
        Page page;
        EXPECT_TRUE(page.add(layout, {fixed<int32_t>(1), v}));
        Decoded d;
        const Type type = codec == Codec::Text ? Type::Code : codec == Codec::NumericScale ? Type::I32 : Type::I64;
        d.layouts = {column(layout, 2, codec, type, scale)};
        d.layouts[0].digits = digits;
        d.run({&page});
        EXPECT_TRUE(d.result.pages[0] == PageStatus::Ok || d.null(0, 0));
        return d.result.pages[0];
    };
    EXPECT_EQ(PageStatus::NeedsCpu, status(compressed_text(), Codec::Text));
    EXPECT_EQ(PageStatus::NeedsCpu, status(toast_pointer(), Codec::Text));
    EXPECT_EQ(PageStatus::NeedsCpu, status(toast_pointer(), Codec::Numeric));
    EXPECT_EQ(PageStatus::Ok, status(short_text(numeric_body(5, 1)), Codec::Numeric, 1));
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(numeric_body(5, 1)), Codec::Numeric, 2));
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(std::string("\x00\xc0", 2)), Codec::Numeric)); // NaN
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(std::string("\x00\xd0", 2)), Codec::Numeric)); // inf
    EXPECT_EQ(PageStatus::Unrepresentable,
              status(short_text(numeric_body(static_cast<int128>(INT64_MAX) + 1, 0)), Codec::Numeric));
    EXPECT_EQ(PageStatus::Ok, status(short_text(numeric_body(INT64_MIN, 0)), Codec::Numeric));
    EXPECT_EQ(PageStatus::Ok, status(short_text(numeric_body(5, 1)), Codec::MixedNumeric, 2));
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(numeric_body(5, 1)), Codec::MixedNumeric, 0));
    EXPECT_EQ(PageStatus::Ok, status(short_text(numeric_body(99, 0)), Codec::Numeric, 0, 2));
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(numeric_body(100, 0)), Codec::Numeric, 0, 2));
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(numeric_body(-100, 0)), Codec::MixedNumeric, 0, 2));
    EXPECT_EQ(PageStatus::Ok, status(short_text(numeric_body(500, 3)), Codec::NumericScale));
    EXPECT_EQ(PageStatus::Unrepresentable, status(short_text(std::string("\x00\xc0", 2)), Codec::NumericScale));
}

TEST(HeapPage, LinePointersAndMasks) {
    std::vector<AttributeLayout> layout{int4_layout};
    Page page;
    for (int32_t i = 0; i < 100; ++i) {
        if (i % 3 == 0)
            page.add_pointer(1, 2, 0); // redirected
        ASSERT_TRUE(page.add(layout, {fixed<int32_t>(i)}));
    }
    Decoded all;
    all.layouts = {column(layout, 1, Codec::Int32, Type::I32)};
    all.run({&page});
    ASSERT_EQ(PageStatus::Ok, all.result.pages[0]);
    for (int32_t i = 0; i < 100; ++i)
        ASSERT_EQ(i, all.value<int32_t>(0, static_cast<size_t>(i)));
    TupleMask some, redirected, beyond; // line pointers 1 and 70 are the tuples 0 and 51
    some.bits[0] = 2;
    some.bits[1] = uint64_t(1) << 6;
    redirected.bits[0] = 1;
    beyond.bits[3] = 1;
    Decoded masked;
    masked.layouts = all.layouts;
    masked.run({&page, &page, &page}, {&some, &redirected, &beyond});
    EXPECT_EQ(PageStatus::Ok, masked.result.pages[0]);
    EXPECT_EQ(0, masked.value<int32_t>(0, 0));
    EXPECT_EQ(52, masked.value<int32_t>(0, 1));
    EXPECT_EQ(PageStatus::Broken, masked.result.pages[1]);
    EXPECT_EQ(PageStatus::Broken, masked.result.pages[2]);
    page.tuples = 99; // fewer, and more, than are there
    Decoded fewer;
    fewer.layouts = all.layouts;
    fewer.run({&page});
    EXPECT_EQ(PageStatus::Broken, fewer.result.pages[0]);
    page.tuples = 101;
    Decoded more;
    more.layouts = all.layouts;
    more.run({&page});
    EXPECT_EQ(PageStatus::Broken, more.result.pages[0]);
}

TEST(HeapPage, Numerics) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 200000; ++i) {
        int128 v = static_cast<int128>(static_cast<uint128>(random()) << 64 | random()) >> (random() % 128);
        const int128 room = static_cast<int128>(1) << 120;
        if (random() % 4 == 0) // trailing zeros, which are not stored
            for (uint64_t zeros = random() % 12; zeros > 0 && v < room && v > -room; --zeros)
                v *= 10;
        int scale = static_cast<int>(random() % 30);
        std::string body = numeric_body(v, scale, random() % 3 == 0);
        int128 got;
        ASSERT_TRUE(heap::decode_numeric(reinterpret_cast<const uint8_t *>(body.data()), 0,
                                         static_cast<uint32_t>(body.size()), scale, false, got))
            << i;
        ASSERT_TRUE(got == v) << i;
        ASSERT_FALSE(heap::decode_numeric(reinterpret_cast<const uint8_t *>(body.data()), 0,
                                          static_cast<uint32_t>(body.size()), scale + 1, false, got));
        auto mixed = [&](int32_t other) {
            return heap::decode_numeric(reinterpret_cast<const uint8_t *>(body.data()), 0,
                                        static_cast<uint32_t>(body.size()), other, true, got);
        };
        int128 more = v;
        bool fits = true;
        const int zeros = static_cast<int>(random() % 41);
        for (int zero = 0; fits && zero < zeros; ++zero)
            fits = !__builtin_mul_overflow(more, static_cast<int128>(10), &more);
        ASSERT_EQ(fits, mixed(scale + zeros)) << i;
        if (fits) {
            ASSERT_TRUE(got == more) << i;
        }
        if (scale > 0) {
            ASSERT_EQ(v % 10 == 0, mixed(scale - 1)) << i;
        }
        int32_t shown;
        ASSERT_TRUE(heap::decode_numeric_scale(reinterpret_cast<const uint8_t *>(body.data()), 0,
                                               static_cast<uint32_t>(body.size()), shown));
        ASSERT_EQ(scale, shown);
    }
}

// What the fast way says is what the general one says, of numerics and of any bytes; and of those that it is for it does say
// something.
TEST(HeapPage, SmallNumerics) {
    std::mt19937_64 random(2);
    auto fast = [](const std::string &body, int scale, int64_t &value, bool mixed = false) {
        const std::string bytes = body + std::string(16, '\x5a'); // it reads further, and ignores it
        return SmallNumeric(scale, mixed)
                   .decode(reinterpret_cast<const uint8_t *>(bytes.data()), 0, static_cast<uint32_t>(body.size()),
                           value) == 0;
    };
    auto general = [](const std::string &body, int scale, int128 &value, bool mixed) {
        return heap::decode_numeric(reinterpret_cast<const uint8_t *>(body.data()), 0,
                                    static_cast<uint32_t>(body.size()), scale, mixed, value);
    };
    for (int scale = 0; scale <= 12; ++scale) {
        // Four digits, of which (scale + 3) / 4 are behind the point.
        uint64_t most = 10000;
        for (int digit = 1; digit < 4; ++digit)
            most *= 10000;
        for (int zeros = 0; zeros < (scale + 3) / 4 * 4 - scale; ++zeros)
            most /= 10;
        for (int i = 0; i < 20000; ++i) {
            int64_t v = static_cast<int64_t>(random() % most >> random() % 54);
            for (uint64_t zeros = random() % 6; zeros > 0 && v < static_cast<int64_t>(most / 10); --zeros)
                v *= 10;
            v = random() % 2 ? v : -v;
            int64_t got;
            ASSERT_TRUE(fast(numeric_body(v, scale), scale, got)) << v << " scale " << scale;
            ASSERT_EQ(v, got) << "scale " << scale;
            ASSERT_FALSE(fast(numeric_body(v, scale), scale + 1, got));
            ASSERT_FALSE(fast(numeric_body(v, scale, true), scale, got)); // a long header
        }
    }
    int64_t got;
    EXPECT_FALSE(fast(std::string("\x00\xc0", 2), 0, got)); // NaN
    EXPECT_FALSE(fast(std::string("\x00\xd0", 2), 0, got)); // infinity
    EXPECT_FALSE(fast("", 0, got));
    EXPECT_FALSE(fast("\x01", 0, got));
    size_t both = 0;
    for (int i = 0; i < 2000000; ++i) { // any bytes with a short header of this scale and a small weight, mostly
        const int scale = static_cast<int>(random() % 24);
        std::string body(random() % 12, '\0');
        for (char &byte : body)
            byte = static_cast<char>(random() % 4 ? random() % 40 : random());
        if (body.size() >= 2 && random() % 16 != 0) {
            const uint64_t weight = random() % 4 ? random() & 3 : random() & 0x7f;
            const uint16_t header = static_cast<uint16_t>(0x8000 | (random() & 0x2000) | scale << 7 | weight);
            memcpy(body.data(), &header, 2);
        }
        int128 want;
        const bool mixed = random() % 2 == 0;
        const int of_column = mixed ? static_cast<int>(random() % 24) : scale;
        if (!fast(body, of_column, got, mixed))
            continue;
        ASSERT_TRUE(general(body, of_column, want, mixed)) << i;
        ASSERT_TRUE(want == got) << i;
        ++both;
    }
    EXPECT_GT(both, 10000u);
}

struct RandomKind {
    AttributeLayout layout;
    Codec codec;
    Type type;
};

// Random tables: any order of attributes of all kinds, any of them wanted; pages in which no tuple has a NULL or lacks an
// attribute, and others; texts and numerics that are all short, and not.
TEST(HeapPage, RandomTables) {
    const RandomKind kinds[] = {{{1, 1}, Codec::Bool, Type::Bool},     {{2, 2}, Codec::Int16, Type::I16},
                                {{4, 4}, Codec::Int32, Type::I32},     {{8, 8}, Codec::Int64, Type::I64},
                                {{-1, 4}, Codec::Text, Type::Code},    {{-1, 4}, Codec::Numeric, Type::I64},
                                {{-1, 4}, Codec::Numeric, Type::I128}, {{-2, 1}, Codec::Text, Type::Code},
                                {{12, 4}, Codec::Text, Type::Code}}; // the last two are only walked over
    constexpr size_t last_wanted = 6;
    std::mt19937_64 random(4);
    for (int round = 0; round < 1500; ++round) {
        const size_t n = 1 + random() % (random() % 16 ? 14 : 150); // (bitmaps of several words, too)
        const unsigned null_part = random() % 2 ? 0 : 1 + random() % 9,
                       long_part = random() % 3 ? 0 : 1 + random() % 20, short_tuple_part = random() % 3 ? 0 : 5;
        std::vector<AttributeLayout> layout;
        std::vector<size_t> chosen;
        std::vector<bool> nullable;
        const bool all_nullable = random() % 2;
        for (size_t i = 0; i < n; ++i) {
            chosen.push_back(random() % std::size(kinds));
            layout.push_back(kinds[chosen.back()].layout);
            nullable.push_back(all_nullable || random() % 3 == 0);
        }
        auto one_in = [&](unsigned part) { return part != 0 && random() % part == 0; };
        struct Wanted {
            bool null = true;
            int128 number = 0;
            std::string text;
        };
        std::vector<Page> pages(1 + random() % 3);
        std::vector<std::vector<Wanted>> rows;
        for (Page &page : pages)
            for (size_t most = random() % 300; most > 0; --most) {
                std::vector<Value> values;
                std::vector<Wanted> row(n);
                for (size_t i = 0; i < n; ++i) {
                    Wanted &w = row[i];
                    w.null = nullable[i] && one_in(null_part);
                    w.number = static_cast<int64_t>(random() >> random() % 60);
                    if (random() % 2)
                        w.number = -w.number;
                    w.text = std::string(random() % (one_in(10) ? 40 : 18), static_cast<char>('a' + random() % 20));
                    if (!w.text.empty() && random() % 2) // others of the same beginning, or end
                        w.text[random() % w.text.size()] = 'z';
                    switch (chosen[i]) {
                    case 0:
                        w.number &= 1;
                        values.push_back(fixed(static_cast<uint8_t>(w.number)));
                        break;
                    case 1:
                        values.push_back(fixed(static_cast<int16_t>(w.number = static_cast<int16_t>(w.number))));
                        break;
                    case 2:
                        values.push_back(fixed(static_cast<int32_t>(w.number = static_cast<int32_t>(w.number))));
                        break;
                    case 3:
                        values.push_back(fixed(static_cast<int64_t>(w.number)));
                        break;
                    case 4:
                        values.push_back(one_in(long_part) ? long_text(w.text) : short_text(w.text));
                        break;
                    case 6:
                        w.number *= one_in(long_part) ? w.number : 1;
                        [[fallthrough]];
                    case 5: {
                        const std::string body = numeric_body(w.number, 2, one_in(long_part));
                        values.push_back(one_in(long_part) ? long_text(body) : short_text(body));
                        break;
                    }
                    case 7:
                        values.push_back({false, w.text + '\0'});
                        break;
                    default:
                        values.push_back({false, std::string(12, 'f')});
                        break;
                    }
                    if (w.null)
                        values.back() = null_value();
                }
                if (one_in(short_tuple_part))
                    values.resize(1 + random() % n);
                for (size_t i = values.size(); i < n; ++i)
                    row[i].null = true;
                if (!page.add(layout, values))
                    break;
                rows.push_back(row);
            }
        Decoded d;
        std::vector<size_t> wanted;
        for (size_t i = 0; i < n; ++i)
            for (uint64_t times = chosen[i] <= last_wanted ? random() % 5 / 2 : 0; times > 0; --times) {
                const RandomKind &kind = kinds[chosen[i]];
                d.layouts.push_back(column(layout, i + 1, kind.codec, kind.type, kind.codec == Codec::Numeric ? 2 : 0));
                wanted.push_back(i);
            }
        std::vector<const Page *> all;
        for (const Page &page : pages)
            all.push_back(&page);
        d.run(all);
        for (PageStatus status : d.result.pages)
            ASSERT_EQ(PageStatus::Ok, status) << round;
        for (size_t c = 0; c < wanted.size(); ++c)
            for (size_t r = 0; r < rows.size(); ++r) {
                const Wanted &w = rows[r][wanted[c]];
                ASSERT_EQ(w.null, d.null(c, r)) << "round " << round << " column " << c << " row " << r;
                if (w.null)
                    continue;
                const ColumnStats &s = d.result.columns[c];
                int128 got = 0;
                switch (chosen[wanted[c]]) {
                case 0:
                    got = d.value<uint8_t>(c, r);
                    break;
                case 1:
                    got = d.value<int16_t>(c, r);
                    break;
                case 2:
                    got = d.value<int32_t>(c, r);
                    break;
                case 3:
                case 5:
                    got = d.value<int64_t>(c, r);
                    break;
                case 6:
                    got = d.value<int128>(c, r);
                    break;
                default:
                    ASSERT_EQ(w.text, d.text(c, r)) << "round " << round << " column " << c << " row " << r;
                    continue;
                }
                ASSERT_TRUE(got == w.number) << "round " << round << " column " << c << " row " << r;
                if (got == static_cast<int64_t>(got))
                    ASSERT_TRUE(s.any_value && s.min <= got && got <= s.max);
                else
                    ASSERT_TRUE(s.any_wide);
            }
    }
}

// The first tuple that fails decides, and of that the first attribute, wherever others fail.
TEST(HeapPage, FirstFailureDecides) {
    std::vector<AttributeLayout> layout{text_layout, int4_layout, text_layout};
    const Value right = short_text(numeric_body(5, 2)), other_scale = short_text(numeric_body(5, 1));
    auto status = [&](const std::vector<std::pair<Value, Value>> &tuples) {
        Page page;
        for (const auto &[first, last] : tuples)
            EXPECT_TRUE(page.add(layout, {first, fixed<int32_t>(1), last}));
        Decoded d;
        d.layouts = {column(layout, 1, Codec::Numeric, Type::I64, 2), column(layout, 3, Codec::Numeric, Type::I64, 2)};
        d.run({&page});
        for (size_t r = 0; r < tuples.size() && d.result.pages[0] != PageStatus::Ok; ++r)
            EXPECT_TRUE(d.null(0, r) && d.null(1, r));
        return d.result.pages[0];
    };
    EXPECT_EQ(PageStatus::Ok, status({{right, right}, {right, right}}));
    EXPECT_EQ(PageStatus::Unrepresentable, status({{other_scale, toast_pointer()}}));
    EXPECT_EQ(PageStatus::NeedsCpu, status({{toast_pointer(), other_scale}}));
    EXPECT_EQ(PageStatus::NeedsCpu, status({{right, right}, {right, toast_pointer()}, {other_scale, right}}));
    EXPECT_EQ(PageStatus::Unrepresentable, status({{right, other_scale}, {toast_pointer(), right}}));
    EXPECT_EQ(PageStatus::Unrepresentable, status({{null_value(), other_scale}, {toast_pointer(), null_value()}}));
}

// The scale is looked for only in tuples whose number has been found.
TEST(HeapPage, ColumnsOfOneAttributeFailTogether) {
    const std::vector<AttributeLayout> layout{text_layout};
    const Value right = short_text(numeric_body(5, 2)), not_a_number = short_text(std::string("\x00\xc0", 2)),
                too_fine = short_text(numeric_body(5, 4)); // (of a column of 3)
    auto status = [&](const std::vector<Value> &tuples, bool scale_first) {
        Page page;
        for (const Value &value : tuples)
            EXPECT_TRUE(page.add(layout, {value}));
        const ColumnLayout number = column(layout, 1, Codec::MixedNumeric, Type::I64, 3),
                           scale = column(layout, 1, Codec::NumericScale, Type::I32);
        Decoded d;
        d.layouts = scale_first ? std::vector<ColumnLayout>{scale, number} : std::vector<ColumnLayout>{number, scale};
        d.run({&page});
        for (size_t r = 0; r < tuples.size() && d.result.pages[0] != PageStatus::Ok; ++r)
            EXPECT_TRUE(d.null(0, r) && d.null(1, r));
        return d.result.pages[0];
    };
    for (const bool scale_first : {false, true}) {
        EXPECT_EQ(PageStatus::Ok, status({right, null_value(), right}, scale_first));
        EXPECT_EQ(PageStatus::Unrepresentable, status({right, too_fine, right}, scale_first));
        EXPECT_EQ(PageStatus::Unrepresentable, status({null_value(), right, not_a_number}, scale_first));
        EXPECT_EQ(PageStatus::Unrepresentable, status({right, null_value(), too_fine, toast_pointer()}, scale_first));
        EXPECT_EQ(PageStatus::NeedsCpu, status({right, toast_pointer(), too_fine}, scale_first));
    }
}

// A page of a mixed table, some columns random.
std::vector<AttributeLayout> mixed_layout() {
    return {int4_layout, text_layout, bool_layout, int8_layout, text_layout, cstring_layout, int2_layout};
}

Page mixed_page(std::mt19937 &random) {
    Page page;
    auto layout = mixed_layout();
    for (;;) {
        std::vector<Value> values{fixed<int32_t>(static_cast<int32_t>(random())),
                                  short_text(std::string(random() % 20, static_cast<char>('a' + random() % 3))),
                                  fixed<uint8_t>(random() % 2),
                                  fixed<int64_t>(random()),
                                  short_text(numeric_body(static_cast<int>(random() % 100000), 2)),
                                  {false, std::string(random() % 5, 'c') + '\0'},
                                  fixed<int16_t>(static_cast<int16_t>(random()))};
        for (Value &v : values)
            if (random() % 8 == 0)
                v = null_value();
        values.resize(1 + random() % values.size());
        if (!page.add(layout, values))
            return page;
    }
}

// Run under AddressSanitizer this shows that no byte outside of page and rows is touched.
// A tuple that says that it has attributes for which it is too short: nothing behind it is read. (A sanitizer sees that.)
TEST(HeapPage, AttributesThatATupleHasNoRoomFor) {
    std::vector<AttributeLayout> narrow{int4_layout}, wide(1000, AttributeLayout{8, 8});
    wide.push_back(text_layout);
    Page page;
    ASSERT_TRUE(page.add(narrow, {fixed<int32_t>(1)}));
    const size_t tuple = page_size - 32; // of 23 bytes, aligned, and the number
    page.bytes[tuple + 18] = 1001 & 0xff;
    page.bytes[tuple + 19] = 1001 >> 8;
    Decoded d;
    d.layouts = {column(wide, 1001, Codec::Text, Type::Code)};
    d.run({&page});
    EXPECT_EQ(PageStatus::Broken, d.result.pages[0]);
}

TEST(HeapPage, BrokenPages) {
    auto device = make_host_device(1);
    auto layout = mixed_layout();
    std::vector<ColumnLayout> layouts{
        column(layout, 1, Codec::Int32, Type::I32), column(layout, 2, Codec::Text, Type::Code),
        column(layout, 4, Codec::Int64, Type::I64), column(layout, 5, Codec::Numeric, Type::I128, 2),
        column(layout, 7, Codec::Int16, Type::I16)};
    Dictionary dictionary(1 << 20, 64 << 20);
    std::vector<BufferRef> buffers;
    DecodeJob job;
    for (const ColumnLayout &l : layouts) {
        BufferRef values = device->allocate(320 * type_width(l.type)), nulls = device->allocate(320);
        job.columns.push_back({&l, values.get(), nulls.get(), l.codec == Codec::Text ? &dictionary : nullptr});
        buffers.push_back(values);
        buffers.push_back(nulls);
    }
    std::mt19937 random(1);
    size_t ok = 0;
    for (int round = 0; round < 100000; ++round) {
        static Page base = mixed_page(random);
        if (round % 1000 == 0)
            base = mixed_page(random);
        auto page = std::make_unique<Page>(base); // on the heap: a sanitizer watches its ends
        if (round % 10 == 0)
            for (uint8_t &byte : page->bytes)
                byte = static_cast<uint8_t>(random());
        for (int flips = static_cast<int>(random() % 20); flips > 0; --flips)
            page->bytes[random() % (random() % 2 ? 400 : page_size)] = static_cast<uint8_t>(random());
        TupleMask mask;
        for (uint64_t &bits : mask.bits)
            bits = random() & random() & random() & random();
        job.pages = {{page->bytes, static_cast<uint32_t>(random() % 8), page->tuples, 0, round % 5 ? nullptr : &mask}};
        DecodeResult result;
        device->decode(job, result, nullptr);
        ok += result.pages[0] == PageStatus::Ok;
    }
    EXPECT_GT(ok, 10u);
}

} // namespace
} // namespace gpuscan
