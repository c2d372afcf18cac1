// Functions of a text; see text_function.hpp.
//
// LIKE. Between percent signs stand pieces of literal bytes and characters of any kind. Each piece takes a fixed number of
// characters, so its first match behind the one before leaves the most for the rest, and nothing need be tried twice; the
// first piece and the last are bound to the ends unless a percent sign stands there. A literal piece is searched for by
// bytes: UTF-8 is such that no character begins inside another.
#include "engine/store/text_function.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

namespace gpuscan {

using text::Encoding;
using text::Op;
using text::Relation;
using text::Step;

namespace {

constexpr size_t max_depth = 64; // of the stack
constexpr size_t max_steps = 4096;

void require(bool good, const char *what) {
    if (!good)
        throw std::runtime_error(what);
}

bool goes_on(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; } // inside a character of UTF-8

bool compare(Relation relation, int64_t a, int64_t b) {
    switch (relation) {
    case Relation::Lt:
        return a < b;
    case Relation::Le:
        return a <= b;
    case Relation::Eq:
        return a == b;
    case Relation::Ne:
        return a != b;
    case Relation::Ge:
        return a >= b;
    case Relation::Gt:
        return a > b;
    }
    return false;
}

} // namespace

constexpr size_t step_bytes = 16; // what a step costs, as so many bytes of text
constexpr size_t min_compared = 4096;

// Sixteen places at a time where the first and the last byte of what is wanted stand at once (W. Mula, "SIMD-friendly
// algorithms for substring searching").
const char *find_bytes(const char *at, const char *end, std::string_view wanted) {
    const size_t length = wanted.size();
    if (static_cast<size_t>(end - at) < length)
        return nullptr;
    if (length == 1)
        return static_cast<const char *>(memchr(at, wanted[0], static_cast<size_t>(end - at)));
    const char *const last = end - length; // the last place where it may begin
    const char *const begin = at;
    size_t compared = 0; // of places that were none
    const __m128i first_byte = _mm_set1_epi8(wanted[0]), last_byte = _mm_set1_epi8(wanted[length - 1]);
    for (; last - at >= 15; at += 16) {
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at + length - 1));
        unsigned places = static_cast<unsigned>(
            _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(a, first_byte), _mm_cmpeq_epi8(b, last_byte))));
        for (; places != 0; places &= places - 1) {
            const char *const place = at + __builtin_ctz(places);
            if (memcmp(place + 1, wanted.data() + 1, length - 2) == 0)
                return place;
            compared += length;
        }
        if (compared >
            min_compared + 4 * static_cast<size_t>(at - begin)) // a text that is made for it: memmem is linear
            return static_cast<const char *>(memmem(at, static_cast<size_t>(end - at), wanted.data(), length));
    }
    for (; at <= last; ++at)
        if (*at == wanted[0] && memcmp(at + 1, wanted.data() + 1, length - 1) == 0)
            return at;
    return nullptr;
}

// ---- the program --------------------------------------------------------------------------------------------------

