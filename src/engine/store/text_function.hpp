// Functions of a text that the device process evaluates itself, over all entries of a dictionary: LIKE and ILIKE, equality, prefixes,
// positions, lengths, parts, replaced and added bytes, small and capital letters, and what AND, OR and NOT make of them.
//
// They give what PostgreSQL's own functions give, byte for byte, for server encodings of one byte and for UTF-8, and under
// deterministic collations only, which is the backend's business to know (pg/translate/native_text.cpp). Like those they are
// evaluated for entries that no row has, even for bytes that are no text in the encoding: so no function can fail but for want of memory,
// none reads beyond its argument, and what they make of such bytes does not matter.
//
// A function is a program for a stack: flat and plain data, checked when it comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/text_room.hpp"
#include "engine/util/cancel_point.hpp"
#include "engine/util/letter_case.hpp"

namespace gpuscan {

// The wire format: Header, Step[nsteps], bytes[nbytes].
namespace text {

enum class Encoding : uint8_t { SingleByte, Utf8 };

enum class Op : uint8_t {
    Entry, // -> text: the dictionary's entry, or NULL
    // text -> text
    TrimBlanks, // without blanks at its end
    Part,       // b characters from character a on (from 1); b < 0: all that follow
    First,      // the first a characters; a < 0: all but the last -a
    Last,       // the last a characters; a < 0: all but the first -a
    Trim,       // without characters of `bytes` at its beginning (a & 1) and its end (a & 2)
    Field,      // part a of those that `bytes` separates, from 1; a < 0: from the end; nothing where there are fewer
    Replace,    // the first a of `bytes`, wherever they stand, become the rest of `bytes`, which is no longer
    Append,     // with `bytes` behind it
    Prepend,    // ... before it
    Lower,      // in small letters, of the locale of the C library that `bytes` names; in UTF-8
    Upper,      // in capitals
    // text -> number
    Length,   // in characters
    Bytes,    // in bytes
    Position, // of `bytes` in the text: the character where it begins, from 1; 0: nowhere
    // text -> truth
    Like,       // `bytes` is the pattern
    StartsWith, // with `bytes`
    Equal,      // to `bytes`
    OneOf,      // is it one of `a` texts, each of which stands in `bytes` behind its length (uint32_t)?
    // number -> truth
    Compare, // with b; a: a Relation
    // any -> truth
    IsNull,
    // truths -> truth
    Not,
    And, // of the last a
    Or,
};
enum class Relation : uint8_t { Lt, Le, Eq, Ne, Ge, Gt };

struct Header {
    uint32_t nsteps, nbytes;
    Encoding encoding;
    uint8_t unused[7];
};

struct Step {
    Op op;
    uint8_t unused[7];
    uint32_t at, length; // of `bytes`, among the bytes behind the steps
    int64_t a, b;
};

} // namespace text

enum class TextResult : uint8_t { Truth, Number, Text };

// A locale that this machine's C library does not have.
struct UnknownLocale : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class TextFunction {
  public:
    // Throws std::runtime_error when the bytes are no function, and UnknownLocale.
    TextFunction(const char *bytes, size_t size);

    TextResult result() const { return result_; }

    struct Value {
        bool null = true;
        int64_t number = 0;    // or truth
        std::string_view text; // in the entry, or in the room
    };
    // Of an entry; entry == nullptr: of NULL. Throws Cancelled.
    Value evaluate(const std::string_view *entry, TextRoom &room, CancelPoint &cancel) const;

  private:
    // A LIKE pattern: pieces between its percent signs.
    struct Piece {
        std::string bytes; // with 0 where any_character says so
        std::vector<uint8_t> any_character;
        bool any = false;     // whether there is one
        size_t own_bytes = 0; // before the first one
        size_t characters = 0;
    };
    struct Pattern {
        std::vector<Piece> pieces;
        bool from_start = true, to_end = true; // the first and the last piece are bound
    };

    void add_pattern(std::string_view pattern);
    bool like(const Pattern &pattern, std::string_view text, CancelPoint &cancel) const;
    const char *match(const Piece &piece, const char *at, const char *end, CancelPoint &cancel) const;
    const char *find(const Piece &piece, const char *at, const char *end, const char **behind,
                     CancelPoint &cancel) const;
    const char *next_character(const char *at, const char *end) const;
    const char *characters(const char *at, const char *end, int64_t count) const;
    int64_t length(std::string_view text) const;
    std::string_view trim(std::string_view text, std::string_view set, int64_t sides) const;
    Value apply(const text::Step &step, size_t index, Value argument, TextRoom &room, CancelPoint &cancel) const;

    bool utf8_ = false;
    std::vector<text::Step> steps_;
    std::string bytes_;
    std::vector<Pattern> patterns_;
    std::vector<std::vector<std::string_view>> lists_; // sorted
    std::vector<const LetterCase *> cases_;
    std::vector<size_t> extra_; // by step: its pattern, list or case
    TextResult result_ = TextResult::Truth;
};

// The first place of `wanted` (not empty) in [at, end), nullptr: there is none.
const char *find_bytes(const char *at, const char *end, std::string_view wanted);

} // namespace gpuscan
