// Decoding of pages on the CUDA device: the host decoder is the reference.
#include <random>
#include <utility>

#include "cuda_fixture.hpp"
#include "host/host_device.hpp"
#include "page_builder.hpp"

namespace gpuscan {
namespace {

using test::shared;

class CudaDecodeTest : public test::CudaTest {};

struct Decoded {
    DecodeResult result;
    std::vector<std::vector<uint8_t>> values, nulls;
};

struct DecodeCase {
    std::vector<ColumnLayout> layouts;
    std::vector<pages::Page> pages;
    std::vector<TupleMask> masks; // one per page; all zero: none
    std::vector<PageRef> refs;
    uint32_t rows = 0;

    // `base`: where the pages stand (host address); in the pool or anywhere.
    void place(uint8_t *base, bool in_place) {
        refs.clear();
        rows = 0;
        for (size_t i = 0; i < pages.size(); ++i) {
            memcpy(base + i * page_size, pages[i].bytes, page_size);
            PageRef ref{};
            ref.page = base + i * page_size;
            ref.row_start = rows;
            ref.in_place = in_place;
            ref.ntuples = pages[i].tuples;
            if (masks[i].bits[0] | masks[i].bits[1]) {
                ref.mask = &masks[i];
                ref.ntuples = 0;
                for (uint64_t bits : masks[i].bits)
                    ref.ntuples = static_cast<uint16_t>(ref.ntuples + __builtin_popcountll(bits));
            }
            rows += ref.ntuples;
            refs.push_back(ref);
        }
    }
};

Decoded decode_on(Device &device, const DecodeCase &c, std::vector<std::unique_ptr<Dictionary>> &dictionaries) {
    DecodeJob job;
    job.pages = c.refs;
    std::vector<std::pair<size_t, size_t>> places; // of all columns in one buffer: values, flags of NULLs
    size_t size = 16;
    const auto take = [&](size_t bytes) { return std::exchange(size, (size + bytes + 31) / 16 * 16); };
    for (const ColumnLayout &layout : c.layouts) {
        const size_t values = take(c.rows * type_width(layout.type));
        places.emplace_back(values, take(c.rows + 1));
    }
    const BufferRef whole = device.allocate(size);
    device.fill(*whole, 0, 7, size);
    std::vector<Buffer> parts(2 * places.size());
    for (size_t i = 0; i < places.size(); ++i) {
        uint8_t *const data = static_cast<uint8_t *>(whole->data);
        parts[2 * i].data = data + places[i].first;
        parts[2 * i].size = places[i].second - places[i].first;
        parts[2 * i + 1].data = data + places[i].second;
        parts[2 * i + 1].size = c.rows + 1;
        job.columns.push_back({&c.layouts[i], &parts[2 * i], &parts[2 * i + 1], dictionaries[i].get()});
    }
    job.zeros.push_back({whole, 16});
    job.wanted_on_host = whole.get();
    Decoded out;
    device.decode(job, out.result, nullptr);
    std::vector<uint8_t> bytes(size);
    device.download(bytes.data(), *whole, 0, size);
    EXPECT_EQ(bytes[15], 7);
    EXPECT_EQ(bytes[size - 1], 0);
    EXPECT_TRUE(device.reads_host_memory() || bytes == out.result.on_host)
        << "what was brought back is not what is there";
    for (size_t i = 0; i < c.layouts.size(); ++i) {
        const auto at = [&](size_t place) { return bytes.begin() + static_cast<std::ptrdiff_t>(place); };
        out.values.emplace_back(at(places[i].first), at(places[i].first + c.rows * type_width(c.layouts[i].type)));
        out.nulls.emplace_back(at(places[i].second), at(places[i].second + c.rows));
    }
    return out;
}

std::vector<std::unique_ptr<Dictionary>> dictionaries(const DecodeCase &c, uint32_t limit) {
    std::vector<std::unique_ptr<Dictionary>> out;
    for (const ColumnLayout &layout : c.layouts)
        out.push_back(layout.codec == Codec::Text ? std::make_unique<Dictionary>(limit, size_t(1) << 30) : nullptr);
    return out;
}

DecodeCase random_pages(std::mt19937 &random, size_t npages, unsigned broken_percent) {
    DecodeCase c;
    const std::vector<AttributeLayout> all = {{4, 4},  {-1, 4}, {2, 2}, {-1, 4}, {8, 8}, {1, 1},
                                              {-1, 4}, {8, 8},  {4, 4}, {-2, 1}, {-1, 4}};
    const std::vector<std::pair<size_t, Codec>> wanted = {
        {0, Codec::Int32},       {1, Codec::Text},  {2, Codec::Int16},        {3, Codec::Numeric},
        {4, Codec::Int64},       {5, Codec::Bool},  {6, Codec::Numeric},      {7, Codec::Float8},
        {8, Codec::Float4},      {10, Codec::Text}, {3, Codec::MixedNumeric}, {3, Codec::NumericScale},
        {6, Codec::MixedNumeric}};
    for (const auto &[attribute, codec] : wanted) {
        static const Type types[] = {Type::Bool, Type::I16, Type::I32, Type::I64,
                                     Type::F32,  Type::F64, Type::I64, Type::Code};
        ColumnLayout layout;
        layout.attributes.assign(all.begin(), all.begin() + static_cast<long>(attribute) + 1);
        layout.codec = codec;
        layout.type = is_scaled(codec)               ? Type::I64
                      : codec == Codec::NumericScale ? Type::I32
                                                     : types[static_cast<int>(codec)];
        if (is_scaled(codec)) {
            layout.scale = codec == Codec::Numeric ? 2 : 3;
            layout.digits = codec == Codec::Numeric ? 0 : 36;
            if (attribute == 6)
                layout.type = Type::I128;
        }
        if (attribute == 10) {
            layout.missing_null = false;
            layout.missing_text = "default";
        }
        c.layouts.push_back(layout);
    }
    for (size_t p = 0; p < npages; ++p) {
        pages::Page page;
        for (;;) {
            std::vector<pages::Value> values;
            auto null = [&] { return random() % 5 == 0; };
            auto text = [&] {
                std::string s = "text " + std::to_string(random() % 300);
                if (random() % 10 == 0)
                    s += std::string(random() % 200, 'x');
                return random() % 2 && s.size() < 120 ? pages::short_text(s) : pages::long_text(s);
            };
            auto numeric = [&] {
                int128 v = static_cast<int64_t>(random()) - 2000000000;
                if (random() % 20 == 0)
                    v *= v;
                const std::string body = pages::numeric_body(v, 2, random() % 3 == 0);
                return random() % 2 ? pages::short_text(body) : pages::long_text(body);
            };
            values.push_back(null() ? pages::null_value() : pages::fixed<int32_t>(static_cast<int32_t>(random())));
            values.push_back(null() ? pages::null_value() : text());
            values.push_back(null() ? pages::null_value() : pages::fixed<int16_t>(static_cast<int16_t>(random())));
            values.push_back(null() ? pages::null_value() : numeric());
            values.push_back(null() ? pages::null_value()
                                    : pages::fixed<int64_t>(static_cast<int64_t>(random()) << 20));
            values.push_back(null() ? pages::null_value() : pages::fixed<uint8_t>(random() % 2));
            values.push_back(null() ? pages::null_value() : numeric());
            values.push_back(null() ? pages::null_value() : pages::fixed<double>(static_cast<double>(random()) / 7));
            values.push_back(null() ? pages::null_value() : pages::fixed<float>(static_cast<float>(random())));
            values.push_back({false, "cstring" + std::string(1, '\0')});
            if (random() % 8 != 0)
                values.push_back(null() ? pages::null_value() : text());
            if (random() % 2000 == 0)
                values[1] = random() % 2 ? pages::toast_pointer() : pages::compressed_text();
            if (!page.add(all, values))
                break;
            if (random() % 12 == 0)
                page.add_pointer(0, random() % 2 ? 3 : 0, 0);
        }
        c.pages.push_back(page);
        TupleMask mask;
        if (random() % 4 == 0) { // some of the line pointers that hold tuples
            const uint32_t count = (page.get16(12) - 24u) / 4;
            for (uint32_t i = 0; i < count; ++i) {
                uint32_t bits;
                memcpy(&bits, page.bytes + 24 + 4 * i, 4);
                if ((bits >> 15 & 3) == 1 && random() % 3 != 0)
                    mask.bits[i / 64] |= uint64_t(1) << (i % 64);
            }
        }
        c.masks.push_back(mask);
        if (random() % 100 < broken_percent) {
            pages::Page &victim = c.pages.back();
            for (unsigned n = 1 + random() % 20; n > 0; --n) {
                const size_t at = random() % 3 == 0 ? random() % 600 : random() % page_size;
                victim.bytes[at] = static_cast<uint8_t>(random() % 4 == 0 ? 0xff : random());
            }
        }
    }
    return c;
}

// The same statuses, NULLs, values and bounds; text compared as text, because codes follow the order of arrival.
void expect_equal(const DecodeCase &c, const Decoded &want, const Decoded &got,
                  const std::vector<std::unique_ptr<Dictionary>> &want_texts,
                  const std::vector<std::unique_ptr<Dictionary>> &got_texts) {
    for (size_t p = 0; p < c.refs.size(); ++p)
        ASSERT_EQ(static_cast<int>(want.result.pages[p]), static_cast<int>(got.result.pages[p])) << "page " << p;
    for (size_t i = 0; i < c.layouts.size(); ++i) {
        const size_t width = type_width(c.layouts[i].type);
        ASSERT_EQ(want.nulls[i], got.nulls[i]) << "column " << i;
        if (c.layouts[i].codec != Codec::Text) {
            ASSERT_EQ(want.values[i], got.values[i]) << "column " << i;
            for (uint32_t r = 0; r < c.rows && width <= 8 && !is_float(c.layouts[i].type); ++r) {
                int64_t v = 0;
                memcpy(&v, &got.values[i][r * width], width);
                v = width == 2 ? static_cast<int16_t>(v) : width == 4 ? static_cast<int32_t>(v) : v;
                if (!got.nulls[i][r]) {
                    ASSERT_LE(got.result.columns[i].min, v);
                    ASSERT_GE(got.result.columns[i].max, v);
                }
            }
            continue;
        }
        for (uint32_t r = 0; r < c.rows; ++r) {
            if (want.nulls[i][r])
                continue;
            uint32_t a, b;
            memcpy(&a, &want.values[i][4 * r], 4);
            memcpy(&b, &got.values[i][4 * r], 4);
            ASSERT_LT(b, got_texts[i]->size());
            ASSERT_EQ(want_texts[i]->entry(a), got_texts[i]->entry(b)) << "row " << r;
        }
    }
}

TEST_F(CudaDecodeTest, DecodesLikeTheHost) {
    auto host = make_host_device(2);
    std::mt19937 random(11);
    for (unsigned broken : {0u, 0u, 30u, 90u}) {
        for (bool in_place : {true, false}) {
            DecodeCase c = random_pages(random, 500, broken);
            std::vector<uint8_t> window(c.pages.size() * page_size);
            c.place(in_place ? shared().pool : window.data(), in_place);
            auto host_texts = dictionaries(c, 1 << 20);
            auto cuda_texts = dictionaries(c, 1 << 20);
            const Decoded want = decode_on(*host, c, host_texts);
            for (int again = 0; again < 2; ++again) { // the second time every text is known
                const Decoded got = decode_on(device(), c, cuda_texts);
                expect_equal(c, want, got, host_texts, cuda_texts);
                if (HasFatalFailure())
                    return;
            }
        }
    }
}

// Of a few pages, and of so many that several threads number their texts.
TEST_F(CudaDecodeTest, DictionaryLimit) {
    std::mt19937 random(5);
    for (const size_t npages : {50, 600}) {
        DecodeCase c = random_pages(random, npages, 0);
        c.place(shared().pool, true);
        auto all_texts = dictionaries(c, 1 << 20);
        decode_on(device(), c, all_texts);
        uint32_t needed = 0;
        for (const auto &texts : all_texts)
            needed = std::max(needed, texts ? texts->size() : 0);
        ASSERT_GT(needed, 100u);
        // Several limits: pages are given up in the first round, in later ones, or in several.
        for (const uint32_t limit : {0u, 1u, 20u, 100u, 400u}) {
            auto texts = dictionaries(c, limit);
            const Decoded got = decode_on(device(), c, texts);
            EXPECT_EQ(got.result.dictionary_full, needed > limit) << needed << " texts, room for " << limit;
            size_t given_up = 0;
            for (size_t p = 0; p < c.refs.size(); ++p) {
                given_up += got.result.pages[p] != PageStatus::Ok;
                for (uint32_t r = 0; r < c.refs[p].ntuples && got.result.pages[p] != PageStatus::Ok; ++r)
                    ASSERT_EQ(1, got.nulls[0][c.refs[p].row_start + r]);
            }
            EXPECT_TRUE(given_up > 0 || needed <= limit);
        }
    }
}

TEST_F(CudaDecodeTest, PagesOfNoise) { // never outside, always ends
    std::mt19937 random(17);
    DecodeCase c = random_pages(random, 300, 0);
    for (pages::Page &page : c.pages)
        for (size_t i = 0; i < page_size; i += 4) {
            const uint32_t noise = static_cast<uint32_t>(random());
            memcpy(page.bytes + i, &noise, 4);
        }
    for (size_t p = 0; p < c.pages.size(); p += 2) // plausible headers
        c.pages[p].set16(12, static_cast<uint16_t>(24 + 4 * (random() % 292)));
    auto host = make_host_device(2);
    c.place(shared().pool, true);
    auto host_texts = dictionaries(c, 1 << 20);
    auto cuda_texts = dictionaries(c, 1 << 20);
    const Decoded want = decode_on(*host, c, host_texts);
    const Decoded got = decode_on(device(), c, cuda_texts);
    expect_equal(c, want, got, host_texts, cuda_texts);
}

} // namespace
} // namespace gpuscan