TextFunction::TextFunction(const char *bytes, size_t size) {
    text::Header header;
    require(size >= sizeof header, "a text function is cut short");
    memcpy(&header, bytes, sizeof header);
    require(header.nsteps > 0 && header.nsteps <= max_steps, "steps of a text function");
    const size_t steps = header.nsteps * sizeof(Step);
    require(size - sizeof header >= steps && size - sizeof header - steps >= header.nbytes,
            "a text function is cut short");
    require(header.encoding <= Encoding::Utf8, "encoding of a text function");
    utf8_ = header.encoding == Encoding::Utf8;
    steps_.resize(header.nsteps);
    memcpy(static_cast<void *>(steps_.data()), bytes + sizeof header, steps);
    bytes_.assign(bytes + sizeof header + steps, header.nbytes);

    enum Kind { is_text, is_number, is_truth };
    std::vector<Kind> stack;
    auto take = [&](Kind kind) {
        require(!stack.empty() && stack.back() == kind, "argument of a text function");
        stack.pop_back();
    };
    for (const Step &step : steps_) {
        require(step.at <= bytes_.size() && step.length <= bytes_.size() - step.at, "bytes of a text function");
        const std::string_view own(bytes_.data() + step.at, step.length);
        extra_.push_back(0);
        switch (step.op) {
        case Op::Entry:
            stack.push_back(is_text);
            break;
        case Op::TrimBlanks:
        case Op::Part:
        case Op::First:
        case Op::Last:
        case Op::Trim:
        case Op::Field:
        case Op::Append:
        case Op::Prepend:
            take(is_text);
            stack.push_back(is_text);
            break;
        case Op::Replace:
            take(is_text);
            stack.push_back(is_text);
            require(step.a > 0 && step.a <= static_cast<int64_t>(own.size()) &&
                        step.a >= static_cast<int64_t>(own.size()) - step.a,
                    "bytes that a text function replaces");
            break;
        case Op::Lower:
        case Op::Upper: {
            take(is_text);
            stack.push_back(is_text);
            require(utf8_, "letters of another encoding");
            const LetterCase *const letters = LetterCase::of(std::string(own), step.op == Op::Upper);
            if (letters == nullptr)
                throw UnknownLocale("a locale that the machine does not have");
            extra_.back() = cases_.size();
            cases_.push_back(letters);
            break;
        }
        case Op::Length:
        case Op::Bytes:
        case Op::Position:
            take(is_text);
            stack.push_back(is_number);
            break;
        case Op::Like:
            take(is_text);
            stack.push_back(is_truth);
            extra_.back() = patterns_.size();
            add_pattern(own);
            break;
        case Op::OneOf: {
            take(is_text);
            stack.push_back(is_truth);
            extra_.back() = lists_.size();
            std::vector<std::string_view> list;
            size_t at = 0;
            for (int64_t i = 0; i < step.a; ++i) {
                uint32_t length;
                require(own.size() - at >= sizeof length, "list of a text function");
                memcpy(&length, own.data() + at, sizeof length);
                at += sizeof length;
                require(own.size() - at >= length, "list of a text function");
                list.push_back(own.substr(at, length));
                at += length;
            }
            std::sort(list.begin(), list.end());
            lists_.push_back(std::move(list));
            break;
        }
        case Op::StartsWith:
        case Op::Equal:
            take(is_text);
            stack.push_back(is_truth);
            break;
        case Op::Compare:
            require(step.a >= 0 && step.a <= static_cast<int64_t>(Relation::Gt), "relation of a text function");
            take(is_number);
            stack.push_back(is_truth);
            break;
        case Op::IsNull:
            require(!stack.empty(), "argument of a text function");
            stack.back() = is_truth;
            break;
        case Op::Not:
            take(is_truth);
            stack.push_back(is_truth);
            break;
        case Op::And:
        case Op::Or:
            require(step.a > 0 && step.a <= static_cast<int64_t>(max_depth), "arguments of a text function");
            for (int64_t i = 0; i < step.a; ++i)
                take(is_truth);
            stack.push_back(is_truth);
            break;
        default:
            require(false, "step of a text function");
        }
        require(stack.size() <= max_depth, "a text function is too deep");
    }
    require(stack.size() == 1, "a text function has one result");
    result_ = stack[0] == is_text ? TextResult::Text : stack[0] == is_number ? TextResult::Number : TextResult::Truth;
}

