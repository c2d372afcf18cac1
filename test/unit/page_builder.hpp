// Heap pages made by hand, as PostgreSQL would write them, for tests of the decoders.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/store/decode.hpp"

namespace gpuscan::pages {

// One attribute value: its bytes as stored, header included for varlenas; NULL where `null`.
struct Value {
    bool null = false;
    std::string bytes;
};

inline Value null_value() { return {true, ""}; }

template <class T> Value fixed(T v) { return {false, std::string(reinterpret_cast<const char *>(&v), sizeof(v))}; }

inline Value short_text(const std::string &s) {
    return {false, std::string(1, static_cast<char>((s.size() + 1) << 1 | 1)) + s};
}

inline Value long_text(const std::string &s) {
    uint32_t header = static_cast<uint32_t>(s.size() + 4) << 2;
    return {false, std::string(reinterpret_cast<const char *>(&header), 4) + s};
}

inline Value compressed_text() { // 4-byte header with the compressed bit
    uint32_t header = 12u << 2 | 2;
    return {false, std::string(reinterpret_cast<const char *>(&header), 4) + "12345678"};
}

inline Value toast_pointer() { return {false, std::string("\x01\x12", 2) + std::string(16, 'p')}; }

// The body of a numeric from its base-10000 digits; `long_format` forces the long header.
inline std::string numeric_body(bool negative, int weight, int dscale, const std::vector<int16_t> &digits,
                                bool long_format = false) {
    std::string out;
    auto put = [&](int v) {
        int16_t word = static_cast<int16_t>(v);
        out.append(reinterpret_cast<const char *>(&word), 2);
    };
    if (!long_format && dscale <= 63 && weight >= -64 && weight <= 63) {
        put(0x8000 | (negative ? 0x2000 : 0) | dscale << 7 | (weight < 0 ? 0x40 : 0) | (weight & 0x3f));
    } else {
        put((negative ? 0x4000 : 0) | dscale);
        put(weight);
    }
    for (int16_t d : digits)
        put(d);
    return out;
}

// The numeric `unscaled` / 10^scale with display scale `scale`, as PostgreSQL stores it.
inline std::string numeric_body(int128 unscaled, int scale, bool long_format = false) {
    bool negative = unscaled < 0;
    uint128 v = negative ? static_cast<uint128>(0) - static_cast<uint128>(unscaled) : static_cast<uint128>(unscaled);
    int behind = (scale + 3) / 4; // base-10000 digits behind the point
    std::vector<int16_t> digits;
    int pad = behind * 4 - scale;
    int unit = 1;
    for (int i = 0; i < pad; ++i)
        unit *= 10;
    int per_first = 10000 / unit; // the last digit holds 4 - pad decimal places
    if (pad > 0) {
        digits.push_back(static_cast<int16_t>(static_cast<int>(v % static_cast<unsigned>(per_first)) * unit));
        v /= static_cast<unsigned>(per_first);
    }
    while (v > 0) {
        digits.push_back(static_cast<int16_t>(v % 10000));
        v /= 10000;
    }
    while (static_cast<int>(digits.size()) < behind)
        digits.push_back(0);
    int weight = static_cast<int>(digits.size()) - behind - 1;
    std::vector<int16_t> ordered(digits.rbegin(), digits.rend());
    while (!ordered.empty() && ordered.front() == 0) {
        ordered.erase(ordered.begin());
        --weight;
    }
    while (!ordered.empty() && ordered.back() == 0)
        ordered.pop_back();
    if (ordered.empty())
        weight = 0;
    return numeric_body(negative && !ordered.empty(), weight, scale, ordered, long_format);
}

class Page {
  public:
    Page() {
        memset(bytes, 0, sizeof(bytes));
        set16(12, 24);
        set16(14, page_size);
    }

    uint8_t bytes[page_size];
    uint16_t tuples = 0; // LP_NORMAL line pointers

    // Adds a tuple with the first values.size() attributes of the layout; false where it does not fit.
    bool add(const std::vector<AttributeLayout> &layout, const std::vector<Value> &values) {
        bool nulls = false;
        for (const Value &v : values)
            nulls |= v.null;
        size_t hoff = (23 + (nulls ? (values.size() + 7) / 8 : 0) + 7) / 8 * 8;
        std::string tuple(hoff, '\0');
        if (nulls)
            for (size_t i = 0; i < values.size(); ++i)
                if (!values[i].null)
                    tuple[23 + i / 8] = static_cast<char>(tuple[23 + i / 8] | 1 << (i % 8));
        for (size_t i = 0; i < values.size(); ++i) {
            if (values[i].null)
                continue;
            bool short_header = layout[i].length == -1 && (values[i].bytes[0] & 1);
            while (!short_header && (tuple.size() - hoff) % layout[i].align != 0)
                tuple.push_back('\0');
            tuple += values[i].bytes;
        }
        tuple[18] = static_cast<char>(values.size() & 0xff);
        tuple[19] = static_cast<char>(values.size() >> 8 & 0x07);
        tuple[20] = nulls ? 1 : 0;
        tuple[22] = static_cast<char>(hoff);
        size_t upper = get16(14), lower = get16(12);
        size_t start = (upper - tuple.size()) / 8 * 8;
        if (tuple.size() > upper || start < lower + 4)
            return false;
        memcpy(bytes + start, tuple.data(), tuple.size());
        set16(14, static_cast<uint16_t>(start));
        add_pointer(static_cast<uint32_t>(start), 1, static_cast<uint32_t>(tuple.size()));
        ++tuples;
        return true;
    }

    // Any line pointer: redirected (2), dead (3), unused (0).
    void add_pointer(uint32_t offset, uint32_t flags, uint32_t length) {
        uint32_t bits = offset | flags << 15 | length << 17;
        memcpy(bytes + get16(12), &bits, 4);
        set16(12, static_cast<uint16_t>(get16(12) + 4));
    }

    uint16_t get16(size_t at) const {
        uint16_t v;
        memcpy(&v, bytes + at, 2);
        return v;
    }
    void set16(size_t at, uint16_t v) { memcpy(bytes + at, &v, 2); }
};

} // namespace gpuscan::pages
