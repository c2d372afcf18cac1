#include "values.hpp"

namespace fuzz {

const char *const type_names[types] = {"bool",    "int2", "int4",      "int8",        "float4", "float8",
                                       "numeric", "date", "timestamp", "timestamptz", "text",   "char(5)"};

string literal(Type type, int edge) {
    bool limit = chance(edge);
    switch (type) {
    case Bool:
        return pick({"true", "false"});
    case Int2:
        return limit ? pick({"-32768", "32767", "-1", "0", "181", "182"}) : number(roll(12) - 3);
    case Int4:
        return limit ? pick({"-2147483648", "2147483647", "-1", "0", "46341", "32768", "-32769"})
                     : number(roll(60) - 10);
    case Int8:
        return limit ? pick({"-9223372036854775808", "9223372036854775807", "2147483648", "-2147483649", "3037000500",
                             "0"})
                     : number(roll(60) - 10);
    case Float4:
        return limit ? pick({"NaN", "Infinity", "-Infinity", "-0", "3.4e38", "1e-45", "1.1754944e-38"})
                     : number(roll(64) - 20) + pick({"", ".5", ".25"});
    case Float8:
        return limit ? pick({"NaN", "Infinity", "-Infinity", "-0", "1.7e308", "5e-324", "1e141", "9007199254740993"})
                     : number(roll(64) - 20) + pick({"", ".5", ".25"});
    case Numeric:
        return limit ? pick({"0", "0.00", "-0.01", "99999999.99", "-99999999.99", "0.005", "1.005", "1.0050",
                             "12345678901234.5", "NaN", "1e20", "0.000000000001"})
                     : number(roll(40) - 10) + pick({"", ".5", ".50", ".25", ".01", ".125"});
    case Date:
        return limit ? pick({"infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "2000-01-01", "294276-12-31"})
                     : "2024-0" + number(1 + roll(3)) + "-" + number(10 + roll(15));
    case Timestamp:
    case Timestamptz:
        return limit ? pick({"infinity", "-infinity", "4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999",
                             "2000-01-01"})
                     : "2024-01-" + number(10 + roll(15)) + pick({"", " 12:00:00", " 23:59:59.999999"});
    case Text:
        return limit ? pick({"", " ", "a ", "%", "_", "\\\\", "\xc3\x84pfel", "\xc3\xa4pfel",
                             "stra\xc3\x9f"
                             "e",
                             "\xe2\x82\xac"})
                     : pick({"a", "b", "ab", "abc", "B", "A", "Abc", "foo", "bar", "10", "9", "a-b", "xyz"});
    default:
        return limit ? pick({"", " ", "a", "a    ", "\xc3\x84"})
                     : pick({"a", "b", "ab", "abc", "B", "abcde", "10", "9"});
    }
}

string quoted(const string &text) {
    string out = "'";
    for (char c : text)
        out += c == '\'' ? "''" : string(1, c);
    return out + "'";
}

string constant(Type type, int edge) {
    if (chance(5))
        return string("NULL::") + type_names[type];
    string value = literal(type, edge);
    if ((type == Int4 || type == Numeric) && chance(50) && value[0] != '-' && value[0] != 'N')
        return value;
    return quoted(value) + "::" + (type == Bpchar && chance(50) ? "bpchar" : type_names[type]);
}

} // namespace fuzz