TextFunction::Value TextFunction::evaluate(const std::string_view *entry, TextRoom &room, CancelPoint &cancel) const {
    alignas(Value) unsigned char values[max_depth * sizeof(Value)]; // (nothing of it is touched that is not needed)
    Value *const stack = reinterpret_cast<Value *>(values);
    size_t depth = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
        const Step &step = steps_[i];
        Value v;
        switch (step.op) {
        case Op::Entry:
            v.null = entry == nullptr;
            if (entry != nullptr)
                v.text = *entry;
            stack[depth++] = v;
            break;
        case Op::IsNull:
            v.null = false;
            v.number = stack[depth - 1].null;
            stack[depth - 1] = v;
            break;
        case Op::And:
        case Op::Or: {
            // Decided by one false (true); without such a one NULL decides.
            const bool decides = step.op == Op::Or;
            bool decided = false, null = false;
            for (int64_t k = 0; k < step.a; ++k) {
                const Value &argument = stack[--depth];
                null |= argument.null;
                decided |= !argument.null && (argument.number != 0) == decides;
            }
            v.null = !decided && null;
            v.number = decided ? decides : !decides;
            stack[depth++] = v;
            break;
        }
        default:
            if (!stack[depth - 1].null)
                stack[depth - 1] = apply(step, i, stack[depth - 1], room, cancel);
        }
    }
    return stack[0]; // cppcheck-suppress uninitvar // the program leaves one value (checked when it was read)
}

// ---- characters ---------------------------------------------------------------------------------------------------

const char *TextFunction::next_character(const char *at, const char *end) const {
    ++at;
    if (utf8_)
        while (at < end && goes_on(*at))
            ++at;
    return at;
}

// The place so many characters on, at most the end.
const char *TextFunction::characters(const char *at, const char *end, int64_t count) const {
    if (!utf8_)
        return end - at < count ? end : at + std::max<int64_t>(count, 0);
    for (; count > 0 && at < end; --count)
        at = next_character(at, end);
    return at;
}

int64_t TextFunction::length(std::string_view text) const {
    if (!utf8_)
        return static_cast<int64_t>(text.size());
    return static_cast<int64_t>(text.size()) - std::count_if(text.begin(), text.end(), goes_on);
}

// Every character of the set is looked for as a whole: in UTF-8 its bytes stand nowhere else.
std::string_view TextFunction::trim(std::string_view text, std::string_view set, int64_t sides) const {
    const auto is_in = [set](const char *at, const char *behind) {
        return set.find(std::string_view(at, static_cast<size_t>(behind - at))) != std::string_view::npos;
    };
    const char *at = text.data(), *end = at + text.size();
    while ((sides & 1) != 0 && at < end) {
        const char *const behind = next_character(at, end);
        if (!is_in(at, behind))
            break;
        at = behind;
    }
    while ((sides & 2) != 0 && at < end) {
        const char *last = end - 1;
        while (utf8_ && last > at && goes_on(*last))
            --last;
        if (!is_in(last, end))
            break;
        end = last;
    }
    return {at, static_cast<size_t>(end - at)};
}

namespace {

// Calls see(first, last) for each place of `wanted` (not empty), none of which overlaps the one before.
template <class See> void each_place(std::string_view text, std::string_view wanted, See see) {
    const char *const end = text.data() + text.size();
    for (const char *at = text.data(); (at = find_bytes(at, end, wanted)) != nullptr; at += wanted.size())
        see(at, at + wanted.size());
}

std::string_view field(std::string_view text, std::string_view separator, int64_t number) {
    if (text.empty() || separator.empty())
        return number == 1 || number == -1 ? text : text.substr(0, 0);
    int64_t fields = 1;
    if (number < 0) {
        each_place(text, separator, [&](const char *, const char *) { ++fields; });
        number += fields + 1;
    }
    const char *begin = text.data(), *end = begin + text.size();
    const char *from = begin, *to = nullptr; // of the field
    fields = 1;
    each_place(text, separator, [&](const char *first, const char *behind) {
        if (fields == number)
            to = first;
        if (++fields == number)
            from = behind;
    });
    if (number < 1 || number > fields)
        return text.substr(0, 0);
    if (to == nullptr)
        to = end;
    return {from, static_cast<size_t>(to - from)};
}

std::string_view replace(std::string_view text, std::string_view wanted, std::string_view by, TextRoom &room) {
    size_t places = 0;
    each_place(text, wanted, [&](const char *, const char *) { ++places; });
    if (places == 0)
        return text;
    const size_t bytes = text.size() - places * wanted.size() + places * by.size();
    char *const made = room.take(bytes), *to = made;
    const char *from = text.data();
    const auto put = [&to](const char *bytes_of, size_t count) {
        memcpy(to, bytes_of, count);
        to += count;
    };
    each_place(text, wanted, [&](const char *first, const char *behind) {
        put(from, static_cast<size_t>(first - from));
        put(by.data(), by.size());
        from = behind;
    });
    put(from, static_cast<size_t>(text.data() + text.size() - from));
    return {made, bytes};
}

std::string_view concatenate(std::string_view a, std::string_view b, TextRoom &room) {
    char *const made = room.take(a.size() + b.size());
    memcpy(made, a.data(), a.size());
    memcpy(made + a.size(), b.data(), b.size());
    return {made, a.size() + b.size()};
}

} // namespace

