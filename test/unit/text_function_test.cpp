// Functions of texts against plain definitions of what SQL says, character by character.
#include <gtest/gtest.h>
#include <wctype.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/store/text_function.hpp"

namespace gpuscan {
namespace {

using text::Encoding;
using text::Op;
using text::Relation;

CancelPoint never;
TextRoom room;

class Program {
  public:
    explicit Program(Encoding encoding) { header_.encoding = encoding; }

    Program &add(Op op, int64_t a = 0, int64_t b = 0, const std::string &bytes = {}) {
        text::Step step = {};
        step.op = op;
        step.a = a;
        step.b = b;
        step.at = static_cast<uint32_t>(bytes_.size());
        step.length = static_cast<uint32_t>(bytes.size());
        bytes_ += bytes;
        steps_.push_back(step);
        return *this;
    }

    std::string message() const {
        text::Header header = header_;
        header.nsteps = static_cast<uint32_t>(steps_.size());
        header.nbytes = static_cast<uint32_t>(bytes_.size());
        std::string out(reinterpret_cast<const char *>(&header), sizeof header);
        out.append(reinterpret_cast<const char *>(steps_.data()), steps_.size() * sizeof(text::Step));
        return out + bytes_;
    }

    TextFunction function() const {
        const std::string bytes = message();
        return TextFunction(bytes.data(), bytes.size());
    }

