// Which is the small, or the capital, letter of a letter in a locale of the C library?
//
// PostgreSQL's lower() and upper() ask the C library letter by letter (towlower, towupper) where a collation's provider is libc and the
// encoding is UTF-8. So does this, and keeps the answers: a locale is asked once for each letter.
#pragma once

#include <clocale>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuscan {

class LetterCase {
  public:
    // Of a locale by its name, kept for good; nullptr: this machine has no such locale of UTF-8. Callable from any thread.
    static const LetterCase *of(const std::string &locale, bool capitals);

    static size_t most_bytes(size_t bytes) { return 4 * bytes; } // that a text of so many can become

    // The text in small letters, or in capitals, in UTF-8. Bytes that are no character stay. `to` has room for most_bytes(). Returns the bytes
    // there.
    size_t convert(std::string_view text, char *to) const;

  private:
    LetterCase(locale_t locale, bool capitals);
    uint32_t letter(uint32_t character) const;
    uint32_t ask(uint32_t character) const;

    locale_t locale_; // the C locale, in which only ASCII has letters: none
    bool capitals_;
    bool plain_ascii_; // ASCII's letters become ASCII's
    std::vector<uint32_t> letters_;
};

} // namespace gpuscan