TextFunction::Value TextFunction::apply(const Step &step, size_t index, Value v, TextRoom &room,
                                        CancelPoint &cancel) const {
    const std::string_view own(bytes_.data() + step.at, step.length);
    const std::string_view text = v.text;
    const char *const begin = text.data(), *const end = begin + text.size();
    cancel.worked(text.size() + step_bytes);
    auto part = [&](const char *from, const char *to) {
        v.text = std::string_view(from, static_cast<size_t>(to - from));
        return v;
    };
    switch (step.op) {
    case Op::TrimBlanks: {
        size_t size = text.size();
        while (size > 0 && text[size - 1] == ' ')
            --size;
        return part(begin, begin + size);
    }
    case Op::Part: {
        // As SQL has it: the part reaches to before character a + b, even if a is before the first one.
        const int64_t first = std::max<int64_t>(step.a, 1);
        const char *const from = characters(begin, end, first - 1);
        if (step.b < 0)
            return part(from, end);
        return part(from, characters(from, end, step.a + step.b - first));
    }
    case Op::First:
        return part(begin, characters(begin, end, step.a >= 0 ? step.a : length(text) + step.a));
    case Op::Last:
        return part(characters(begin, end, step.a >= 0 ? length(text) - step.a : -step.a), end);
    case Op::Trim:
        v.text = trim(text, own, step.a);
        return v;
    case Op::Field:
        v.text = field(text, own, step.a);
        return v;
    case Op::Replace: {
        const size_t wanted = static_cast<size_t>(step.a);
        v.text = replace(text, own.substr(0, wanted), own.substr(wanted), room);
        return v;
    }
    case Op::Append:
        v.text = concatenate(text, own, room);
        return v;
    case Op::Prepend:
        v.text = concatenate(own, text, room);
        return v;
    case Op::Lower:
    case Op::Upper: {
        const size_t most = LetterCase::most_bytes(text.size());
        char *const to = room.take(most);
        const size_t bytes = cases_[extra_[index]]->convert(text, to);
        room.give_back(most - bytes);
        v.text = std::string_view(to, bytes);
        return v;
    }
    case Op::Length:
        v.number = length(text);
        return v;
    case Op::Bytes:
        v.number = static_cast<int64_t>(text.size());
        return v;
    case Op::Position: {
        const char *const found = own.empty() ? begin : find_bytes(begin, end, own);
        v.number = found == nullptr ? 0 : length({begin, static_cast<size_t>(found - begin)}) + 1;
        return v;
    }
    case Op::Like:
        v.number = like(patterns_[extra_[index]], text, cancel);
        return v;
    case Op::StartsWith:
        v.number = text.size() >= own.size() && memcmp(begin, own.data(), own.size()) == 0;
        return v;
    case Op::Equal:
        v.number = text == own;
        return v;
    case Op::OneOf: {
        const auto &list = lists_[extra_[index]];
        v.number = std::binary_search(list.begin(), list.end(), text);
        return v;
    }
    case Op::Compare:
        v.number = compare(static_cast<Relation>(step.a), v.number, step.b);
        return v;
    case Op::Not:
        v.number = v.number == 0;
        return v;
    default:
        return Value();
    }
}

