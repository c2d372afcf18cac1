// libFuzzer target for the host decoder: any page, any layout of columns, any tuple mask.
//
// The input is a little program of its own: one byte says how many attributes the table has, two bytes each give their
// layouts, one byte says which become columns, forty bytes are the tuple mask, the rest is the page (zeros behind it).
// What is checked: no access outside of page and rows (AddressSanitizer), an end, codes below the dictionary's size,
// NULL flags of 0 or 1, statistics that bound the values.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../unit/page_builder.hpp"
#include "engine/device.hpp"
#include "engine/store/dictionary.hpp"
#include "fuzz_input.hpp"
#include "host/host_device.hpp"

using namespace gpuscan;

namespace {

// The kinds of attribute an input may name, and what they are decoded as.
struct Kind {
    AttributeLayout layout;
    Codec codec;
    Type type;
};
const Kind kinds[] = {
    {{1, 1}, Codec::Bool, Type::Bool},         {{2, 2}, Codec::Int16, Type::I16},
    {{4, 4}, Codec::Int32, Type::I32},         {{8, 8}, Codec::Int64, Type::I64},
    {{4, 4}, Codec::Float4, Type::F32},        {{8, 8}, Codec::Float8, Type::F64},
    {{-1, 4}, Codec::Numeric, Type::I64},      {{-1, 4}, Codec::Numeric, Type::I128},
    {{-1, 4}, Codec::Text, Type::Code},        {{-1, 4}, Codec::MixedNumeric, Type::I64},
    {{-1, 4}, Codec::NumericScale, Type::I32}, {{-1, 8}, Codec::Text, Type::Code},
    {{-2, 1}, Codec::Text, Type::Code},        {{6, 2}, Codec::Text, Type::Code},
};
constexpr size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);
constexpr size_t last_column_kind = 9; // kinds beyond are only walked over
constexpr size_t max_attributes = 16;

using fuzz::require;

struct Input {
    const uint8_t *data;
    size_t size;
    uint8_t byte() {
        if (size == 0)
            return 0;
        --size;
        return *data++;
    }
};

void write_corpus(const char *directory) {
    std::mt19937 random(1);
    for (int file = 0; file < 12; ++file) {
        std::string out;
        size_t n = 1 + random() % 8;
        std::vector<AttributeLayout> layout;
        std::vector<size_t> chosen;
        out.push_back(static_cast<char>(n - 1));
        for (size_t i = 0; i < n; ++i) {
            size_t kind = random() % kind_count;
            chosen.push_back(kind);
            layout.push_back(kinds[kind].layout);
            out.push_back(static_cast<char>(kind));
            out.push_back(2); // scale of a numeric
        }
        out.push_back('\xff');
        out.push_back(static_cast<char>(file % 2)); // with and without a mask
        out += std::string(40, file % 4 == 1 ? '\x55' : '\xff');
        pages::Page page;
        for (;;) {
            std::vector<pages::Value> values;
            for (size_t kind : chosen) {
                const AttributeLayout &a = kinds[kind].layout;
                pages::Value v;
                if (is_scaled(kinds[kind].codec))
                    v = pages::short_text(pages::numeric_body(static_cast<int>(random()), 2, random() % 2));
                else if (a.length == -1)
                    v = random() % 4   ? pages::short_text(std::string(random() % 9, 'a'))
                        : random() % 4 ? pages::long_text("long")
                                       : pages::toast_pointer();
                else if (a.length == -2)
                    v = {false, std::string(random() % 5, 'c') + '\0'};
                else
                    v = {false, std::string(static_cast<size_t>(a.length), static_cast<char>(random() % 2))};
                values.push_back(random() % 9 ? v : pages::null_value());
            }
            if (!page.add(layout, values))
                break;
        }
        out.append(reinterpret_cast<const char *>(page.bytes), page_size);
        std::string name = std::string(directory) + "/page" + std::to_string(file);
        if (FILE *f = fopen(name.c_str(), "wb")) {
            fwrite(out.data(), 1, out.size(), f);
            fclose(f);
        }
    }
}

