// libFuzzer target for functions of texts: any bytes as the function, evaluated for any bytes as entries.
//
// The input: two bytes say how long the function is; behind it stand the entries, each behind a byte with its length.
#include <stdexcept>

#include "engine/store/text_function.hpp"
#include "fuzz_input.hpp"

using namespace gpuscan;
using text::Op;

namespace {

struct Builder {
    text::Header header = {};
    std::string steps, bytes;

    Builder &add(Op op, int64_t a = 0, int64_t b = 0, const std::string &own = {}) {
        text::Step step = {};
        step.op = op;
        step.a = a;
        step.b = b;
        step.at = static_cast<uint32_t>(bytes.size());
        step.length = static_cast<uint32_t>(own.size());
        bytes += own;
        steps.append(reinterpret_cast<const char *>(&step), sizeof step);
        ++header.nsteps;
        return *this;
    }
    std::string input(text::Encoding encoding) {
        header.nbytes = static_cast<uint32_t>(bytes.size());
        header.encoding = encoding;
        std::string function(reinterpret_cast<const char *>(&header), sizeof header);
        function += steps + bytes;
        std::string out = {static_cast<char>(function.size() & 255), static_cast<char>(function.size() >> 8)};
        out += function;
        for (const char *entry :
             {"", "a", "abcabc", "x\xc3\xa4\xe2\x82\xacy ", "a text that is longer than sixteen bytes"})
            out += static_cast<char>(strlen(entry)) + std::string(entry);
        return out;
    }
};

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    if (!fuzz::corpus())
        return 0;
    const std::string two("\1\0\0\0a\6\0\0\0abcabc", 15);
    int number = 0;
    for (text::Encoding encoding : {text::Encoding::SingleByte, text::Encoding::Utf8})
        for (Builder b :
             {Builder().add(Op::Entry).add(Op::TrimBlanks).add(Op::Part, 2, 3).add(Op::Equal, 0, 0, "bca"),
              Builder().add(Op::Entry).add(Op::First, -1).add(Op::Last, 3),
              Builder().add(Op::Entry).add(Op::Length).add(Op::Compare, 4, 3),
              Builder().add(Op::Entry).add(Op::Position, 0, 0, "ca"), Builder().add(Op::Entry).add(Op::Bytes),
              Builder().add(Op::Entry).add(Op::Like, 0, 0, "a%b_a\\%%c%"),
              Builder().add(Op::Entry).add(Op::Like, 0, 0, "_%than_sixteen%s").add(Op::Not),
              Builder().add(Op::Entry).add(Op::OneOf, 2, 0, two),
              Builder().add(Op::Entry).add(Op::Upper, 0, 0, "C.UTF-8").add(Op::Lower, 0, 0, "C").add(Op::Part, 2, 3),
              Builder().add(Op::Entry).add(Op::Trim, 3, 0, "ab ").add(Op::Field, -2, 0, "bc"),
              Builder()
                  .add(Op::Entry)
                  .add(Op::Replace, 2, 0, "bcx")
                  .add(Op::Append, 0, 0, "!")
                  .add(Op::Prepend, 0, 0, "<"),
              Builder().add(Op::Entry).add(Op::IsNull).add(Op::Entry).add(Op::StartsWith, 0, 0, "a").add(Op::Or, 2)})
            fuzz::write_input("function" + std::to_string(number++), b.input(encoding));
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz::Input in{data, size};
    std::unique_ptr<TextFunction> function;
    try {
        const fuzz::Exactly bytes = in.take(in.number(2));
        function = std::make_unique<TextFunction>(bytes.data(), bytes.size());
    } catch (const std::runtime_error &) {
        return 0;
    }
    CancelPoint never;
    TextRoom room;
    const auto check = [&](const TextFunction::Value &value, const fuzz::Exactly *entry) {
        if (value.null)
            return;
        if (function->result() == TextResult::Truth)
            fuzz::require(value.number == 0 || value.number == 1, "neither true nor false");
        if (function->result() == TextResult::Text && !value.text.empty() && room.bytes() == 0)
            fuzz::require(entry != nullptr && value.text.data() >= entry->data() &&
                              value.text.data() + value.text.size() <= entry->data() + entry->size(),
                          "a text that is no part of the entry");
    };
    check(function->evaluate(nullptr, room, never), nullptr);
    do {
        const fuzz::Exactly entry = in.take(in.number(1));
        const std::string_view text(entry.data(), entry.size());
        check(function->evaluate(&text, room, never), &entry);
        room.clear();
    } while (in.size > 0);
    return 0;
}