  private:
    text::Header header_ = {};
    std::vector<text::Step> steps_;
    std::string bytes_;
};

using Characters = std::vector<std::string>;

Characters split(const std::string &text, Encoding encoding) {
    Characters out;
    for (char c : text)
        if (encoding == Encoding::Utf8 && (static_cast<uint8_t>(c) & 0xc0) == 0x80 && !out.empty())
            out.back().push_back(c);
        else
            out.push_back(std::string(1, c));
    return out;
}

std::string join(const Characters &characters, size_t first, size_t count) {
    std::string out;
    for (size_t i = first; i < characters.size() && i - first < count; ++i)
        out += characters[i];
    return out;
}

bool like(const Characters &text, size_t t, const Characters &pattern, size_t p) {
    if (p == pattern.size())
        return t == text.size();
    if (pattern[p] == "%") {
        for (size_t i = t; i <= text.size(); ++i)
            if (like(text, i, pattern, p + 1))
                return true;
        return false;
    }
    if (t == text.size())
        return false;
    if (pattern[p] == "_")
        return like(text, t + 1, pattern, p + 1);
    if (pattern[p] == "\\")
        ++p;
    return text[t] == pattern[p] && like(text, t + 1, pattern, p + 1);
}

TextFunction::Value of(const TextFunction &function, const std::string &text) {
    const std::string_view view(text);
    return function.evaluate(&view, room, never);
}

// Few letters, so that much matches; characters of one to four bytes.
std::string random_text(std::mt19937 &random, size_t most) {
    static const char *const letters[] = {"a", "b", "a", "b", " ", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                          "%", "_", "\\"};
    std::string out;
    for (size_t i = random() % (most + 1); i > 0; --i)
        out += letters[random() % (sizeof letters / sizeof *letters)];
    return out;
}

std::string random_pattern(std::mt19937 &random) {
    static const char *const parts[] = {"a",   "b",   "ab",   "ba",  "%", "%",        "_",
                                        "\\%", "\\_", "\\\\", "\\a", " ", "\xc3\xa4", "\xe2\x82\xac"};
    std::string out;
    for (size_t i = random() % 7; i > 0; --i)
        out += parts[random() % (sizeof parts / sizeof *parts)];
    return out;
}

TEST(TextFunction, Like) {
    std::mt19937 random(1);
    size_t matches = 0;
    for (Encoding encoding : {Encoding::Utf8, Encoding::SingleByte})
        for (int round = 0; round < 4000; ++round) {
            const std::string pattern = random_pattern(random);
            const TextFunction function = Program(encoding).add(Op::Entry).add(Op::Like, 0, 0, pattern).function();
            for (int i = 0; i < 8; ++i) {
                const std::string text = random_text(random, 1 + i * 3);
                const bool want = like(split(text, encoding), 0, split(pattern, encoding), 0);
                matches += want;
                ASSERT_EQ(want, of(function, text).number != 0) << "'" << text << "' LIKE '" << pattern << "'";
            }
        }
    EXPECT_GT(matches, 3000u);
}

TEST(TextFunction, LikeOverLongTexts) {
    std::mt19937 random(2);
    for (int round = 0; round < 300; ++round) {
        std::string text;
        for (size_t i = random() % 300; i > 0; --i)
            text.push_back("abc"[random() % 3]);
        const std::string piece(1 + random() % 20, 'a'), wanted = piece.substr(0, piece.size() / 2) + "bc";
        for (const std::string &pattern : {"%" + wanted + "%", wanted + "%", "%" + wanted, "%a%" + wanted + "%c"}) {
            const TextFunction function =
                Program(Encoding::Utf8).add(Op::Entry).add(Op::Like, 0, 0, pattern).function();
            ASSERT_EQ(like(split(text, Encoding::SingleByte), 0, split(pattern, Encoding::SingleByte), 0),
                      of(function, text).number != 0)
                << "'" << text << "' LIKE '" << pattern << "'";
        }
        const char *const found = find_bytes(text.data(), text.data() + text.size(), wanted);
        ASSERT_EQ(text.find(wanted), found == nullptr ? std::string::npos : static_cast<size_t>(found - text.data()));
    }
}

TEST(TextFunction, Parts) {
    std::mt19937 random(3);
    for (Encoding encoding : {Encoding::Utf8, Encoding::SingleByte})
        for (int round = 0; round < 3000; ++round) {
            const std::string text = random_text(random, 12);
            const Characters all = split(text, encoding);
            const int64_t n = static_cast<int64_t>(all.size());
            const int64_t a = static_cast<int64_t>(random() % 30) - 12, b = static_cast<int64_t>(random() % 16) - 1;
            std::string part;
            for (int64_t i = 1; i <= n; ++i)
                if (i >= a && (b < 0 || i < a + b))
                    part += all[static_cast<size_t>(i - 1)];
            auto apply = [&](Op op, int64_t x, int64_t y = 0) {
                return std::string(of(Program(encoding).add(Op::Entry).add(op, x, y).function(), text).text);
            };
            ASSERT_EQ(part, apply(Op::Part, a, b)) << text << " from " << a << " for " << b;
            const int64_t first = std::max<int64_t>(0, a >= 0 ? std::min(a, n) : n + a);
            ASSERT_EQ(join(all, 0, static_cast<size_t>(first)), apply(Op::First, a)) << text << " " << a;
            const int64_t skip = a >= 0 ? std::max<int64_t>(0, n - a) : std::min(n, -a);
            ASSERT_EQ(join(all, static_cast<size_t>(skip), all.size()), apply(Op::Last, a)) << text << " " << a;
        }
    const int64_t most = INT32_MAX;
    EXPECT_EQ("bc", of(Program(Encoding::Utf8).add(Op::Entry).add(Op::Part, 2, most).function(), "abc").text);
    EXPECT_EQ("", of(Program(Encoding::Utf8).add(Op::Entry).add(Op::Part, most, most).function(), "abc").text);
}

TEST(TextFunction, Numbers) {
    std::mt19937 random(4);
    for (Encoding encoding : {Encoding::Utf8, Encoding::SingleByte})
        for (int round = 0; round < 2000; ++round) {
            const std::string text = random_text(random, 20), wanted = random_text(random, 2);
            auto number = [&](Op op, const std::string &bytes = {}) {
                return of(Program(encoding).add(Op::Entry).add(op, 0, 0, bytes).function(), text).number;
            };
            ASSERT_EQ(static_cast<int64_t>(split(text, encoding).size()), number(Op::Length));
            ASSERT_EQ(static_cast<int64_t>(text.size()), number(Op::Bytes));
            const size_t place = text.find(wanted);
            const int64_t want = place == std::string::npos
                                     ? 0
                                     : static_cast<int64_t>(split(text.substr(0, place), encoding).size()) + 1;
            ASSERT_EQ(want, number(Op::Position, wanted));
        }
}

std::string list(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts) {
        const uint32_t length = static_cast<uint32_t>(text.size());
        out.append(reinterpret_cast<const char *>(&length), sizeof length);
        out += text;
    }
    return out;
}

TEST(TextFunction, TruthsAndNull) {
    auto equal = [](Program &p, const char *to) -> Program & { return p.add(Op::Entry).add(Op::Equal, 0, 0, to); };
    Program either(Encoding::Utf8);
    equal(equal(either, "a"), "b").add(Op::Or, 2);
    EXPECT_EQ(1, of(either.function(), "b").number);
    EXPECT_EQ(0, of(either.function(), "c").number);
    EXPECT_TRUE(either.function().evaluate(nullptr, room, never).null);
    Program null_or(Encoding::Utf8);
    equal(null_or, "a").add(Op::Entry).add(Op::IsNull).add(Op::Or, 2);
    EXPECT_FALSE(null_or.function().evaluate(nullptr, room, never).null);
    EXPECT_EQ(1, null_or.function().evaluate(nullptr, room, never).number);
    Program null_and(Encoding::Utf8);
    equal(null_and, "a").add(Op::Entry).add(Op::IsNull).add(Op::And, 2);
    EXPECT_TRUE(null_and.function().evaluate(nullptr, room, never).null);
    EXPECT_EQ(0, of(null_and.function(), "a").number);
    Program in(Encoding::Utf8);
    in.add(Op::Entry).add(Op::OneOf, 3, 0, list({"x", "", "abc"})).add(Op::Not);
    EXPECT_EQ(0, of(in.function(), "").number);
    EXPECT_EQ(0, of(in.function(), "abc").number);
    EXPECT_EQ(1, of(in.function(), "ab").number);
    EXPECT_TRUE(in.function().evaluate(nullptr, room, never).null);
    Program blanks(Encoding::SingleByte);
    blanks.add(Op::Entry).add(Op::TrimBlanks).add(Op::Length).add(Op::Compare, static_cast<int>(Relation::Ge), 2);
    EXPECT_EQ(0, of(blanks.function(), "a   ").number);
    EXPECT_EQ(1, of(blanks.function(), " a   ").number);
    Program prefix(Encoding::Utf8);
    prefix.add(Op::Entry).add(Op::StartsWith, 0, 0, "ab");
    EXPECT_EQ(1, of(prefix.function(), "ab").number);
    EXPECT_EQ(0, of(prefix.function(), "a").number);
    EXPECT_EQ(TextResult::Truth, prefix.function().result());
}

// Texts and patterns that are made to be compared again and again: the search stays linear, and what is not is left when it is
// no longer wanted.
TEST(TextFunction, MadeToBeSlow) {
    const std::string many(4 << 20, 'a');
    const std::string wanted = std::string(1 << 20, 'a') + "b" + std::string(1 << 10, 'a');
    EXPECT_EQ(nullptr, find_bytes(many.data(), many.data() + many.size(), wanted)); // by comparisons: hours
    const std::string found = many + wanted + many;
    EXPECT_EQ(found.data() + many.size(), find_bytes(found.data(), found.data() + found.size(), wanted));

    const TextFunction slow =
        Program(Encoding::Utf8).add(Op::Entry).add(Op::Like, 0, 0, "%_" + wanted + "%").function();
    std::atomic<uint32_t> word{0};
    CancelPoint cancel(&word);
    const std::string_view view(many);
    std::thread other([&word] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        word = 1;
    });
    EXPECT_THROW(slow.evaluate(&view, room, cancel), Cancelled);
    other.join();
}

