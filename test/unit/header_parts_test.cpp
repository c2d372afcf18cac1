// Device headers in parts: what stands in a part, which words it defines, and what a kernel gets of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/embedded.hpp"
#include "cuda/header_parts.hpp"

namespace gpuscan {
namespace {

using cuda::HeaderParts;
using Words = std::vector<std::string>;

Words defined_by(const std::string &part) { return HeaderParts::defined_by(part); }

std::string whole(const std::string &name) {
    for (unsigned h = 0; h < embedded_source_count; ++h)
        if (name == embedded_sources[h].name)
            return embedded_sources[h].text;
    return std::string();
}

// The text of a header as a kernel that says so gets it.
std::string used_of(const std::string &name, const std::string &kernel) {
    static const HeaderParts parts;
    const std::vector<std::string> texts = parts.used_by("#include \"device/runtime.cuh\"\n" + kernel);
    EXPECT_EQ(embedded_source_count, texts.size());
    for (unsigned h = 0; h < embedded_source_count; ++h)
        if (name == embedded_sources[h].name)
            return texts[h];
    return std::string();
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(HeaderPartsTest, Divides) {
    const std::vector<std::string> parts = HeaderParts::divide("#pragma once\n"
                                                               "// A story; of one } brace.\n"
                                                               "namespace a {\n"
                                                               "\n"
                                                               "int f(int x,\n"
                                                               "      int y) { // why\n"
                                                               "#pragma unroll\n"
                                                               "    for (;;) {\n"
                                                               "    }\n"
                                                               "}\n"
                                                               "struct S {\n"
                                                               "    int x;\n"
                                                               "};\n"
                                                               "#ifdef A\n"
                                                               "int g() { return 1; }\n"
                                                               "#else\n"
                                                               "int g() { return 2; }\n"
                                                               "#endif\n"
                                                               "} // namespace a\n");
    ASSERT_EQ(6u, parts.size());
    EXPECT_EQ("#pragma once\n", parts[0]);
    EXPECT_EQ("namespace a {\n", parts[1]);
    EXPECT_EQ("int f(int x,\n      int y) {\n#pragma unroll\n    for (;;) {\n    }\n}\n", parts[2]);
    EXPECT_EQ("struct S {\n    int x;\n};\n", parts[3]);
    EXPECT_EQ(4, std::count(parts[4].begin(), parts[4].end(), '\n') - 1);
    EXPECT_EQ("}\n", parts[5]);
    EXPECT_TRUE(HeaderParts::divide("").empty());
}

TEST(HeaderPartsTest, Words) {
    EXPECT_EQ(Words{"f"}, defined_by("int *f(int x) { return g(x); }\n"));
    EXPECT_EQ(Words{"f"}, defined_by("template <int n, class T>\n__device__ T f(T (&v)[n]) {\n#pragma unroll\n}\n"));
    EXPECT_EQ(Words{"f"}, defined_by("template <> bool f(float a, float b) { return a == b; }\n"));
    EXPECT_EQ((Words{"a", "b"}), defined_by("constexpr int a = g(1), b = (2);\n"));
    EXPECT_EQ(Words{"T"}, defined_by("typedef unsigned long T;\n"));
    EXPECT_EQ(Words{"S"}, defined_by("template <class T> struct S<T, float> : B<T> {\n    int f();\n};\n"));
    EXPECT_EQ((Words{"E", "one", "two"}), defined_by("enum E : int { one = 1, two };\n"));
    EXPECT_EQ(Words{"one"}, defined_by("enum : bool { one = true };\n"));
    EXPECT_EQ((Words{"f", "f"}), defined_by("#ifdef A\nint f() { return 1; }\n#else\nint f() { return 2; }\n#endif\n"));
    // Those that are always kept.
    for (const char *part : {"#define A 1\n", "#include \"a\"\n", "namespace a {\n", "}\n",
                             "#ifdef A\n#define B\n#endif\n", "#ifdef A\nnamespace b {\n#endif\n"})
        EXPECT_TRUE(defined_by(part).empty()) << part;
}

TEST(HeaderPartsTest, KernelsGetWhatTheyUse) {
    const std::string sem = "device/semantics.cuh";
    const std::string nothing = used_of(sem, "void pipeline() {}");
    EXPECT_FALSE(has(nothing, "civil"));
    EXPECT_TRUE(has(nothing, "namespace sem {") && has(nothing, "#define GPUSCAN_HD"));
    const std::string month = used_of(sem, "void pipeline() { sem::date_month(1, error); }");
    EXPECT_TRUE(has(month, "date_month(") && has(month, " civil(") && has(month, "struct Civil"));
    EXPECT_FALSE(has(month, "date_year("));
    // All overloads of a word, and what each of them uses.
    const std::string sum = used_of(sem, "add");
    for (const char *type : {"int16_t", "int32_t", "int64_t", "i128", "float", "double"})
        EXPECT_TRUE(has(sum, std::string(type) + " add(" + type + " a")) << type;
    EXPECT_TRUE(has(sum, "float_add("));
    // What one header uses of another.
    EXPECT_TRUE(has(used_of(sem, "hash_words"), " hash_combine("));
    EXPECT_FALSE(has(used_of("device/runtime.cuh", "hash_words"), "find_group"));
    // Others are not divided.
    EXPECT_EQ(whole("device/decode.cuh"), used_of("device/decode.cuh", ""));
    EXPECT_EQ(HeaderParts::whole(), HeaderParts().used_by("#include \"device/decode.cuh\"\n"));
    EXPECT_TRUE(HeaderParts::knows("#include \"device/runtime.cuh\"\n"));
    EXPECT_FALSE(HeaderParts::knows("#include \"device/decode.cuh\"\n"));
}

} // namespace
} // namespace gpuscan
