// What the Star Schema Benchmark has from TPC-H, and the TPC-H generator too: the lists of clause 4.2.2.13 (revision 3) that
// queries choose from, and some columns of clause 4.2.3.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "random.hpp"

namespace bench {

inline constexpr std::string_view regions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};

struct Nation {
    std::string_view name;
    int region;
};
// clang-format off
inline constexpr Nation nations[] = {
    {"ALGERIA", 0},    {"ARGENTINA", 1}, {"BRAZIL", 1},       {"CANADA", 1},         {"EGYPT", 4},
    {"ETHIOPIA", 0},   {"FRANCE", 3},    {"GERMANY", 3},      {"INDIA", 2},          {"INDONESIA", 2},
    {"IRAN", 4},       {"IRAQ", 4},      {"JAPAN", 2},        {"JORDAN", 4},         {"KENYA", 0},
    {"MOROCCO", 0},    {"MOZAMBIQUE", 0}, {"PERU", 1},        {"CHINA", 2},          {"ROMANIA", 3},
    {"SAUDI ARABIA", 4}, {"VIETNAM", 2}, {"RUSSIA", 3},       {"UNITED KINGDOM", 3}, {"UNITED STATES", 1},
};
// clang-format on

inline constexpr std::string_view priorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
inline constexpr std::string_view ship_modes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};
inline constexpr std::string_view segments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"};

inline constexpr std::string_view type_grades[] = {"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
inline constexpr std::string_view type_finishes[] = {"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
inline constexpr std::string_view type_metals[] = {"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
inline constexpr std::string_view container_sizes[] = {"SM", "LG", "MED", "JUMBO", "WRAP"};
inline constexpr std::string_view container_kinds[] = {"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"};

// clang-format off
inline constexpr std::string_view colors[] = {
    "almond",    "antique",   "aquamarine", "azure",      "beige",     "bisque",    "black",     "blanched",
    "blue",      "blush",     "brown",      "burlywood",  "burnished", "chartreuse", "chiffon",  "chocolate",
    "coral",     "cornflower", "cornsilk",  "cream",      "cyan",      "dark",      "deep",      "dim",
    "dodger",    "drab",      "firebrick",  "floral",     "forest",    "frosted",   "gainsboro", "ghost",
    "goldenrod", "green",     "grey",       "honeydew",   "hot",       "indian",    "ivory",     "khaki",
    "lace",      "lavender",  "lawn",       "lemon",      "light",     "lime",      "linen",     "magenta",
    "maroon",    "medium",    "metallic",   "midnight",   "mint",      "misty",     "moccasin",  "navajo",
    "navy",      "olive",     "orange",     "orchid",     "pale",      "papaya",    "peach",     "peru",
    "pink",      "plum",      "powder",     "puff",       "purple",    "red",       "rose",      "rosy",
    "royal",     "saddle",    "salmon",     "sandy",      "seashell",  "sienna",    "sky",       "slate",
    "smoke",     "snow",      "spring",     "steel",      "tan",       "thistle",   "tomato",    "turquoise",
    "violet",    "wheat",     "white",      "yellow",
};
// clang-format on

// Price of a part in cents (TPC-H clause 4.2.3).
inline int32_t part_price(int32_t part_key) { return 90000 + (part_key / 10) % 20001 + (part_key % 1000) * 100; }

// Orders number 1, 2, ... have sparse keys: eight in use, then twenty-four not.
inline int32_t order_key(int64_t number) { return static_cast<int32_t>(((number >> 3) << 5) | (number & 7)); }

constexpr int last_order_day = 2405; // 1998-08-02, counted from 1992-01-01 = 0

// One customer in three never orders.
inline int32_t customer_of_order(Random &random, int32_t customers) {
    int32_t customer;
    do
        customer = random.between(1, customers);
    while (customer % 3 == 0);
    return customer;
}

inline std::string_view format(char (&out)[32], const char *pattern, int a, int b = 0, int c = 0, int d = 0) {
    const int n = std::snprintf(out, sizeof out, pattern, a, b, c, d);
    return {out, static_cast<size_t>(n)};
}

// Letters, digits, blank and comma in no order ("random v-string").
inline std::string_view address(Random &random, int least, int most, char (&out)[64]) {
    static constexpr char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz,ABCDEFGHIJKLMNOPQRSTUVWXYZ ";
    const int length = random.between(least, most);
    for (int i = 0; i < length; ++i)
        out[i] = letters[random.between(0, 63)];
    return {out, static_cast<size_t>(length)};
}

inline std::string_view phone(Random &random, int nation, char (&out)[32]) {
    const int area = random.between(100, 999);
    const int exchange = random.between(100, 999);
    return format(out, "%02d-%03d-%03d-%04d", 10 + nation, area, exchange, random.between(1000, 9999));
}

} // namespace bench