// Bytes that are no text in the encoding: anything may come out, but it ends and stays within the bytes.
TEST(TextFunction, AnyBytes) {
    std::mt19937 random(5);
    for (int round = 0; round < 20000; ++round) {
        std::string exact(random() % 24, '\0');
        for (char &c : exact)
            c = static_cast<char>("\x80\xbf\xc3\xe2\xf0\xff"
                                  "ab%"[random() % 9]);
        std::vector<char> tight(exact.begin(), exact.end()); // (a sanitizer sees what is read beyond)
        const std::string_view view(tight.data(), tight.size());
        Program p(Encoding::Utf8);
        p.add(Op::Entry).add(Op::Like, 0, 0, random_pattern(random));
        p.function().evaluate(&view, room, never);
        Program q(Encoding::Utf8);
        q.add(Op::Entry).add(Op::Part, static_cast<int>(random() % 9) - 2, static_cast<int>(random() % 9) - 1);
        q.add(Op::First, static_cast<int>(random() % 9) - 4).add(Op::Last, static_cast<int>(random() % 9) - 4);
        const std::string_view part = q.function().evaluate(&view, room, never).text;
        ASSERT_TRUE(part.empty() ||
                    (part.data() >= view.data() && part.data() + part.size() <= view.data() + view.size()));
    }
}