// ---- LIKE ---------------------------------------------------------------------------------------------------------

void TextFunction::add_pattern(std::string_view pattern) {
    Pattern made;
    Piece piece;
    auto end_piece = [&] {
        if (!piece.bytes.empty())
            made.pieces.push_back(std::move(piece));
        piece = Piece();
    };
    auto add = [&](char byte, bool any) {
        piece.own_bytes += !any && !piece.any;
        piece.characters += any || !utf8_ || !goes_on(byte);
        piece.bytes.push_back(byte);
        piece.any_character.push_back(any);
        piece.any |= any;
    };
    bool open = false; // a percent sign was the last
    for (size_t i = 0; i < pattern.size(); ++i) {
        open = false;
        if (pattern[i] == '%') {
            if (i == 0)
                made.from_start = false;
            end_piece();
            open = true;
        } else if (pattern[i] == '_') {
            add('\0', true);
        } else {
            if (pattern[i] == '\\')
                require(++i < pattern.size(), "a pattern ends with an escape character");
            add(pattern[i], false);
        }
    }
    made.to_end = !open;
    end_piece();
    patterns_.push_back(std::move(made));
}

// Where the piece ends if it stands at `at`, nullptr: it does not.
const char *TextFunction::match(const Piece &piece, const char *at, const char *end, CancelPoint &cancel) const {
    const size_t size = piece.bytes.size();
    if (!piece.any)
        return static_cast<size_t>(end - at) >= size && memcmp(at, piece.bytes.data(), size) == 0 ? at + size : nullptr;
    size_t i = 0;
    for (; i < size && at != nullptr; ++i) {
        if (at == end)
            at = nullptr;
        else if (piece.any_character[i])
            at = next_character(at, end);
        else if (*at++ != piece.bytes[i])
            at = nullptr;
    }
    cancel.worked(i);
    return at;
}

// The first place of the piece; *behind: where it ends.
const char *TextFunction::find(const Piece &piece, const char *at, const char *end, const char **behind,
                               CancelPoint &cancel) const {
    if (!piece.any) {
        const char *const found = find_bytes(at, end, piece.bytes);
        *behind = found == nullptr ? nullptr : found + piece.bytes.size();
        return found;
    }
    // What stands before the piece's first underscore is searched for; where it is found, the rest is looked at.
    const std::string_view own = std::string_view(piece.bytes).substr(0, piece.own_bytes);
    for (; at < end; at = next_character(at, end)) {
        if (!own.empty() && (at = find_bytes(at, end, own)) == nullptr)
            return nullptr;
        if ((*behind = match(piece, at, end, cancel)) != nullptr)
            return at;
    }
    return nullptr;
}

bool TextFunction::like(const Pattern &pattern, std::string_view text, CancelPoint &cancel) const {
    const char *at = text.data(), *end = at + text.size();
    size_t first = 0, last = pattern.pieces.size();
    if (last == 0) // percent signs, or nothing
        return text.empty() || !pattern.from_start;
    if (pattern.from_start) {
        at = match(pattern.pieces[0], at, end, cancel);
        if (at == nullptr)
            return false;
        if (++first == last && pattern.to_end)
            return at == end;
    }
    if (pattern.to_end && first < last) {
        // Back from the end by as many characters as the last piece has; it must not begin before `at`.
        const Piece &piece = pattern.pieces[--last];
        const char *from = end;
        for (size_t i = 0; i < piece.characters; ++i) {
            if (from <= at)
                return false;
            --from;
            while (utf8_ && from > at && goes_on(*from))
                --from;
        }
        if (match(piece, from, end, cancel) != end)
            return false;
        end = from;
    }
    for (size_t i = first; i < last; ++i)
        if (find(pattern.pieces[i], at, end, &at, cancel) == nullptr)
            return false;
    return true;
}

} // namespace gpuscan