int64_t value_of(Type type, const uint8_t *at) {
    int64_t v = 0;
    memcpy(&v, at, type_width(type) < 8 ? type_width(type) : 8);
    return type == Type::I16 ? static_cast<int16_t>(v) : type == Type::I32 ? static_cast<int32_t>(v) : v;
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    if (const char *directory = fuzz::corpus())
        write_corpus(directory);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static std::unique_ptr<Device> device = make_host_device(1);
    Input in{data, size};
    size_t n = 1 + in.byte() % max_attributes;
    std::vector<AttributeLayout> layout;
    std::vector<ColumnLayout> columns;
    std::vector<size_t> chosen;
    std::vector<int> scales;
    for (size_t i = 0; i < n; ++i) {
        chosen.push_back(in.byte() % kind_count);
        scales.push_back(in.byte() % 40);
        layout.push_back(kinds[chosen.back()].layout);
    }
    uint8_t wanted = in.byte();
    for (size_t i = 0; i < n; ++i) {
        if (chosen[i] > last_column_kind || !(wanted >> (i % 8) & 1))
            continue;
        ColumnLayout c;
        c.attributes.assign(layout.begin(), layout.begin() + static_cast<long>(i) + 1);
        c.codec = kinds[chosen[i]].codec;
        c.type = kinds[chosen[i]].type;
        c.scale = scales[i];
        c.missing_null = i % 2;
        c.missing_text = "missing";
        columns.push_back(c);
    }
    bool masked = in.byte() & 1;
    TupleMask mask;
    for (size_t i = 0; i < sizeof(mask); ++i)
        reinterpret_cast<uint8_t *>(&mask)[i] = in.byte();
    auto page = std::make_unique<uint8_t[]>(page_size); // exactly: the sanitizer watches both ends
    memcpy(page.get(), in.data, in.size < page_size ? in.size : page_size);

    // As many rows as a page that is whole would give.
    uint16_t rows = 0;
    uint16_t lower;
    memcpy(&lower, page.get() + 12, 2);
    for (uint32_t i = 0; i < 320; ++i) {
        bool exists = lower >= 24 && 24 + 4 * (i + 1) <= lower && 24 + 4 * (i + 1) <= page_size;
        uint32_t pointer = 0;
        if (exists)
            memcpy(&pointer, page.get() + 24 + 4 * i, 4);
        rows = static_cast<uint16_t>(rows + (masked ? mask.bits[i / 64] >> (i % 64) & 1 : (pointer >> 15 & 3) == 1));
    }
    Dictionary dictionary(64, 4096);
    DecodeJob job;
    std::vector<BufferRef> buffers;
    for (const ColumnLayout &c : columns) {
        BufferRef values = device->allocate(rows * type_width(c.type)), nulls = device->allocate(rows);
        job.columns.push_back({&c, values.get(), nulls.get(), c.codec == Codec::Text ? &dictionary : nullptr});
        buffers.push_back(values);
        buffers.push_back(nulls);
    }
    job.pages.push_back({page.get(), 0, rows, 0, masked ? &mask : nullptr});
    DecodeResult result;
    device->decode(job, result, nullptr);

    for (size_t c = 0; c < columns.size(); ++c) {
        const uint8_t *values = static_cast<const uint8_t *>(buffers[2 * c]->data);
        const uint8_t *nulls = static_cast<const uint8_t *>(buffers[2 * c + 1]->data);
        Type type = columns[c].type;
        for (uint16_t r = 0; r < rows; ++r) {
            require(nulls[r] <= 1, "NULL flag");
            require(result.pages[0] == PageStatus::Ok || nulls[r] == 1, "row of a failed page is not NULL");
            if (nulls[r] || is_float(type) || type == Type::I128)
                continue;
            int64_t v = value_of(type, values + r * type_width(type));
            require(v >= result.columns[c].min && v <= result.columns[c].max, "value outside of its range");
            require(type != Type::Code || static_cast<uint64_t>(v) < dictionary.size(), "code beyond the dictionary");
        }
    }
    return 0;
}