TEST(TextFunction, MalformedMessages) {
    const std::string good = Program(Encoding::Utf8).add(Op::Entry).add(Op::OneOf, 1, 0, list({"abc"})).message();
    EXPECT_NO_THROW(TextFunction(good.data(), good.size()));
    for (size_t size = 0; size < good.size(); ++size)
        EXPECT_THROW(TextFunction(good.data(), size), std::runtime_error);
    auto bad = [](Program &p) {
        const std::string bytes = p.message();
        EXPECT_THROW(TextFunction(bytes.data(), bytes.size()), std::runtime_error);
    };
    bad(Program(Encoding::Utf8).add(Op::Like, 0, 0, "a"));
    bad(Program(Encoding::Utf8).add(Op::Entry).add(Op::Not));
    bad(Program(Encoding::Utf8).add(Op::Entry).add(Op::Entry));
    bad(Program(Encoding::Utf8).add(Op::Entry).add(Op::Like, 0, 0, "a\\"));
    bad(Program(Encoding::Utf8).add(Op::Entry).add(Op::IsNull).add(Op::And, 2));
    bad(Program(Encoding::Utf8).add(Op::Entry).add(static_cast<Op>(99)));
    Program deep(Encoding::Utf8);
    for (int i = 0; i < 100; ++i)
        deep.add(Op::Entry);
    bad(deep);
    std::mt19937 random(6);
    for (int round = 0; round < 20000; ++round) {
        std::string noise = good;
        for (int i = 0; i < 3; ++i)
            noise[random() % noise.size()] = static_cast<char>(random());
        const std::string_view view("some text");
        try {
            TextFunction(noise.data(), noise.size()).evaluate(&view, room, never);
        } catch (const std::runtime_error &) {
        }
    }
}

std::string joined(const std::vector<std::string> &parts, const std::string &by) {
    std::string out;
    for (size_t i = 0; i < parts.size(); ++i)
        out += (i > 0 ? by : "") + parts[i];
    return out;
}

std::vector<std::string> separated(std::string text, const std::string &by) {
    std::vector<std::string> parts;
    for (size_t at; !by.empty() && (at = text.find(by)) != std::string::npos; text.erase(0, at + by.size()))
        parts.push_back(text.substr(0, at));
    parts.push_back(text);
    return parts;
}

TEST(TextFunction, FieldsReplacedBytesAndTrimmedCharacters) {
    const std::string some[] = {"a", "b", "a", " ", ",", "\xc3\xa4", "\xc3\xa5", "\xe2\x82\xac"};
    std::mt19937_64 random(10);
    const auto word = [&](size_t most) {
        std::string text;
        for (size_t n = random() % (most + 1); n > 0; --n)
            text += some[random() % std::size(some)];
        return text;
    };
    for (int i = 0; i < 100000; ++i) {
        const Encoding encoding = random() % 4 ? Encoding::Utf8 : Encoding::SingleByte;
        const std::string text = word(12), own = word(2), by = word(2);
        const auto made = [&](Op op, int64_t a, const std::string &bytes) {
            room.clear();
            return std::string(of(Program(encoding).add(Op::Entry).add(op, a, 0, bytes).function(), text).text);
        };
        const std::vector<std::string> parts = separated(text, own);
        const int64_t fields = static_cast<int64_t>(parts.size());
        int64_t number = static_cast<int64_t>(random() % 11) - 5;
        if (number != 0) {
            const int64_t at = number > 0 ? number - 1 : fields + number;
            const std::string expected = at >= 0 && at < fields ? parts[static_cast<size_t>(at)] : "";
            ASSERT_EQ(expected, made(Op::Field, number, own)) << text << "|" << own << "|" << number;
        }
        if (!own.empty() && by.size() <= own.size()) {
            ASSERT_EQ(joined(parts, by), made(Op::Replace, static_cast<int64_t>(own.size()), own + by))
                << text << "|" << own << "|" << by;
        }
        ASSERT_EQ(text + own, made(Op::Append, 0, own));
        ASSERT_EQ(own + text, made(Op::Prepend, 0, own));
        const Characters set = split(own, encoding);
        for (const int64_t sides : {1, 2, 3}) {
            Characters left = split(text, encoding);
            const auto is_in = [&](const std::string &c) { return std::find(set.begin(), set.end(), c) != set.end(); };
            while ((sides & 1) != 0 && !left.empty() && is_in(left.front()))
                left.erase(left.begin());
            while ((sides & 2) != 0 && !left.empty() && is_in(left.back()))
                left.pop_back();
            ASSERT_EQ(join(left, 0, left.size()), made(Op::Trim, sides, own)) << text << "|" << own << "|" << sides;
        }
    }
    EXPECT_THROW(Program(Encoding::Utf8).add(Op::Entry).add(Op::Replace, 2, 0, "a").function(), std::runtime_error);
    EXPECT_THROW(Program(Encoding::Utf8).add(Op::Entry).add(Op::Replace, 0, 0, "a").function(), std::runtime_error);
    EXPECT_THROW(Program(Encoding::Utf8).add(Op::Entry).add(Op::Replace, 1, 0, "abc").function(), std::runtime_error);
}

