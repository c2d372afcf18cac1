// See letter_case.hpp. The first planes of Unicode have all letters with a case; what is beyond is asked for each time.
#include "engine/util/letter_case.hpp"

#include <emmintrin.h>
#include <langinfo.h>
#include <wctype.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

namespace gpuscan {
namespace {

constexpr uint32_t remembered = 0x20000, characters = 0x110000;

char of_ascii(char byte, bool capitals) {
    const char first = capitals ? 'a' : 'A';
    return static_cast<unsigned char>(byte - first) < 26 ? static_cast<char>(byte ^ 0x20) : byte;
}

// Sixteen bytes of ASCII.
__m128i of_ascii(__m128i bytes, bool capitals) {
    // (Bytes are compared with their sign: the letters are moved to its lower end.)
    const __m128i from_first = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(-128 - (capitals ? 'a' : 'A'))));
    const __m128i letters = _mm_cmplt_epi8(from_first, _mm_set1_epi8(-128 + 26));
    return _mm_xor_si128(bytes, _mm_and_si128(letters, _mm_set1_epi8(0x20)));
}

// The character that begins at `at`, and its bytes; 0 bytes: there is none.
size_t read_character(const char *at, const char *end, uint32_t *character) {
    const auto byte = [at](size_t i) { return static_cast<uint8_t>(at[i]); };
    const size_t bytes = byte(0) >= 0xf0 && byte(0) < 0xf8 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc0 ? 2 : 0;
    if (bytes == 0 || byte(0) >= 0xf8 || static_cast<size_t>(end - at) < bytes)
        return 0;
    *character = byte(0) & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (byte(i) & 0x3f);
    }
    return bytes;
}

char *write_character(char *to, uint32_t character) {
    const auto put = [&to](uint32_t byte) { *to++ = static_cast<char>(byte); };
    if (character < 0x80) {
        put(character);
    } else if (character < 0x800) {
        put(0xc0 | character >> 6);
        put(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        put(0xe0 | character >> 12);
        put(0x80 | (character >> 6 & 0x3f));
        put(0x80 | (character & 0x3f));
    } else {
        put(0xf0 | (character >> 18 & 7));
        put(0x80 | (character >> 12 & 0x3f));
        put(0x80 | (character >> 6 & 0x3f));
        put(0x80 | (character & 0x3f));
    }
    return to;
}

} // namespace

LetterCase::LetterCase(locale_t locale, bool capitals) : locale_(locale), capitals_(capitals), plain_ascii_(true) {
    letters_.resize(locale == nullptr ? 0x80 : remembered);
    for (uint32_t c = 0; c < letters_.size(); ++c)
        letters_[c] = ask(c);
    for (uint32_t c = 0; c < 0x80; ++c)
        plain_ascii_ &= letters_[c] == static_cast<uint32_t>(of_ascii(static_cast<char>(c), capitals));
}

uint32_t LetterCase::ask(uint32_t character) const {
    if (locale_ == nullptr)
        return character < 0x80 ? static_cast<uint32_t>(of_ascii(static_cast<char>(character), capitals_)) : character;
    const wint_t letter = capitals_ ? towupper_l(character, locale_) : towlower_l(character, locale_);
    return letter < characters ? letter : character;
}

uint32_t LetterCase::letter(uint32_t character) const {
    return character < letters_.size() ? letters_[character] : ask(character);
}

const LetterCase *LetterCase::of(const std::string &locale, bool capitals) {
    static std::mutex lock;
    static auto &known = // (never destroyed: threads outlive main())
        *new std::map<std::pair<std::string, bool>, std::unique_ptr<const LetterCase>>();
    const std::lock_guard<std::mutex> guard(lock);
    std::unique_ptr<const LetterCase> &entry = known[{locale, capitals}];
    if (entry == nullptr) {
        const bool is_c = locale == "C" || locale == "POSIX";
        locale_t opened = is_c ? nullptr : newlocale(LC_CTYPE_MASK, locale.c_str(), nullptr);
        if (opened != nullptr && strcmp(nl_langinfo_l(CODESET, opened), "UTF-8") != 0) { // (PostgreSQL lets some pass)
            freelocale(opened);
            opened = nullptr;
        }
        if (is_c || opened != nullptr)
            entry.reset(new LetterCase(opened, capitals));
    }
    return entry.get();
}

size_t LetterCase::convert(std::string_view text, char *to) const {
    const char *at = text.data(), *const end = at + text.size();
    char *const begin = to;
    while (at < end) {
        for (; plain_ascii_ && end - at >= 16; at += 16, to += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(at));
            if (_mm_movemask_epi8(bytes) != 0)
                break;
            _mm_storeu_si128(reinterpret_cast<__m128i *>(to), of_ascii(bytes, capitals_));
        }
        // The rest, or up to behind the characters that are in the way.
        for (int i = 0; i < 16 && at < end; ++i) {
            uint32_t character = static_cast<uint8_t>(*at);
            const size_t bytes = character < 0x80 ? 1 : read_character(at, end, &character);
            if (bytes == 0) {
                *to++ = *at++;
                continue;
            }
            to = write_character(to, letter(character));
            at += bytes;
        }
    }
    return static_cast<size_t>(to - begin);
}

} // namespace gpuscan