// Letters of all planes, of two to four bytes, some of which have another length than those that they become; and what is no character.
TEST(TextFunction, LettersAreThoseOfTheLocale) {
    const std::string some[] = {"a",
                                "Z",
                                "[",
                                "`",
                                "\xc3\x84",
                                "\xc3\xa4",
                                "\xe2\x84\xaa",
                                "\xc4\xb0",
                                "\xe1\xba\x9e",
                                "\xc8\xba",
                                "\xf0\x90\x90\x80",
                                "\xf0\xa0\x80\x80",
                                "\xf0\x9f\x98\x80",
                                "\xff",
                                "\xc3",
                                "x"};
    std::mt19937_64 random(9);
    const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    ASSERT_NE(nullptr, utf8);
    const auto expected = [&](const std::string &text, bool capitals, locale_t locale) {
        std::string out;
        for (size_t at = 0; at < text.size();) {
            const uint8_t first = static_cast<uint8_t>(text[at]);
            const size_t bytes = first < 0x80    ? 1
                                 : first >= 0xf8 ? 0
                                 : first >= 0xf0 ? 4
                                 : first >= 0xe0 ? 3
                                 : first >= 0xc0 ? 2
                                                 : 0;
            uint32_t c = bytes == 1 ? first : first & (0x7fu >> bytes);
            bool good = bytes > 0 && at + bytes <= text.size();
            for (size_t i = 1; good && i < bytes; ++i) {
                good = (text[at + i] & 0xc0) == 0x80;
                c = c << 6 | (text[at + i] & 0x3f);
            }
            if (!good) {
                out += text[at++];
                continue;
            }
            at += bytes;
            if (locale == nullptr)
                c = c >= 0x80
                        ? c
                        : static_cast<uint32_t>(capitals ? toupper(static_cast<int>(c)) : tolower(static_cast<int>(c)));
            else
                c = capitals ? towupper_l(c, locale) : towlower_l(c, locale);
            if (c < 0x80)
                out += static_cast<char>(c);
            else
                for (int left = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3, shift = left * 6; shift >= 0; shift -= 6)
                    out += static_cast<char>(shift == left * 6 ? (0xff00 >> (left + 1) & 0xff) | (c >> shift)
                                                               : 0x80 | (c >> shift & 0x3f));
        }
        return out;
    };
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (size_t n = random() % 60; n > 0; --n)
            text += random() % 4 ? std::string(1, static_cast<char>(' ' + random() % 95))
                                 : some[random() % std::size(some)];
        for (const bool capitals : {false, true})
            for (const char *name : {"C", "C.UTF-8"}) {
                const TextFunction function =
                    Program(Encoding::Utf8).add(Op::Entry).add(capitals ? Op::Upper : Op::Lower, 0, 0, name).function();
                ASSERT_EQ(expected(text, capitals, *(name + 1) != '\0' ? utf8 : nullptr), of(function, text).text) << i;
                room.clear();
            }
    }
    freelocale(utf8);
    EXPECT_THROW(Program(Encoding::Utf8).add(Op::Entry).add(Op::Lower, 0, 0, "no such locale").function(),
                 UnknownLocale);
    EXPECT_THROW(Program(Encoding::SingleByte).add(Op::Entry).add(Op::Lower, 0, 0, "C").function(), std::runtime_error);
}

TEST(TextFunction, WhatIsMadeOfTextsStaysUntilTheRoomIsCleared) {
    const TextFunction twice =
        Program(Encoding::Utf8).add(Op::Entry).add(Op::Upper, 0, 0, "C").add(Op::Lower, 0, 0, "C").function();
    std::vector<std::string> texts;
    std::vector<std::string_view> made;
    TextRoom all;
    for (size_t i = 0; i < 2000; ++i)
        texts.push_back(std::string(i, static_cast<char>('a' + i % 26)));
    for (const std::string &text : texts) {
        const std::string_view view(text);
        made.push_back(twice.evaluate(&view, all, never).text);
    }
    for (size_t i = 0; i < texts.size(); ++i)
        EXPECT_EQ(texts[i], made[i]);
    EXPECT_GT(all.bytes(), 2000u * 1000);
    all.clear();
    EXPECT_EQ(0u, all.bytes());
}

} // namespace
} // namespace gpuscan
